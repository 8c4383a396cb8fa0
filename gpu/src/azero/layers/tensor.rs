//! 3×3 convolutions by tensor cores: operands in TF32, bfloat16 or half precision, sums in single precision.
//!
//! ```text
//! activations  [cells of all positions][channels]      a word is one TF32 value (a whole f32, rounded where it is used) or two 16-bit values
//! weights      [chunks][9][outputs up to a multiple of 128][32 words]
//! shared       rows of 128 bytes, one chunk of 32 words, its eight 16-byte pieces permuted so that eight rows' pieces lie in all banks:
//!   cells      twice: the block's cells and those up to a row and a cell before and after them; then eight rows of zeros
//!   weights    three times: [OUTPUTS], one tap of a chunk each
//! a warp       16 DOWN cells x 8 ACROSS outputs
//! ```
//!
//! A tap is no copy of the cells: the rows that `ldmatrix` is told are shifted by it, and cells beyond the board's edge are the rows of zeros. The same holds
//! for any board. Sums run over chunks, taps and products of 8 words, in that order for every size of tiles: the same bits. Needs `sm_80`.
//!
//! A lane's columns of the products are the outputs `2 ACROSS t` to `2 ACROSS (t + 1)` of the warp, so that it reads and writes neighbours.
//!
//! The grid of a convolution is cells x outputs.

use super::conv::{TAPS, rectify};
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::{self, Shared};
use crate::cuda::sync::WholeWarp;
use crate::cuda::{DeviceArgs, kernel, mma, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Words of a chunk of channels.
pub const CHUNK: u32 = 32;
/// Words of a cell's channels are a multiple of this: the depth of a product.
pub const GROUP: u32 = 8;
/// Threads of a block that packs observations.
pub const PACK_THREADS: u32 = 256;
/// Slots for weights in shared memory.
const STAGES: u32 = 3;
/// Pieces of 16 bytes of a row.
const PIECES: u32 = CHUNK / 4;

/// A convolution with all that follows it.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(rows >= 1 && columns >= 1 && input_words.is_multiple_of(GROUP) && output_words.is_multiple_of(GROUP))]
#[require(output_words <= line && line.is_multiple_of(super::conv::LINE))]
pub struct TensorLayer {
    /// `[n * rows * columns, input_words]`.
    #[len(n * rows * columns * input_words)]
    pub input: *const u32,
    /// `[input_words / CHUNK rounded up, 9, line, CHUNK]`.
    #[len(input_words.div_ceil(CHUNK) * TAPS * line * CHUNK)]
    pub weights: *const u32,
    /// `[line]`.
    #[len(line)]
    pub bias: *const f32,
    /// `[n * rows * columns, output_words]`, added before the rectifier; may be null.
    #[len(n * rows * columns * output_words)]
    #[nullable]
    pub residual: *const u32,
    /// `[n * rows * columns, output_words]`.
    #[len(n * rows * columns * output_words)]
    pub output: *mut u32,
    /// Positions.
    pub n: u32,
    /// Rows of the board.
    pub rows: u32,
    /// Columns of the board.
    pub columns: u32,
    /// Words of a cell's inputs, a multiple of [`GROUP`]; those beyond the last input are 0.
    pub input_words: u32,
    /// Words of a cell's outputs, a multiple of [`GROUP`].
    pub output_words: u32,
    /// Outputs up to a multiple of 128.
    pub line: u32,
}

const _: () = assert!(size_of::<TensorLayer>() == 64);

/// Observations `[n, planes, cells]` to be packed as cells' channels.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(cells >= 1 && words >= 1)]
pub struct Packing {
    /// `[n, planes, cells]`.
    #[len(n * planes * cells)]
    pub observations: *const f32,
    /// `[n * cells, words]`.
    #[len(n * cells * words)]
    pub packed: *mut u32,
    /// Positions.
    pub n: u32,
    /// Cells of the board.
    pub cells: u32,
    /// Planes of an observation.
    pub planes: u32,
    /// Words of a cell.
    pub words: u32,
}

const _: () = assert!(size_of::<Packing>() == 32);

/// Launch shape of the kernels that pack `n` observations of `cells` cells, `words` words each.
pub const fn pack_shape(n: u32, cells: u32, words: u32) -> LaunchShape {
    LaunchShape::new((n * cells).div_ceil(PACK_THREADS / GROUP) * (words / GROUP), PACK_THREADS)
}

/// A size of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Cells of a block.
    pub cells: u32,
    /// Outputs of a block.
    pub outputs: u32,
}

/// Tiles for large batches: four warps of 64 x 64.
pub const LARGE: Tiles = Tiles { cells: 128, outputs: 128 };
/// Tiles for all else: four warps of 16 x 32.
pub const SMALL: Tiles = Tiles { cells: 64, outputs: 32 };
/// Threads of a block.
pub const THREADS: u32 = 4 * thread::WARP;

impl Tiles {
    /// Rows of shared memory for cells: the tile and what is around it.
    const fn halo(&self, columns: u32) -> u32 {
        self.cells + 2 * (columns + 1)
    }

    /// Rows of shared memory before the weights: two halos and eight rows of zeros.
    const fn rows(&self, columns: u32) -> u32 {
        (2 * self.halo(columns)).next_multiple_of(8) + 8
    }

    /// Dynamic shared memory for boards with `columns` columns: rows of 128 bytes, and what makes the first begin at a multiple of that.
    pub const fn shared_bytes(&self, columns: u32) -> u32 {
        (self.rows(columns) + STAGES * self.outputs) * CHUNK * 4 + CHUNK * 4
    }

    /// Launch shape for `n` positions on boards of `rows` x `columns`, with `n_outputs` outputs.
    pub const fn shape(&self, n: u32, rows: u32, columns: u32, n_outputs: u32) -> LaunchShape {
        let (x, y) = ((n * rows * columns).div_ceil(self.cells), n_outputs.div_ceil(self.outputs));
        LaunchShape::grid_2d(x, y, THREADS).with_shared(self.shared_bytes(columns))
    }
}

/// A format of operands.
pub trait Format {
    /// Channels of a word.
    const PER_WORD: u32;
    /// The words of four values: two words, or four.
    fn pack(values: [f32; 4]) -> [u32; 4];
    /// The values of two words of two channels, or of four words of one.
    fn unpack(words: [u32; 4]) -> [f32; 4];
    /// A word of activations as the product takes it.
    fn operand(word: u32) -> u32;
    /// The warp's product of 16 x 8 words by 8 x 8.
    fn product(warp: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4];
}

/// 10 bits of fraction.
pub enum Tf32 {}
/// 7 bits of fraction, the range of `f32`.
pub enum Bf16 {}
/// 10 bits of fraction, up to 65,504.
pub enum Fp16 {}

impl Format for Tf32 {
    const PER_WORD: u32 = 1;

    #[device_inline]
    fn pack(values: [f32; 4]) -> [u32; 4] {
        // The NaN that half a last place more does not make a number.
        values.map(|value| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() })
    }

    #[device_inline]
    fn unpack(words: [u32; 4]) -> [f32; 4] {
        words.map(f32::from_bits)
    }

    #[device_inline]
    fn operand(word: u32) -> u32 {
        // Half of the last place that the product looks at: it leaves out the rest.
        word.wrapping_add(0x1000)
    }

    #[device_inline]
    #[track_caller]
    fn product(warp: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
        mma::tf32(warp, c, a, b)
    }
}

macro_rules! short {
    ($name:ident, $pack:ident, $unpack:expr, $product:ident) => {
        impl Format for $name {
            const PER_WORD: u32 = 2;

            #[device_inline]
            fn pack(values: [f32; 4]) -> [u32; 4] {
                [mma::$pack(values[0], values[1]), mma::$pack(values[2], values[3]), 0, 0]
            }

            #[device_inline]
            fn unpack(words: [u32; 4]) -> [f32; 4] {
                let unpack: fn(u32) -> [f32; 2] = $unpack;
                let ([a, b], [c, d]) = (unpack(words[0]), unpack(words[1]));
                [a, b, c, d]
            }

            #[device_inline]
            fn operand(word: u32) -> u32 {
                word
            }

            #[device_inline]
            #[track_caller]
            fn product(warp: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
                mma::$product(warp, c, a, b)
            }
        }
    };
}

short!(Bf16, pack_bf16, |word| [f32::from_bits(word << 16), f32::from_bits(word & 0xFFFF_0000)], bf16);
short!(Fp16, pack_f16, mma::unpack_f16, f16);

/// The permutation of a row's pieces in the weights' tile: another for each of the eight rows that `ldmatrix` reads at once.
#[device_inline]
const fn twist<const ACROSS: u32>(output: u32) -> u32 {
    output / (2 * ACROSS) % 4 * 2 + output % 2
}

/// Where a block works, and its shared memory as pieces of 16 bytes.
struct Tile {
    pieces: Shared<Vec4>,
    first_cell: u32,
    first_output: u32,
    n_cells: u32,
    /// Rows from one half of the cells to the other, and from the beginning to the zeros and to the weights.
    halo: u32,
    zeros: u32,
    weights: u32,
}

impl Tile {
    /// The tile of this block. Traps where the launch has less shared memory than `tiles` says.
    #[device_inline]
    #[track_caller]
    fn new(layer: &TensorLayer, tiles: Tiles) -> Self {
        let dynamic = shared::dynamic::<Vec4>(0, tiles.shared_bytes(layer.columns) / 16);
        let base = dynamic.base().next_multiple_of(CHUNK * 4);
        let halo = tiles.halo(layer.columns);
        let rows = tiles.rows(layer.columns);
        Self {
            // SAFETY: the launch's dynamic memory from its first multiple of 128 on, for which there is room.
            pieces: unsafe { Shared::from_address(base, dynamic.len() - PIECES) },
            first_cell: thread::block_idx_x() * tiles.cells,
            first_output: thread::block_idx_y() * tiles.outputs,
            n_cells: layer.n * layer.rows * layer.columns,
            halo,
            zeros: rows - 8,
            weights: rows,
        }
    }
}

/// Starts to copy a chunk of the block's cells, and of those around them, to half `half`.
///
/// # Safety
/// Every thread of the block calls it; the layer is valid; nobody reads this half.
#[device_inline]
#[track_caller]
unsafe fn copy_cells(layer: &TensorLayer, tile: &Tile, half: u32, chunk: u32) {
    let words = layer.input_words - chunk * CHUNK;
    let pieces = if words < CHUNK { words / 4 } else { PIECES };
    for at in thread::strided(thread::thread_idx_x(), tile.halo * PIECES, THREADS) {
        let (row, piece) = (at / PIECES, at % PIECES);
        // Wraps for cells before the first, which are no cells then.
        let cell = (tile.first_cell + row).wrapping_sub(layer.columns + 1);
        if cell < tile.n_cells && piece < pieces {
            let own = half * tile.halo + row;
            // SAFETY: a cell there is, and a piece of it.
            unsafe {
                let from =
                    layer.input.add(cell as usize * layer.input_words as usize + (chunk * CHUNK + piece * 4) as usize);
                memory::copy_async_unchecked(tile.pieces, own * PIECES + (piece ^ (own % 8)), from.cast::<Vec4>());
            }
        }
    }
}

/// Starts to copy a tap's weights of a chunk to stage `stage`.
///
/// # Safety
/// As [`copy_cells`].
#[device_inline]
#[track_caller]
unsafe fn copy_weights<const ACROSS: u32>(layer: &TensorLayer, tile: &Tile, outputs: u32, stage: u32, step: u32) {
    let from = (step as usize * layer.line as usize + tile.first_output as usize) * CHUNK as usize;
    for at in thread::strided(thread::thread_idx_x(), outputs * PIECES, THREADS) {
        let (output, piece) = (at / PIECES, at % PIECES);
        let row = tile.weights + stage * outputs + output;
        // SAFETY: the weights are filled up to whole tiles.
        unsafe {
            let from = layer.weights.add(from + 4 * at as usize).cast::<Vec4>();
            memory::copy_async_unchecked(tile.pieces, row * PIECES + (piece ^ twist::<ACROSS>(output)), from);
        }
    }
}

/// A warp's operands of one group of words: rows of cells, and columns of weights, two products' at once.
type Operands = ([[u32; 4]; 4], [[u32; 4]; 4]);

/// Reads a group's operands: the lane's addresses are those of group 0.
///
/// # Safety
/// The whole warp calls it; the tiles are whole.
#[device_inline]
#[track_caller]
unsafe fn read_group<F: Format, const DOWN: usize, const ACROSS: usize>(
    at_cells: &[u32; 4],
    at_weights: u32,
    group: u32,
) -> Operands {
    let (mut left, mut right) = ([[0u32; 4]; 4], [[0u32; 4]; 4]);
    sync::sync_warp(warp::ALL);
    // SAFETY: the addresses are those of rows of the tiles, which are whole, as the caller says, and the groups are pieces of their rows; the warp is together since the barrier above.
    unsafe {
        unroll!(D in [0, 1, 2, 3] {
            if D < DOWN {
                left[D] = mma::load_matrix_x4(at_cells[D] ^ (group * 32)).map(F::operand);
            }
        });
        // Two products' columns at once: outputs four further on.
        unroll!(J in [0, 1, 2, 3] {
            if J < ACROSS / 2 {
                right[J] = mma::load_matrix_x4((at_weights ^ (group * 32)) + J as u32 * 4 * CHUNK * 4);
            }
        });
    }
    (left, right)
}

/// Adds a group's products to the warp's sums. The whole warp calls it.
#[device_inline]
#[track_caller]
fn multiply<F: Format, const DOWN: usize, const ACROSS: usize>(
    sums: &mut [[[f32; 4]; 8]; 4],
    (left, right): &Operands,
) {
    let warp = sync::whole_warp();
    unroll!(J in [0, 1, 2, 3] {
        unroll!(D in [0, 1, 2, 3] {
            if D < DOWN && J < ACROSS / 2 {
                let [b0, b1, b2, b3] = right[J];
                sums[D][2 * J] = F::product(&warp, sums[D][2 * J], left[D], [b0, b1]);
                sums[D][2 * J + 1] = F::product(&warp, sums[D][2 * J + 1], left[D], [b2, b3]);
            }
        });
    });
}

/// Adds the products of a chunk's groups to the warp's sums: the lane's addresses are those of group 0.
///
/// # Safety
/// The whole warp calls it; the tiles are whole, and have as many groups.
#[device_inline]
#[track_caller]
unsafe fn multiply_groups<F: Format, const DOWN: usize, const ACROSS: usize>(
    sums: &mut [[[f32; 4]; 8]; 4],
    at_cells: &[u32; 4],
    at_weights: u32,
    groups: u32,
) {
    // SAFETY: the whole warp is here, as the caller says, and the groups are below `groups`.
    let read = |group: u32| unsafe { read_group::<F, DOWN, ACROSS>(at_cells, at_weights, group) };
    if groups == CHUNK / GROUP {
        // The next group is read before the present one is multiplied.
        let mut present = read(0);
        unroll!(G in [1, 2, 3] {
            let next = read(G as u32);
            multiply::<F, DOWN, ACROSS>(sums, &present);
            present = next;
        });
        multiply::<F, DOWN, ACROSS>(sums, &present);
    } else {
        for group in 0..groups {
            let present = read(group);
            multiply::<F, DOWN, ACROSS>(sums, &present);
        }
    }
}

/// The block's tile of a convolution.
///
/// # Safety
/// Every thread of a block of [`THREADS`] calls it; the layer describes valid memory; the launch has the tiles' dynamic shared memory.
#[device_inline]
#[track_caller]
unsafe fn convolve<F: Format, const DOWN: usize, const ACROSS: usize, const N: u32, const WARPS_DOWN: u32>(
    layer: &TensorLayer,
    tiles: Tiles,
) {
    let lane = thread::lane();
    let (warp_down, warp_across) = (thread::warp_index() % WARPS_DOWN, thread::warp_index() / WARPS_DOWN);
    let tile = Tile::new(layer, tiles);
    let base = tile.pieces.base();
    let chunks = layer.input_words.div_ceil(CHUNK);
    let steps = chunks * TAPS;
    // SAFETY: the layer is valid, as the caller says, with weights filled up to whole tiles. The rows of zeros, and those of a step's tiles, are in the block's memory; outputs
    // are each one lane's.
    unsafe {
        if thread::thread_idx_x() < 8 * PIECES {
            tile.pieces.set_unchecked(tile.zeros * PIECES + thread::thread_idx_x(), Vec4::default());
        }
        let copy = |step: u32| {
            if step < steps {
                copy_weights::<N>(layer, &tile, tiles.outputs, step % STAGES, step);
                if step.is_multiple_of(TAPS) {
                    copy_cells(layer, &tile, step / TAPS % 2, step / TAPS);
                }
            }
            memory::async_commit();
        };
        let first_row = warp_down * 16 * DOWN as u32 + lane % 16;
        let on_board = taps_on_board::<DOWN>(layer, &tile, first_row);
        // The lane's row and half of the depth of the weights' matrices: see `twist`.
        let in_matrix = lane % 8;
        let own_output = warp_across * 8 * N + in_matrix / 2 * 2 * N + in_matrix % 2 + lane / 16 * 2;
        let own_piece = (lane / 8 % 2) ^ in_matrix;
        let mut sums = [[[0.0f32; 4]; 8]; 4];
        copy(0);
        copy(1);
        for step in 0..steps {
            memory::async_wait::<1>();
            // This step's tiles must be whole, and those of the last one read by all.
            sync::sync_threads();
            copy(step + 2);
            let (chunk, tap) = (step / TAPS, step % TAPS);
            let shift = (tap / 3 * layer.columns + tap % 3) + chunk % 2 * tile.halo;
            let at_cells = addresses_of_cells::<DOWN>(&tile, first_row, shift, tap, &on_board);
            let row = tile.weights + step % STAGES * tiles.outputs + own_output;
            let at_weights = base + row * (CHUNK * 4) + own_piece * 16;
            let words = layer.input_words - chunk * CHUNK;
            let groups = if words < CHUNK { words / GROUP } else { CHUNK / GROUP };
            multiply_groups::<F, DOWN, ACROSS>(&mut sums, &at_cells, at_weights, groups);
        }
        let output = tile.first_output + warp_across * 8 * N + lane % 4 * 2 * N;
        let cell = tile.first_cell + warp_down * 16 * DOWN as u32 + lane / 4;
        put_quads::<F, DOWN, ACROSS>(layer, &tile, cell, output, &sums);
    }
}

/// For each of the cells whose rows a lane names to `ldmatrix`, the first in row `first_row` of the tile: a bit for each tap that is on the board.
#[device_inline]
fn taps_on_board<const DOWN: usize>(layer: &TensorLayer, tile: &Tile, first_row: u32) -> [u32; 4] {
    let mut on_board = [0u32; 4];
    unroll!(D in [0, 1, 2, 3] {
        if D < DOWN {
            let cell = tile.first_cell + first_row + 16 * D as u32;
            let (row, column) = (cell / layer.columns % layer.rows, cell % layer.columns);
            for tap in 0..TAPS {
                // Both are one too large.
                let (y, x) = (row + tap / 3, column + tap % 3);
                if cell < tile.n_cells && y >= 1 && y <= layer.rows && x >= 1 && x <= layer.columns {
                    on_board[D] |= 1 << tap;
                }
            }
        }
    });
    on_board
}

/// Shared addresses of the rows of cells that a lane names to `ldmatrix` for a tap, `shift` rows from its own, of which the first is `first_row`: those of zeros where the tap is not on the
/// board.
#[device_inline]
fn addresses_of_cells<const DOWN: usize>(
    tile: &Tile,
    first_row: u32,
    shift: u32,
    tap: u32,
    on_board: &[u32; 4],
) -> [u32; 4] {
    let mut addresses = [0u32; 4];
    unroll!(D in [0, 1, 2, 3] {
        if D < DOWN {
            let row = first_row + 16 * D as u32 + shift;
            let row = if on_board[D] >> tap & 1 != 0 { row } else { tile.zeros + row % 8 };
            addresses[D] = tile.pieces.base() + row * (CHUNK * 4) + ((thread::lane() / 16) ^ (row % 8)) * 16;
        }
    });
    addresses
}

/// Writes a lane's outputs, the first of which is `output` of cell `cell`, where the cells exist.
///
/// # Safety
/// The layer is valid, and the lane's outputs are no other thread's.
#[device_inline]
#[track_caller]
unsafe fn put_quads<F: Format, const DOWN: usize, const ACROSS: usize>(
    layer: &TensorLayer,
    tile: &Tile,
    cell: u32,
    output: u32,
    sums: &[[[f32; 4]; 8]; 4],
) {
    unroll!(D in [0, 1, 2, 3] {
        unroll!(LOW in [0, 1] {
            unroll!(QUAD in [0, 1, 2, 3] {
                if D < DOWN && QUAD < ACROSS / 2 {
                    let (a, b) = (sums[D][2 * QUAD], sums[D][2 * QUAD + 1]);
                    let quad = [a[2 * LOW], a[2 * LOW + 1], b[2 * LOW], b[2 * LOW + 1]];
                    let cell = cell + 16 * D as u32 + 8 * LOW as u32;
                    if cell < tile.n_cells {
                        // SAFETY: the cell is below the number of cells; the output is a multiple of four, since a lane's first is one of 2 ACROSS, and this thread's.
                        unsafe { put_quad::<F>(layer, cell, output + 4 * QUAD as u32, quad) };
                    }
                }
            });
        });
    });
}

/// Bias, residual and rectifier for four outputs of a cell.
///
/// # Safety
/// The layer is valid, the cell one of its own; the outputs are this thread's, the first a multiple of four.
#[device_inline]
#[track_caller]
unsafe fn put_quad<F: Format>(layer: &TensorLayer, cell: u32, output: u32, quad: [f32; 4]) {
    let word = output / F::PER_WORD;
    if word >= layer.output_words {
        return;
    }
    let at = cell as usize * layer.output_words as usize + word as usize;
    // SAFETY: the bias is filled up to whole tiles, and the cell's words to whole groups.
    unsafe {
        let bias = memory::load_vec4(layer.bias.add(output as usize).cast::<Vec4>()).0;
        let mut residual = [0.0; 4];
        if !layer.residual.is_null() {
            let from = layer.residual.add(at);
            residual = F::unpack(if F::PER_WORD == 1 {
                memory::load_vec4(from.cast::<Vec4>()).0
            } else {
                let Pair([low, high]) = memory::load(from.cast::<Pair>(), 0);
                [low, high, 0, 0]
            });
        }
        let mut values = [0.0; 4];
        for i in 0..4 {
            values[i] = rectify(quad[i] + f32::from_bits(bias[i]) + residual[i]);
        }
        let words = F::pack(values);
        let to = layer.output.add(at);
        if F::PER_WORD == 1 {
            memory::store_vec4(to.cast::<Vec4>(), Vec4(words));
        } else {
            memory::store(to.cast::<Pair>(), 0, Pair([words[0], words[1]]));
        }
    }
}

/// Two words that one instruction moves.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Pair([u32; 2]);

/// Packs observations, a word a thread.
///
/// # Safety
/// Launched with [`pack_shape`]; `packing` describes valid memory.
#[device_inline]
#[track_caller]
unsafe fn pack<F: Format>(packing: &Packing) {
    let word = thread::index_1d();
    let (cell, word) = (word / u64::from(packing.words), (word % u64::from(packing.words)) as u32);
    let (position, cell_of) = (cell / u64::from(packing.cells), (cell % u64::from(packing.cells)) as usize);
    if position >= u64::from(packing.n) {
        return;
    }
    // SAFETY: the position is below `n`, planes are looked at, and the cell is one of the board's; the word is this thread's.
    unsafe {
        let plane = |number: u32| {
            if number < packing.planes {
                let plane = position as usize * packing.planes as usize + number as usize;
                memory::load(packing.observations, plane * packing.cells as usize + cell_of)
            } else {
                0.0
            }
        };
        let first = word * F::PER_WORD;
        let packed = if F::PER_WORD == 1 {
            mma::round_tf32(plane(first))
        } else {
            F::pack([plane(first), plane(first + 1), 0.0, 0.0])[0]
        };
        memory::store(packing.packed, cell as usize * packing.words as usize + word as usize, packed);
    }
}

macro_rules! kernels {
    ($format:ident, $large:ident, $small:ident, $pack:ident) => {
        /// A 3×3 convolution of any board with bias, residual and rectifier, by large tiles: for large batches.
        ///
        /// * Launch: [`Tiles::shape`] of [`LARGE`]: 128 cells × 128 outputs a block, 128 threads.
        /// * Reads: `input`, `weights`, `bias`, `residual`.
        /// * Writes: `output`.
        /// * Shared: dynamic: two tiles of cells with what is around them, eight rows of zeros, three taps of weights; 88,192 bytes on boards of 8 columns.
        /// * Cost: 2 × 9 × inputs × outputs × cells operations a position by tensor cores.
        /// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
        /// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the product is ours.
        ///
        /// # Safety
        /// `n_outputs` are the outputs of the words that are used. `layer` describes valid memory; the output overlaps nothing else, but may be the residual.
        #[kernel(
                                    shape = |n_outputs: u32| LARGE.shape(layer.n, layer.rows, layer.columns, n_outputs),
                                    max_threads = THREADS,
                                    min_blocks = 2
                                )]
        pub unsafe fn $large(layer: TensorLayer) {
            // SAFETY: the shape of LARGE has THREADS threads and its shared memory: 2 x 2 warps of 64 cells by 64 outputs. The layer describes valid memory, as the kernel asks.
            unsafe { convolve::<$format, 4, 8, 8, 2>(&layer, LARGE) };
        }

        /// A 3×3 convolution of any board with bias, residual and rectifier, by small tiles: more blocks.
        ///
        /// * Launch: [`Tiles::shape`] of [`SMALL`]: 64 cells × 32 outputs a block, 128 threads.
        /// * Reads: `input`, `weights`, `bias`, `residual`.
        /// * Writes: `output`.
        /// * Shared: dynamic: two tiles of cells with what is around them, eight rows of zeros, three taps of weights; 34,944 bytes on boards of 8 columns.
        /// * Cost: 2 × 9 × inputs × outputs × cells operations a position by tensor cores.
        /// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::pieces::add`, `warpplay_cpu_ref::azero::pieces::relu`.
        /// * Source: OpenSpiel's `ResInputBlock` and `ResTorsoBlock` (Paul and Xu, section II.C); the product is ours.
        ///
        /// # Safety
        /// As the one by large tiles.
        #[kernel(
                                    shape = |n_outputs: u32| SMALL.shape(layer.n, layer.rows, layer.columns, n_outputs),
                                    max_threads = THREADS
                                )]
        pub unsafe fn $small(layer: TensorLayer) {
            // SAFETY: the shape of SMALL has THREADS threads and its shared memory: four warps of 16 cells by 32 outputs. The layer describes valid memory, as the kernel asks.
            unsafe { convolve::<$format, 1, 4, 4, 4>(&layer, SMALL) };
        }

        /// Observations in the format, as channels of cells.
        ///
        /// * Launch: [`pack_shape`], a thread a word, blocks of 256.
        /// * Reads: `observations`.
        /// * Writes: `packed`.
        /// * Shared: none.
        /// * Cost: a word a thread.
        /// * Twin: `tests::azero::layers::Format::packed`.
        /// * Source: our own.
        ///
        /// # Safety
        /// `packing` describes valid memory.
        #[kernel(shape = pack_shape(packing.n, packing.cells, packing.words), max_threads = PACK_THREADS)]
        pub unsafe fn $pack(packing: Packing) {
            // SAFETY: launched with `pack_shape`, and `packing` describes valid memory, as the kernel asks.
            unsafe { pack::<$format>(&packing) };
        }
    };
}

kernels!(Tf32, azero_layers_conv_tf32_large, azero_layers_conv_tf32_small, azero_layers_pack_tf32);
kernels!(Bf16, azero_layers_conv_bf16_large, azero_layers_conv_bf16_small, azero_layers_pack_bf16);
kernels!(Fp16, azero_layers_conv_fp16_large, azero_layers_conv_fp16_small, azero_layers_pack_fp16);
