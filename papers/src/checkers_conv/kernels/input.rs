//! Input convolution: planes of the observation to channels, 3×3, one block an output channel of a position.
//!
//! The observation is staged in shared memory as rows of 32 values, the order of memory kept: value `v = plane · 64 + square` is at row `v / 32`, column
//! `v % 32`. For the paper's 5 planes these are the 10 rows of its array. *Padded* rows are 33 values long, the paper's `[10][33]`; *plain* ones 32. Behind
//! it stand the 9 weights of each plane, the paper's `W_kernel[45]`, where they are staged.
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
//! | form | threads | a thread | sums of the planes | published as |
//! |---|---|---|---|---|
//! | *64* | 64 | a square, all planes | in a register | the paper's; *64 global*, with weights in global memory, is ours to compare with |
//! | *64 turned* | 64 | a square, all planes; neighbouring threads are neighbours in a column | in a register | the repository's kernel V3 |
//! | *planes* | 64 a plane | a square of a plane | in shared memory, in order or, *atomic*, as they come | the paper's try of 320 threads |
//! | *planes global* | 64 a plane | a square of a plane | by atomic additions to `out` | the repository's V4 |
//! | *rows* | 8 a plane | a row of a plane | by atomic additions to `out` | the repository's V2, with weights in global memory V1 |
//!
//! The paper says that planes and weights are staged, gives both arrays and both numbers of threads. That its array keeps the order of memory, and how the
//! 320 threads of *planes* bring their sums together, is our reading. The repository divides a value's number by the row's length *with* padding, so
//! that its `[10][33]` is a flat array again; its forms are plain here. *Turned* puts 8 lanes in a column and 4 columns in a warp, whose values lie 8
//! apart: two lanes in a bank. In *rows* 8 lanes are in one bank.

use super::{CELLS, SIDE, TAPS, Values, WITHOUT_BIAS, neighbour};
use warpplay_gpu::cuda::shared::{self, Shared};
use warpplay_gpu::cuda::sync::{sync_threads, warp_step};
use warpplay_gpu::cuda::{atomic, kernel, math, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Values of a row of the staged observation.
pub const ROW: u32 = 32;
/// The same with padding.
pub const PADDED_ROW: u32 = 33;
/// Most planes of the forms with threads for each plane: blocks have at most 1024 threads.
pub const MAX_THREAD_PLANES: u32 = 16;

/// The sums of the planes are kept in shared memory and added up in order.
const IN_ORDER: u32 = 0;
/// They are added up atomically in shared memory.
const ATOMIC: u32 = 1;
/// They are added up atomically in global memory.
const GLOBAL: u32 = 2;

/// Length of the staged observation.
const fn staged(n_planes: u32, row: u32) -> u32 {
    n_planes * (CELLS / ROW) * row
}

/// Length of the staged weights.
const fn weights(n_planes: u32, there: bool) -> u32 {
    if there { n_planes * TAPS } else { 0 }
}

/// Launch shape of `azero_paper_input_64_…`, with weights in shared memory or in global memory; *turned* is plain, with weights in shared memory.
pub const fn shape_64(n: u32, n_planes: u32, n_outputs: u32, padded: bool, weights_staged: bool) -> LaunchShape {
    let row = if padded { PADDED_ROW } else { ROW };
    let shared = staged(n_planes, row) + weights(n_planes, weights_staged);
    LaunchShape::grid_2d(n, n_outputs, CELLS).with_shared(4 * shared)
}

/// Launch shape of the forms with 64 threads for each plane; at most [`MAX_THREAD_PLANES`] of them. `n_sums` are the sums in shared memory: 64 a plane, 64
/// (*atomic*), or none (*global*).
pub const fn shape_planes(n: u32, n_planes: u32, n_outputs: u32, padded: bool, n_sums: u32) -> LaunchShape {
    let row = if padded { PADDED_ROW } else { ROW };
    let shared = staged(n_planes, row) + weights(n_planes, true) + n_sums;
    let mut shape = LaunchShape::grid_2d(n, n_outputs, CELLS).with_shared(4 * shared);
    shape.block[1] = n_planes;
    shape
}

/// Launch shape of the forms with 8 threads for each plane; at most [`MAX_THREAD_PLANES`] of them.
pub const fn shape_rows(n: u32, n_planes: u32, n_outputs: u32, weights_staged: bool) -> LaunchShape {
    let shared = staged(n_planes, ROW) + weights(n_planes, weights_staged);
    let mut shape = LaunchShape::grid_2d(n, n_outputs, SIDE).with_shared(4 * shared);
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

    /// Stages the block's observation and, if asked, its output's weights, by `n_threads` threads of which this is number `thread`. Gives both; the caller
    /// waits for the block.
    ///
    /// # Safety
    /// The grid is `[positions, outputs]`; the operands hold what the kernels' contract says; the block's dynamic shared memory holds both arrays.
    #[inline(always)]
    unsafe fn stage<const ROW_LENGTH: u32, const STAGED: bool>(
        self,
        thread: u32,
        n_threads: u32,
    ) -> (Shared<f32>, Values) {
        let Self { x, weight, n_planes, .. } = self;
        let length = staged(n_planes, ROW_LENGTH);
        let planes = shared::dynamic::<f32>(0, length);
        let (n_values, n_weights) = (n_planes * CELLS, n_planes * TAPS);
        // SAFETY: position and output are those of the launch; values and weights are counted below their numbers.
        unsafe {
            let x = x.add(thread::block_idx_x() as usize * n_values as usize);
            let weight = weight.add(thread::block_idx_y() as usize * n_weights as usize);
            let mut value = thread;
            while value < n_values {
                planes.set_unchecked(value / ROW * ROW_LENGTH + value % ROW, memory::load(x, value as usize));
                value += n_threads;
            }
            if !STAGED {
                return (planes, Values::Global(weight));
            }
            let weights = shared::dynamic::<f32>(4 * length, n_weights);
            let mut at = thread;
            while at < n_weights {
                weights.set_unchecked(at, memory::load(weight, at as usize));
                at += n_threads;
            }
            (planes, Values::Shared(weights))
        }
    }

    /// Where the output channel of the block lies.
    ///
    /// # Safety
    /// As [`Operands::stage`].
    #[inline(always)]
    unsafe fn channel(self) -> *mut f32 {
        let (position, output) = (thread::block_idx_x() as usize, thread::block_idx_y() as usize);
        // SAFETY: position and output are those of the launch.
        unsafe { self.out.add((position * thread::grid_dim_y() as usize + output) * CELLS as usize) }
    }
}

/// Adds one plane's nine products to `sum`.
///
/// # Safety
/// `planes` is the whole observation in rows of `ROW_LENGTH`, `plane` one of its planes; `weights` are the output's weights.
#[inline(always)]
#[track_caller]
unsafe fn add_plane<const ROW_LENGTH: u32>(
    mut sum: f32,
    planes: Shared<f32>,
    weights: Values,
    plane: u32,
    (row, column): (u32, u32),
) -> f32 {
    let mut tap = 0;
    while tap < TAPS {
        // Lanes at the border leave taps out.
        warp_step();
        if let Some(square) = neighbour(row, column, tap) {
            let value = plane * CELLS + square;
            // SAFETY: a square of a plane, so inside both arrays.
            let (value, weight) = unsafe {
                let value = planes.get_unchecked(value / ROW * ROW_LENGTH + value % ROW);
                (value, weights.get(plane * TAPS + tap))
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
unsafe fn by_squares<const ROW_LENGTH: u32, const STAGED: bool, const TURNED: bool>(operands: Operands) {
    let thread = thread::thread_idx_x();
    let (row, column) = if TURNED { (thread % SIDE, thread / SIDE) } else { (thread / SIDE, thread % SIDE) };
    // SAFETY: output, row and column are those of the launch; the shape gives the arrays their lengths.
    unsafe {
        let (planes, weights) = operands.stage::<ROW_LENGTH, STAGED>(thread, CELLS);
        // The whole observation must be there before anybody reads its neighbours, and all weights.
        sync_threads();
        let mut sum = operands.bias(thread::block_idx_y());
        let mut plane = 0;
        while plane < operands.n_planes {
            sum = add_plane::<ROW_LENGTH>(sum, planes, weights, plane, (row, column));
            plane += 1;
        }
        memory::store(operands.channel(), (row * SIDE + column) as usize, sum);
    }
}

/// A thread a square of a plane.
///
/// # Safety
/// As [`azero_paper_input_planes_padded`].
#[inline(always)]
unsafe fn by_planes<const ROW_LENGTH: u32, const SUMS: u32>(operands: Operands) {
    let n_planes = operands.n_planes;
    let before = 4 * (staged(n_planes, ROW_LENGTH) + weights(n_planes, true));
    let sums = shared::dynamic::<f32>(
        before,
        match SUMS {
            IN_ORDER => n_planes * CELLS,
            ATOMIC => CELLS,
            _ => 0,
        },
    );
    let (square, plane, output) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::block_idx_y());
    let value = plane * CELLS + square;
    // SAFETY: output, plane and square are those of the launch; the shape gives the arrays their lengths.
    unsafe {
        let (planes, weights) = operands.stage::<ROW_LENGTH, true>(value, n_planes * CELLS);
        if SUMS == ATOMIC && plane == 0 {
            sums.set_unchecked(square, operands.bias(output));
        }
        // The whole observation, the weights, and the start of the sums must be there.
        sync_threads();
        let start = if SUMS == GLOBAL && plane == 0 { operands.bias(output) } else { 0.0 };
        let sum = add_plane::<ROW_LENGTH>(start, planes, weights, plane, (square / SIDE, square % SIDE));
        let channel = operands.channel();
        if SUMS == GLOBAL {
            atomic::add_f32(channel.add(square as usize), sum);
            return;
        }
        if SUMS == ATOMIC {
            atomic::shared_add_f32(sums, square, sum);
        } else {
            sums.set_unchecked(value, sum);
        }
        // All planes must have given their sums.
        sync_threads();
        // Asked anew, or the compiler writes the barriers twice, once for each answer.
        let plane = math::opaque(plane);
        if plane == 0 {
            let mut sum = if SUMS == ATOMIC { sums.get_unchecked(square) } else { operands.bias(output) };
            if SUMS == IN_ORDER {
                let mut plane = 0;
                while plane < n_planes {
                    sum += sums.get_unchecked(plane * CELLS + square);
                    plane += 1;
                }
            }
            memory::store(channel, square as usize, sum);
        }
    }
}

/// A thread a row of a plane.
///
/// # Safety
/// As [`azero_paper_input_rows`].
#[inline(always)]
unsafe fn by_rows<const STAGED: bool>(operands: Operands) {
    let (row, plane) = (thread::thread_idx_x(), thread::thread_idx_y());
    // SAFETY: output, plane and row are those of the launch; the shape gives the arrays their lengths.
    unsafe {
        let (planes, weights) = operands.stage::<ROW, STAGED>(plane * SIDE + row, operands.n_planes * SIDE);
        // The whole observation must be there, and all weights.
        sync_threads();
        let start = if math::opaque(plane) == 0 { operands.bias(thread::block_idx_y()) } else { 0.0 };
        let channel = operands.channel();
        let mut column = 0;
        while column < SIDE {
            let sum = add_plane::<ROW>(start, planes, weights, plane, (row, column));
            atomic::add_f32(channel.add((row * SIDE + column) as usize), sum);
            column += 1;
        }
    }
}

macro_rules! instances {
    ($($(#[$doc:meta])* $name:ident, $max:expr, $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// The input convolution, planes to channels, 3×3, in the form of its name: which threads, which rows, where weights and sums are.
        ///
        /// * Launch: [`shape_64`], [`shape_planes`] or [`shape_rows`] by its name: a block an output of a position, of 64, 64 × planes or 8 × planes
        ///   threads.
        /// * Reads: `x` `[n, planes, 8, 8]`, `weight` `[outputs, planes, 3, 3]`, `bias`.
        /// * Writes: `out` `[n, outputs, 8, 8]`; *planes global* and *rows* add to it atomically.
        /// * Shared: dynamic: the planes in rows of 32 or 33 values, their weights where they are staged, 64 sums (*atomic*) or 64 a plane (*planes*).
        /// * Cost: 9 × planes products a thread (*64*), 9 and the sum over planes (*planes*), 9 × 8 (*rows*).
        /// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`.
        /// * Source: Paul and Xu, section III.A; the repository's `input_conv_cuda.cu`.
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
    /// Input convolution by 64 threads, rows of 33, weights staged: the paper's; [`shape_64`] with padding.
    azero_paper_input_64_padded, CELLS, by_squares::<PADDED_ROW, true, false>;
    /// Input convolution by 64 threads, rows of 32, weights staged; [`shape_64`] without padding.
    azero_paper_input_64_plain, CELLS, by_squares::<ROW, true, false>;
    /// Input convolution by 64 threads, rows of 33, weights in global memory; [`shape_64`] with padding.
    azero_paper_input_64_global_padded, CELLS, by_squares::<PADDED_ROW, false, false>;
    /// Input convolution by 64 threads, rows of 32, weights in global memory; [`shape_64`] without padding.
    azero_paper_input_64_global_plain, CELLS, by_squares::<ROW, false, false>;
    /// Input convolution by 64 threads that follow one another down a column: the repository's V3; [`shape_64`] without padding, weights staged.
    azero_paper_input_64_turned, CELLS, by_squares::<ROW, true, true>;
    /// Input convolution by 64 threads a plane, rows of 33, sums in the order of the planes; [`shape_planes`].
    azero_paper_input_planes_padded, CELLS * MAX_THREAD_PLANES, by_planes::<PADDED_ROW, IN_ORDER>;
    /// Input convolution by 64 threads a plane, rows of 32, sums in the order of the planes; [`shape_planes`].
    azero_paper_input_planes_plain, CELLS * MAX_THREAD_PLANES, by_planes::<ROW, IN_ORDER>;
    /// Input convolution by 64 threads a plane, rows of 33, atomic sums in shared memory; [`shape_planes`]. The order of additions is not fixed.
    azero_paper_input_planes_atomic_padded, CELLS * MAX_THREAD_PLANES, by_planes::<PADDED_ROW, ATOMIC>;
    /// Input convolution by 64 threads a plane, rows of 32, atomic sums in shared memory; [`shape_planes`]. The order of additions is not fixed.
    azero_paper_input_planes_atomic_plain, CELLS * MAX_THREAD_PLANES, by_planes::<ROW, ATOMIC>;
    /// Input convolution by 64 threads a plane, rows of 32, atomic sums in `out`, which must be 0 before: the repository's V4; [`shape_planes`] without
    /// padding.
    azero_paper_input_planes_global, CELLS * MAX_THREAD_PLANES, by_planes::<ROW, GLOBAL>;
    /// Input convolution by 8 threads a plane, atomic sums in `out`, which must be 0 before, weights staged: the repository's V2; [`shape_rows`].
    azero_paper_input_rows, SIDE * MAX_THREAD_PLANES, by_rows::<true>;
    /// Input convolution by 8 threads a plane, atomic sums in `out`, which must be 0 before, weights in global memory: the repository's V1; [`shape_rows`].
    azero_paper_input_rows_global, SIDE * MAX_THREAD_PLANES, by_rows::<false>;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn the_sources_shapes() {
        // The paper: 128 blocks of 64 threads, input[10][33] and W_kernel[45]; 320 threads were tried.
        let shape = shape_64(1, 5, 128, true, true);
        assert_eq!((shape.grid, shape.n_threads(), shape.shared_bytes), ([1, 128, 1], 64, 4 * (10 * 33 + 45)));
        assert_eq!(shape_planes(1, 5, 128, true, CELLS).n_threads(), 320);
        // The repository's first forms: 5 × 8 threads, [10][32].
        let shape = shape_rows(1, 5, 128, false);
        assert_eq!((shape.n_threads(), shape.shared_bytes), (40, 4 * 10 * 32));
    }

    #[test]
    fn the_repositorys_padded_index_is_the_flat_one() {
        for value in 0..5 * CELLS {
            assert_eq!(value / PADDED_ROW * PADDED_ROW + value % PADDED_ROW, value);
        }
    }
}
