//! The published program: chance-sampled regret minimisation on a betting tree, level by level, in two phases.
//!
//! One deal of the cards an iteration. Down the levels every sequence turns the regrets of the acting seat's bucket into a strategy and hands the reaches on
//! ([`down`]); up the levels it adds up utilities and regrets ([`up`]). Sequences are numbered level by level, so that a level is a range and the threads of
//! a warp find their sequences side by side. Each of the paper's devices against slow memory can be left out, to see what it brings ([`sequence::way`]):
//! staging in shared memory, the deal in constant memory (kernel parameters lie there), the numbering, a thread for each sequence.

use warpplay_gpu::launch::LaunchShape;

pub mod down;
pub mod sequence;
pub mod up;

#[cfg(not(target_arch = "nvptx64"))]
use warpplay_gpu::kernel::{KernelInfo, info};

/// Most threads of a block.
pub const BLOCK: u32 = 256;

/// Launch shape of a phase at a level of `n` sequences, by blocks of `block` threads, with values of `value_bytes` a seat and thread in shared memory where `staged`.
pub const fn shape(n: u32, block: u32, n_players: u32, value_bytes: u32, staged: bool) -> LaunchShape {
    let shape = LaunchShape::linear(n, block);
    if staged { shape.with_shared(n_players * block * value_bytes) } else { shape }
}

/// Launch shape of a phase that one thread does alone.
pub const fn alone(n_players: u32, value_bytes: u32, staged: bool) -> LaunchShape {
    shape(1, 1, n_players, value_bytes, staged)
}

/// All kernels of the module.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    vec![
        info::<down::cfr_thesis_down_f32>(),
        info::<down::cfr_thesis_down_f64>(),
        info::<up::cfr_thesis_up_f32>(),
        info::<up::cfr_thesis_up_f64>(),
    ]
}
