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
    reason = "turns of `unroll!` have constants: what would be out of bounds stands behind a condition that is false"
)]

use super::conv::{ConvLayer, LINE, TAPS, copy_lines, rectify};
use crate::cuda::math::fma;
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::Shared;
use crate::cuda::{kernel, shared_array, sync, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

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
#[device_inline]
fn add_row(sums: &mut [f32; 8], taps: [f32; 3], row: &[f32; 8]) {
    unroll!(X in [0, 1, 2, 3, 4, 5, 6, 7] {
        if X > 0 {
            sums[X] = fma(taps[0], row[X - 1], sums[X]);
        }
        sums[X] = fma(taps[1], row[X], sums[X]);
        if X < 7 {
            sums[X] = fma(taps[2], row[X + 1], sums[X]);
        }
    });
}

/// The taps of an input for this thread's output.
#[device_inline]
#[track_caller]
fn taps<const OUTPUTS: u32>(weights: Shared<f32>, first: u32, output: u32) -> [[f32; 3]; 3] {
    let mut taps = [[0.0; 3]; 3];
    unroll!(Y in [0, 1, 2] {
        unroll!(X in [0, 1, 2] {
            // SAFETY: inside the tile whose input's weights begin at `first`.
            taps[Y][X] = unsafe { weights.get_unchecked(first + (3 * Y as u32 + X as u32) * OUTPUTS + output) };
        });
    });
    taps
}

/// A row of a plane in shared memory, from value `at` on.
///
/// # Safety
/// `at` is a multiple of 4, `at + 8` at most the array's length.
#[device_inline]
#[track_caller]
unsafe fn row(cells: Shared<f32>, at: u32) -> [f32; 8] {
    // SAFETY: both quads lie inside, as the caller says; shared arrays are aligned to 16 bytes.
    let (low, high) = unsafe { (cells.get_quad_unchecked(at), cells.get_quad_unchecked(at + 4)) };
    [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
}

/// Bias, residual and rectifier for a row of sums, and where it goes: row `row` of plane `plane`.
///
/// # Safety
/// The layer is valid; the row is this thread's.
#[device_inline]
#[track_caller]
unsafe fn put_row(layer: &ConvLayer, sums: &[f32; 8], bias: f32, plane: usize, row: usize) {
    unroll!(HALF in [0, 1] {
        let at = plane * CELLS as usize + row * SIDE as usize + 4 * HALF;
        let mut quad = [
            sums[4 * HALF] + bias,
            sums[4 * HALF + 1] + bias,
            sums[4 * HALF + 2] + bias,
            sums[4 * HALF + 3] + bias,
        ];
        // SAFETY: position, output and row are those of the layer, whose residual and output have a row of eight there, two aligned quads; the row is this thread's.
        unsafe {
            if !layer.residual.is_null() {
                let residual = memory::load_vec4(layer.residual.add(at).cast::<Vec4>()).0;
                unroll!(I in [0, 1, 2, 3] {
                    quad[I] += f32::from_bits(residual[I]);
                });
            }
            let quad = quad.map(|value| rectify(value).to_bits());
            memory::store_vec4(layer.output.add(at).cast::<Vec4>(), Vec4(quad));
        }
    });
}

/// Starts to copy `POSITIONS` positions' planes of `count` inputs from `input` on to shared memory; 0 where there are none.
///
/// # Safety
/// Every thread of a block of `THREADS` calls it; the layer is valid; the array has room for two tiles.
#[device_inline]
#[track_caller]
unsafe fn copy_cells<const POSITIONS: u32, const COUNT: u32, const THREADS: u32>(
    layer: &ConvLayer,
    cells: Shared<f32>,
    half: u32,
    first_position: u32,
    input: u32,
) {
    const QUADS: u32 = CELLS / 4;
    // SAFETY: the array is the same aligned memory, as quads, with room for two tiles; a plane is copied where the valid layer has it.
    unsafe {
        let array = Shared::<Vec4>::from_address(cells.base(), cells.len() / 4);
        let tile = POSITIONS * COUNT * QUADS;
        for quad in thread::strided(thread::thread_idx_x(), tile, THREADS) {
            let (plane, part) = (quad / QUADS, quad % QUADS);
            let (position, own) = (first_position + plane / COUNT, input + plane % COUNT);
            if position < layer.n && own < layer.n_inputs {
                let plane = position as usize * layer.n_inputs as usize + own as usize;
                let from = layer.input.add(plane * CELLS as usize + 4 * part as usize);
                memory::copy_async_unchecked(array, half * tile + quad, from.cast::<Vec4>());
            } else {
                array.set_unchecked(half * tile + quad, Vec4::default());
            }
        }
    }
}

/// The block's outputs of its positions.
///
/// # Safety
/// Every thread of a block of `THREADS` = `OUTPUTS * POSITIONS` calls it; the layer is valid, its board 8×8; the shared arrays hold two tiles each.
#[device_inline]
#[track_caller]
unsafe fn convolve_board<const OUTPUTS: u32, const POSITIONS: u32, const THREADS: u32>(
    layer: &ConvLayer,
    weights: Shared<f32>,
    cells: Shared<f32>,
) {
    let me = thread::thread_idx_x();
    // The lanes of a warp have neighbouring outputs of one position.
    let (own_output, own_position) = (me % OUTPUTS, me / OUTPUTS);
    let first_position = thread::block_idx_x() * POSITIONS;
    let first_output = thread::block_idx_y() * OUTPUTS;
    let tile = INPUTS * TAPS * OUTPUTS;
    // SAFETY: the layer is valid, as the caller says, with weights filled up to whole tiles; the plane is this thread's alone.
    unsafe {
        let copy = |half: u32, input: u32| {
            let from = layer.weights.add(input as usize * TAPS as usize * layer.line as usize + first_output as usize);
            copy_lines::<THREADS>(weights, half * tile, from, layer.line, OUTPUTS, tile / 4);
            copy_cells::<POSITIONS, INPUTS, THREADS>(layer, cells, half, first_position, input);
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
            for number in 0..INPUTS {
                let taps = taps::<OUTPUTS>(weights, half * tile + number * TAPS * OUTPUTS, own_output);
                let plane = ((half * POSITIONS + own_position) * INPUTS + number) * CELLS;
                unroll!(Y in [0, 1, 2, 3, 4, 5, 6, 7] {
                    let row = row(cells, plane + Y as u32 * SIDE);
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
            half = 1 - half;
        }
        let (position, output) = (first_position + own_position, first_output + own_output);
        if position < layer.n && output < layer.n_outputs {
            let plane = position as usize * layer.n_outputs as usize + output as usize;
            let bias = memory::load(layer.bias, output as usize);
            unroll!(Y in [0, 1, 2, 3, 4, 5, 6, 7] {
                put_row(layer, &sums[Y], bias, plane, Y);
            });
        }
    }
}

const PAIR_WEIGHTS: usize = 2 * 4 * 9 * 128;
const PAIR_CELLS: usize = 2 * 4 * 64 * 2;
const SINGLE_CELLS: usize = 2 * 4 * 64;
const NARROW_WEIGHTS: usize = 2 * 4 * 9 * 32;
const NARROW_CELLS: usize = 2 * 4 * 64 * 4;
const ROW_WEIGHTS: usize = 2 * 8 * 9 * 32;
const ROW_CELLS: usize = 2 * 8 * 64;

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
/// `layer` describes valid memory; the output overlaps nothing else, but may be the residual.
#[kernel(
    shape = PAIR.shape(layer.n, layer.n_outputs),
    max_threads = 256,
    min_blocks = 2,
    require = layer.rows == 8 && layer.columns == 8
)]
pub unsafe fn azero_layers_conv_board_pair(layer: ConvLayer) {
    // SAFETY: blocks have the threads of these tiles, the layer describes valid memory and its board is 8×8, as the kernel asks; the arrays hold two tiles each.
    unsafe { convolve_board::<128, 2, 256>(&layer, shared_array![f32; PAIR_WEIGHTS], shared_array![f32; PAIR_CELLS]) };
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
/// As [`azero_layers_conv_board_pair`].
#[kernel(
    shape = SINGLE.shape(layer.n, layer.n_outputs),
    max_threads = 128,
    min_blocks = 4,
    require = layer.rows == 8 && layer.columns == 8
)]
pub unsafe fn azero_layers_conv_board_single(layer: ConvLayer) {
    // SAFETY: blocks have the threads of these tiles, the layer describes valid memory and its board is 8×8, as the kernel asks; the arrays hold two tiles each.
    unsafe {
        convolve_board::<128, 1, 128>(&layer, shared_array![f32; PAIR_WEIGHTS], shared_array![f32; SINGLE_CELLS])
    };
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
/// As [`azero_layers_conv_board_pair`].
#[kernel(
    shape = NARROW.shape(layer.n, layer.n_outputs),
    max_threads = 128,
    min_blocks = 4,
    require = layer.rows == 8 && layer.columns == 8
)]
pub unsafe fn azero_layers_conv_board_narrow(layer: ConvLayer) {
    // SAFETY: blocks have the threads of these tiles, the layer describes valid memory and its board is 8×8, as the kernel asks; the arrays hold two tiles each.
    unsafe {
        convolve_board::<32, 4, 128>(&layer, shared_array![f32; NARROW_WEIGHTS], shared_array![f32; NARROW_CELLS])
    };
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
/// As [`azero_layers_conv_board_pair`].
#[kernel(
    shape = row_shape(layer.n, layer.n_outputs),
    max_threads = ROW_THREADS,
    require = layer.rows == 8 && layer.columns == 8
)]
pub unsafe fn azero_layers_conv_row(layer: ConvLayer) {
    let (weights, cells) = (shared_array![f32; ROW_WEIGHTS], shared_array![f32; ROW_CELLS]);
    let (position, first_output) = (thread::block_idx_x() / 2, thread::block_idx_y() * WARP_OUTPUTS);
    let own_row = thread::block_idx_x() % 2 * 4 + thread::warp_index();
    const TILE: u32 = ROW_INPUTS * TAPS * WARP_OUTPUTS;
    // SAFETY: the layer describes valid memory, as the kernel asks, with weights filled up to whole tiles; the row is this thread's alone.
    unsafe {
        let copy = |half: u32, input: u32| {
            let from = layer.weights.add(input as usize * TAPS as usize * layer.line as usize + first_output as usize);
            copy_lines::<ROW_THREADS>(weights, half * TILE, from, layer.line, WARP_OUTPUTS, TILE / 4);
            copy_cells::<1, ROW_INPUTS, ROW_THREADS>(&layer, cells, half, position, input);
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
            // All at once, so that the reads of one input do not wait for the products of the one before.
            unroll!(NUMBER in [0, 1, 2, 3, 4, 5, 6, 7] {
                let number = NUMBER as u32;
                let taps = taps::<WARP_OUTPUTS>(weights, half * TILE + number * TAPS * WARP_OUTPUTS, thread::lane());
                let plane = (half * ROW_INPUTS + number) * CELLS;
                unroll!(Y in [0, 1, 2] {
                    // A row beyond the board is another with taps of 0, which adds nothing: no branch.
                    let (inside, y) = rows[Y];
                    let taps = if inside { taps[Y] } else { [0.0; 3] };
                    add_row(&mut sums, taps, &row(cells, plane + y * SIDE));
                });
            });
            half = 1 - half;
        }
        let output = first_output + thread::lane();
        if output < layer.n_outputs {
            let plane = position as usize * layer.n_outputs as usize + output as usize;
            put_row(&layer, &sums, memory::load(layer.bias, output as usize), plane, own_row as usize);
        }
    }
}
