//! SplitMix64, as all families draw their numbers.
//!
//! # Source
//! Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.

/// Increment of the state: 2^64 divided by the golden ratio, made odd.
pub const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser: from the state to the number.
pub fn finalize(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
