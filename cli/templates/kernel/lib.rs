//! A kernel of one's own: `out[i] = a · x[i] + y[i]`, to be changed into your own.
//!
//! The whole crate is compiled twice: for the host, and by `build.rs` for the GPU, where there is `core` alone.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_gpu::cuda::{kernel, thread};
use warpplay_gpu::launch::LaunchShape;

/// The kernel as PTX, from this crate's build script.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/my_game.rs"));

/// Threads of a block.
const BLOCK: u32 = 128;

/// The arithmetic of one element: an ordinary function, for the kernel and for the CPU.
pub const fn scaled_sum(a: f32, x: f32, y: f32) -> f32 {
    a * x + y
}

/// Writes [`scaled_sum`] of each of `n` elements, a thread an element.
///
/// * Launch: a thread an element, blocks of 128.
#[kernel(shape = LaunchShape::linear(n, BLOCK), max_threads = 128)]
pub fn scale_and_add(
    #[len(n as usize)] x: Slice<f32>,
    #[len(n as usize)] y: Slice<f32>,
    #[len(n as usize)] mut out: Disjoint<f32>,
    a: f32,
    n: u32,
) {
    // The last block has threads without an element.
    let Some(own) = thread::own_index_below(n) else {
        return;
    };
    let at = own.get() as usize;
    out.set(&own, scaled_sum(a, x.get(at), y.get(at)));
}
