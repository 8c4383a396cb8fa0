//! A kernel of one's own: the lines of three on tic-tac-toe boards, a thread a board.
//!
//! The whole crate is compiled twice: for the host, and by `build.rs` for the GPU. `examples/08_own_kernel.rs` launches it.
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
pub const PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/lines.rs"));

/// Lines of three among the stones of one player, a bit a square: an ordinary function, for the kernel and for the CPU.
pub const fn lines(stones: u32) -> u32 {
    const ALL: [u32; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];
    let (mut n, mut line) = (0, 0);
    while line < ALL.len() {
        n += (stones & ALL[line] == ALL[line]) as u32;
        line += 1;
    }
    n
}

/// Writes the number of [`lines`] of each of `n` boards, a thread a board.
///
/// * Launch: a thread a board, blocks of 128.
#[kernel(shape = LaunchShape::linear(n, 128), max_threads = 128)]
pub fn count_lines(#[len(n as usize)] boards: Slice<u32>, #[len(n as usize)] mut counts: Disjoint<u32>, n: u32) {
    let Some(own) = thread::own_index_below(n) else { return };
    counts.set(&own, lines(boards.get(own.get() as usize)));
}
