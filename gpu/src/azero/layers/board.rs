//! 3×3 convolutions in single precision on boards of 8×8: a thread has whole rows in registers, and skips what lies beyond the board.
//!
//! ```text
//! a lane      one output channel
//! a thread    1 output x 64 cells (azero_layers_conv_board_*), or 1 output x 8 cells (azero_layers_conv_row)
//! shared, two of each, so that one is filled while the other is read:
//!   weights   [INPUTS * 9][OUTPUTS]       a warp reads 32 neighbours
//!   cells     [POSITIONS][INPUTS][64]     a warp reads one row at a time: all lanes the same quad
//! ```
//!
//! An input row is read once and used for three output rows; of 576 products of a plane and a filter, the 92 with cells beyond the edge are left out. Sums
//! have the order of [`conv`](super::conv), and so the same bits: a product with 0 that is left out changes none.
//!
//! `ConvLayer` is that of [`conv`](super::conv).
#![allow(
    clippy::absurd_extreme_comparisons,
    clippy::out_of_bounds_indexing,
    reason = "turns of `each!` have constants: what would be out of bounds stands behind a condition that is false"
)]

use super::conv::{ConvLayer, ConvLayerViews, LINE, TAPS, copy_lines, each, get_quad, rectify};
use crate::cuda::math::fma;
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::{Shared, Tile};
use crate::cuda::view::{Exclusive, Nullable, Quads, Slice};
use crate::cuda::{kernel, shared_array, sync, thread};
use crate::launch::LaunchShape;

/// Rows and columns of the board.
pub const SIDE: u32 = 8;
/// Cells of the board.
pub const CELLS: u32 = SIDE * SIDE;
/// Outputs of a warp.
pub const WARP_OUTPUTS: u32 = thread::WARP;
/// Inputs that are in shared memory at once.
const INPUTS: u32 = 4;
/// Threads of a block of [`azero_layers_conv_row`]: a warp a row, half a board.
const ROW_THREADS: u32 = 4 * thread::WARP;
/// Inputs that are in shared memory at once there.
const ROW_INPUTS: u32 = 8;

const _: () = assert!(ROW_INPUTS == 8, "the kernel's loop is written out");

/// How the blocks of one of the kernels are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Outputs of a block.
    pub outputs: u32,
    /// Positions of a block.
    pub positions: u32,
}

/// [`azero_layers_conv_board_pair`].
pub const PAIR: Board = Board { outputs: 128, positions: 2 };
/// [`azero_layers_conv_board_single`].
pub const SINGLE: Board = Board { outputs: 128, positions: 1 };
/// [`azero_layers_conv_board_narrow`].
pub const NARROW: Board = Board { outputs: 32, positions: 4 };

impl Board {
    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        self.outputs * self.positions
    }

    /// Launch shape for `n` positions and `n_outputs` outputs.
    pub const fn shape(&self, n: u32, n_outputs: u32) -> LaunchShape {
        LaunchShape::grid_2d(n.div_ceil(self.positions), n_outputs.div_ceil(self.outputs), self.threads())
    }
}

/// Launch shape of [`azero_layers_conv_row`].
pub const fn row_shape(n: u32, n_outputs: u32) -> LaunchShape {
    LaunchShape::grid_2d(2 * n, n_outputs.div_ceil(WARP_OUTPUTS), ROW_THREADS)
}

/// Adds the products of three taps and a row of cells to a row of sums.
#[inline(always)]
fn add_row(sums: &mut [f32; 8], taps: [f32; 3], row: &[f32; 8]) {
    each!(X in [0 1 2 3 4 5 6 7] {
        if X > 0 {
            sums[X] = fma(taps[0], row[X - 1], sums[X]);
        }
        sums[X] = fma(taps[1], row[X], sums[X]);
        if X < 7 {
            sums[X] = fma(taps[2], row[X + 1], sums[X]);
        }
    });
}

/// The taps of input `number` of a tile for this thread's output.
#[inline(always)]
#[track_caller]
fn taps(weights: Tile<f32>, number: u32, output: u32) -> [[f32; 3]; 3] {
    let mut taps = [[0.0; 3]; 3];
    each!(Y in [0 1 2] {
        each!(X in [0 1 2] {
            taps[Y][X] = weights.get(number * TAPS + 3 * Y as u32 + X as u32, output);
        });
    });
    taps
}

/// A row of a plane of a tile of cells.
#[inline(always)]
#[track_caller]
fn row(cells: Tile<Vec4>, plane: u32, row: u32) -> [f32; 8] {
    let (low, high) = (get_quad(cells, plane, 2 * row), get_quad(cells, plane, 2 * row + 1));
    [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
}

/// Where outputs go, and what is added to them before the rectifier: planes of 64 cells by fours.
#[derive(Clone, Copy)]
struct Planes {
    output: Quads<Exclusive<f32>, 3>,
    residual: Nullable<Quads<Slice<f32>, 3>>,
}

impl Planes {
    #[inline(always)]
    #[track_caller]
    fn of(layer: &ConvLayerViews) -> Self {
        Self { output: layer.output.with_last(CELLS).quads(), residual: layer.residual.with_last(CELLS).quads() }
    }

    /// Bias, residual and rectifier for a row of sums, and where it goes: row `row` of an output of a position.
    #[inline(always)]
    #[track_caller]
    fn put_row(&self, sums: &[f32; 8], bias: f32, [position, output]: [u32; 2], row: u32) {
        each!(HALF in [0 1] {
            let at = [position, output, row * SIDE + 4 * HALF as u32];
            let mut quad = [
                sums[4 * HALF] + bias,
                sums[4 * HALF + 1] + bias,
                sums[4 * HALF + 2] + bias,
                sums[4 * HALF + 3] + bias,
            ];
            if let Some(residual) = self.residual.get() {
                let residual = residual.get(at);
                each!(I in [0 1 2 3] {
                    quad[I] += residual[I];
                });
            }
            self.output.set(at, quad.map(rectify));
        });
    }
}

/// Starts to copy `POSITIONS` positions' planes of `COUNT` inputs from `input` on to shared memory, from quad `first` on; 0 where there are none. Every thread of a block of `THREADS` calls it.
///
/// # Safety
/// The array has room for them.
#[inline(always)]
#[track_caller]
unsafe fn copy_cells<const POSITIONS: u32, const COUNT: u32, const THREADS: u32>(
    inputs: Quads<Slice<f32>, 3>,
    cells: Shared<Vec4>,
    first: u32,
    first_position: u32,
    input: u32,
) {
    const QUADS: u32 = CELLS / 4;
    let [n, n_inputs, _] = inputs.size();
    for quad in thread::strided(thread::thread_idx_x(), POSITIONS * COUNT * QUADS, THREADS) {
        let (plane, part) = (quad / QUADS, quad % QUADS);
        let (position, own) = (first_position + plane / COUNT, input + plane % COUNT);
        // SAFETY: the plane is one of the layer's; the caller vouches for the room.
        unsafe {
            if position < n && own < n_inputs {
                inputs.copy_async_unchecked([position, own, 4 * part], cells, first + quad);
            } else {
                cells.set_unchecked(first + quad, Vec4::default());
            }
        }
    }
}

/// The block's outputs of its positions. Every thread of a block of `THREADS` = `OUTPUTS * POSITIONS` calls it; the board is 8×8; the shared arrays hold two tiles each.
#[inline(always)]
#[track_caller]
fn convolve_board<const OUTPUTS: u32, const POSITIONS: u32, const THREADS: u32>(
    layer: &ConvLayerViews,
    weights: Shared<Vec4>,
    cells: Shared<Vec4>,
) {
    let me = thread::thread_idx_below(THREADS);
    // The lanes of a warp have neighbouring outputs of one position.
    let (own_output, own_position) = (me % OUTPUTS, me / OUTPUTS);
    let first_position = thread::block_idx_x() * POSITIONS;
    let first_output = thread::block_idx_y() * OUTPUTS;
    // Quads of a tile.
    let (tile_weights, tile_cells) = (INPUTS * TAPS * OUTPUTS / 4, POSITIONS * INPUTS * CELLS / 4);
    let inputs = layer.input.with_last(CELLS).quads();
    // SAFETY: weights are filled up to whole tiles of inputs and outputs; the arrays hold two tiles.
    let copy = |half: u32, input: u32| unsafe {
        let from = input as usize * TAPS as usize * layer.line as usize + first_output as usize;
        let size = [OUTPUTS, tile_weights];
        copy_lines::<THREADS>(weights, half * tile_weights, layer.weights, from, layer.line, size);
        copy_cells::<POSITIONS, INPUTS, THREADS>(inputs, cells, half * tile_cells, first_position, input);
        memory::async_commit();
    };
    let mut sums = [[0.0f32; 8]; 8];
    copy(0, 0);
    let mut half = 0;
    for input in thread::strided(0, layer.n_inputs, INPUTS) {
        memory::async_wait_all();
        // The present tiles must be whole, and the other half read by all.
        sync::sync_threads();
        if input + INPUTS < layer.n_inputs {
            copy(1 - half, input + INPUTS);
        }
        let weights = weights.tile(half * tile_weights, INPUTS * TAPS, OUTPUTS / 4).cast();
        let cells = cells.tile(half * tile_cells, POSITIONS * INPUTS, CELLS / 4);
        for number in 0..INPUTS {
            let taps = taps(weights, number, own_output);
            add_plane(&mut sums, taps, cells, own_position * INPUTS + number);
        }
        half = 1 - half;
    }
    let (position, output) = (first_position + own_position, first_output + own_output);
    let planes = Planes::of(layer);
    let [n, n_outputs, _] = planes.output.size();
    if position < n && output < n_outputs {
        let bias = layer.bias.get([output]);
        each!(Y in [0 1 2 3 4 5 6 7] {
            planes.put_row(&sums[Y], bias, [position, output], Y as u32);
        });
    }
}

/// Adds the products of nine taps and a plane to all rows of sums.
#[inline(always)]
#[track_caller]
fn add_plane(sums: &mut [[f32; 8]; 8], taps: [[f32; 3]; 3], cells: Tile<Vec4>, plane: u32) {
    each!(Y in [0 1 2 3 4 5 6 7] {
        let row = row(cells, plane, Y as u32);
        // The row is below the one above it, so it meets the last taps there; ascending taps for each row of sums.
        if Y < 7 {
            add_row(&mut sums[Y + 1], taps[0], &row);
        }
        add_row(&mut sums[Y], taps[1], &row);
        if Y > 0 {
            add_row(&mut sums[Y - 1], taps[2], &row);
        }
    });
}

/// Quads of two tiles.
const PAIR_WEIGHTS: usize = 2 * 4 * 9 * 128 / 4;
const PAIR_CELLS: usize = 2 * 4 * 64 * 2 / 4;
const SINGLE_CELLS: usize = 2 * 4 * 64 / 4;
const NARROW_WEIGHTS: usize = 2 * 4 * 9 * 32 / 4;
const NARROW_CELLS: usize = 2 * 4 * 64 * 4 / 4;
const ROW_WEIGHTS: usize = 2 * 8 * 9 * 32 / 4;
const ROW_CELLS: usize = 2 * 8 * 64 / 4;

const _: () =
    assert!(super::conv::INPUT_GROUP.is_multiple_of(INPUTS) && super::conv::INPUT_GROUP.is_multiple_of(ROW_INPUTS));
const _: () = assert!(PAIR.threads() == 256 && SINGLE.threads() == 128 && NARROW.threads() == 128);
const _: () = assert!(LINE.is_multiple_of(PAIR.outputs));

/// 128 outputs of two positions a block: for large batches.
///
/// * Launch: [`Board::shape`] of [`PAIR`]: two positions × 128 outputs a block, 256 threads.
/// * Reads: `input`, `weights`, `bias`, `residual`.
/// * Writes: `output`.
/// * Shared: 40,960 bytes: two tiles of weights and of cells.
/// * Cost: 2 × 484 × inputs × outputs operations a position: of 576 products of a plane, those beyond the edge are left out.
/// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the rows in registers are ours.
///
/// # Safety
/// Launched with the shape of [`PAIR`]. `layer` describes valid memory, its board is 8×8; the output overlaps nothing else, but may be the residual.
#[kernel(max_threads = 256, min_blocks = 2)]
pub unsafe fn azero_layers_conv_board_pair(layer: ConvLayer) {
    // SAFETY: the arrays have their lengths, by the contract; each output is one thread's, which has read its residual before.
    let layer = unsafe { layer.views() };
    convolve_board::<128, 2, 256>(&layer, shared_array![Vec4; PAIR_WEIGHTS], shared_array![Vec4; PAIR_CELLS]);
}

/// 128 outputs of one position a block: for batches of about as many positions as there are multiprocessors.
///
/// * Launch: [`Board::shape`] of [`SINGLE`]: a position × 128 outputs a block, 128 threads.
/// * Reads: `input`, `weights`, `bias`, `residual`.
/// * Writes: `output`.
/// * Shared: 38,912 bytes: two tiles of weights and of cells.
/// * Cost: 2 × 484 × inputs × outputs operations a position: of 576 products of a plane, those beyond the edge are left out.
/// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the rows in registers are ours.
///
/// # Safety
/// As [`azero_layers_conv_board_pair`], with the shape of [`SINGLE`].
#[kernel(max_threads = 128, min_blocks = 4)]
pub unsafe fn azero_layers_conv_board_single(layer: ConvLayer) {
    // SAFETY: as in `azero_layers_conv_board_pair`.
    let layer = unsafe { layer.views() };
    convolve_board::<128, 1, 128>(&layer, shared_array![Vec4; PAIR_WEIGHTS], shared_array![Vec4; SINGLE_CELLS]);
}

/// 32 outputs of four positions a block: for widths that are no multiple of 128.
///
/// * Launch: [`Board::shape`] of [`NARROW`]: four positions × 32 outputs a block, 128 threads.
/// * Reads: `input`, `weights`, `bias`, `residual`.
/// * Writes: `output`.
/// * Shared: 17,408 bytes: two tiles of weights and of cells.
/// * Cost: 2 × 484 × inputs × outputs operations a position: of 576 products of a plane, those beyond the edge are left out.
/// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the rows in registers are ours.
///
/// # Safety
/// As [`azero_layers_conv_board_pair`], with the shape of [`NARROW`].
#[kernel(max_threads = 128, min_blocks = 4)]
pub unsafe fn azero_layers_conv_board_narrow(layer: ConvLayer) {
    // SAFETY: as in `azero_layers_conv_board_pair`.
    let layer = unsafe { layer.views() };
    convolve_board::<32, 4, 128>(&layer, shared_array![Vec4; NARROW_WEIGHTS], shared_array![Vec4; NARROW_CELLS]);
}

/// 32 outputs of half a position a block, a row a thread: for small batches.
///
/// * Launch: [`row_shape`], half a position × 32 outputs a block, 128 threads.
/// * Reads: `input`, `weights`, `bias`, `residual`.
/// * Writes: `output`.
/// * Shared: 22,528 bytes: two tiles of weights and of cells.
/// * Cost: 2 × 528 × inputs × outputs operations a position: a row beyond the board is multiplied by 0.
/// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the rows in registers are ours.
///
/// # Safety
/// As [`azero_layers_conv_board_pair`], with [`row_shape`].
#[kernel(max_threads = ROW_THREADS)]
pub unsafe fn azero_layers_conv_row(layer: ConvLayer) {
    // SAFETY: as in `azero_layers_conv_board_pair`.
    let layer = unsafe { layer.views() };
    convolve_row(&layer, shared_array![Vec4; ROW_WEIGHTS], shared_array![Vec4; ROW_CELLS]);
}

/// A row of an output a thread; the arrays hold two tiles each.
#[inline(always)]
#[track_caller]
fn convolve_row(layer: &ConvLayerViews, weights: Shared<Vec4>, cells: Shared<Vec4>) {
    let (position, first_output) = (thread::block_idx_x() / 2, thread::block_idx_y() * WARP_OUTPUTS);
    let own_row = thread::block_idx_x() % 2 * 4 + thread::thread_idx_below(ROW_THREADS) / thread::WARP;
    /// Quads of a tile.
    const WEIGHTS: u32 = ROW_INPUTS * TAPS * WARP_OUTPUTS / 4;
    const PLANES: u32 = ROW_INPUTS * CELLS / 4;
    let inputs = layer.input.with_last(CELLS).quads();
    // SAFETY: weights are filled up to whole tiles of inputs and outputs; the arrays hold two tiles.
    let copy = |half: u32, input: u32| unsafe {
        let from = input as usize * TAPS as usize * layer.line as usize + first_output as usize;
        copy_lines::<ROW_THREADS>(weights, half * WEIGHTS, layer.weights, from, layer.line, [WARP_OUTPUTS, WEIGHTS]);
        copy_cells::<1, ROW_INPUTS, ROW_THREADS>(inputs, cells, half * PLANES, position, input);
        memory::async_commit();
    };
    let above = if own_row > 0 { own_row - 1 } else { 0 };
    let below = if own_row + 1 < SIDE { own_row + 1 } else { own_row };
    let rows = [(own_row > 0, above), (true, own_row), (own_row + 1 < SIDE, below)];
    let mut sums = [0.0f32; 8];
    copy(0, 0);
    let mut half = 0;
    for input in thread::strided(0, layer.n_inputs, ROW_INPUTS) {
        memory::async_wait_all();
        // The present tiles must be whole, and the other half read by all.
        sync::sync_threads();
        if input + ROW_INPUTS < layer.n_inputs {
            copy(1 - half, input + ROW_INPUTS);
        }
        let weights = weights.tile(half * WEIGHTS, ROW_INPUTS * TAPS, WARP_OUTPUTS / 4).cast();
        let cells = cells.tile(half * PLANES, ROW_INPUTS, CELLS / 4);
        // All at once, so that the reads of one input do not wait for the products of the one before.
        each!(NUMBER in [0 1 2 3 4 5 6 7] {
            let taps = taps(weights, NUMBER as u32, thread::lane());
            each!(Y in [0 1 2] {
                // A row beyond the board is another with taps of 0, which adds nothing: no branch.
                let (inside, y) = rows[Y];
                let taps = if inside { taps[Y] } else { [0.0; 3] };
                add_row(&mut sums, taps, &row(cells, NUMBER as u32, y));
            });
        });
        half = 1 - half;
    }
    let output = first_output + thread::lane();
    if output < layer.n_outputs {
        Planes::of(layer).put_row(&sums, layer.bias.get([output]), [position, output], own_row);
    }
}
