//! The published kernels, one by one: a convolution, a norm or a rectifier a launch, and a network is a sequence of launches.
//!
//! | kernels | file |
//! |---|---|
//! | `azero_paper_input_64_{padded,plain,turned}`, `…_64_global_{padded,plain}` | [`input`] |
//! | `azero_paper_input_planes_{padded,plain,global}`, `…_planes_atomic_{padded,plain}` | [`input`] |
//! | `azero_paper_input_rows`, `…_rows_global` | [`input`] |
//! | `azero_paper_torso_{global,shared}_{banked,plain}`, `…_repository_{1,2,3}` | [`torso`] |
//! | `azero_paper_output_{global,shared}`, `…_repository_{1,2}` | [`output`] |
//! | `azero_paper_output_squares` | [`output`] |
//! | `azero_paper_clear`, `…_batch_norm`, `…_relu`, `…_add` | [`elementwise`] |
//! | `azero_paper_linear`, `…_tanh` | [`heads`] |
//! | `azero_paper_policy` | [`heads`] |
//!
//! Each kernel's launch, memory, cost, twin and place in the paper stand at its declaration, and in the tables of `docs/kernels.md`.
//!
//! Boards are 8×8: a thread for each of the 64 squares is what these kernels are made of. Planes, channels, depth and heads may have other sizes than the
//! paper's. The paper evaluates one position at a time; here the grid's x counts positions, so the same kernels take a batch.
//!
//! The published kernels add no bias to a convolution. Each convolution here has a flag for that: [`WITH_BIAS`] gives the network's value, [`WITHOUT_BIAS`]
//! what the published kernels computed.
//!
//! Paper: Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference".

pub mod elementwise;
pub mod heads;
pub mod input;
pub mod output;
pub mod tiles;
pub mod torso;

use warpplay_gpu::cuda::memory;
use warpplay_gpu::cuda::shared::Shared;

/// Rows and columns of the board.
pub const SIDE: u32 = 8;
/// Squares of the board.
pub const CELLS: u32 = SIDE * SIDE;
/// Taps of a 3×3 kernel.
pub const TAPS: u32 = 9;

/// A convolution adds its bias.
pub const WITH_BIAS: u32 = 1;
/// A convolution leaves its bias out, as the published kernels do.
pub const WITHOUT_BIAS: u32 = 0;

warpplay_gpu::kernel_set! {
    /// All kernels of the module `checkers_conv`.
    input::azero_paper_input_64_padded,
    input::azero_paper_input_64_plain,
    input::azero_paper_input_64_global_padded,
    input::azero_paper_input_64_global_plain,
    input::azero_paper_input_64_turned,
    input::azero_paper_input_planes_padded,
    input::azero_paper_input_planes_plain,
    input::azero_paper_input_planes_atomic_padded,
    input::azero_paper_input_planes_atomic_plain,
    input::azero_paper_input_planes_global,
    input::azero_paper_input_rows,
    input::azero_paper_input_rows_global,
    torso::azero_paper_torso_global_banked,
    torso::azero_paper_torso_global_plain,
    torso::azero_paper_torso_shared_banked,
    torso::azero_paper_torso_shared_plain,
    torso::azero_paper_torso_repository_1,
    torso::azero_paper_torso_repository_2,
    torso::azero_paper_torso_repository_3,
    output::azero_paper_output_global,
    output::azero_paper_output_shared,
    output::azero_paper_output_repository_1,
    output::azero_paper_output_repository_2,
    output::azero_paper_output_squares,
    elementwise::azero_paper_clear,
    elementwise::azero_paper_batch_norm,
    elementwise::azero_paper_relu,
    elementwise::azero_paper_add,
    heads::azero_paper_linear,
    heads::azero_paper_tanh,
    heads::azero_paper_policy,
}

/// Values that a convolution reads: of an array in shared memory, or in global memory.
#[derive(Clone, Copy)]
enum Values {
    Shared(Shared<f32>),
    Global(*const f32),
}

impl Values {
    /// Value `at`.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    #[track_caller]
    unsafe fn get(self, at: u32) -> f32 {
        // SAFETY: the caller vouches for the index.
        unsafe {
            match self {
                Self::Shared(values) => values.get_unchecked(at),
                Self::Global(values) => memory::load(values, at as usize),
            }
        }
    }
}

/// The square that tap `tap` of a 3×3 kernel meets from square (`row`, `column`); none beyond the border, where the plane is 0.
#[inline(always)]
fn neighbour(row: u32, column: u32, tap: u32) -> Option<u32> {
    // Beyond 0 the difference wraps to a large number.
    let (row, column) = ((row + tap / 3).wrapping_sub(1), (column + tap % 3).wrapping_sub(1));
    if row < SIDE && column < SIDE { Some(row * SIDE + column) } else { None }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn taps_meet_the_squares_around() {
        let around = |row, column| (0..TAPS).map(|tap| neighbour(row, column, tap)).collect::<Vec<_>>();
        assert_eq!(around(1, 1), [0, 1, 2, 8, 9, 10, 16, 17, 18].map(Some));
        assert_eq!(around(0, 0), [None, None, None, None, Some(0), Some(1), None, Some(8), Some(9)]);
        assert_eq!(around(7, 7), [Some(54), Some(55), None, Some(62), Some(63), None, None, None, None]);
    }
}
