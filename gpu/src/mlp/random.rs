//! Counter-based random numbers: element `i` of a stream alone, in wrapping 64-bit arithmetic (the finaliser of SplitMix64).

use crate::split_mix::{GAMMA, mix};

/// Key of stream `stream` of `seed`.
#[device_inline]
pub const fn key(seed: u32, stream: u32) -> u64 {
    mix((((seed as u64) << 32) | stream as u64).wrapping_mul(GAMMA))
}

/// Element `i` (from 1) of the stream with `key`.
#[device_inline]
pub const fn element(key: u64, i: u64) -> u64 {
    mix(key.wrapping_add(i.wrapping_mul(GAMMA)))
}

/// The stream whose elements order epoch `epoch` (from 0): sample `s` has the rank of `element(key, s + 1)`.
#[device_inline]
pub const fn order_stream(epoch: u32) -> u32 {
    64u32.wrapping_add(epoch)
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn first_elements_are_the_published_ones() {
        let key = key(1, 1);
        let elements = [element(key, 1), element(key, 2), element(key, 3)];
        assert_eq!(elements, [0x6186_40d5_11ea_0c16, 0x8858_072c_497a_cfb9, 0x9891_b60f_af05_aad7]);
    }
}
