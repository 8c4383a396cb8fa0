//! The checksum of shards: FNV-1a on eight lanes of words, as fast as memory is read.

use crate::runtime::fnv::{Fnv, Words};

/// Position of the checksum in a file; these bytes are not summed.
const OWN: std::ops::Range<usize> = 40..48;
const LANES: usize = 8;
/// Bytes that all lanes process together.
const STEP: usize = 8 * LANES;

/// Sums of words.
pub(super) struct Checksum;

impl Checksum {
    /// The checksum of a file whose length is a multiple of 64. It detects every change of a single byte: each step is a bijection, and so is the combination of the lanes.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut lanes: [Words<32>; LANES] = std::array::from_fn(|lane| Words::lane(lane as u64));
        let (chunks, rest) = bytes.as_chunks::<STEP>();
        for (number, chunk) in chunks.iter().enumerate() {
            let (words, _) = chunk.as_chunks::<8>();
            for (lane, (sum, word)) in lanes.iter_mut().zip(words).enumerate() {
                let word = if number == 0 && lane == OWN.start / 8 { 0 } else { u64::from_le_bytes(*word) };
                sum.add(word);
            }
        }
        let mut all = Fnv::default();
        for sum in lanes {
            all.add(&sum.value().to_le_bytes());
        }
        all.add(rest);
        all.add(&(bytes.len() as u64).to_le_bytes());
        all.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damaged_byte_is_found_but_its_own() {
        let mut bytes: Vec<u8> = (0..256u32).map(|number| (number * 7) as u8).collect();
        let whole = Checksum::of(&bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                assert_eq!(Checksum::of(&bytes) == whole, OWN.contains(&at), "byte {at}");
                bytes[at] ^= 1 << bit;
            }
        }
        bytes.extend_from_slice(&[0; 64]);
        assert_ne!(Checksum::of(&bytes), whole);
    }
}
