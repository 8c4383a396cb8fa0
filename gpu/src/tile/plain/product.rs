//! The products of a tile, and the kernels.

use crate::cuda::math::{fma, relu};
use crate::cuda::memory::{load, load_quad};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::sync_threads;
use crate::cuda::{kernel, thread};
use crate::launch::LaunchShape;
use crate::tile::epilogue::{added_single, put_single};
use crate::tile::rows::{AS_THEY_LIE, BYTES, GATHERED, row_of};
use crate::tile::task::{ProductTask, activation};
use crate::tile::work::{Work, depths_of};
use crate::unroll::unroll;

/// Depths of a slab.
const DEPTH: u32 = 8;
/// Rows and columns of a warp.
const WARP_ROWS: u32 = 64;
const WARP_COLUMNS: u32 = 32;

/// Values from a depth to the next in shared memory.
const fn stride<const SIZE: u32>() -> u32 {
    SIZE + 4
}

/// Values of a slab of one operand.
pub(super) const fn slab<const SIZE: u32>() -> u32 {
    DEPTH * stride::<SIZE>()
}

/// Threads of a block: a lane has 8 × 8 sums.
pub(super) const fn threads<const SIZE: u32>() -> u32 {
    SIZE * SIZE / 64
}

pub(super) const fn shape<const SIZE: u32>(m: u32, n: u32, divisions: u32) -> LaunchShape {
    let tiles = Work::new([m, n, divisions], SIZE, SIZE).tiles();
    LaunchShape::new(tiles, threads::<SIZE>()).with_shared(4 * slab::<SIZE>() * 4)
}

/// What a thread brings of an operand of which a tile has `SIZE` rows (or columns): `QUADS` quads of each slab. `G`: how its [rows](crate::tile::rows) come.
#[derive(Clone, Copy)]
struct Share<const BY_DEPTH: bool, const G: u32, const SIZE: u32, const QUADS: usize> {
    /// Its first quad of the next slab; where rows are gathered, that of row 0.
    at: *const u8,
    /// Values from a line to the next.
    stride: u32,
    /// Which lines are the thread's, where they are gathered.
    rows: [u32; 2],
    /// A bit for each quad whose rows the operand has.
    is_there: u32,
}

impl<const BY_DEPTH: bool, const G: u32, const SIZE: u32, const QUADS: usize> Share<BY_DEPTH, G, SIZE, QUADS> {
    /// Bytes of a value.
    const BYTES: usize = if G == BYTES { 1 } else { 4 };
    /// Lines of a slab from a quad of the thread to the next.
    const STEP: u32 = if BY_DEPTH { threads::<SIZE>() / (SIZE / 4) } else { threads::<SIZE>() / 2 };

    /// Row and depth of the thread's first quad in a slab.
    #[device_inline]
    fn own() -> [u32; 2] {
        let own = thread::thread_idx_x();
        if BY_DEPTH { [own % (SIZE / 4) * 4, own / (SIZE / 4)] } else { [own / 2, own % 2 * 4] }
    }

    /// The share of the rows (or columns) from `first` on of `size`, from `depth` on; of an operand of which `task` says which rows are gathered.
    ///
    /// # Safety
    /// With `G` the task's rows have the length it says.
    #[device_inline]
    #[track_caller]
    unsafe fn new(task: &ProductTask, operand: *const u8, stride: u32, (first, size): (u32, u32), depth: u32) -> Self {
        let [row, deeper] = Self::own();
        let [line, value] = match (G, BY_DEPTH) {
            (AS_THEY_LIE, true) => [depth + deeper, first + row],
            (AS_THEY_LIE, false) => [first + row, depth + deeper],
            _ => [0, depth + deeper],
        };
        let at = operand.wrapping_add((line as usize * stride as usize + value as usize) * Self::BYTES);
        let (mut is_there, mut rows) = (0, [0; 2]);
        unroll!(I in [0, 1] {
            let row = if BY_DEPTH { row } else { row + I as u32 * Self::STEP };
            if G == AS_THEY_LIE {
                is_there |= u32::from(first + row < size) << I;
            } else if I < QUADS {
                // SAFETY: as the caller vouches.
                if let Some(of_a) = unsafe { row_of(task, first + row) } {
                    rows[I] = of_a;
                    is_there |= 1 << I;
                }
            }
        });
        Self { at, stride, rows, is_there }
    }

    /// Reads the thread's quads of the next slab, of which `left` depths are there; what is behind them, or not among the operand's rows, is 0.
    ///
    /// # Safety
    /// The operand has its lines, whose bytes are a multiple of 16; it begins at a multiple of 16 bytes.
    #[device_inline]
    #[track_caller]
    unsafe fn fetch(&mut self, left: u32) -> [[f32; 4]; QUADS] {
        let mut quads = [[0.0; 4]; QUADS];
        let [_, deeper] = Self::own();
        unroll!(I in [0, 1] {
            if I < QUADS {
                let depth = if BY_DEPTH { deeper + I as u32 * Self::STEP } else { deeper };
                if self.is_there & (1 << I) != 0 && depth < left {
                    let number = if G == AS_THEY_LIE { I as u32 * Self::STEP } else { self.rows[I] };
                    let line = self.at.wrapping_add(number as usize * self.stride as usize * Self::BYTES);
                    // SAFETY: the line is there, and so is the whole quad in it.
                    let mut quad = unsafe {
                        match G {
                            BYTES => load(line.cast::<u32>(), 0).to_le_bytes().map(f32::from),
                            _ => load_quad(line.cast(), 0),
                        }
                    };
                    if !BY_DEPTH {
                        unroll!(J in [1, 2, 3] {
                            if depth + J as u32 >= left {
                                quad[J] = 0.0;
                            }
                        });
                    }
                    quads[I % QUADS] = quad;
                }
            }
        });
        let further = if BY_DEPTH { DEPTH as usize * self.stride as usize } else { DEPTH as usize };
        self.at = self.at.wrapping_add(further * Self::BYTES);
        quads
    }

    /// Puts the thread's quads into the slab that begins at value `from`.
    ///
    /// # Safety
    /// The slab is the block's and nobody reads it; `from` is a multiple of 4.
    #[device_inline]
    #[track_caller]
    unsafe fn put(&self, shared: Shared<f32>, from: u32, quads: [[f32; 4]; QUADS]) {
        unroll!(I in [0, 1] {
            if I < QUADS {
                let [row, depth] = Self::own();
                let step = I as u32 * Self::STEP;
                let [row, depth] = if BY_DEPTH { [row, depth + step] } else { [row + step, depth] };
                let at = from + depth * stride::<SIZE>() + row;
                // SAFETY: a row and depths of the slab; by depth, four rows from a multiple of four on.
                unsafe {
                    if BY_DEPTH {
                        shared.set_quad_unchecked(at, quads[I % QUADS]);
                    } else {
                        unroll!(J in [0, 1, 2, 3] {
                            shared.set_unchecked(at + J as u32 * stride::<SIZE>(), quads[I % QUADS][J]);
                        });
                    }
                }
            }
        });
    }
}

/// Adds the products of a slab to a lane's sums: `d[row][column]`. `at_a`, `at_b`: the lane's first row and column in the slabs.
///
/// # Safety
/// The slabs are complete, and the lane's rows and columns in them; both are multiples of 4.
#[device_inline]
#[track_caller]
unsafe fn multiply<const SIZE: u32>(shared: Shared<f32>, [at_a, at_b]: [u32; 2], d: &mut [[f32; 8]; 8]) {
    // Two depths at a time, so that the compiler does not load all of the slab at once, for which there are no registers.
    let mut pair = 0;
    while pair < DEPTH / 2 {
        let from = 2 * pair * stride::<SIZE>();
        unroll!(K in [0, 1] {
            let deeper = from + K as u32 * stride::<SIZE>();
            // SAFETY: rows and columns of the slabs.
            let (a, b) = unsafe {
                (
                    [shared.get_quad_unchecked(at_a + deeper), shared.get_quad_unchecked(at_a + deeper + 32)],
                    [shared.get_quad_unchecked(at_b + deeper), shared.get_quad_unchecked(at_b + deeper + 16)],
                )
            };
            unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                    d[I][J] = fma(a[I / 4][I % 4], b[J / 4][J % 4], d[I][J]);
                });
            });
        });
        pair += 1;
    }
}

/// The mask of a quad at a row and column of C; 1 where there is none.
///
/// # Safety
/// The task's mask has the lengths it says, and begins at a multiple of 16 bytes; `column` is a multiple of 4.
#[device_inline]
#[track_caller]
unsafe fn mask_of(task: &ProductTask, row: u32, column: u32) -> [f32; 4] {
    if task.mask.is_null() || row >= task.m || column >= task.n {
        return [1.0; 4];
    }
    // SAFETY: the row is in the mask, whose stride is a multiple of four, and so is the column: all four are there.
    unsafe { load_quad(task.mask.cast(), row as usize * task.mask_stride as usize + column as usize) }
}

/// Where a lane's sums are in C: row and column of the first.
#[derive(Clone, Copy)]
pub(super) struct At {
    row: u32,
    column: u32,
}

impl At {
    /// Row and column of quad `J` of row `I` of the lane.
    #[device_inline]
    pub const fn quad(self, i: u32, j: u32) -> [u32; 2] {
        [self.row + i % 4 + i / 4 * 32, self.column + 16 * j]
    }
}

/// The sums of a lane, `[row][column]`, where they are in C, and the division of the depth; in the end nobody reads shared memory.
///
/// # Safety
/// Launched with `shape`; the task's arrays have the lengths it says.
#[device_inline]
pub(super) unsafe fn sums<const SIZE: u32, const QUADS: usize, const A: bool, const B: bool, const G: u32>(
    task: &ProductTask,
) -> ([[f32; 8]; 8], At, u32) {
    const { assert!(QUADS as u32 * threads::<SIZE>() * 4 == SIZE * DEPTH) };
    let [row, column, division] = Work::of(task, SIZE, SIZE).tile_at(thread::block_idx_x());
    let (first_row, first_column) = (row * SIZE, column * SIZE);
    let shared = dynamic::<f32>(0, 4 * slab::<SIZE>());
    let depth = division * task.division;
    let (rows, columns) = ((first_row, task.m), (first_column, task.n));
    // SAFETY: the task's arrays have the lengths it says.
    let (mut share_a, mut share_b) = unsafe {
        (
            Share::<A, G, SIZE, QUADS>::new(task, task.a, task.a_stride, rows, depth),
            Share::<B, AS_THEY_LIE, SIZE, QUADS>::new(task, task.b, task.b_stride, columns, depth),
        )
    };
    let across = SIZE / WARP_COLUMNS;
    let (lane, warp) = (thread::lane(), thread::warp_index());
    let own_row = warp / across * WARP_ROWS + lane / 4 * 4;
    let own_column = warp % across * WARP_COLUMNS + lane % 4 * 4;
    let mut d = [[0.0; 8]; 8];
    let mut left = depths_of(task, division);
    // Where A's slab begins that is multiplied; B's is behind both of A's.
    let mut from = 0;
    // SAFETY: slabs are complete behind a barrier that all threads pass, and filled only when all have read them; the operands are the task's, whose divisions begin at multiples of 4.
    unsafe {
        let (mut a, mut b) = (share_a.fetch(left), share_b.fetch(left));
        share_a.put(shared, from, a);
        share_b.put(shared, from + 2 * slab::<SIZE>(), b);
        sync_threads();
        while left > 0 {
            left = left.saturating_sub(DEPTH);
            // Behind the end these are zeros, which nobody reads.
            a = share_a.fetch(left);
            b = share_b.fetch(left);
            multiply::<SIZE>(shared, [from + own_row, from + 2 * slab::<SIZE>() + own_column], &mut d);
            from = slab::<SIZE>() - from;
            share_a.put(shared, from, a);
            share_b.put(shared, from + 2 * slab::<SIZE>(), b);
            // The next slab is complete, and this one read.
            sync_threads();
        }
    }
    (d, At { row: first_row + own_row, column: first_column + own_column }, division)
}

/// See the module.
///
/// # Safety
/// Launched with `shape`; the task's arrays have the lengths it says.
#[device_inline]
unsafe fn product<const SIZE: u32, const QUADS: usize, const A: bool, const B: bool, const G: u32>(task: &ProductTask) {
    // SAFETY: the caller's promise.
    let (d, at, division) = unsafe { sums::<SIZE, QUADS, A, B, G>(task) };
    // SAFETY: as the kernel asks.
    let factor = unsafe { task.whole_factor() };
    unroll!(J in [0, 1] {
        let [_, column] = at.quad(0, J as u32);
        let mut bias = [0.0; 4];
        if !task.bias.is_null() {
            unroll!(C in [0, 1, 2, 3] {
                if column + (C as u32) < task.n {
                    // SAFETY: a column below `n`.
                    bias[C] = unsafe { load(task.bias, (column + C as u32) as usize) };
                }
            });
        }
        unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
            let [row, _] = at.quad(I as u32, 0);
            let mut quad = [d[I][4 * J], d[I][4 * J + 1], d[I][4 * J + 2], d[I][4 * J + 3]];
            // SAFETY: as the kernel asks.
            let (residual, mask) = unsafe { (added_single(task, row, column), mask_of(task, row, column)) };
            unroll!(C in [0, 1, 2, 3] {
                let sum = fma(quad[C], factor, bias[C]) + residual[C];
                let sum = if task.activation == activation::RELU { relu(sum) } else { sum };
                quad[C] = if mask[C] > 0.0 { sum } else { 0.0 };
            });
            // SAFETY: each value of C is one lane's, which the task has.
            unsafe { put_single(task, division, row, column, &[quad]) };
        });
    });
}

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident, $size:literal, $quads:literal, $threads:literal, $blocks:literal, [$a:literal, $b:literal] $gathered:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices, with an epilogue, by ordinary arithmetic.
            ///
            /// * Launch: a block for each tile of C and division of the depth; a lane for each 8 × 8 of a tile.
            /// * Reads: `a`, `b`, `bias`, `residual`, `mask`; those that gather, `rows`.
            /// * Writes: `c`; `overflow`.
            /// * Shared: dynamic: two slabs of each operand, 8 deep.
            /// * Cost: m n k fused multiplications and additions.
            /// * Twin: `warpplay_cpu_ref::tile::product`.
            /// * Source: the tile of registers is a known form (Volkov and Demmel 2008); the code is ours.
            ///
            /// # Safety
            /// The operands are of single precision, or A of bytes where the kernel says so, and in one part; they begin at multiples of 16 bytes and are not written meanwhile, the residual only where it is C; `side` is 1; `c` is there, `c_short` and `residual_short` are not; the mask is of single precision and begins at a multiple of 16 bytes; bias, residual, mask and activation only with one division; a division is a multiple of 4.
            #[kernel(
                shape = shape::<$size>(task.m, task.n, task.k.div_ceil(task.division)),
                max_threads = $threads,
                min_blocks = $blocks,
                require = task.moments.is_null() && ($gathered != AS_THEY_LIE || task.rows.is_null()) && task.a_parts == 1 && task.b_parts == 1
            )]
            pub unsafe fn $name(task: ProductTask) {
                // SAFETY: launched with this shape, and the task is as the kernel asks.
                unsafe { product::<$size, $quads, $a, $b, $gathered>(&task) }
            }
        )*
    };
}

products! {
    /// Single precision, tiles of 128 × 128.
    tile_plain_128, 128, 1, 256, 2, [false, false] AS_THEY_LIE;
    /// Single precision, tiles of 128 × 128, B depth by depth.
    tile_plain_128_b, 128, 1, 256, 2, [false, true] AS_THEY_LIE;
    /// Single precision, tiles of 128 × 128, A and B depth by depth.
    tile_plain_128_ab, 128, 1, 256, 2, [true, true] AS_THEY_LIE;
    /// Single precision, tiles of 128 × 128, A depth by depth.
    tile_plain_128_a, 128, 1, 256, 2, [true, false] AS_THEY_LIE;
    /// Single precision, tiles of 64 × 64.
    tile_plain_64, 64, 2, 64, 6, [false, false] AS_THEY_LIE;
    /// Single precision, tiles of 64 × 64, B depth by depth.
    tile_plain_64_b, 64, 2, 64, 6, [false, true] AS_THEY_LIE;
    /// Single precision, tiles of 64 × 64, A and B depth by depth.
    tile_plain_64_ab, 64, 2, 64, 6, [true, true] AS_THEY_LIE;
    /// Single precision, tiles of 64 × 64, A depth by depth.
    tile_plain_64_a, 64, 2, 64, 6, [true, false] AS_THEY_LIE;
    /// Single precision, tiles of 128 × 128, rows of A gathered.
    tile_plain_128_rows, 128, 1, 256, 2, [false, false] GATHERED;
    /// Single precision, tiles of 64 × 64, rows of A gathered.
    tile_plain_64_rows, 64, 2, 64, 6, [false, false] GATHERED;
    /// Single precision, A of bytes, tiles of 128 × 128.
    tile_plain_128_bytes, 128, 1, 256, 2, [false, false] BYTES;
    /// Single precision, A of bytes, tiles of 64 × 64.
    tile_plain_64_bytes, 64, 2, 64, 6, [false, false] BYTES;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn blocks_fit() {
        let (large, small) = (shape::<128>(129, 128, 3), shape::<64>(129, 128, 1));
        assert_eq!((large.grid, large.block, small.grid, small.block), ([6, 1, 1], [256, 1, 1], [6, 1, 1], [64, 1, 1]));
        // What every launch may have without asking.
        assert!(large.shared_bytes <= 48 * 1024);
    }
}
