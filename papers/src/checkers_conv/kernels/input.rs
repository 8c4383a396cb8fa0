//! Input convolution: planes of the observation to channels, 3×3, one block an output channel of a position.
//!
//! The observation is staged in shared memory as rows of 32 values, the order of memory kept: value `v = plane · 64 + square` is at row `v / 32`, column
//! `v % 32`. For the paper's 5 planes these are the 10 rows of its array. *Padded* rows are 33 values long, the paper's `[10][33]`; *plain* ones 32.
//!
//! ```text
//! plane 0   row 0   squares  0 … 31   (board rows 0–3)   + 1 value of padding
//!           row 1   squares 32 … 63   (board rows 4–7)
//! plane 1   row 2   …
//! ```
//!
//! A warp reads 32 neighbouring values at a time, which lie in 32 different banks without any padding. With it, the values that come after the end of a
//! row lie one bank further, and a read across that end meets a bank twice. `simt` counts both.
//!
//! *64*: a thread a square, which adds up all planes. *Planes*: a thread a square of a plane, 320 for 5 planes; the sums of the planes are added up
//! through shared memory, in the order of the planes or, *atomic*, by atomic additions in whatever order they come.
//!
//! The published description says that the planes are staged, gives the array and both numbers of threads; that the array keeps the order of memory, and
//! how the 320 threads bring their sums together, is our reading.
//!
//! Launch  grid `[positions, outputs]`, block `[64]` or `[64, planes]`, dynamic shared memory: the array, and 64 values (*atomic*) or 64 a plane (*planes*).
//! Reads   `x` `[n, planes, 8, 8]`, `weight` `[outputs, planes, 3, 3]`, `bias` `[outputs]`, all f32.
//! Writes  `out` `[n, outputs, 8, 8]` f32.
//! Twin    `warpplay_cpu_ref::azero`.   Paper  Paul and Xu, input kernel.

use super::{CELLS, SIDE, TAPS, WITHOUT_BIAS, neighbour};
use warpplay_gpu::cuda::shared::{self, Shared};
use warpplay_gpu::cuda::sync::{sync_threads, warp_step};
use warpplay_gpu::cuda::{atomic, kernel, math, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Values of a row of the staged observation.
pub const ROW: u32 = 32;
/// The same with padding.
pub const PADDED_ROW: u32 = 33;
/// Most planes of the forms with a thread for each plane: blocks have at most 1024 threads.
pub const MAX_THREAD_PLANES: u32 = 16;

/// Length of the staged observation.
const fn staged(n_planes: u32, row: u32) -> u32 {
    n_planes * (CELLS / ROW) * row
}

/// Launch shape of `azero_paper_input_64_padded` and `…_plain`.
pub const fn shape_64(n: u32, n_planes: u32, n_outputs: u32, padded: bool) -> LaunchShape {
    let row = if padded { PADDED_ROW } else { ROW };
    LaunchShape::grid_2d(n, n_outputs, CELLS).with_shared(4 * staged(n_planes, row))
}

/// Launch shape of the forms with a thread for each plane; at most [`MAX_THREAD_PLANES`] of them.
pub const fn shape_planes(n: u32, n_planes: u32, n_outputs: u32, padded: bool, atomic: bool) -> LaunchShape {
    let row = if padded { PADDED_ROW } else { ROW };
    let sums = if atomic { CELLS } else { n_planes * CELLS };
    let mut shape = LaunchShape::grid_2d(n, n_outputs, CELLS).with_shared(4 * (staged(n_planes, row) + sums));
    shape.block[1] = n_planes;
    shape
}

/// Operands of one convolution.
#[derive(Clone, Copy)]
struct Operands {
    x: *const f32,
    weight: *const f32,
    bias: *const f32,
    out: *mut f32,
    n_planes: u32,
    with_bias: u32,
}

impl Operands {
    /// The bias of an output, or 0.
    ///
    /// # Safety
    /// `bias` holds `output`.
    #[inline(always)]
    #[track_caller]
    unsafe fn bias(self, output: u32) -> f32 {
        if self.with_bias == WITHOUT_BIAS {
            return 0.0;
        }
        // SAFETY: the caller vouches for the output.
        unsafe { memory::load(self.bias, output as usize) }
    }
}

/// Adds one plane's nine products to `sum`.
///
/// # Safety
/// `planes` is the whole observation in rows of `ROW_LENGTH`, `plane` one of its planes; `weight` are the output's weights.
#[inline(always)]
#[track_caller]
unsafe fn add_plane<const ROW_LENGTH: u32>(
    mut sum: f32,
    planes: Shared<f32>,
    weight: *const f32,
    plane: u32,
    square: u32,
) -> f32 {
    let (row, column) = (square / SIDE, square % SIDE);
    let mut tap = 0;
    while tap < TAPS {
        // Lanes at the border leave taps out.
        warp_step();
        if let Some(square) = neighbour(row, column, tap) {
            let value = plane * CELLS + square;
            // SAFETY: a square of a plane, so inside both arrays.
            let (value, weight) = unsafe {
                let value = planes.get_unchecked(value / ROW * ROW_LENGTH + value % ROW);
                (value, memory::load(weight, (plane * TAPS + tap) as usize))
            };
            sum = math::fma(value, weight, sum);
        }
        tap += 1;
    }
    sum
}

/// A thread a square.
///
/// # Safety
/// As [`azero_paper_input_64_padded`].
#[inline(always)]
unsafe fn by_squares<const ROW_LENGTH: u32>(operands: Operands) {
    let Operands { x, weight, out, n_planes, .. } = operands;
    let planes = shared::dynamic::<f32>(0, staged(n_planes, ROW_LENGTH));
    let (position, output, square) = (thread::block_idx_x(), thread::block_idx_y(), thread::thread_idx_x());
    let n_values = n_planes * CELLS;
    // SAFETY: position, output and square are those of the launch; the shape gives the array its length.
    unsafe {
        let x = x.add(position as usize * n_values as usize);
        let mut value = square;
        while value < n_values {
            planes.set_unchecked(value / ROW * ROW_LENGTH + value % ROW, memory::load(x, value as usize));
            value += CELLS;
        }
        // The whole observation must be there before anybody reads its neighbours.
        sync_threads();
        let weight = weight.add(output as usize * (n_planes * TAPS) as usize);
        let mut sum = operands.bias(output);
        let mut plane = 0;
        while plane < n_planes {
            sum = add_plane::<ROW_LENGTH>(sum, planes, weight, plane, square);
            plane += 1;
        }
        let channel = position as usize * thread::grid_dim_y() as usize + output as usize;
        memory::store(out, channel * CELLS as usize + square as usize, sum);
    }
}

/// A thread a square of a plane.
///
/// # Safety
/// As [`azero_paper_input_planes_padded`].
#[inline(always)]
unsafe fn by_planes<const ROW_LENGTH: u32, const ATOMIC: bool>(operands: Operands) {
    let Operands { x, weight, out, n_planes, .. } = operands;
    let length = staged(n_planes, ROW_LENGTH);
    let planes = shared::dynamic::<f32>(0, length);
    let sums = shared::dynamic::<f32>(4 * length, if ATOMIC { CELLS } else { n_planes * CELLS });
    let (position, output) = (thread::block_idx_x(), thread::block_idx_y());
    let (square, plane) = (thread::thread_idx_x(), thread::thread_idx_y());
    let value = plane * CELLS + square;
    // SAFETY: position, output, plane and square are those of the launch; the shape gives the arrays their lengths.
    unsafe {
        let x = x.add(position as usize * (n_planes * CELLS) as usize);
        planes.set_unchecked(value / ROW * ROW_LENGTH + value % ROW, memory::load(x, value as usize));
        if ATOMIC && plane == 0 {
            sums.set_unchecked(square, operands.bias(output));
        }
        // The whole observation, and the start of the sums, must be there.
        sync_threads();
        let weight = weight.add(output as usize * (n_planes * TAPS) as usize);
        let sum = add_plane::<ROW_LENGTH>(0.0, planes, weight, plane, square);
        if ATOMIC {
            atomic::shared_add_f32(sums, square, sum);
        } else {
            sums.set_unchecked(value, sum);
        }
        // All planes must have given their sums.
        sync_threads();
        // Asked anew, or the compiler writes the barriers twice, once for each answer.
        let plane = math::opaque(plane);
        if plane == 0 {
            let mut sum = if ATOMIC { sums.get_unchecked(square) } else { operands.bias(output) };
            if !ATOMIC {
                let mut plane = 0;
                while plane < n_planes {
                    sum += sums.get_unchecked(plane * CELLS + square);
                    plane += 1;
                }
            }
            let channel = position as usize * thread::grid_dim_y() as usize + output as usize;
            memory::store(out, channel * CELLS as usize + square as usize, sum);
        }
    }
}

macro_rules! instances {
    ($($(#[$doc:meta])* $name:ident, $max:expr, $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Launched with the shape of this form. `x` holds `n * n_planes * 64` values, `weight` `outputs * n_planes * 9`, `bias` `outputs`, `out`
        /// `n * outputs * 64`; `out` overlaps none of them; `n_planes >= 1`.
        #[kernel(max_threads = $max)]
        pub unsafe fn $name(
            x: *const f32,
            weight: *const f32,
            bias: *const f32,
            out: *mut f32,
            n_planes: u32,
            with_bias: u32,
        ) {
            // SAFETY: the same contract.
            unsafe { $body(Operands { x, weight, bias, out, n_planes, with_bias }) }
        }
    )*};
}

instances! {
    /// Input convolution by 64 threads, rows of 33; [`shape_64`] with padding.
    azero_paper_input_64_padded, CELLS, by_squares::<PADDED_ROW>;
    /// Input convolution by 64 threads, rows of 32; [`shape_64`] without padding.
    azero_paper_input_64_plain, CELLS, by_squares::<ROW>;
    /// Input convolution by 64 threads a plane, rows of 33, sums in the order of the planes; [`shape_planes`].
    azero_paper_input_planes_padded, CELLS * MAX_THREAD_PLANES, by_planes::<PADDED_ROW, false>;
    /// Input convolution by 64 threads a plane, rows of 32, sums in the order of the planes; [`shape_planes`].
    azero_paper_input_planes_plain, CELLS * MAX_THREAD_PLANES, by_planes::<ROW, false>;
    /// Input convolution by 64 threads a plane, rows of 33, atomic sums in shared memory; [`shape_planes`]. The order of additions is not fixed.
    azero_paper_input_planes_atomic_padded, CELLS * MAX_THREAD_PLANES, by_planes::<PADDED_ROW, true>;
    /// Input convolution by 64 threads a plane, rows of 32, atomic sums in shared memory; [`shape_planes`]. The order of additions is not fixed.
    azero_paper_input_planes_atomic_plain, CELLS * MAX_THREAD_PLANES, by_planes::<ROW, true>;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn the_sources_shapes() {
        let shape = shape_64(1, 5, 128, true);
        assert_eq!((shape.grid, shape.n_threads(), shape.shared_bytes), ([1, 128, 1], 64, 4 * 10 * 33));
        assert_eq!(shape_planes(1, 5, 128, true, false).n_threads(), 320);
    }
}
