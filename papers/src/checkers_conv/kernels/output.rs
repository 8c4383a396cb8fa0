//! Output convolution: channels to a head's few, 1×1, one block an output channel of a position.
//!
//! The paper takes the torso's strategy: 128 × 8 threads, [`tiles`](super::tiles), atomic additions. For 1 tap the banked filters are `[4][32]`, which is the order
//! of memory.
//!
//! | form | board | filters | staged | sums | published as |
//! |---|---|---|---|---|---|
//! | *global* | `[256][32]` | `[4][32]` | by channels | in global memory | the paper's |
//! | *shared* | `[256][32]` | `[4][32]` | by channels | in shared memory | the paper's other design, Figure 5 |
//! | *repository 1* | `[256][32]` | in global memory | by values | in global memory | the repository's first kernel |
//! | *repository 2* | `[256][32]` | `[128]` | by values | in global memory | its V2, which it launches |
//! | *squares* | in global memory | in global memory | | in a register | not published: 64 threads, a square each, which need no atomics |

use super::tiles::{BANKED, BOARDS, CHANNELS, PLAIN, UNSTAGED, tile_kernels};
use super::{CELLS, WITHOUT_BIAS};
use warpplay_gpu::cuda::{kernel, math, memory, thread};
use warpplay_gpu::launch::LaunchShape;

pub use super::tiles::shape;

/// Launch shape of [`azero_paper_output_squares`].
pub const fn shape_squares(n: u32, n_outputs: u32) -> LaunchShape {
    LaunchShape::grid_2d(n, n_outputs, CELLS)
}

tile_kernels! {
    /// Output convolution, added up in global memory: `out` must be 0 before. The paper's.
    azero_paper_output_global, 1, BANKED, BANKED, false { boards: BOARDS, weights: CHANNELS }
    /// Output convolution, added up in shared memory: the paper's other design.
    azero_paper_output_shared, 1, BANKED, BANKED, false { boards: BOARDS, weights: CHANNELS, sums: CELLS }
    /// Output convolution with filters in global memory: `out` must be 0 before. The repository's first.
    azero_paper_output_repository_1, 1, BANKED, UNSTAGED, true { boards: BOARDS }
    /// Output convolution with filters in the order of memory: `out` must be 0 before. The repository's V2.
    azero_paper_output_repository_2, 1, BANKED, PLAIN, true { boards: BOARDS, weights: CHANNELS }
}

/// Output convolution 1×1, `out = weight · x`, square by square, a thread each.
///
/// * Launch: [`shape_squares`], a block an output of a position, a thread a square: 64.
/// * Reads: `x` `[n, channels, 8, 8]`, `weight` `[outputs, channels]`, `bias`.
/// * Writes: `out` `[n, outputs, 8, 8]`.
/// * Shared: none.
/// * Cost: channels products a thread.
/// * Twin: `warpplay_cpu_ref::azero::forward::Network::conv_1x1`.
/// * Source: our own: the output convolution without atomics.
///
/// # Safety
/// Launched with [`shape_squares`]. `x` holds `n * n_inputs * 64` values, `weight` `outputs * n_inputs`, `bias` `outputs`, `out` `n * outputs * 64`; `out`
/// overlaps none of them.
#[kernel(max_threads = CELLS)]
pub unsafe fn azero_paper_output_squares(
    x: *const f32,
    weight: *const f32,
    bias: *const f32,
    out: *mut f32,
    n_inputs: u32,
    with_bias: u32,
) {
    let (position, output, square) = (thread::block_idx_x(), thread::block_idx_y(), thread::thread_idx_x());
    // SAFETY: position, output and square are those of the launch, channel < n_inputs.
    unsafe {
        let x = x.add(position as usize * n_inputs as usize * CELLS as usize + square as usize);
        let weight = weight.add(output as usize * n_inputs as usize);
        let mut sum = if with_bias == WITHOUT_BIAS { 0.0 } else { memory::load(bias, output as usize) };
        let mut channel = 0;
        while channel < n_inputs as usize {
            sum = math::fma(memory::load(x, channel * CELLS as usize), memory::load(weight, channel), sum);
            channel += 1;
        }
        let at = position as usize * thread::grid_dim_y() as usize + output as usize;
        memory::store(out, at * CELLS as usize + square as usize, sum);
    }
}
