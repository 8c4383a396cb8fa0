//! 3×3 convolutions in single precision for any board: an implicit product of weights and shifted cells.
//!
//! ```text
//! rows of the product      outputs
//! columns                  cells of all positions, one after the other
//! depth                    (input, tap), nine taps of an input in row-major order
//!
//! shared, two of each, so that one is filled while the other is read:
//!   weights  [INPUTS * 9][OUTPUTS]     copied as they lie in memory
//!   cells    [INPUTS * 9][CELLS]       gathered: a thread has one cell and one input, and puts its nine neighbours
//! a thread   4 R outputs x 4 C cells, in quads that lie OUTPUTS / R and CELLS / C apart
//! ```
//!
//! An output is the sum over inputs, then taps, in ascending order of fused multiply-adds, then plus bias, plus residual: the same order in every kernel in
//! single precision, so that all give the same bits.
//!
//! Activations are `[n, channels, rows, columns]`, weights `[inputs, 9, line]` (inputs filled up to a multiple of 8, lines of 128, with 0). The grid is cells
//! x outputs.

#![allow(clippy::needless_range_loop, reason = "the counter is part of an address or a condition too")]

use crate::cuda::math::fma;
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::Shared;
use crate::cuda::{DeviceArgs, kernel, shared_array, sync, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Outputs of a line of weights are a multiple of this.
pub const LINE: u32 = 128;
/// Inputs of the weights are a multiple of this.
pub const INPUT_GROUP: u32 = 8;
/// Taps of a convolution.
pub const TAPS: u32 = 9;

/// A convolution with all that follows it: what the kernels in single precision take.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(rows >= 1 && columns >= 1 && n_outputs <= line && line.is_multiple_of(LINE))]
pub struct ConvLayer {
    /// `[n, n_inputs, rows, columns]`.
    #[len(n * n_inputs * rows * columns)]
    pub input: *const f32,
    /// `[n_inputs up to a multiple of INPUT_GROUP, 9, line]`.
    #[len(n_inputs.next_multiple_of(INPUT_GROUP) * TAPS * line)]
    pub weights: *const f32,
    /// `[line]`.
    #[len(line)]
    pub bias: *const f32,
    /// `[n, n_outputs, rows, columns]`, added before the rectifier; may be null.
    #[len(n * n_outputs * rows * columns)]
    #[nullable]
    pub residual: *const f32,
    /// `[n, n_outputs, rows, columns]`.
    #[len(n * n_outputs * rows * columns)]
    pub output: *mut f32,
    /// Positions.
    pub n: u32,
    /// Rows of the board.
    pub rows: u32,
    /// Columns of the board.
    pub columns: u32,
    /// Inputs.
    pub n_inputs: u32,
    /// Outputs.
    pub n_outputs: u32,
    /// Outputs up to a multiple of [`LINE`].
    pub line: u32,
}

const _: () = assert!(size_of::<ConvLayer>() == 64);

/// A size of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Outputs of a block.
    pub outputs: u32,
    /// Cells of a block.
    pub cells: u32,
    /// Inputs that are in shared memory at once.
    pub inputs: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// Tiles for large batches.
pub const LARGE: Tiles = Tiles { outputs: 128, cells: 128, inputs: 2, threads: 256 };
/// Tiles for all else: more blocks.
pub const SMALL: Tiles = Tiles { outputs: 32, cells: 32, inputs: 2, threads: 64 };

impl Tiles {
    /// Launch shape for `n` positions of `cells` cells and `n_outputs` outputs.
    pub const fn shape(&self, n: u32, cells: u32, n_outputs: u32) -> LaunchShape {
        LaunchShape::grid_2d((n * cells).div_ceil(self.cells), n_outputs.div_ceil(self.outputs), self.threads)
    }
}

/// Starts to copy `QUADS` quads by a block of `THREADS` threads: lines of `line` values from `from` on, `width` of each, to an array without gaps.
///
/// # Safety
/// Every thread of the block calls it; the lines are valid, aligned global memory; the array has room.
#[device_inline]
#[track_caller]
pub(super) unsafe fn copy_lines<const THREADS: u32>(
    to: Shared<f32>,
    first: u32,
    from: *const f32,
    line: u32,
    width: u32,
    quads: u32,
) {
    for quad in thread::strided(thread::thread_idx_x(), quads, THREADS) {
        let (row, column) = (quad / (width / 4), quad % (width / 4) * 4);
        // SAFETY: quads are below `quads`, so each lies in one of the lines and in the array's room for them, which begins at `first`, as is asked for.
        unsafe {
            let source = from.add(row as usize * line as usize + column as usize);
            let array = Shared::<Vec4>::from_address(to.base(), to.len() / 4);
            memory::copy_async_unchecked(array, first / 4 + quad, source.cast::<Vec4>());
        }
    }
}

/// Where a thread gathers from: one cell of the board and its neighbours.
#[derive(Clone, Copy)]
struct Neighbours {
    /// First value of the cell's position, and its index in a plane.
    position: *const f32,
    cell: i32,
    /// A bit for each tap that is on the board; 0 beyond the last position.
    on_board: u32,
}

impl Neighbours {
    #[device_inline]
    fn new(layer: &ConvLayer, cell: u32) -> Self {
        let cells = layer.rows * layer.columns;
        let (position, cell_of) = (cell / cells, cell % cells);
        let (row, column) = (cell_of / layer.columns, cell_of % layer.columns);
        let mut on_board = 0;
        for tap in 0..TAPS {
            let (y, x) = (row + tap / 3, column + tap % 3);
            // Both are one too large.
            if position < layer.n && y >= 1 && y <= layer.rows && x >= 1 && x <= layer.columns {
                on_board |= 1 << tap;
            }
        }
        let offset = position as usize * layer.n_inputs as usize * cells as usize;
        Self { position: layer.input.wrapping_add(offset), cell: cell_of as i32, on_board }
    }

    /// The nine neighbours in an input's plane, 0 where there is none.
    ///
    /// # Safety
    /// The layer it was made of is valid.
    #[device_inline]
    #[track_caller]
    unsafe fn gather(&self, layer: &ConvLayer, input: u32) -> [f32; 9] {
        let mut values = [0.0; 9];
        let cells = layer.rows * layer.columns;
        let on_board = if input < layer.n_inputs { self.on_board } else { 0 };
        let plane = input as usize * cells as usize;
        for tap in 0..9 {
            if on_board & 1 << tap != 0 {
                let shift = (tap / 3 - 1) * layer.columns as i32 + tap % 3 - 1;
                // SAFETY: the tap is on the board, so it is a cell of the plane.
                values[tap as usize] = unsafe { memory::load(self.position, plane + (self.cell + shift) as usize) };
            }
        }
        values
    }
}

/// The block's tile of a convolution.
///
/// # Safety
/// Every thread of a block of `THREADS` calls it; the layer describes valid memory; the shared arrays hold two tiles each.
#[device_inline]
#[track_caller]
unsafe fn convolve<
    const OUTPUTS: u32,
    const CELLS: u32,
    const INPUTS: u32,
    const THREADS: u32,
    const R: usize,
    const C: usize,
>(
    layer: &ConvLayer,
    weights: Shared<f32>,
    cells: Shared<f32>,
) {
    let me = thread::thread_idx_x();
    let (first_cell, first_output) = (thread::block_idx_x() * CELLS, thread::block_idx_y() * OUTPUTS);
    let across = CELLS / (4 * C as u32);
    let (my_output, my_cell) = (me / across * 4, me % across * 4);
    let (gathered_cell, gathered_input) = (me % CELLS, me / CELLS);
    let neighbours = Neighbours::new(layer, first_cell + gathered_cell);
    let own_weights = layer.weights.wrapping_add(first_output as usize);
    let (tile_weights, tile_cells) = (INPUTS * TAPS * OUTPUTS, INPUTS * TAPS * CELLS);
    let mut sums = [[[[0.0f32; 4]; 4]; C]; R];
    // SAFETY: the layer is valid, with weights filled up to whole tiles, so the lines of every `INPUTS` inputs before `n_inputs` are there. The arrays hold two tiles each, `half` is
    // 0 or 1, and a thread's cell, input and outputs are its own among those of the tile: a block has `CELLS * INPUTS` threads.
    unsafe {
        let copy = |half: u32, input: u32| {
            let from = own_weights.add(input as usize * TAPS as usize * layer.line as usize);
            copy_lines::<THREADS>(weights, half * tile_weights, from, layer.line, OUTPUTS, tile_weights / 4);
        };
        let put = |half: u32, values: [f32; 9]| {
            for tap in 0..TAPS {
                let at = half * tile_cells + (gathered_input * TAPS + tap) * CELLS + gathered_cell;
                cells.set_unchecked(at, values[tap as usize]);
            }
        };
        copy(0, 0);
        put(0, neighbours.gather(layer, gathered_input));
        memory::async_wait_all();
        // The first tiles must be whole.
        sync::sync_threads();
        let (mut input, mut half) = (0, 0);
        while input < layer.n_inputs {
            let (next, more) = (input + INPUTS, input + INPUTS < layer.n_inputs);
            let mut values = [0.0; 9];
            if more {
                copy(1 - half, next);
                values = neighbours.gather(layer, next + gathered_input);
            }
            multiply::<OUTPUTS, CELLS, INPUTS, R, C>((weights, my_output), (cells, my_cell), half, &mut sums);
            half = 1 - half;
            if more {
                put(half, values);
                memory::async_wait_all();
            }
            // The next tiles must be whole, and the present ones read by all.
            sync::sync_threads();
            input = next;
        }
        write_outputs::<OUTPUTS, CELLS, R, C>(layer, (first_cell, my_cell), (first_output, my_output), &sums);
    }
}

/// Adds the products of the tiles in half `half` of both arrays to the sums of the thread whose first output and cell in the tiles are `my_output` and `my_cell`.
///
/// # Safety
/// The arrays hold two tiles each, of which this one is whole, and `half` is 0 or 1; output and cell are multiples of 4 below `OUTPUTS / R` and `CELLS / C`.
#[device_inline]
#[track_caller]
unsafe fn multiply<const OUTPUTS: u32, const CELLS: u32, const INPUTS: u32, const R: usize, const C: usize>(
    (weights, my_output): (Shared<f32>, u32),
    (cells, my_cell): (Shared<f32>, u32),
    half: u32,
    sums: &mut [[[[f32; 4]; 4]; C]; R],
) {
    let (tile_weights, tile_cells) = (INPUTS * TAPS * OUTPUTS, INPUTS * TAPS * CELLS);
    for depth in 0..INPUTS * TAPS {
        let mut left = [[0.0; 4]; R];
        let mut right = [[0.0; 4]; C];
        // SAFETY: a line of a tile has OUTPUTS or CELLS values, of which a thread's quads begin below a share R or C of them; lines are whole quads.
        unsafe {
            for r in 0..R {
                let at = half * tile_weights + depth * OUTPUTS + r as u32 * (OUTPUTS / R as u32) + my_output;
                left[r] = weights.get_quad_unchecked(at);
            }
            for c in 0..C {
                let at = half * tile_cells + depth * CELLS + c as u32 * (CELLS / C as u32) + my_cell;
                right[c] = cells.get_quad_unchecked(at);
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

/// Writes a thread's outputs with bias, residual and rectifier, where they exist; each pair is the first of the block and the thread's first behind that.
///
/// # Safety
/// The layer describes valid memory, and no other thread makes these outputs.
#[device_inline]
#[track_caller]
unsafe fn write_outputs<const OUTPUTS: u32, const CELLS: u32, const R: usize, const C: usize>(
    layer: &ConvLayer,
    (first_cell, my_cell): (u32, u32),
    (first_output, my_output): (u32, u32),
    sums: &[[[[f32; 4]; 4]; C]; R],
) {
    let board = layer.rows * layer.columns;
    unroll!(COLUMN in [0, 1, 2, 3, 4, 5, 6, 7] {
        if COLUMN < 4 * C {
            let (c, j) = (COLUMN / 4, COLUMN % 4);
            let cell = first_cell + c as u32 * (CELLS / C as u32) + my_cell + j as u32;
            let (position, cell_of) = (cell / board, cell % board);
            unroll!(ROW in [0, 1, 2, 3, 4, 5, 6, 7] {
                if ROW < 4 * R {
                    let (r, i) = (ROW / 4, ROW % 4);
                    let output = first_output + r as u32 * (OUTPUTS / R as u32) + my_output + i as u32;
                    if position < layer.n && output < layer.n_outputs {
                        let plane = position as usize * layer.n_outputs as usize + output as usize;
                        let at = plane * board as usize + cell_of as usize;
                        // SAFETY: position, output and cell are below the layer's numbers of them, so `at` lies inside residual and output; the output is this thread's.
                        unsafe {
                            let mut value = sums[r][c][i][j] + memory::load(layer.bias, output as usize);
                            if !layer.residual.is_null() {
                                value += memory::load(layer.residual, at);
                            }
                            memory::store(layer.output, at, rectify(value));
                        }
                    }
                }
            });
        }
    });
}

/// 0 for what is not above it; a NaN stays one, so that it is seen.
#[device_inline]
pub(super) fn rectify(value: f32) -> f32 {
    if value <= 0.0 { 0.0 } else { value }
}

const LARGE_WEIGHTS: usize = 2 * 2 * 9 * 128;
const SMALL_WEIGHTS: usize = 2 * 2 * 9 * 32;

const _: () = assert!(LARGE.threads == LARGE.cells * LARGE.inputs && SMALL.threads == SMALL.cells * SMALL.inputs);
const _: () = assert!(INPUT_GROUP.is_multiple_of(LARGE.inputs) && INPUT_GROUP.is_multiple_of(SMALL.inputs));

/// A 3×3 convolution of any board with bias, residual and rectifier, by large tiles: for large batches.
///
/// * Launch: [`Tiles::shape`] of [`LARGE`]: 128 cells × 128 outputs a block, 256 threads.
/// * Reads: `input`, `weights`, `bias`, `residual`.
/// * Writes: `output`.
/// * Shared: 36,864 bytes: two tiles of weights and of cells.
/// * Cost: 2 × 9 × inputs × outputs × cells operations a position.
/// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the product is ours.
///
/// # Safety
/// `layer` describes valid memory; the output overlaps nothing else, but may be the residual.
#[kernel(shape = LARGE.shape(layer.n, layer.rows * layer.columns, layer.n_outputs), max_threads = 256, min_blocks = 2)]
pub unsafe fn azero_layers_conv_large(layer: ConvLayer) {
    // SAFETY: blocks have the threads of these tiles and the layer describes valid memory, as the kernel asks; the arrays hold two tiles each.
    unsafe {
        convolve::<128, 128, 2, 256, 2, 2>(&layer, shared_array![f32; LARGE_WEIGHTS], shared_array![f32; LARGE_WEIGHTS])
    };
}

/// A 3×3 convolution of any board with bias, residual and rectifier, by small tiles: more blocks.
///
/// * Launch: [`Tiles::shape`] of [`SMALL`]: 32 cells × 32 outputs a block, 64 threads.
/// * Reads: `input`, `weights`, `bias`, `residual`.
/// * Writes: `output`.
/// * Shared: 9,216 bytes: two tiles of weights and of cells.
/// * Cost: 2 × 9 × inputs × outputs × cells operations a position.
/// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the product is ours.
///
/// # Safety
/// As [`azero_layers_conv_large`].
#[kernel(shape = SMALL.shape(layer.n, layer.rows * layer.columns, layer.n_outputs), max_threads = 64)]
pub unsafe fn azero_layers_conv_small(layer: ConvLayer) {
    // SAFETY: blocks have the threads of these tiles and the layer describes valid memory, as the kernel asks; the arrays hold two tiles each.
    unsafe {
        convolve::<32, 32, 2, 64, 1, 1>(&layer, shared_array![f32; SMALL_WEIGHTS], shared_array![f32; SMALL_WEIGHTS])
    };
}
