//! The checksum FNV-1a.

/// The checksum FNV-1a of Fowler, Noll and Vo, 64 bits. Finds every single damaged byte, since each step is one to one; it keeps nobody from forging one.
///
/// ```
/// let mut sum = warpplay::Fnv::default();
/// sum.add(b"foo");
/// sum.add(b"bar");
/// assert_eq!(sum.value(), warpplay::Fnv::of(b"foobar"));
/// ```
#[derive(Clone, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    /// The checksum of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut sum = Self::default();
        sum.add(bytes);
        sum.value()
    }

    /// Goes on with these bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    /// The checksum of all bytes so far.
    pub fn value(&self) -> u64 {
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
