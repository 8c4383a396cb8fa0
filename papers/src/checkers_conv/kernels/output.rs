//! Output convolution: channels to a head's few, 1×1, one block an output channel of a position, a thread a square.
//!
//! Launch  grid [positions, outputs], block 64.
//! Reads   `x` `[n, channels, 8, 8]`, `weight` `[outputs, channels]`, `bias` `[outputs]`, all f32.
//! Writes  `out` `[n, outputs, 8, 8]` f32.
//! Twin    `warpplay_cpu_ref::azero`.   Paper  Paul and Xu, output kernel.

use super::{CELLS, WITHOUT_BIAS};
use warpplay_gpu::cuda::{kernel, math, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Launch shape of [`azero_paper_output`].
pub const fn shape(n: u32, n_outputs: u32) -> LaunchShape {
    LaunchShape::grid_2d(n, n_outputs, CELLS)
}

/// `out = weight · x`, square by square.
///
/// # Safety
/// Launched with [`shape`]. `x` holds `n * n_inputs * 64` values, `weight` `outputs * n_inputs`, `bias` `outputs`, `out` `n * outputs * 64`; `out` overlaps
/// none of them.
#[kernel(max_threads = CELLS)]
pub unsafe fn azero_paper_output(
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
