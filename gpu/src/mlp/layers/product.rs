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
use crate::cuda::math::{fma, opaque};
use crate::cuda::memory::Vec4;
use crate::cuda::shared::Shared;
use crate::cuda::view::{Atomic, Exclusive, Grid, Nullable, Quads, Slice};
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

/// Quads of a tile pair in shared memory, large and small; their lines are four longer than the tile.
const LARGE_QUADS: usize = 2 * 16 * (128 + 4) / 4;
const SMALL_QUADS: usize = 2 * 32 * (32 + 4) / 4;

/// One layer's product in a step: what all kernels here take.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Rows, columns and parts of the result, as the launch's shape has them.
    size: [u32; 3]
)]
#[require(image_stride.is_multiple_of(16))]
#[views]
pub struct LayerProduct {
    /// The step's samples.
    #[args]
    pub rows: view::Rows,
    /// Images, `[n_samples, image_stride]`, for the first layer; null for the others.
    #[shape(rows.n_samples(), image_stride)]
    #[quads]
    #[nullable]
    pub images: *const u8,
    /// Inputs of the layer, `[batch, line_length(n_inputs)]`; null for the first.
    #[shape(rows.batch, line_length(n_inputs))]
    #[quads]
    #[nullable]
    pub inputs: *const f32,
    /// Weights and bias, `[n_inputs + 1, line_length(n_outputs)]`.
    #[shape(n_inputs + 1, line_length(n_outputs))]
    #[quads]
    pub parameters: *const f32,
    /// Gradient of the outputs before ReLU, `[batch, line_length(n_outputs)]`; null for forward.
    #[shape(rows.batch, line_length(n_outputs))]
    #[quads]
    #[nullable]
    pub output_gradient: *const f32,
    /// What the kernel writes. Forward: the outputs, `[batch, line_length(n_outputs)]`. Backward: `[batch, line_length(n_inputs)]`. Gradient: parts,
    /// `[n_parts, n_inputs + 1, line_length(n_outputs)]`.
    #[len(size[0] * line_length(size[1]) * size[2])]
    pub result: *mut f32,
    /// Set to 1 where a gradient is not finite; may be null.
    #[len(1)]
    #[nullable]
    #[atomic]
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

/// Writes a block once for each number: a loop that is certainly unrolled, so that sums indexed by it stay in registers.
macro_rules! each {
    ($i:ident in [$($number:literal)*] $body:block) => {$({
        let $i: usize = $number;
        $body
    })*};
}
pub(super) use each;

/// What becomes of a product's result.
pub trait Output: Copy {
    /// Takes four elements of row `row` from column `col` on, a multiple of 4. Elements outside the result are given too. Says whether [`end`](Output::end) is to hear of them.
    fn put(&self, row: u32, col: u32, quad: [f32; 4]) -> bool;

    /// After a thread's last elements; `heard` where one of them was to be heard of.
    #[inline(always)]
    fn end(&self, heard: bool) {
        let _ = heard;
    }
}

/// Adds the bias, and applies ReLU.
#[derive(Clone, Copy)]
pub struct Activated {
    pub(super) bias: Quads<Slice<f32>, 1>,
    pub(super) result: Quads<Exclusive<f32>, 2>,
    /// Outputs up to this become 0: 0 with ReLU, else minus infinity.
    pub(super) floor: f32,
    /// Factor of the product, for operands that are not scaled.
    pub(super) factor: f32,
}

impl Output for Activated {
    #[inline(always)]
    #[track_caller]
    fn put(&self, row: u32, col: u32, quad: [f32; 4]) -> bool {
        let [n_rows, ld] = self.result.size();
        if row < n_rows && col < ld {
            let bias = self.bias.get([col]);
            let mut z = [0.0; 4];
            let mut j = 0;
            while j < 4 {
                z[j] = quad[j] * self.factor + bias[j];
                // Not `max`: a NaN must stay one, so that it is found in the loss.
                z[j] = if z[j] <= self.floor { 0.0 } else { z[j] };
                j += 1;
            }
            self.result.set([row, col], z);
        }
        false
    }
}

/// Keeps what belongs to positive inputs.
#[derive(Clone, Copy)]
pub struct Masked {
    pub(super) inputs: Quads<Slice<f32>, 2>,
    pub(super) result: Quads<Exclusive<f32>, 2>,
}

impl Output for Masked {
    #[inline(always)]
    #[track_caller]
    fn put(&self, row: u32, col: u32, quad: [f32; 4]) -> bool {
        let [n_rows, ld] = self.result.size();
        if row < n_rows && col < ld {
            let inputs = self.inputs.get([row, col]);
            let mut gradient = [0.0; 4];
            let mut j = 0;
            while j < 4 {
                if inputs[j] > 0.0 {
                    gradient[j] = quad[j];
                }
                j += 1;
            }
            self.result.set([row, col], gradient);
        }
        false
    }
}

/// Stores a part of a gradient.
#[derive(Clone, Copy)]
pub struct Part {
    pub(super) result: Quads<Exclusive<f32>, 2>,
    pub(super) overflow: Nullable<Atomic<u32>>,
    /// Factor of the product, for operands that are not scaled.
    pub(super) factor: f32,
}

impl Output for Part {
    #[inline(always)]
    #[track_caller]
    fn put(&self, row: u32, col: u32, quad: [f32; 4]) -> bool {
        let [n_rows, ld] = self.result.size();
        if row < n_rows && col < ld {
            let quad = quad.map(|value| value * self.factor);
            self.result.set([row, col], quad);
            return !(quad[0].is_finite() && quad[1].is_finite() && quad[2].is_finite() && quad[3].is_finite());
        }
        false
    }

    /// Tells of a value that is not finite.
    #[inline(always)]
    fn end(&self, heard: bool) {
        if heard && let Some(overflow) = self.overflow.get() {
            overflow.max(0, 1);
        }
    }
}

/// A thread's share of an operand's tiles of `SIZE` rows or columns, from `first` on: which lines its quads are in.
struct Share<M: Matrix, const SIZE: u32, const THREADS: u32, const QUADS: usize> {
    matrix: M,
    first: u32,
    /// The thread's line where lines run along the depth.
    own: Line,
    lines: [Line; QUADS],
}

impl<M: Matrix, const SIZE: u32, const THREADS: u32, const QUADS: usize> Share<M, SIZE, THREADS, QUADS> {
    /// With the lines of the tile at `depth`.
    #[inline(always)]
    #[track_caller]
    fn new(matrix: M, first: u32, depth: u32) -> Self {
        let own = if M::ALONG_DEPTH { matrix.line(first + thread::thread_idx_x() % SIZE) } else { NO_LINE };
        let mut share = Self { matrix, first, own, lines: [own; QUADS] };
        share.lines = share.lines_at(depth);
        share
    }

    #[inline(always)]
    #[track_caller]
    fn lines_at(&self, depth: u32) -> [Line; QUADS] {
        let mut lines = [self.own; QUADS];
        if !M::ALONG_DEPTH {
            let mut i = 0;
            while i < QUADS {
                let at = thread::thread_idx_x() + i as u32 * THREADS;
                lines[i] = self.matrix.line(depth + at / (SIZE / 4));
                i += 1;
            }
        }
        lines
    }

    /// Reads the thread's quads of the tile at `depth`, and the lines of that at `next`: a turn before its quads, which wait for them.
    #[inline(always)]
    #[track_caller]
    fn fetch(&mut self, depth: u32, next: u32) -> [[f32; 4]; QUADS] {
        let mut quads = [[0.0; 4]; QUADS];
        let mut i = 0;
        while i < QUADS {
            let at = thread::thread_idx_x() + i as u32 * THREADS;
            let inner = if M::ALONG_DEPTH { depth + at / SIZE * 4 } else { self.first + at % (SIZE / 4) * 4 };
            quads[i] = self.matrix.quad(self.lines[i], inner);
            i += 1;
        }
        self.lines = self.lines_at(next);
        quads
    }
}

/// Puts a thread's quads into the tile from value `from` of a pair on, whose lines are one depth each.
#[inline(always)]
#[track_caller]
fn put_tile<M: Matrix, const SIZE: u32, const THREADS: u32, const QUADS: usize>(
    pair: Shared<Vec4>,
    from: u32,
    quads: [[f32; 4]; QUADS],
) {
    let mut i = 0;
    while i < QUADS {
        let at = thread::thread_idx_x() + i as u32 * THREADS;
        if M::ALONG_DEPTH {
            let (row, depth) = (at % SIZE, at / SIZE * 4);
            let mut j = 0;
            while j < 4 {
                let index = from + (depth + j) * (SIZE + 4) + row;
                // SAFETY: the quads of a block's threads are those of the tile: `row` is below its size, and each of the four depths below its lines.
                unsafe { pair.cast::<f32>().set_unchecked(index, quads[i][j as usize]) };
                j += 1;
            }
        } else {
            let index = from + at / (SIZE / 4) * (SIZE + 4) + at % (SIZE / 4) * 4;
            // SAFETY: as above, for a quad of a line.
            unsafe { pair.set_unchecked(index / 4, Vec4(quads[i].map(f32::to_bits))) };
        }
        i += 1;
    }
}

/// Adds the product of two tiles of `depth` depths, from values `from` of their pairs on, to the thread's sums, whose first row and column are `own`.
#[inline(always)]
#[track_caller]
fn multiply<const ROWS: u32, const COLS: u32, const R: usize, const C: usize>(
    sums: &mut [[[[f32; 4]; 4]; C]; R],
    [pair_a, pair_b]: [Shared<Vec4>; 2],
    [from_a, from_b]: [u32; 2],
    depth: u32,
    [own_row, own_col]: [u32; 2],
) {
    // SAFETY: a line of one of the pair's tiles, and in it one of the thread's quads: the first is in the first `1 / R` of the rows or `1 / C` of the columns, the others are as far apart.
    let quad = |pair: Shared<Vec4>, at: u32| unsafe { pair.get_unchecked(at / 4) }.0.map(f32::from_bits);
    let mut k = 0;
    while k < depth {
        let mut left = [[0.0; 4]; R];
        let mut right = [[0.0; 4]; C];
        let mut r = 0;
        while r < R {
            left[r] = quad(pair_a, from_a + k * (ROWS + 4) + r as u32 * (ROWS / R as u32) + own_row);
            r += 1;
        }
        let mut c = 0;
        while c < C {
            right[c] = quad(pair_b, from_b + k * (COLS + 4) + c as u32 * (COLS / C as u32) + own_col);
            c += 1;
        }
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
        k += 1;
    }
}

/// Gives the thread's sums to the output; the first is at `row` and `col`.
#[inline(always)]
#[track_caller]
fn store<O: Output, const ROWS: u32, const COLS: u32, const R: usize, const C: usize>(
    sums: &[[[[f32; 4]; 4]; C]; R],
    out: O,
    [row, col]: [u32; 2],
) {
    let mut heard = false;
    each!(r in [0 1] {
        if r < R {
            let mut i = 0;
            while i < 4 {
                let mut c = 0;
                while c < C {
                    let row = row + r as u32 * (ROWS / R as u32) + i as u32;
                    heard |= out.put(row, col + c as u32 * (COLS / C as u32), sums[r][c][i]);
                    c += 1;
                }
                i += 1;
            }
        }
    });
    out.end(heard);
}

/// The block's tile of the product of `first` `[rows, depth]` and `second` `[depth, columns]`, depths `from` to `to`. Every thread of a block of `THREADS` calls it with the same `from` and `to`; the
/// shared arrays hold two tiles each.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "what a product is made of")]
fn product<
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
    [from, to]: [u32; 2],
    pair_a: Shared<Vec4>,
    pair_b: Shared<Vec4>,
) {
    let (first_row, first_col) = (thread::block_idx_y() * ROWS, thread::block_idx_x() * COLS);
    let me = thread::thread_idx_x();
    let across = COLS / (4 * C as u32);
    // The thread's first row and column.
    let own = [opaque(me / across * 4), opaque(me % across * 4)];
    let mut sums = [[[[0.0f32; 4]; 4]; C]; R];
    let mut share_a = Share::<A, ROWS, THREADS, QUADS_A>::new(a, first_row, from);
    let mut share_b = Share::<B, COLS, THREADS, QUADS_B>::new(b, first_col, from);
    // Puts what was read into one half of the pairs.
    let put = |half: u32, quads_a, quads_b| {
        put_tile::<A, ROWS, THREADS, QUADS_A>(pair_a, half * DEPTH * (ROWS + 4), quads_a);
        put_tile::<B, COLS, THREADS, QUADS_B>(pair_b, half * DEPTH * (COLS + 4), quads_b);
    };
    if from < to {
        put(0, share_a.fetch(from, from + DEPTH), share_b.fetch(from, from + DEPTH));
    }
    // The first tiles must be whole.
    sync::sync_threads();
    let mut depth = from;
    let mut half = 0;
    while depth < to {
        let next = depth + DEPTH;
        let (mut quads_a, mut quads_b) = ([[0.0; 4]; QUADS_A], [[0.0; 4]; QUADS_B]);
        if next < to {
            (quads_a, quads_b) = (share_a.fetch(next, next + DEPTH), share_b.fetch(next, next + DEPTH));
        }
        let tiles = [half * DEPTH * (ROWS + 4), half * DEPTH * (COLS + 4)];
        multiply::<ROWS, COLS, R, C>(&mut sums, [pair_a, pair_b], tiles, DEPTH, own);
        half = 1 - half;
        if next < to {
            put(half, quads_a, quads_b);
        }
        // The next tiles must be whole, and the present ones read by all.
        sync::sync_threads();
        depth = next;
    }
    store::<O, ROWS, COLS, R, C>(&sums, out, [first_row + own[0], first_col + own[1]]);
}

impl LayerProductViews {
    /// The images as rows of the first operand.
    #[inline(always)]
    pub(super) fn images<const ALONG_DEPTH: bool, const UNIT: bool, const SCALED: bool>(
        &self,
        offset: u32,
    ) -> Images<ALONG_DEPTH, UNIT, SCALED> {
        Images::new(self.images.or_empty(), self.rows, offset, self.n_inputs)
    }

    /// The layer's inputs.
    #[inline(always)]
    pub(super) fn inputs<const ALONG_DEPTH: bool, const UNIT: bool>(&self, n_rows: u32) -> Values<ALONG_DEPTH, UNIT> {
        Values { lines: self.inputs.or_empty().first(n_rows), unit: self.n_inputs }
    }

    /// The weights without the bias.
    #[inline(always)]
    pub(super) fn weights<const ALONG_DEPTH: bool>(&self) -> Values<ALONG_DEPTH, false> {
        Values { lines: self.parameters.first(self.n_inputs), unit: 0 }
    }

    /// The gradient of the outputs.
    #[inline(always)]
    pub(super) fn output_gradient<const ALONG_DEPTH: bool>(&self, n_rows: u32) -> Values<ALONG_DEPTH, false> {
        Values { lines: self.output_gradient.or_empty().first(n_rows), unit: 0 }
    }

    /// What the block's part of a kernel writes: lines of so many values, a multiple of 4. Sizes that are those of what is added to the sums, or masks them, spare their checks.
    ///
    /// # Safety
    /// The launch's result has these lines for each z of its grid, and each quad is given to one thread.
    #[inline(always)]
    pub(super) unsafe fn result(&self, [n_rows, ld]: [u32; 2]) -> Quads<Exclusive<f32>, 2> {
        let first = self.result.wrapping_add(thread::block_idx_z() as usize * n_rows as usize * ld as usize);
        // SAFETY: the caller vouches for lines and quads; lines are whole quads, and the launch's result is aligned.
        unsafe { Quads::of(Grid::of(Exclusive::of(first, n_rows as usize * ld as usize), [n_rows, ld])) }
    }

    /// Forward: what becomes of the sums.
    ///
    /// # Safety
    /// As [`Self::result`], for `n_rows` lines of outputs.
    #[inline(always)]
    pub(super) unsafe fn activated(&self, n_rows: u32, factor: f32) -> Activated {
        let floor = if self.activate != 0 { 0.0 } else { f32::NEG_INFINITY };
        let bias = self.parameters.last_line();
        let [ld] = bias.size();
        // SAFETY: the caller's promise; a line of outputs is as long as the bias.
        Activated { bias, result: unsafe { self.result([n_rows, ld]) }, floor, factor }
    }

    /// Backward: what becomes of the sums.
    ///
    /// # Safety
    /// As [`Self::result`], for `n_rows` lines of inputs.
    #[inline(always)]
    pub(super) unsafe fn masked(&self, n_rows: u32) -> Masked {
        let inputs = self.inputs.or_empty().first(n_rows);
        // SAFETY: the caller's promise.
        Masked { inputs, result: unsafe { self.result(inputs.size()) } }
    }

    /// Gradient: what becomes of the sums, and the part's first and last sample.
    ///
    /// # Safety
    /// As [`Self::result`], for lines of outputs, one for each input and the bias.
    #[inline(always)]
    pub(super) unsafe fn own_part(&self, n_rows: u32, factor: f32) -> (Part, u32, u32) {
        // SAFETY: the caller's promise.
        let result = unsafe { self.result([self.n_inputs + 1, line_length(self.n_outputs)]) };
        let from = thread::block_idx_z() * self.part;
        let to = from + self.part;
        (Part { result, overflow: self.overflow, factor }, from, if to < n_rows { to } else { n_rows })
    }
}

macro_rules! kernels {
    ($tiles:ident, $pair:ident: $rows:literal, $cols:literal, $depth:literal, $threads:literal, $r:literal, $c:literal, $qa:literal, $qb:literal,
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
        /// Launched with the tiles' shape for `batch` x `n_outputs`, one part. `layer` describes valid memory.
        #[kernel(max_threads = $threads)]
        pub unsafe fn $forward_images(layer: LayerProduct) {
            // SAFETY: the arrays have their lengths, by the contract. The launch's result is as large as the tiles' shape says, and a quad of a tile is one thread's.
            let (layer, offset, out) = unsafe {
                let layer = layer.views();
                let offset = layer.rows.offset();
                (layer, offset, layer.activated(layer.rows.count(offset), 1.0))
            };
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                layer.images::<true, false, true>(offset), layer.weights::<false>(), out, [0, layer.n_inputs],
                shared_array![Vec4; $pair], shared_array![Vec4; $pair],
            );
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
        #[kernel(max_threads = $threads)]
        pub unsafe fn $forward(layer: LayerProduct) {
            // SAFETY: as the first layer's, for this result.
            let (layer, n_rows, out) = unsafe {
                let layer = layer.views();
                let n_rows = layer.rows.count(layer.rows.offset());
                (layer, n_rows, layer.activated(n_rows, 1.0))
            };
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                layer.inputs::<true, false>(n_rows), layer.weights::<false>(), out, [0, layer.n_inputs],
                shared_array![Vec4; $pair], shared_array![Vec4; $pair],
            );
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
        /// Launched with the tiles' shape for `batch` x `n_inputs`, one part. `layer` describes valid memory.
        #[kernel(max_threads = $threads)]
        pub unsafe fn $backward(layer: LayerProduct) {
            // SAFETY: as the first layer's, for this result.
            let (layer, n_rows, out) = unsafe {
                let layer = layer.views();
                let n_rows = layer.rows.count(layer.rows.offset());
                (layer, n_rows, layer.masked(n_rows))
            };
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                layer.output_gradient::<true>(n_rows), layer.weights::<true>(), out, [0, layer.n_outputs],
                shared_array![Vec4; $pair], shared_array![Vec4; $pair],
            );
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
        /// Launched with the tiles' shape for `n_inputs + 1` x `n_outputs`, a part for each `part` samples of a batch. `layer` describes valid memory.
        #[kernel(max_threads = $threads)]
        pub unsafe fn $gradient_images(layer: LayerProduct) {
            // SAFETY: as the first layer's, for this result.
            let (layer, offset, n_rows, (out, from, to)) = unsafe {
                let layer = layer.views();
                let offset = layer.rows.offset();
                let n_rows = layer.rows.count(offset);
                (layer, offset, n_rows, layer.own_part(n_rows, 1.0))
            };
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                layer.images::<false, true, true>(offset), layer.output_gradient::<false>(n_rows), out, [from, to],
                shared_array![Vec4; $pair], shared_array![Vec4; $pair],
            );
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
        #[kernel(max_threads = $threads)]
        pub unsafe fn $gradient(layer: LayerProduct) {
            // SAFETY: as the first layer's, for this result.
            let (layer, n_rows, (out, from, to)) = unsafe {
                let layer = layer.views();
                let n_rows = layer.rows.count(layer.rows.offset());
                (layer, n_rows, layer.own_part(n_rows, 1.0))
            };
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                layer.inputs::<false, true>(n_rows), layer.output_gradient::<false>(n_rows), out, [from, to],
                shared_array![Vec4; $pair], shared_array![Vec4; $pair],
            );
        }
    };
}

kernels!(LARGE, LARGE_QUADS: 128, 128, 16, 256, 2, 2, 2, 2,
    mlp_layers_forward_images_large, mlp_layers_forward_large, mlp_layers_backward_large, mlp_layers_gradient_images_large, mlp_layers_gradient_large);
kernels!(SMALL, SMALL_QUADS: 32, 32, 32, 64, 1, 1, 4, 4,
    mlp_layers_forward_images_small, mlp_layers_forward_small, mlp_layers_backward_small, mlp_layers_gradient_images_small, mlp_layers_gradient_small);
