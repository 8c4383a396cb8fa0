//! Matrix products in single precision: tiles of both operands in shared memory, a small tile of the result in each thread's registers.
//!
//! ```text
//! shared, two of each, so that one is filled while the other is read:
//!   first   [DEPTH][ROWS + 4]      element (depth, row)      the 4 keeps lines of quads off the same banks
//!   second  [DEPTH][COLS + 4]      element (depth, column)
//! a thread  4 R rows x 4 C columns, in quads that lie ROWS / R and COLS / C apart
//! ```
//!
//! A product is a sum over the depth in ascending order of fused multiply-adds, in both sizes of tiles: they give the same bits.
//!
//! | kernel | what | depth |
//! |---|---|---|
//! | `mlp_layers_forward_images_*` | activations of the first layer from the images | pixels |
//! | `mlp_layers_forward_*` | activations of a later layer | its inputs |
//! | `mlp_layers_backward_*` | gradient of a layer's inputs, 0 where they are 0 | its outputs |
//! | `mlp_layers_gradient_images_*`, `mlp_layers_gradient_*` | gradient of weights and bias, a part of the batch for each z of the grid | samples |
//!
//! The grid is columns x rows x parts.

use super::view::{self, Images, Line, Matrix, NO_LINE, Values, line_length};
use crate::cuda::math::fma;
use crate::cuda::memory;
use crate::cuda::shared::Shared;
use crate::cuda::{DeviceArgs, kernel, shared_array, sync, thread};
use crate::launch::LaunchShape;

/// A size of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Rows of the result that a block makes.
    pub rows: u32,
    /// Columns of the result that a block makes.
    pub cols: u32,
    /// Depths that are in shared memory at once.
    pub depth: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// Tiles for large batches.
pub const LARGE: Tiles = Tiles { rows: 128, cols: 128, depth: 16, threads: 256 };
/// Tiles for all else: more blocks.
pub const SMALL: Tiles = Tiles { rows: 32, cols: 32, depth: 32, threads: 64 };

impl Tiles {
    /// Launch shape for a result of `n_rows` x `n_cols`, in `n_parts` parts of the depth.
    pub const fn shape(&self, n_rows: u32, n_cols: u32, n_parts: u32) -> LaunchShape {
        LaunchShape {
            grid: [n_cols.div_ceil(self.cols), n_rows.div_ceil(self.rows), n_parts],
            ..LaunchShape::new(1, self.threads)
        }
    }
}

/// Words of a tile pair in shared memory, large and small; their lines are four longer than the tile.
const LARGE_WORDS: usize = 2 * 16 * (128 + 4);
const SMALL_WORDS: usize = 2 * 32 * (32 + 4);

/// One layer's product in a step: what all kernels here take.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Rows, columns and parts of the result, as the launch's shape has them.
    size: [u32; 3]
)]
#[require(image_stride.is_multiple_of(16))]
pub struct LayerProduct {
    /// The step's samples.
    #[args]
    pub rows: view::Rows,
    /// Images, `[n_samples, image_stride]`, for the first layer; null for the others.
    #[len(rows.n_samples() * image_stride)]
    #[nullable]
    pub images: *const u8,
    /// Inputs of the layer, `[batch, line_length(n_inputs)]`; null for the first.
    #[len(rows.batch * line_length(n_inputs))]
    #[nullable]
    pub inputs: *const f32,
    /// Weights and bias, `[n_inputs + 1, line_length(n_outputs)]`.
    #[len((n_inputs + 1) * line_length(n_outputs))]
    pub parameters: *const f32,
    /// Gradient of the outputs before ReLU, `[batch, line_length(n_outputs)]`; null for forward.
    #[len(rows.batch * line_length(n_outputs))]
    #[nullable]
    pub output_gradient: *const f32,
    /// What the kernel writes. Forward: the outputs, `[batch, line_length(n_outputs)]`. Backward: `[batch, line_length(n_inputs)]`. Gradient: parts,
    /// `[n_parts, n_inputs + 1, line_length(n_outputs)]`.
    #[len(size[0] * line_length(size[1]) * size[2])]
    pub result: *mut f32,
    /// Set to 1 where a gradient is not finite; may be null.
    #[len(1)]
    #[nullable]
    pub overflow: *mut u32,
    /// Inputs of the layer.
    pub n_inputs: u32,
    /// Outputs of the layer.
    pub n_outputs: u32,
    /// Bytes of an image in memory.
    pub image_stride: u32,
    /// Samples of a part, a multiple of the tile's depth.
    pub part: u32,
    /// Whether ReLU follows: 1 but for the last layer.
    pub activate: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<LayerProduct>() == 104);

#[cfg(not(target_arch = "nvptx64"))]
impl LayerProduct {
    /// Parts of a batch in a gradient's product.
    pub fn n_parts(&self) -> u32 {
        self.rows.batch.div_ceil(self.part.max(1))
    }
}

/// What becomes of a product's result.
pub trait Output: Copy {
    /// Takes four elements of row `row` from column `col` on, a multiple of 4. Elements outside the result are given too.
    ///
    /// # Safety
    /// The output describes valid memory; every quad is given once.
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]);
}

/// Adds the bias, and applies ReLU.
#[derive(Clone, Copy)]
pub struct Activated {
    pub(super) bias: *const f32,
    pub(super) result: *mut f32,
    pub(super) n_rows: u32,
    pub(super) ld: u32,
    /// Outputs up to this become 0: 0 with ReLU, else minus infinity.
    pub(super) floor: f32,
    /// Factor of the product, for operands that are not scaled.
    pub(super) factor: f32,
}

impl Output for Activated {
    #[inline(always)]
    #[track_caller]
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        if row < self.n_rows && col < self.ld {
            // SAFETY: inside the bias line and the result.
            unsafe {
                let bias = memory::load_quad(self.bias, col as usize);
                let mut z = [0.0; 4];
                let mut j = 0;
                while j < 4 {
                    z[j] = quad[j] * self.factor + bias[j];
                    // Not `max`: a NaN must stay one, so that it is found in the loss.
                    z[j] = if z[j] <= self.floor { 0.0 } else { z[j] };
                    j += 1;
                }
                memory::store_quad(self.result, row as usize * self.ld as usize + col as usize, z);
            }
        }
    }
}

/// Keeps what belongs to positive inputs.
#[derive(Clone, Copy)]
pub struct Masked {
    pub(super) inputs: *const f32,
    pub(super) result: *mut f32,
    pub(super) n_rows: u32,
    pub(super) ld: u32,
}

impl Output for Masked {
    #[inline(always)]
    #[track_caller]
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        if row < self.n_rows && col < self.ld {
            let at = row as usize * self.ld as usize + col as usize;
            // SAFETY: inside the inputs and the result.
            unsafe {
                let inputs = memory::load_quad(self.inputs, at);
                let mut gradient = [0.0; 4];
                let mut j = 0;
                while j < 4 {
                    if inputs[j] > 0.0 {
                        gradient[j] = quad[j];
                    }
                    j += 1;
                }
                memory::store_quad(self.result, at, gradient);
            }
        }
    }
}

/// Stores a part of a gradient.
#[derive(Clone, Copy)]
pub struct Part {
    pub(super) result: *mut f32,
    pub(super) overflow: *mut u32,
    pub(super) n_rows: u32,
    pub(super) ld: u32,
    /// Factor of the product, for operands that are not scaled.
    pub(super) factor: f32,
}

impl Output for Part {
    #[inline(always)]
    #[track_caller]
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        if row < self.n_rows && col < self.ld {
            let quad = quad.map(|value| value * self.factor);
            // SAFETY: inside the part; all threads that find an overflow write the same.
            unsafe {
                memory::store_quad(self.result, row as usize * self.ld as usize + col as usize, quad);
                let mut j = 0;
                while j < 4 {
                    if !self.overflow.is_null() && !quad[j].is_finite() {
                        memory::store(self.overflow, 0, 1);
                    }
                    j += 1;
                }
            }
        }
    }
}

/// What a thread brings of an operand: `QUADS` quads of each tile of `SIZE` rows or columns, whose depths are the quads of `THREADS` threads.
struct Share<M: Matrix, const SIZE: u32, const THREADS: u32, const QUADS: usize> {
    matrix: M,
    /// First row or column of the tiles, a multiple of 4.
    first: u32,
    /// The thread's line where lines run along the depth.
    own: Line,
}

impl<M: Matrix, const SIZE: u32, const THREADS: u32, const QUADS: usize> Share<M, SIZE, THREADS, QUADS> {
    /// The share of the tiles from row or column `first` on.
    ///
    /// # Safety
    /// The matrix describes valid memory; `first` is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    unsafe fn new(matrix: M, first: u32) -> Self {
        // SAFETY: the matrix describes valid memory, as the caller says; it answers for any line, inside or not.
        let own = if M::ALONG_DEPTH { unsafe { matrix.line(first + thread::thread_idx_x() % SIZE) } } else { NO_LINE };
        Self { matrix, first, own }
    }

    /// The lines of the thread's quads of the tile at a depth.
    #[inline(always)]
    #[track_caller]
    fn lines(&self, depth: u32) -> [Line; QUADS] {
        let mut lines = [self.own; QUADS];
        if !M::ALONG_DEPTH {
            let mut i = 0;
            while i < QUADS {
                let at = thread::thread_idx_x() + i as u32 * THREADS;
                // SAFETY: the matrix describes valid memory, as `new` asks; it answers for any line, inside or not.
                lines[i] = unsafe { self.matrix.line(depth + at / (SIZE / 4)) };
                i += 1;
            }
        }
        lines
    }

    /// Reads the thread's quads of the tile at a depth.
    ///
    /// # Safety
    /// The lines are this share's [`lines`](Self::lines) of the depth, which is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    unsafe fn fetch(&self, lines: &[Line; QUADS], depth: u32) -> [[f32; 4]; QUADS] {
        let mut quads = [[0.0; 4]; QUADS];
        let mut i = 0;
        while i < QUADS {
            let at = thread::thread_idx_x() + i as u32 * THREADS;
            let inner = if M::ALONG_DEPTH { depth + at / SIZE * 4 } else { self.first + at % (SIZE / 4) * 4 };
            // SAFETY: the lines came from this matrix, which describes valid memory; `inner` is a multiple of 4, as depth and `first` are.
            quads[i] = unsafe { self.matrix.quad(lines[i], inner) };
            i += 1;
        }
        quads
    }

    /// Puts the thread's quads into the tile that begins at word `from`, whose lines are one depth each.
    ///
    /// # Safety
    /// The array has a tile from there on, at a multiple of 4 words.
    #[inline(always)]
    #[track_caller]
    unsafe fn put(&self, tile: Shared<f32>, from: u32, quads: [[f32; 4]; QUADS]) {
        let mut i = 0;
        while i < QUADS {
            let at = thread::thread_idx_x() + i as u32 * THREADS;
            // SAFETY: row and depth, and the three behind one of them, are below the tile's size and depth; lines are whole quads, and the tile begins at one.
            unsafe {
                if M::ALONG_DEPTH {
                    let (row, depth) = (at % SIZE, at / SIZE * 4);
                    let mut j = 0;
                    while j < 4 {
                        tile.set_unchecked(from + (depth + j) * (SIZE + 4) + row, quads[i][j as usize]);
                        j += 1;
                    }
                } else {
                    let (row, depth) = (at % (SIZE / 4) * 4, at / (SIZE / 4));
                    tile.set_quad_unchecked(from + depth * (SIZE + 4) + row, quads[i]);
                }
            }
            i += 1;
        }
    }
}

/// First row and column of the thread within a tile of `COLS` columns, of which it has `C` quads of each of its rows.
#[inline(always)]
fn own_quad<const COLS: u32, const C: usize>() -> (u32, u32) {
    let (me, across) = (thread::thread_idx_x(), COLS / (4 * C as u32));
    (me / across * 4, me % across * 4)
}

/// Gives a thread's sums to the output; the block's tile begins at `first_row` and `first_col`.
///
/// # Safety
/// As [`Output::put`]: every thread of the block has other rows or columns.
#[inline(always)]
#[track_caller]
unsafe fn put_sums<O: Output, const ROWS: u32, const COLS: u32, const R: usize, const C: usize>(
    sums: &[[[[f32; 4]; 4]; C]; R],
    out: O,
    (first_row, first_col): (u32, u32),
    (my_row, my_col): (u32, u32),
) {
    let mut r = 0;
    while r < R {
        let mut i = 0;
        while i < 4 {
            let mut c = 0;
            while c < C {
                let row = first_row + r as u32 * (ROWS / R as u32) + my_row + i as u32;
                let col = first_col + c as u32 * (COLS / C as u32) + my_col;
                // SAFETY: the output describes valid memory; r, i and c name each of the thread's quads once, and no other thread has them.
                unsafe { out.put(row, col, sums[r][c][i]) };
                c += 1;
            }
            i += 1;
        }
        r += 1;
    }
}

/// A thread's quads of a line of a tile, which begins at word `line` of the array: `N`, of which the first is `first` words behind that, and the others a share `N` of the line further each.
///
/// # Safety
/// The array has the line's `SIZE` values; words are multiples of 4, `first` below `SIZE / N`.
#[inline(always)]
#[track_caller]
unsafe fn quads_of_line<const SIZE: u32, const N: usize>(tile: Shared<f32>, line: u32, first: u32) -> [[f32; 4]; N] {
    // SAFETY: `first + i * (SIZE / N)` is a multiple of 4 below `SIZE`, so the quad is one of the line's.
    core::array::from_fn(|i| unsafe { tile.get_quad_unchecked(line + i as u32 * (SIZE / N as u32) + first) })
}

/// Adds the products of a thread's values of one depth to its sums.
#[inline(always)]
fn add_products<const R: usize, const C: usize>(
    sums: &mut [[[[f32; 4]; 4]; C]; R],
    left: &[[f32; 4]; R],
    right: &[[f32; 4]; C],
) {
    let mut r = 0;
    while r < R {
        let mut c = 0;
        while c < C {
            let mut i = 0;
            while i < 4 {
                let mut j = 0;
                while j < 4 {
                    sums[r][c][i][j] = fma(left[r][i], right[c][j], sums[r][c][i][j]);
                    j += 1;
                }
                i += 1;
            }
            c += 1;
        }
        r += 1;
    }
}

/// Adds the products of two tiles, each from a word of its array on, to the sums of the thread whose first row and column are `my_row` and `my_col`.
///
/// # Safety
/// The arrays have a whole tile from those words on, `DEPTH` lines of `ROWS + 4` and of `COLS + 4`. Words, row and column are multiples of 4, row and column below `ROWS / R` and `COLS / C`.
#[inline(always)]
#[track_caller]
unsafe fn multiply<const ROWS: u32, const COLS: u32, const DEPTH: u32, const R: usize, const C: usize>(
    (tile_a, from_a): (Shared<f32>, u32),
    (tile_b, from_b): (Shared<f32>, u32),
    (my_row, my_col): (u32, u32),
    sums: &mut [[[[f32; 4]; 4]; C]; R],
) {
    let mut k = 0;
    while k < DEPTH {
        // SAFETY: line k of each tile has ROWS or COLS values, and begins at a multiple of 4, as the caller's words do; so do the thread's row and column.
        let (left, right) = unsafe {
            let left = quads_of_line::<ROWS, R>(tile_a, from_a + k * (ROWS + 4), my_row);
            (left, quads_of_line::<COLS, C>(tile_b, from_b + k * (COLS + 4), my_col))
        };
        add_products(sums, &left, &right);
        k += 1;
    }
}

/// The block's tile of the product of `first` `[rows, depth]` and `second` `[depth, columns]`, depths `from` to `to`.
///
/// # Safety
/// Every thread of a block of `THREADS` calls it with the same `from` and `to`; operands and output describe valid memory; the shared arrays hold two
/// tiles each.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "what a product is made of")]
unsafe fn product<
    A: Matrix,
    B: Matrix,
    O: Output,
    const ROWS: u32,
    const COLS: u32,
    const DEPTH: u32,
    const THREADS: u32,
    const R: usize,
    const C: usize,
    const QUADS_A: usize,
    const QUADS_B: usize,
>(
    a: A,
    b: B,
    out: O,
    from: u32,
    to: u32,
    tile_a: Shared<f32>,
    tile_b: Shared<f32>,
) {
    let (first_row, first_col) = (thread::block_idx_y() * ROWS, thread::block_idx_x() * COLS);
    let (my_row, my_col) = own_quad::<COLS, C>();
    let mut sums = [[[[0.0f32; 4]; 4]; C]; R];
    // SAFETY: operands and output describe valid memory, as the caller says; the quads of each tile are fetched by lines of its own depth, which are read a turn before, as the quads
    // wait for them. The arrays hold two tiles each, `half` is 0 or 1, and the thread's sums are no other's.
    unsafe {
        let share_a = Share::<A, ROWS, THREADS, QUADS_A>::new(a, first_row);
        let share_b = Share::<B, COLS, THREADS, QUADS_B>::new(b, first_col);
        let (mut lines_a, mut lines_b) = (share_a.lines(from), share_b.lines(from));
        if from < to {
            let (quads_a, quads_b) = (share_a.fetch(&lines_a, from), share_b.fetch(&lines_b, from));
            (lines_a, lines_b) = (share_a.lines(from + DEPTH), share_b.lines(from + DEPTH));
            share_a.put(tile_a, 0, quads_a);
            share_b.put(tile_b, 0, quads_b);
        }
        // The first tiles must be whole.
        sync::sync_threads();
        let (mut depth, mut half) = (from, 0);
        while depth < to {
            let next = depth + DEPTH;
            let (mut quads_a, mut quads_b) = ([[0.0; 4]; QUADS_A], [[0.0; 4]; QUADS_B]);
            if next < to {
                (quads_a, quads_b) = (share_a.fetch(&lines_a, next), share_b.fetch(&lines_b, next));
                (lines_a, lines_b) = (share_a.lines(next + DEPTH), share_b.lines(next + DEPTH));
            }
            let (from_a, from_b) = (half * DEPTH * (ROWS + 4), half * DEPTH * (COLS + 4));
            multiply::<ROWS, COLS, DEPTH, R, C>((tile_a, from_a), (tile_b, from_b), (my_row, my_col), &mut sums);
            half = 1 - half;
            if next < to {
                share_a.put(tile_a, half * DEPTH * (ROWS + 4), quads_a);
                share_b.put(tile_b, half * DEPTH * (COLS + 4), quads_b);
            }
            // The next tiles must be whole, and the present ones read by all.
            sync::sync_threads();
            depth = next;
        }
        put_sums::<O, ROWS, COLS, R, C>(&sums, out, (first_row, first_col), (my_row, my_col));
    }
}

impl LayerProduct {
    /// The images as rows of the first operand.
    #[inline(always)]
    pub(super) fn images<const ALONG_DEPTH: bool, const UNIT: bool, const SCALED: bool>(
        &self,
        offset: u32,
    ) -> Images<ALONG_DEPTH, UNIT, SCALED> {
        let n_lines = self.rows.count(offset);
        let unit = self.n_inputs;
        Images { base: self.images, stride: self.image_stride, rows: self.rows, offset, n_lines, unit }
    }

    /// The layer's inputs.
    #[inline(always)]
    pub(super) fn inputs<const ALONG_DEPTH: bool, const UNIT: bool>(&self, n_rows: u32) -> Values<ALONG_DEPTH, UNIT> {
        Values { base: self.inputs, n_lines: n_rows, ld: line_length(self.n_inputs), unit: self.n_inputs }
    }

    /// The weights without the bias.
    #[inline(always)]
    pub(super) fn weights<const ALONG_DEPTH: bool>(&self) -> Values<ALONG_DEPTH, false> {
        Values { base: self.parameters, n_lines: self.n_inputs, ld: line_length(self.n_outputs), unit: 0 }
    }

    /// The gradient of the outputs.
    #[inline(always)]
    pub(super) fn output_gradient<const ALONG_DEPTH: bool>(&self, n_rows: u32) -> Values<ALONG_DEPTH, false> {
        Values { base: self.output_gradient, n_lines: n_rows, ld: line_length(self.n_outputs), unit: 0 }
    }

    /// Forward: what becomes of the sums.
    #[inline(always)]
    pub(super) fn activated(&self, n_rows: u32, factor: f32) -> Activated {
        let ld = line_length(self.n_outputs);
        // The bias is the line after the weights.
        let bias = self.parameters.wrapping_add(self.n_inputs as usize * ld as usize);
        let floor = if self.activate != 0 { 0.0 } else { f32::NEG_INFINITY };
        Activated { bias, result: self.result, n_rows, ld, floor, factor }
    }

    /// Backward: what becomes of the sums.
    #[inline(always)]
    pub(super) fn masked(&self, n_rows: u32) -> Masked {
        Masked { inputs: self.inputs, result: self.result, n_rows, ld: line_length(self.n_inputs) }
    }

    /// Gradient: the block's part, and its first and last sample.
    #[inline(always)]
    pub(super) fn own_part(&self, n_rows: u32, factor: f32) -> (Part, u32, u32) {
        let ld = line_length(self.n_outputs);
        let lines = self.n_inputs + 1;
        let part = thread::block_idx_z();
        let result = self.result.wrapping_add(part as usize * lines as usize * ld as usize);
        let from = part * self.part;
        let to = from + self.part;
        (
            Part { result, overflow: self.overflow, n_rows: lines, ld, factor },
            from,
            if to < n_rows { to } else { n_rows },
        )
    }
}

macro_rules! kernels {
    ($tiles:ident, $words:ident: $rows:literal, $cols:literal, $depth:literal, $threads:literal, $r:literal, $c:literal, $qa:literal, $qb:literal,
     $forward_images:ident, $forward:ident, $backward:ident, $gradient_images:ident, $gradient:ident) => {
        const _: () = assert!($tiles.rows == $rows && $tiles.cols == $cols && $tiles.depth == $depth && $tiles.threads == $threads);
        const _: () = assert!($rows * $depth == 4 * $qa * $threads && $cols * $depth == 4 * $qb * $threads);
        const _: () = assert!($threads * 16 * $r * $c == $rows * $cols);

        /// Outputs of the first layer from the images, with bias, and with ReLU where another layer follows.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `batch` × `n_outputs`, one part.
        /// * Reads: `images` of the step's samples, `parameters`.
        /// * Writes: `result` `[batch, n_outputs]`.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × samples × outputs × pixels operations.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`.
        /// * Source: Ha and Beqaj, section 1.1 (forward) and section 1.3, kernel 2 (the tile); tiles of registers are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory.
        #[kernel(shape = $tiles.shape(layer.rows.batch, layer.n_outputs, 1), max_threads = $threads)]
        pub unsafe fn $forward_images(layer: LayerProduct) {
            // SAFETY: blocks have the threads of these tiles, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each.
            unsafe {
                let offset = layer.rows.offset();
                let n_rows = layer.rows.count(offset);
                product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                    layer.images::<true, false, true>(offset), layer.weights::<false>(), layer.activated(n_rows, 1.0), 0, layer.n_inputs,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }

        /// Outputs of a later layer, with bias, and with ReLU where another layer follows.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `batch` × `n_outputs`, one part.
        /// * Reads: `inputs`, `parameters`.
        /// * Writes: `result` `[batch, n_outputs]`.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × samples × outputs × inputs operations.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`.
        /// * Source: Ha and Beqaj, section 1.1 (forward) and section 1.3, kernel 2 (the tile); tiles of registers are ours.
        ///
        /// # Safety
        /// As the first layer's.
        #[kernel(shape = $tiles.shape(layer.rows.batch, layer.n_outputs, 1), max_threads = $threads)]
        pub unsafe fn $forward(layer: LayerProduct) {
            // SAFETY: blocks have the threads of these tiles, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each.
            unsafe {
                let n_rows = layer.rows.count(layer.rows.offset());
                product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                    layer.inputs::<true, false>(n_rows), layer.weights::<false>(), layer.activated(n_rows, 1.0), 0, layer.n_inputs,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }

        /// Gradient of a layer's inputs before their ReLU: 0 where they are 0.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `batch` × `n_inputs`, one part.
        /// * Reads: `output_gradient`, `parameters`, `inputs`.
        /// * Writes: `result` `[batch, n_inputs]`.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × samples × inputs × outputs operations.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::backward`.
        /// * Source: Ha and Beqaj, section 1.1 (∂L/∂h, ReLU masking) and section 1.3, kernel 5; tiles of registers are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory.
        #[kernel(shape = $tiles.shape(layer.rows.batch, layer.n_inputs, 1), max_threads = $threads)]
        pub unsafe fn $backward(layer: LayerProduct) {
            // SAFETY: blocks have the threads of these tiles, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each.
            unsafe {
                let n_rows = layer.rows.count(layer.rows.offset());
                product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                    layer.output_gradient::<true>(n_rows), layer.weights::<true>(), layer.masked(n_rows), 0, layer.n_outputs,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }

        /// Gradient of the first layer's weights and bias, in parts; the last row is the bias.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `n_inputs + 1` × `n_outputs`, a part of
        ///   the batch for each z of the grid.
        /// * Reads: `images` of the step's samples, `output_gradient`.
        /// * Writes: `result`, a part each; `overflow`.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × (pixels + 1) × outputs × samples operations.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::backward`.
        /// * Source: Ha and Beqaj, section 1.1 (∂L/∂W₁) and section 1.3, kernels 5 and 6; tiles of registers are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory.
        #[kernel(shape = $tiles.shape(layer.n_inputs + 1, layer.n_outputs, layer.n_parts()), max_threads = $threads)]
        pub unsafe fn $gradient_images(layer: LayerProduct) {
            // SAFETY: blocks have the threads of these tiles, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each.
            unsafe {
                let offset = layer.rows.offset();
                let n_rows = layer.rows.count(offset);
                let (out, from, to) = layer.own_part(n_rows, 1.0);
                product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                    layer.images::<false, true, true>(offset), layer.output_gradient::<false>(n_rows), out, from, to,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }

        /// Gradient of a later layer's weights and bias, in parts; the last row is the bias.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `n_inputs + 1` × `n_outputs`, a part of
        ///   the batch for each z of the grid.
        /// * Reads: `inputs`, `output_gradient`.
        /// * Writes: `result`, a part each; `overflow`.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × (inputs + 1) × outputs × samples operations.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::backward`.
        /// * Source: Ha and Beqaj, section 1.1 (∂L/∂W₂) and section 1.3, kernels 5 and 6; tiles of registers are ours.
        ///
        /// # Safety
        /// As the first layer's.
        #[kernel(shape = $tiles.shape(layer.n_inputs + 1, layer.n_outputs, layer.n_parts()), max_threads = $threads)]
        pub unsafe fn $gradient(layer: LayerProduct) {
            // SAFETY: blocks have the threads of these tiles, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each.
            unsafe {
                let n_rows = layer.rows.count(layer.rows.offset());
                let (out, from, to) = layer.own_part(n_rows, 1.0);
                product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                    layer.inputs::<false, true>(n_rows), layer.output_gradient::<false>(n_rows), out, from, to,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }
    };
}

kernels!(LARGE, LARGE_WORDS: 128, 128, 16, 256, 2, 2, 2, 2,
    mlp_layers_forward_images_large, mlp_layers_forward_large, mlp_layers_backward_large, mlp_layers_gradient_images_large, mlp_layers_gradient_large);
kernels!(SMALL, SMALL_WORDS: 32, 32, 32, 64, 1, 1, 4, 4,
    mlp_layers_forward_images_small, mlp_layers_forward_small, mlp_layers_backward_small, mlp_layers_gradient_images_small, mlp_layers_gradient_small);
