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
use super::short::short_line;
use crate::cuda::math::fma;
use crate::cuda::shared::Shared;
use crate::cuda::sync::follow;
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
/// Tiles for all else: more blocks. Four groups of threads have a quarter of the depth each, since such a product waits for its operands, not for arithmetic.
pub const SMALL: Tiles = Tiles { rows: 32, cols: 32, depth: 64, threads: 256 };

impl Tiles {
    /// Launch shape for a result of `n_rows` x `n_cols`, in `n_parts` parts of the depth.
    pub const fn shape(&self, n_rows: u32, n_cols: u32, n_parts: u32) -> LaunchShape {
        LaunchShape {
            grid: [n_rows.div_ceil(self.rows), n_cols.div_ceil(self.cols), n_parts],
            ..LaunchShape::new(1, self.threads)
        }
    }
}

/// Groups of threads of a small tile.
const GROUPS: u32 = 4;
/// Words of a tile pair of each group in shared memory, large and small; their lines are four longer than the tile.
const LARGE_WORDS: usize = 2 * 16 * (128 + 4);
const SMALL_WORDS: usize = (2 * SMALL.depth * (32 + 4)) as usize;
const _: () =
    assert!(LARGE_WORDS as u32 == 2 * LARGE.depth * (LARGE.rows + 4) && SMALL_WORDS as u32 >= 16 * SMALL.threads);

/// One layer's product: what all kernels here take.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(n_positions >= 1 && rows >= 1 && columns >= 1 && (side == 1 || side == 3))]
#[require(n_inputs >= 4 && n_inputs.is_multiple_of(4) && n_outputs >= 4 && n_outputs.is_multiple_of(4))]
#[require(option <= 1 && (part >= 1 || !weights.is_none()))]
#[require(output_gradient.is_none() != (inputs.is_none() && inputs_short.is_none() || weights.is_none() || bias.is_none()))]
#[require(!result.is_none() || inputs.is_none() && inputs_short.is_none())]
#[require(inputs.is_none() || inputs_short.is_none())]
pub struct Product {
    /// Inputs of the layer, `[pixels, n_inputs]`; null for backward.
    #[len(n_positions * rows * columns * n_inputs)]
    #[nullable]
    pub inputs: *const f32,
    /// The same in bfloat16, `[pixels, short_line(n_inputs)]`, in place of `inputs`: for [both heads](super::narrow) alone.
    #[len((n_positions * rows * columns * short_line(n_inputs)) as usize)]
    #[nullable]
    pub inputs_short: *const u16,
    /// `[side², n_inputs, n_outputs]`; null for gradient.
    #[len(side * side * n_inputs * n_outputs)]
    #[nullable]
    pub weights: *const f32,
    /// Gradient of the outputs, `[pixels, n_outputs]`; null for forward.
    #[len(n_positions * rows * columns * n_outputs)]
    #[nullable]
    pub output_gradient: *const f32,
    /// Forward: `[n_outputs]`, added to every line; else null.
    #[len(n_outputs)]
    #[nullable]
    pub bias: *const f32,
    /// What the kernel writes; null for the second of two layers whose gradients of inputs are added up. Gradient: parts, `[n_parts, side² · n_inputs + 4 · with_bias, n_outputs]`.
    #[len((if weights.is_none() { (n_positions * rows * columns).div_ceil(part) } else { n_positions * rows * columns })
        * (if weights.is_none() { side * side * n_inputs + 4 * option } else { 1 })
        * (if inputs.is_none() && inputs_short.is_none() { n_inputs } else { n_outputs }))]
    #[nullable]
    pub result: *mut f32,
    /// Backward, the result in bfloat16, `[pixels, short_line(n_inputs)]`, in place of `result`: of both heads alone.
    #[len((n_positions * rows * columns * short_line(n_inputs)) as usize)]
    #[nullable]
    pub result_short: *mut u16,
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

const _: () = assert!(size_of::<Product>() == 88);

impl Product {
    /// Lines of inputs and outputs.
    #[device_inline]
    pub const fn pixels(&self) -> u32 {
        self.n_positions * self.rows * self.columns
    }

    /// Rows of a gradient: taps of inputs, and four more with the bias.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn gradient_rows(&self) -> u32 {
        self.side * self.side * self.n_inputs + 4 * self.option
    }

    /// Parts of a gradient.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn n_parts(&self) -> u32 {
        self.pixels().div_ceil(if self.part == 0 { 1 } else { self.part })
    }
}

/// What becomes of a product's result.
trait Output: Copy {
    /// Takes four elements of row `row` from column `col` on, a multiple of 4. Also called for rows and columns outside the result, which are ignored.
    ///
    /// # Safety
    /// The output describes valid memory; every quad is given once.
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]);
}

/// Adds the bias, and applies ReLU where it follows.
#[derive(Clone, Copy)]
struct Activated {
    bias: *const f32,
    result: *mut f32,
    n_rows: u32,
    ld: u32,
    /// Outputs up to this become 0: 0 with ReLU, else minus infinity.
    floor: f32,
}

impl Output for Activated {
    #[device_inline]
    #[track_caller]
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        if row < self.n_rows && col < self.ld {
            // SAFETY: inside the bias and the result.
            unsafe {
                let bias = load_quad(self.bias, col as usize);
                let mut z = [0.0; 4];
                for j in 0..4 {
                    z[j] = quad[j] + bias[j];
                    // Not `max`: a NaN must stay one, so that it is found in the loss.
                    z[j] = if z[j] <= self.floor { 0.0 } else { z[j] };
                }
                store_quad(self.result, row as usize * self.ld as usize + col as usize, z);
            }
        }
    }
}

/// Adds to what is there, or replaces it.
#[derive(Clone, Copy)]
struct Added {
    result: *mut f32,
    n_rows: u32,
    ld: u32,
    add: bool,
}

impl Output for Added {
    #[device_inline]
    #[track_caller]
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        if row < self.n_rows && col < self.ld {
            let at = row as usize * self.ld as usize + col as usize;
            // SAFETY: inside the result; the quad is this thread's.
            unsafe {
                let before = if self.add { load_quad(self.result, at) } else { [0.0; 4] };
                store_quad(self.result, at, add(quad, before));
            }
        }
    }
}

/// Stores a part of a gradient.
#[derive(Clone, Copy)]
struct Part {
    result: *mut f32,
    n_rows: u32,
    ld: u32,
}

impl Output for Part {
    #[device_inline]
    #[track_caller]
    unsafe fn put(&self, row: u32, col: u32, quad: [f32; 4]) {
        if row < self.n_rows && col < self.ld {
            // SAFETY: inside the part.
            unsafe { store_quad(self.result, row as usize * self.ld as usize + col as usize, quad) };
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

    #[device_inline]
    #[track_caller]
    fn new(operand: O, first: u32, depth: u32) -> Self {
        let me = thread::thread_idx_x() % THREADS;
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
    ///
    /// # Safety
    /// The operand describes valid memory.
    #[device_inline]
    #[track_caller]
    unsafe fn fetch(&mut self) -> [[f32; 4]; QUADS] {
        let mut quads = [[0.0; 4]; QUADS];
        for i in 0..QUADS {
            let (own, index) = if O::ALONG_DEPTH { (i, 0) } else { (0, i) };
            // SAFETY: own and index were made by this operand, which describes valid memory, as is asked for.
            quads[i] = unsafe { self.operand.quad(&self.own[own], &self.indices[index]) };
        }
        let mut i = 0;
        while i < QUADS && !(O::ALONG_DEPTH && i > 0) {
            self.operand.advance(&mut self.indices[i], DEPTH);
            i += 1;
        }
        quads
    }

    /// Puts the quads into the tile, whose lines are one depth each.
    #[device_inline]
    #[track_caller]
    fn put(&self, tile: Shared<f32>, from: u32, quads: [[f32; 4]; QUADS]) {
        let me = thread::thread_idx_x() % THREADS;
        for i in 0..QUADS {
            let line = me / Self::ACROSS + i as u32 * (THREADS / Self::ACROSS);
            let quad = me % Self::ACROSS * 4;
            // SAFETY: along the depth, `quad + j` is below the tile's depth and `line` below its size; else the line is one of the tile's depths and the quad below its size, where lines are
            // whole quads, and tiles begin at one.
            unsafe {
                if O::ALONG_DEPTH {
                    for j in 0..4 {
                        tile.set_unchecked(from + (quad + j) * (SIZE + 4) + line, quads[i][j as usize]);
                    }
                } else {
                    tile.set_quad_unchecked(from + line * (SIZE + 4) + quad, quads[i]);
                }
            }
        }
    }
}

/// Adds the products of two tiles, each from a word of its array on, to the sums of the thread whose first row and column are `my_row` and `my_col`.
///
/// # Safety
/// The arrays have a whole tile from those words on, `DEPTH` lines of `ROWS + 4` and of `COLS + 4`. Words, row and column are multiples of 4, row and column below `ROWS / R` and `COLS / C`.
#[device_inline]
#[track_caller]
unsafe fn multiply<const ROWS: u32, const COLS: u32, const DEPTH: u32, const R: usize, const C: usize>(
    (tile_a, from_a): (Shared<f32>, u32),
    (tile_b, from_b): (Shared<f32>, u32),
    (my_row, my_col): (u32, u32),
    sums: &mut [[[[f32; 4]; 4]; C]; R],
) {
    for k in 0..DEPTH {
        let mut left = [[0.0; 4]; R];
        let mut right = [[0.0; 4]; C];
        // SAFETY: line k of each tile has ROWS or COLS values, of which a thread's quads begin below a share R or C of them; lines are whole quads, as the caller's words and columns are.
        unsafe {
            for r in 0..R {
                let at = from_a + k * (ROWS + 4) + r as u32 * (ROWS / R as u32) + my_row;
                left[r] = tile_a.get_quad_unchecked(at);
            }
            for c in 0..C {
                let at = from_b + k * (COLS + 4) + c as u32 * (COLS / C as u32) + my_col;
                right[c] = tile_b.get_quad_unchecked(at);
            }
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

/// The block's tile of the product of `first` `[rows, depth]` and `second` `[depth, columns]`, depths `from` to `to`. Each of `GROUPS` groups of `THREADS` threads adds up a share of the depth; the first adds up their sums, in their order.
///
/// # Safety
/// Every thread of a block of `GROUPS` times `THREADS` calls it with the same `from` and `to`; operands and output describe valid memory, and operands are 0 beyond
/// `to`; the shared arrays hold two tiles of each group each. With several groups a thread has one quad of a row and of a column, and `tile_a` 16 words for each thread.
#[device_inline]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "what a product is made of")]
unsafe fn product<
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
    const GROUPS: u32,
>(
    a: A,
    b: B,
    out: O,
    from: u32,
    to: u32,
    tile_a: Shared<f32>,
    tile_b: Shared<f32>,
) {
    let (first_row, first_col) = (thread::block_idx_x() * ROWS, thread::block_idx_y() * COLS);
    let (group, me) = (thread::thread_idx_x() / THREADS, thread::thread_idx_x() % THREADS);
    let across = COLS / (4 * C as u32);
    let (my_row, my_col) = (me / across * 4, me % across * 4);
    // All groups take as many tiles of the depth, so that they meet.
    let n_tiles = (to - from).div_ceil(DEPTH * GROUPS);
    let from = from + group * n_tiles * DEPTH;
    let mut sums = [[[[0.0f32; 4]; 4]; C]; R];
    let mut share_a = Share::<A, ROWS, DEPTH, THREADS, QUADS_A>::new(a, first_row, from);
    let mut share_b = Share::<B, COLS, DEPTH, THREADS, QUADS_B>::new(b, first_col, from);
    let half_of = |half: u32| {
        let before = (2 * group + half) * DEPTH;
        (before * (ROWS + 4), before * (COLS + 4))
    };
    // SAFETY: operands and output describe valid memory, as the caller says. The arrays hold two tiles of each group, `half` is 0 or 1, and each quad of the tile is given by one thread.
    unsafe {
        if n_tiles > 0 {
            let (quads_a, quads_b) = (share_a.fetch(), share_b.fetch());
            let (from_a, from_b) = half_of(0);
            share_a.put(tile_a, from_a, quads_a);
            share_b.put(tile_b, from_b, quads_b);
        }
        // The first tiles must be whole.
        sync::sync_threads();
        let (mut number, mut half) = (0, 0);
        while number < n_tiles {
            number += 1;
            let mut quads_a = [[0.0; 4]; QUADS_A];
            let mut quads_b = [[0.0; 4]; QUADS_B];
            if number < n_tiles {
                (quads_a, quads_b) = (share_a.fetch(), share_b.fetch());
            }
            let (from_a, from_b) = half_of(half);
            multiply::<ROWS, COLS, DEPTH, R, C>((tile_a, from_a), (tile_b, from_b), (my_row, my_col), &mut sums);
            half = 1 - half;
            if number < n_tiles {
                let (from_a, from_b) = half_of(half);
                share_a.put(tile_a, from_a, quads_a);
                share_b.put(tile_b, from_b, quads_b);
            }
            // The next tiles must be whole, and the present ones read by all.
            sync::sync_threads();
        }
        if GROUPS > 1 {
            const { assert!(GROUPS == 1 || R == 1 && C == 1) };
            add_groups::<THREADS, GROUPS>(&mut sums[0][0], tile_a, (group, me));
            if group > 0 {
                return;
            }
        }
        put_sums::<O, ROWS, COLS, R, C>(out, (first_row, first_col), (my_row, my_col), &sums);
    }
}

/// Adds the sums of all groups to those of the first, in their order. All threads call it.
///
/// # Safety
/// `words` has 16 for each thread of the block, which nobody uses any more.
#[device_inline]
#[track_caller]
unsafe fn add_groups<const THREADS: u32, const GROUPS: u32>(
    sums: &mut [[f32; 4]; 4],
    words: Shared<f32>,
    (group, me): (u32, u32),
) {
    // A row of all threads after the other, so that neighbours write neighbouring quads.
    let at = |group: u32, row: u32| ((group * 4 + row) * THREADS + me) * 4;
    // SAFETY: below 16 words for each thread of the block.
    unsafe {
        if group > 0 {
            for row in 0..4 {
                words.set_quad_unchecked(at(group, row), sums[row as usize]);
            }
        }
        // The sums of all groups must be there.
        sync::sync_threads();
        if group == 0 {
            for other in 1..GROUPS {
                for row in 0..4 {
                    sums[row as usize] = add(sums[row as usize], words.get_quad_unchecked(at(other, row)));
                }
            }
        }
    }
}

/// Gives a thread's sums to the output: `first` are the block's first row and column, `mine` the thread's within the tile.
///
/// # Safety
/// The output describes valid memory; the thread's quads are no other's.
#[device_inline]
#[track_caller]
unsafe fn put_sums<O: Output, const ROWS: u32, const COLS: u32, const R: usize, const C: usize>(
    out: O,
    first: (u32, u32),
    mine: (u32, u32),
    sums: &[[[[f32; 4]; 4]; C]; R],
) {
    for r in 0..R {
        for i in 0..4 {
            for c in 0..C {
                let row = first.0 + r as u32 * (ROWS / R as u32) + mine.0 + i as u32;
                let col = first.1 + c as u32 * (COLS / C as u32) + mine.1;
                // SAFETY: the output is valid, and r, i and c name each of the thread's quads once.
                unsafe { out.put(row, col, sums[r][c][i]) };
            }
        }
    }
}

impl Product {
    #[device_inline]
    fn activated(&self) -> Activated {
        let floor = if self.option != 0 { 0.0 } else { f32::NEG_INFINITY };
        Activated { bias: self.bias, result: self.result, n_rows: self.pixels(), ld: self.n_outputs, floor }
    }

    #[device_inline]
    fn added(&self) -> Added {
        Added { result: self.result, n_rows: self.pixels(), ld: self.n_inputs, add: self.option != 0 }
    }

    /// The block's part of the gradient, and its pixels.
    #[device_inline]
    fn own_part(&self) -> (Part, u32, u32) {
        let n_rows = self.side * self.side * self.n_inputs + if self.option != 0 { 4 } else { 0 };
        let z = thread::block_idx_z();
        let size = n_rows as usize * self.n_outputs as usize;
        let result = self.result.wrapping_add(z as usize * size);
        let (from, pixels) = (z * self.part, self.pixels());
        let to = if pixels - from < self.part { pixels } else { from + self.part };
        (Part { result, n_rows, ld: self.n_outputs }, from, to)
    }
}

macro_rules! kernels {
    ($tiles:ident, $words:ident: $rows:literal, $cols:literal, $depth:literal, $threads:literal, $blocks:literal, $r:literal, $c:literal, $qa:literal, $qb:literal, $groups:expr,
        $forward:ident, $backward:ident, $gradient:ident) => {
        /// Outputs of a layer: a convolution of 9 taps or 1, or a linear layer.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 256 threads) for `pixels` × `n_outputs`, one part.
        /// * Reads: `inputs`, `weights`, `bias`.
        /// * Writes: `result` `[pixels, n_outputs]`.
        /// * Shared: 33,792 bytes (large) or 36,864 (small): two tiles of each operand for each group of threads.
        /// * Cost: 2 × pixels × outputs × taps × inputs operations.
        /// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::forward`.
        /// * Source: OpenSpiel's residual network (Paul and Xu, section II.C); the tiles are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory; channels are multiples of 4.
        #[kernel(
            shape = $tiles.shape(layer.pixels(), layer.n_outputs, 1).overlapping(),
            max_threads = $threads,
            min_blocks = $blocks,
            require = !layer.inputs.is_null() && !layer.weights.is_null()
        )]
        pub unsafe fn $forward(layer: Product) {
            follow();
            let depth = layer.side * layer.side * layer.n_inputs;
            // SAFETY: blocks have the threads of these tiles and the layer describes valid memory, as the kernel asks; operands are 0 beyond their depth, and the arrays hold two tiles each.
            unsafe {
                product::<_, _, _, $rows, $cols, $depth, { $threads / $groups }, $r, $c, $qa, $qb, $groups>(
                    Window::inputs(&layer), Weights::new(&layer), layer.activated(), 0, depth,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }

        /// Gradient of a layer's inputs.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 256 threads) for `pixels` × `n_inputs`, one part.
        /// * Reads: `output_gradient`, `weights`.
        /// * Writes: `result` `[pixels, n_inputs]`, replaced or added to.
        /// * Shared: 33,792 bytes (large) or 36,864 (small): two tiles of each operand for each group of threads.
        /// * Cost: 2 × pixels × inputs × taps × outputs operations.
        /// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::input_gradient`.
        /// * Source: the chain rule for that layer; the tiles are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory; channels are multiples of 4.
        #[kernel(
            shape = $tiles.shape(layer.pixels(), layer.n_inputs, 1).overlapping(),
            max_threads = $threads,
            min_blocks = $blocks,
            require = !layer.result.is_null() && layer.inputs.is_null() && layer.inputs_short.is_null()
        )]
        pub unsafe fn $backward(layer: Product) {
            follow();
            let depth = layer.side * layer.side * layer.n_outputs;
            // SAFETY: blocks have the threads of these tiles and the layer describes valid memory, as the kernel asks; operands are 0 beyond their depth, and the arrays hold two tiles each.
            unsafe {
                product::<_, _, _, $rows, $cols, $depth, { $threads / $groups }, $r, $c, $qa, $qb, $groups>(
                    Window::output_gradient(&layer), Turned::new(&layer), layer.added(), 0, depth,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }

        /// Gradient of a layer's weights, and of its bias, in parts.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`] (128 × 128, 256 threads) or [`SMALL`] (32 × 32, 256 threads) for `side² · n_inputs` (four more with the
        ///   bias) × `n_outputs`, a part for each `part` pixels.
        /// * Reads: `inputs`, `output_gradient`.
        /// * Writes: `result`, a part each.
        /// * Shared: 33,792 bytes (large) or 36,864 (small): two tiles of each operand for each group of threads.
        /// * Cost: 2 × taps × inputs × outputs × pixels operations.
        /// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::weight_gradient`,
        ///   `warpplay_cpu_ref::azero::training::convolution::Layer::bias_gradient`.
        /// * Source: the chain rule for that layer; the tiles are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory; channels are multiples of 4.
        #[kernel(
            shape = $tiles.shape(layer.gradient_rows(), layer.n_outputs, layer.n_parts()).overlapping(),
            max_threads = $threads,
            min_blocks = $blocks,
            require = !layer.inputs.is_null()
        )]
        pub unsafe fn $gradient(layer: Product) {
            follow();
            let (out, from, to) = layer.own_part();
            // SAFETY: blocks have the threads of these tiles and the layer describes valid memory, as the kernel asks; operands are 0 beyond their depth, and the arrays hold two tiles each.
            unsafe {
                product::<_, _, _, $rows, $cols, $depth, { $threads / $groups }, $r, $c, $qa, $qb, $groups>(
                    Shifted::new(&layer, to), Gradient::new(&layer, to), out, from, to,
                    shared_array![f32; $words], shared_array![f32; $words],
                );
            }
        }
    };
}

kernels!(LARGE, LARGE_WORDS: 128, 128, 16, 256, 2, 2, 2, 2, 2, 1,
    azero_train_forward_large, azero_train_backward_large, azero_train_gradient_large);
const _: () = assert!(SMALL.depth == 16 * GROUPS && SMALL.threads == 64 * GROUPS && LARGE.depth == 16);
kernels!(SMALL, SMALL_WORDS: 32, 32, 16, 256, 4, 1, 1, 2, 2, GROUPS,
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
/// Both arrays begin at a multiple of 16 bytes.
#[kernel(shape = gate_shape(n).overlapping(), max_threads = GATE_BLOCK, require = n.is_multiple_of(4))]
pub unsafe fn azero_train_gate(#[len(n)] outputs: *const f32, #[len(n)] gradient: *mut f32, n: u32) {
    follow();
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
