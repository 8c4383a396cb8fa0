//! Kernels and games that only the property suite runs: one small kernel for each part of the device layer, kernels that
//! break a rule on purpose, and games that drive the search to its limits.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

#[cfg(feature = "layer")]
pub mod atomics;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(feature = "layer")]
pub mod collectives;
#[cfg(feature = "layer")]
pub mod faults;
#[cfg(feature = "games")]
pub mod games;
#[cfg(feature = "layer")]
pub mod index;
#[cfg(feature = "ladder")]
pub mod ladder;
#[cfg(feature = "layer")]
pub mod memory;
#[cfg(feature = "layer")]
pub mod numbers;
#[cfg(feature = "layer")]
pub mod observed;
#[cfg(feature = "products")]
pub mod products;
#[cfg(feature = "layer")]
pub mod rate;
#[cfg(feature = "small")]
pub mod small;

/// PTX of this crate's kernels, put here by its build script.
#[cfg(not(target_arch = "nvptx64"))]
pub mod ptx {
    use warpplay_gpu::ptx::PtxSet;

    /// The device layer's kernels, for `sm_75` and `sm_90`.
    pub const LAYER: PtxSet = include!(concat!(env!("OUT_DIR"), "/test_layer.rs"));
    /// Kernels that need clusters of blocks, for `sm_90`.
    pub const CLUSTER: PtxSet = include!(concat!(env!("OUT_DIR"), "/test_cluster.rs"));
    /// One product of matrices in steps, for `sm_80`.
    pub const LADDER: PtxSet = include!(concat!(env!("OUT_DIR"), "/test_ladder.rs"));
    /// Products of a warpgroup, for `sm_80`, where each warp stands for it, and `sm_90a`.
    pub const PRODUCTS: PtxSet = include!(concat!(env!("OUT_DIR"), "/test_products.rs"));
    /// Search kernels of the games, for `sm_75`.
    pub const GAMES: PtxSet = include!(concat!(env!("OUT_DIR"), "/test_games.rs"));
    /// The single-precision twin of a kernel for small games, for `sm_75` and `sm_90`.
    pub const SMALL: PtxSet = include!(concat!(env!("OUT_DIR"), "/test_small.rs"));
}
