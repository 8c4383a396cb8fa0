//! Convolutions and linear layers, forward and backward, as matrix products in single precision.
//!
//! ```text
//! values    [n_positions · rows · columns, channels]    a line for each square ("pixel") of each position, channels last, a multiple of 4
//! weights   [side², n_inputs, n_outputs]                tap (row, then column of the kernel), input channel, output channel
//! ```
//!
//! | kernel | result | first operand | second operand | summed over |
//! |---|---|---|---|---|
//! | `azero_train_forward_*` | outputs `[pixels, n_outputs]` | inputs at the pixel moved by each tap | weights | taps, input channels |
//! | `azero_train_backward_*` | gradient of inputs `[pixels, n_inputs]` | gradient of outputs at the pixel moved by each tap | weights, taps in reverse order | taps, output channels |
//! | `azero_train_gradient_*` | gradient of weights `[side² · n_inputs (+ 4), n_outputs]`, in parts | inputs at the pixel moved by the row's tap | gradient of outputs | pixels |
//!
//! What a tap finds outside the board is 0. A linear layer is the same with boards of one square. Tiles of both operands lie in shared memory, a small
//! tile of the result in each thread's registers:
//!
//! ```text
//! shared, two of each, so that one is filled while the other is read:
//!   first   [DEPTH][ROWS + 4]      element (depth, row)
//!   second  [DEPTH][COLS + 4]      element (depth, column)
//! a thread  4 R rows x 4 C columns, in quads that lie ROWS / R and COLS / C apart
//! ```
//!
//! Sums are in ascending order of the depth, by fused multiply-adds; both sizes of tiles give the same bits.
//!
//! The grid is rows x columns x parts.

#![allow(clippy::needless_range_loop, reason = "the counter is part of an address or a condition too")]

use super::operand::{Gradient, Operand, Shifted, Turned, Weights, Window};
use super::quad::{add, load_quad, store_quad};
use crate::cuda::math::fma;
use crate::cuda::memory::Vec4;
use crate::cuda::shared::Shared;
use crate::cuda::view::{Exclusive, Grid, Quads, Slice};
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
            grid: [n_rows.div_ceil(self.rows), n_cols.div_ceil(self.cols), n_parts],
            ..LaunchShape::new(1, self.threads)
        }
    }
}

/// Quads of a tile pair in shared memory, large and small; their lines are four longer than the tile.
const LARGE_QUADS: usize = 2 * 16 * (128 + 4) / 4;
const SMALL_QUADS: usize = 2 * 32 * (32 + 4) / 4;

/// One layer's product: what all kernels here take.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(n_positions >= 1 && rows >= 1 && columns >= 1 && (side == 1 || side == 3))]
#[require(n_inputs >= 4 && n_inputs.is_multiple_of(4) && n_outputs >= 4 && n_outputs.is_multiple_of(4))]
#[require(option <= 1 && (part >= 1 || !weights.is_none()))]
#[require(output_gradient.is_none() != (inputs.is_none() || weights.is_none() || bias.is_none()))]
#[views]
pub struct Product {
    /// Inputs of the layer, `[pixels, n_inputs]`; null for backward.
    #[shape(n_positions * rows * columns, n_inputs)]
    #[quads]
    #[nullable]
    pub inputs: *const f32,
    /// `[side², n_inputs, n_outputs]`; null for gradient.
    #[shape(side * side * n_inputs, n_outputs)]
    #[quads]
    #[nullable]
    pub weights: *const f32,
    /// Gradient of the outputs, `[pixels, n_outputs]`; null for forward.
    #[shape(n_positions * rows * columns, n_outputs)]
    #[quads]
    #[nullable]
    pub output_gradient: *const f32,
    /// Forward: `[n_outputs]`, added to every line; else null.
    #[shape(n_outputs)]
    #[quads]
    #[nullable]
    pub bias: *const f32,
    /// What the kernel writes. Gradient: parts, `[n_parts, side² · n_inputs + 4 · with_bias, n_outputs]`.
    #[len((if weights.is_none() { (n_positions * rows * columns).div_ceil(part) } else { n_positions * rows * columns })
        * (if weights.is_none() { side * side * n_inputs + 4 * option } else { 1 })
        * (if inputs.is_none() { n_inputs } else { n_outputs }))]
    pub result: *mut f32,
    /// Positions.
    pub n_positions: u32,
    /// Rows of a board.
    pub rows: u32,
    /// Columns of a board.
    pub columns: u32,
    /// Side of the kernel, 3 or 1.
    pub side: u32,
    /// Channels of the inputs, a multiple of 4.
    pub n_inputs: u32,
    /// Channels of the outputs, a multiple of 4.
    pub n_outputs: u32,
    /// Gradient: pixels of a part.
    pub part: u32,
    /// Forward: 1 where ReLU follows. Backward: 1 to add to what the result holds. Gradient: 1 for four more lines, of which the first is the gradient
    /// of the bias.
    pub option: u32,
}

const _: () = assert!(size_of::<Product>() == 72);

impl ProductViews {
    /// Lines of inputs and outputs.
    #[inline(always)]
    const fn pixels(&self) -> u32 {
        self.n_positions * self.rows * self.columns
    }
}

/// What becomes of a product's result.
trait Output: Copy {
    /// Takes four elements of row `row` from column `col` on, a multiple of 4. Also called for rows and columns outside the result, which are ignored.
    fn put(&self, row: u32, col: u32, quad: [f32; 4]);
}

/// Adds the bias, and applies ReLU where it follows.
#[derive(Clone, Copy)]
struct Activated {
    bias: Quads<Slice<f32>, 1>,
    result: Quads<Exclusive<f32>, 2>,
    /// Outputs up to this become 0: 0 with ReLU, else minus infinity.
    floor: f32,
}

impl Output for Activated {
    #[inline(always)]
    #[track_caller]
    fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        let [n_rows, ld] = self.result.size();
        if row < n_rows && col < ld {
            let bias = self.bias.get([col]);
            let mut z = [0.0; 4];
            for j in 0..4 {
                z[j] = quad[j] + bias[j];
                // Not `max`: a NaN must stay one, so that it is found in the loss.
                z[j] = if z[j] <= self.floor { 0.0 } else { z[j] };
            }
            self.result.set([row, col], z);
        }
    }
}

/// Adds to what is there, or replaces it.
#[derive(Clone, Copy)]
struct Added {
    result: Quads<Exclusive<f32>, 2>,
    add: bool,
}

impl Output for Added {
    #[inline(always)]
    #[track_caller]
    fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        let [n_rows, ld] = self.result.size();
        if row < n_rows && col < ld {
            let before = if self.add { self.result.get([row, col]) } else { [0.0; 4] };
            self.result.set([row, col], add(quad, before));
        }
    }
}

/// Stores a part of a gradient.
#[derive(Clone, Copy)]
struct Part {
    result: Quads<Exclusive<f32>, 2>,
}

impl Output for Part {
    #[inline(always)]
    #[track_caller]
    fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        let [n_rows, ld] = self.result.size();
        if row < n_rows && col < ld {
            self.result.set([row, col], quad);
        }
    }
}

/// A thread's share of an operand's tile: which quads it brings, and how far along the depth it is.
///
/// Along the depth, neighbouring threads read neighbouring quads of a line, and all quads of a thread are at one depth; across, all quads of a thread
/// have one offset in their lines.
#[derive(Clone, Copy)]
struct Share<O: Operand, const SIZE: u32, const DEPTH: u32, const THREADS: u32, const QUADS: usize> {
    operand: O,
    own: [O::Own; QUADS],
    indices: [O::DepthIndex; QUADS],
}

impl<O: Operand, const SIZE: u32, const DEPTH: u32, const THREADS: u32, const QUADS: usize>
    Share<O, SIZE, DEPTH, THREADS, QUADS>
{
    /// Neighbouring threads that bring one line.
    const ACROSS: u32 = if O::ALONG_DEPTH { DEPTH / 4 } else { SIZE / 4 };

    #[inline(always)]
    #[track_caller]
    fn new(operand: O, first: u32, depth: u32) -> Self {
        let me = thread::thread_idx_x();
        let (line, quad) = (me / Self::ACROSS, me % Self::ACROSS * 4);
        let (outer, inner) = if O::ALONG_DEPTH { (first + line, depth + quad) } else { (first + quad, depth + line) };
        let mut share =
            Self { operand, own: [operand.own(outer); QUADS], indices: [operand.depth_index(inner); QUADS] };
        for i in 1..QUADS {
            let further = i as u32 * (THREADS / Self::ACROSS);
            if O::ALONG_DEPTH {
                share.own[i] = operand.own(outer + further);
            } else {
                share.indices[i] = operand.depth_index(inner + further);
            }
        }
        share
    }

    /// Reads the thread's quads and moves on by a tile.
    #[inline(always)]
    #[track_caller]
    fn fetch(&mut self) -> [[f32; 4]; QUADS] {
        let mut quads = [[0.0; 4]; QUADS];
        for i in 0..QUADS {
            let (own, index) = if O::ALONG_DEPTH { (i, 0) } else { (0, i) };
            quads[i] = self.operand.quad(&self.own[own], &self.indices[index]);
        }
        let mut i = 0;
        while i < QUADS && !(O::ALONG_DEPTH && i > 0) {
            self.operand.advance(&mut self.indices[i], DEPTH);
            i += 1;
        }
        quads
    }

    /// Puts the quads into the tile from value `from` of a pair on, whose lines are one depth each.
    #[inline(always)]
    #[track_caller]
    fn put(&self, pair: Shared<Vec4>, from: u32, quads: [[f32; 4]; QUADS]) {
        let me = thread::thread_idx_x();
        for i in 0..QUADS {
            let line = me / Self::ACROSS + i as u32 * (THREADS / Self::ACROSS);
            let quad = me % Self::ACROSS * 4;
            // SAFETY: the quads of a block's threads are those of the tile: depths below its lines, and rows or columns below its size.
            unsafe {
                if O::ALONG_DEPTH {
                    for j in 0..4 {
                        let index = from + (quad + j) * (SIZE + 4) + line;
                        pair.cast::<f32>().set_unchecked(index, quads[i][j as usize]);
                    }
                } else {
                    let index = from + line * (SIZE + 4) + quad;
                    pair.set_unchecked(index / 4, Vec4(quads[i].map(f32::to_bits)));
                }
            }
        }
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
    for k in 0..depth {
        let mut left = [[0.0; 4]; R];
        let mut right = [[0.0; 4]; C];
        for r in 0..R {
            left[r] = quad(pair_a, from_a + k * (ROWS + 4) + r as u32 * (ROWS / R as u32) + own_row);
        }
        for c in 0..C {
            right[c] = quad(pair_b, from_b + k * (COLS + 4) + c as u32 * (COLS / C as u32) + own_col);
        }
        for r in 0..R {
            for c in 0..C {
                for i in 0..4 {
                    for j in 0..4 {
                        sums[r][c][i][j] = fma(left[r][i], right[c][j], sums[r][c][i][j]);
                    }
                }
            }
        }
    }
}

/// The block's tile of the product of `first` `[rows, depth]` and `second` `[depth, columns]`, depths `from` to `to`; operands are 0 beyond. Every thread of a block of `THREADS` calls it with the same
/// `from` and `to`; the shared arrays hold two tiles each.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "what a product is made of")]
fn product<
    A: Operand,
    B: Operand,
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
    [pair_a, pair_b]: [Shared<Vec4>; 2],
) {
    let (first_row, first_col) = (thread::block_idx_x() * ROWS, thread::block_idx_y() * COLS);
    let across = COLS / (4 * C as u32);
    let own = [thread::thread_idx_x() / across * 4, thread::thread_idx_x() % across * 4];
    let mut sums = [[[[0.0f32; 4]; 4]; C]; R];
    let mut share_a = Share::<A, ROWS, DEPTH, THREADS, QUADS_A>::new(a, first_row, from);
    let mut share_b = Share::<B, COLS, DEPTH, THREADS, QUADS_B>::new(b, first_col, from);
    if from < to {
        let quads = (share_a.fetch(), share_b.fetch());
        share_a.put(pair_a, 0, quads.0);
        share_b.put(pair_b, 0, quads.1);
    }
    // The first tiles must be whole.
    sync::sync_threads();
    let mut depth = from;
    let mut half = 0;
    while depth < to {
        let next = depth + DEPTH;
        let (mut quads_a, mut quads_b) = ([[0.0; 4]; QUADS_A], [[0.0; 4]; QUADS_B]);
        if next < to {
            (quads_a, quads_b) = (share_a.fetch(), share_b.fetch());
        }
        let tiles = [half * DEPTH * (ROWS + 4), half * DEPTH * (COLS + 4)];
        multiply::<ROWS, COLS, R, C>(&mut sums, [pair_a, pair_b], tiles, DEPTH, own);
        half = 1 - half;
        if next < to {
            share_a.put(pair_a, half * DEPTH * (ROWS + 4), quads_a);
            share_b.put(pair_b, half * DEPTH * (COLS + 4), quads_b);
        }
        // The next tiles must be whole, and the present ones read by all.
        sync::sync_threads();
        depth = next;
    }
    for r in 0..R {
        for i in 0..4 {
            for c in 0..C {
                let row = first_row + r as u32 * (ROWS / R as u32) + own[0] + i as u32;
                out.put(row, first_col + c as u32 * (COLS / C as u32) + own[1], sums[r][c][i]);
            }
        }
    }
}

impl ProductViews {
    /// What the block's part of a kernel writes: lines of so many values, a multiple of 4.
    ///
    /// # Safety
    /// The launch's result has these lines for each z of its grid, and each quad is given to one thread.
    #[inline(always)]
    unsafe fn result(&self, [n_rows, ld]: [u32; 2]) -> Quads<Exclusive<f32>, 2> {
        let len = n_rows as usize * ld as usize;
        let first = self.result.wrapping_add(thread::block_idx_z() as usize * len);
        // SAFETY: the caller vouches for lines and quads; lines are whole quads, and the launch's result is aligned.
        unsafe { Quads::of(Grid::of(Exclusive::of(first, len), [n_rows, ld])) }
    }

    /// # Safety
    /// As [`Self::result`], for a line of outputs a pixel.
    #[inline(always)]
    unsafe fn activated(&self) -> Activated {
        let floor = if self.option != 0 { 0.0 } else { f32::NEG_INFINITY };
        let bias = self.bias.or_empty();
        let [ld] = bias.size();
        // SAFETY: the caller's promise; a line of outputs is as long as the bias.
        Activated { bias, result: unsafe { self.result([self.pixels(), ld]) }, floor }
    }

    /// # Safety
    /// As [`Self::result`], for a line of inputs a pixel.
    #[inline(always)]
    unsafe fn added(&self) -> Added {
        // SAFETY: the caller's promise.
        Added { result: unsafe { self.result([self.pixels(), self.n_inputs]) }, add: self.option != 0 }
    }

    /// The block's part of the gradient, and its pixels.
    ///
    /// # Safety
    /// As [`Self::result`], for lines of outputs, one for each tap and input, and four of the bias where it is asked for.
    #[inline(always)]
    unsafe fn own_part(&self) -> (Part, u32, u32) {
        let n_rows = self.side * self.side * self.n_inputs + if self.option != 0 { 4 } else { 0 };
        let (from, pixels) = (thread::block_idx_z() * self.part, self.pixels());
        let to = if pixels - from < self.part { pixels } else { from + self.part };
        // SAFETY: the caller's promise.
        (Part { result: unsafe { self.result([n_rows, self.n_outputs]) } }, from, to)
    }
}

macro_rules! kernels {
    ($pair:ident: $rows:literal, $cols:literal, $depth:literal, $threads:literal, $blocks:literal, $r:literal, $c:literal, $qa:literal, $qb:literal,
        $forward:ident, $backward:ident, $gradient:ident) => {
        /// Outputs of a layer: a convolution of 9 taps or 1, or a linear layer.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `pixels` × `n_outputs`, one part.
        /// * Reads: `inputs`, `weights`, `bias`.
        /// * Writes: `result` `[pixels, n_outputs]`.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × pixels × outputs × taps × inputs operations.
        /// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::forward`.
        /// * Source: OpenSpiel's residual network (Paul and Xu, section II.C); the tiles are ours.
        ///
        /// # Safety
        /// Launched with the tiles' shape for `pixels` x `n_outputs`, one part. `layer` describes valid memory; channels are multiples of 4.
        #[kernel(max_threads = $threads, min_blocks = $blocks)]
        pub unsafe fn $forward(layer: Product) {
            // SAFETY: the arrays have their lengths, by the contract. The result is as large as the tiles' shape says, and a quad of a tile is one thread's.
            let (layer, out) = unsafe {
                let layer = layer.views();
                (layer, layer.activated())
            };
            let depth = layer.side * layer.side * layer.n_inputs;
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                Window::inputs(&layer), Weights::new(&layer), out, [0, depth],
                [shared_array![Vec4; $pair], shared_array![Vec4; $pair]],
            );
        }

        /// Gradient of a layer's inputs.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `pixels` × `n_inputs`, one part.
        /// * Reads: `output_gradient`, `weights`.
        /// * Writes: `result` `[pixels, n_inputs]`, replaced or added to.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × pixels × inputs × taps × outputs operations.
        /// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::input_gradient`.
        /// * Source: the chain rule for that layer; the tiles are ours.
        ///
        /// # Safety
        /// Launched with the tiles' shape for `pixels` x `n_inputs`, one part. `layer` describes valid memory; channels are multiples of 4.
        #[kernel(max_threads = $threads, min_blocks = $blocks)]
        pub unsafe fn $backward(layer: Product) {
            // SAFETY: as the forward kernel's, for this result.
            let (layer, out) = unsafe {
                let layer = layer.views();
                (layer, layer.added())
            };
            let depth = layer.side * layer.side * layer.n_outputs;
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                Window::output_gradient(&layer), Turned::new(&layer), out, [0, depth],
                [shared_array![Vec4; $pair], shared_array![Vec4; $pair]],
            );
        }

        /// Gradient of a layer's weights, and of its bias, in parts.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 64 threads) for `side² · n_inputs` (four more with the
        ///   bias) × `n_outputs`, a part for each `part` pixels.
        /// * Reads: `inputs`, `output_gradient`.
        /// * Writes: `result`, a part each.
        /// * Shared: 33,792 bytes (large) or 18,432 (small): two tiles of each operand.
        /// * Cost: 2 × taps × inputs × outputs × pixels operations.
        /// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::weight_gradient`,
        ///   `warpplay_cpu_ref::azero::training::convolution::Layer::bias_gradient`.
        /// * Source: the chain rule for that layer; the tiles are ours.
        ///
        /// # Safety
        /// Launched with the tiles' shape for `side² · n_inputs` (four more with the bias) x `n_outputs`, a part for each `part` pixels. `layer` describes
        /// valid memory; channels are multiples of 4.
        #[kernel(max_threads = $threads, min_blocks = $blocks)]
        pub unsafe fn $gradient(layer: Product) {
            // SAFETY: as the forward kernel's, for this result.
            let (layer, (out, from, to)) = unsafe {
                let layer = layer.views();
                (layer, layer.own_part())
            };
            product::<_, _, _, $rows, $cols, $depth, $threads, $r, $c, $qa, $qb>(
                Shifted::new(&layer, to), Gradient::new(&layer, to), out, [from, to],
                [shared_array![Vec4; $pair], shared_array![Vec4; $pair]],
            );
        }
    };
}

kernels!(LARGE_QUADS: 128, 128, 16, 256, 2, 2, 2, 2, 2,
    azero_train_forward_large, azero_train_backward_large, azero_train_gradient_large);
kernels!(SMALL_QUADS: 32, 32, 32, 64, 8, 1, 1, 4, 4,
    azero_train_forward_small, azero_train_backward_small, azero_train_gradient_small);

/// Threads of a block of [`azero_train_gate`].
pub const GATE_BLOCK: u32 = 256;

/// Launch shape of [`azero_train_gate`] for `n` values, a multiple of 4.
pub const fn gate_shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n / 4, GATE_BLOCK)
}

/// Gradient before a ReLU: 0 where its output is not positive.
///
/// * Launch: [`gate_shape`], a thread four values, blocks of 256.
/// * Reads: `outputs`.
/// * Writes: `gradient`.
/// * Shared: none.
/// * Cost: four values a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::gradient::gate`.
/// * Source: the chain rule for the rectifier.
///
/// # Safety
/// Launched with [`gate_shape`]. Both arrays hold `n` values, a multiple of 4.
#[kernel(max_threads = GATE_BLOCK)]
pub unsafe fn azero_train_gate(outputs: *const f32, gradient: *mut f32, n: u32) {
    let Some(quad) = thread::index_1d_below(n / 4) else { return };
    let at = quad as usize * 4;
    // SAFETY: the quad is in both arrays, and this thread's.
    unsafe {
        let (outputs, mut values) = (load_quad(outputs, at), load_quad(gradient, at));
        for j in 0..4 {
            values[j] = if outputs[j] > 0.0 { values[j] } else { 0.0 };
        }
        store_quad(gradient, at, values);
    }
}
