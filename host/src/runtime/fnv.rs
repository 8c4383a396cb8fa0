//! The checksum FNV-1a.

/// The checksum FNV-1a of Fowler, Noll and Vo, 64 bits. It detects every change of a single byte, since each step is a bijection; it does not protect against forgery.
///
/// ```
/// let mut sum = warpplay::Fnv::default();
/// sum.add(b"foo");
/// sum.add(b"bar");
/// assert_eq!(sum.value(), warpplay::Fnv::of(b"foobar"));
/// ```
#[derive(Clone, Debug)]
pub struct Fnv(u64);

/// Initial value of a sum.
const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
/// Factor of each step.
const PRIME: u64 = 0x0000_0100_0000_01B3;

impl Default for Fnv {
    fn default() -> Self {
        Self(BASIS)
    }
}

impl Fnv {
    /// The checksum of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut sum = Self::default();
        sum.add(bytes);
        sum.value()
    }

    /// Adds these bytes to the sum.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }

    /// The checksum of all bytes so far.
    pub fn value(&self) -> u64 {
        self.0
    }
}

/// The same checksum over 64-bit words. High bits of a product do not affect its low bits, so after each step they are added to the low bits, shifted down by `FOLD`.
pub(crate) struct Words<const FOLD: u32>(u64);

impl<const FOLD: u32> Words<FOLD> {
    /// One of several sums side by side.
    pub const fn lane(number: u64) -> Self {
        Self(BASIS ^ number)
    }

    /// Adds this word to the sum.
    #[inline(always)]
    pub const fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(PRIME);
        self.0 ^= self.0 >> FOLD;
    }

    /// The checksum of all words so far.
    pub const fn value(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_published_ones() {
        let found = ["", "a", "foobar"].map(|text| Fnv::of(text.as_bytes()));
        assert_eq!(found, [0xCBF2_9CE4_8422_2325, 0xAF63_DC4C_8601_EC8C, 0x8594_4171_F739_67E8]);
    }
}
