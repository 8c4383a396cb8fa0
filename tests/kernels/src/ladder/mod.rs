//! One product of matrices in seven steps, from a thread an element to tensor cores.
//!
//! In single precision `C = A B`, all three row by row: A has `m` rows of `k` values, B `k` rows of `n`. In bfloat16 `C = A Bᵀ`: B has `n` rows of `k` values, as
//! the fragments of tensor cores want it. Each kernel takes multiples of its tile, and its launch refuses other sizes.

/// Writes a block once for each number, as a constant: arrays indexed by it stay in registers, where a loop that the compiler does not unroll puts them into local memory.
macro_rules! unroll {
    ($name:ident in [$($value:literal),+] $body:block) => {
        $({ const $name: usize = $value; $body })+
    };
}

pub mod coalesced;
pub mod column;
pub mod mma;
pub mod naive;
pub mod quads;
pub mod shared;
pub mod square;
