//! SplitMix64: random numbers by counter, in wrapping 64-bit arithmetic, the same on device and host.
//!
//! Number `i` of a stream is computed from its seed and `i` alone, so that any thread can draw any number without those before it, and nothing has to be remembered.
//!
//! ```
//! use warpplay_gpu::split_mix::{GAMMA, element, mix};
//!
//! // The first outputs of the authors' program for the seed 0.
//! assert_eq!([mix(GAMMA), mix(GAMMA.wrapping_mul(2))], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
//! assert_ne!(element(1, 0), element(1, 1));
//! ```
//!
//! Source  Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.

/// The increment: 2⁶⁴ / golden ratio.
pub const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser: a bijection in which every bit of the result depends on all bits of the input.
#[device_inline]
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Number `index`, from 0, of the sequence of a seed.
#[device_inline]
pub const fn element(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GAMMA)))
}

// From Vigna's splitmix64.c with the state 1234567.
const _: () = assert!(
    element(1_234_567, 0) == 6_457_827_717_110_365_317
        && element(1_234_567, 1) == 3_203_168_211_198_807_973
        && element(1_234_567, 2) == 9_817_491_932_198_370_423
);
