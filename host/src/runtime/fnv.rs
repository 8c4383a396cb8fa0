//! The checksum FNV-1a of Fowler, Noll and Vo, 64 bits. Finds every single damaged byte, since each step is one to one.

#[derive(Clone, Debug)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    pub fn value(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_published_ones() {
        let of = |text: &str| {
            let mut sum = Fnv::default();
            sum.add(text.as_bytes());
            sum.value()
        };
        assert_eq!(
            [of(""), of("a"), of("foobar")],
            [0xCBF2_9CE4_8422_2325, 0xAF63_DC4C_8601_EC8C, 0x8594_4171_F739_67E8]
        );
    }
}
