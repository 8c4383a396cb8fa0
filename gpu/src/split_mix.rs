//! SplitMix64: random numbers by counter, in wrapping 64-bit arithmetic, the same on device and host.
//!
//! Source  Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.

/// The increment: 2⁶⁴ / golden ratio.
pub const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser: one to one, and all bits of the result depend on all bits.
#[inline(always)]
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Number `index`, from 0, of the sequence of a seed.
#[inline(always)]
pub const fn element(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GAMMA)))
}

// From Vigna's splitmix64.c with the state 1234567.
const _: () = assert!(
    element(1_234_567, 0) == 6_457_827_717_110_365_317
        && element(1_234_567, 1) == 3_203_168_211_198_807_973
        && element(1_234_567, 2) == 9_817_491_932_198_370_423
);
