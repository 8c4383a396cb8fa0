//! Random numbers of a command's own choices.

/// Number `index`, from 0, of SplitMix64's sequence of a seed: 64 bits, the same on every machine.
///
/// # Paper
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
pub const fn split_mix(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

// From Vigna's splitmix64.c with the state 1234567.
const _: () = assert!(
    split_mix(1_234_567, 0) == 6_457_827_717_110_365_317
        && split_mix(1_234_567, 1) == 3_203_168_211_198_807_973
        && split_mix(1_234_567, 2) == 9_817_491_932_198_370_423
);
