//! The hash FNV-1a of Fowler, Noll and Vo, 64 bits.

/// The hash of these bytes.
pub fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    bytes.into_iter().fold(0xCBF2_9CE4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_published_ones() {
        let found = ["", "a", "foobar"].map(|text| hash(text.bytes()));
        assert_eq!(found, [0xCBF2_9CE4_8422_2325, 0xAF63_DC4C_8601_EC8C, 0x8594_4171_F739_67E8]);
    }
}
