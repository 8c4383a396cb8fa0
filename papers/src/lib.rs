//! Five publications on game AI on the GPU, repeated to the letter, beside what `warpplay` does.
//!
//! The crate is a device crate like a user's own: it builds on the public API of `warpplay`, and nothing of `warpplay` imports it. Every folder is one publication, with its
//! kernels, its program, its tables and figures, and what was found wrong in it. [`experiment`] is what they have in common.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

#[cfg(feature = "cfr_thesis-kernels")]
pub mod cfr_thesis;
#[cfg(feature = "checkers_conv-kernels")]
pub mod checkers_conv;
#[cfg(not(target_arch = "nvptx64"))]
pub mod experiment;
#[cfg(all(feature = "mctsnc", not(target_arch = "nvptx64")))]
pub mod mctsnc;
#[cfg(feature = "mnist_mlp-kernels")]
pub mod mnist_mlp;
#[cfg(not(target_arch = "nvptx64"))]
mod named;
#[cfg(feature = "shogi_bonanza-kernels")]
pub mod shogi_bonanza;

/// PTX of the published kernels, put here by the build script.
#[cfg(not(target_arch = "nvptx64"))]
pub mod ptx {
    #[allow(unused_imports, reason = "without a publication that has kernels there is no set")]
    use warpplay_gpu::ptx::PtxSet;

    /// Kernels of Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference".
    #[cfg(feature = "checkers_conv")]
    pub const CHECKERS_CONV: PtxSet = include!(concat!(env!("OUT_DIR"), "/checkers_conv.rs"));
    /// Kernels of Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".
    #[cfg(feature = "mnist_mlp")]
    pub const MNIST_MLP: PtxSet = include!(concat!(env!("OUT_DIR"), "/mnist_mlp.rs"));
    /// Kernels of 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」.
    #[cfg(feature = "shogi_bonanza")]
    pub const SHOGI_BONANZA: PtxSet = include!(concat!(env!("OUT_DIR"), "/shogi_bonanza.rs"));
    /// Kernels of Reis, "A GPU implementation of Counterfactual Regret Minimization".
    #[cfg(feature = "cfr_thesis")]
    pub const CFR_THESIS: PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_thesis.rs"));

    /// Every set that this build embeds.
    pub const ALL: &[PtxSet] = &[
        #[cfg(feature = "checkers_conv")]
        CHECKERS_CONV,
        #[cfg(feature = "mnist_mlp")]
        MNIST_MLP,
        #[cfg(feature = "shogi_bonanza")]
        SHOGI_BONANZA,
        #[cfg(feature = "cfr_thesis")]
        CFR_THESIS,
    ];
}
