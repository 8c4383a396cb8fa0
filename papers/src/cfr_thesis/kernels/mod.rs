//! The published program: chance-sampled regret minimisation on a betting tree, level by level, in two phases.
//!
//! One deal of the cards an iteration. Down the levels every sequence turns the regrets of the acting seat's bucket into a strategy and hands the reaches on
//! ([`down`]); up the levels it adds up utilities and regrets ([`up`]). The memory optimisations of section 4.3.2 can each be left out, to measure what it
//! brings ([`sequence::way`]): rows of the tables and utilities in shared memory while they are worked on ([`kept`], a kernel for each way), the list of a level's sequences in a texture,
//! what is small and only read in constant memory (kernel parameters lie there), sequences numbered level by level.

use warpplay_gpu::launch::LaunchShape;

pub mod down;
mod instantiate;
pub mod kept;
pub mod sequence;
pub mod up;

#[cfg(not(target_arch = "nvptx64"))]
pub use instantiate::{Kernels, ThesisKernels, kernels};
pub use instantiate::{double, single};

/// Most threads of a block.
pub const BLOCK: u32 = 256;

/// Blocks that a multiprocessor must have room for: without this the assembler aims at more, and spills.
pub const BLOCKS: u32 = 4;

/// Launch shape of a phase at a level of `n` sequences, by blocks of `block` threads, with values of `value_bytes` in shared memory where `staged`.
pub const fn shape(n: u32, block: u32, n_players: u32, value_bytes: u32, staged: bool) -> LaunchShape {
    let shape = LaunchShape::linear(n, block);
    if staged { shape.with_shared(kept::staged(n_players) * block * value_bytes) } else { shape }
}
