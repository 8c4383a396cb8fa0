//! Five publications on game AI on the GPU, repeated to the letter, beside what `warpplay` does.
//!
//! The crate is a device crate like a user's own: it builds on the public API of `warpplay`, and nothing of `warpplay` imports it. Every folder is one publication, with its
//! kernels, its program, its tables and figures, and what was found wrong in it.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

#[cfg(feature = "cfr_thesis-kernels")]
pub mod cfr_thesis;
