//! The products of a tile, and the kernels.

use super::stages::{ALIGNMENT, Cursor, MOST_GATHERED, STAGE_BYTES, Share, VECTOR, depths as depths_of_stage};
use crate::cuda::memory::{Vec4, async_commit, async_wait, async_wait_all, load};
use crate::cuda::mma::{self, load_matrix_x4, load_matrix_x4_transposed};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::{WholeWarp, sync_threads, whole_warp};
use crate::cuda::{kernel, thread};
use crate::launch::LaunchShape;
use crate::tile::epilogue::{self, Alone, Ending, Part};
use crate::tile::rows::{AS_THEY_LIE, BYTES};
use crate::tile::task::{Bf16, F16, Format, ProductTask, Tf32, n_pairs};
use crate::tile::work::{Work, depths_of};
use crate::unroll::unroll;

/// A format whose products a warp computes.
pub trait Multiply: Format {
    /// `c + a b`, 16 rows by 8 columns.
    fn product(warp: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4];
}

macro_rules! multiply {
    ($($format:ty, $product:ident;)*) => {$(
        impl Multiply for $format {
            #[device_inline]
            #[track_caller]
            fn product(warp: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
                mma::$product(warp, c, a, b)
            }
        }
    )*};
}

multiply! {
    Bf16, bf16;
    F16, f16;
    Tf32, tf32;
}

/// A block: rows and columns of its tile, and stages; its warps have squares of `SQUARE`.
#[derive(Clone, Copy)]
pub(super) struct Block {
    rows: u32,
    columns: u32,
    square: u32,
    stages: u32,
}

impl Block {
    pub(super) const fn of<const ROWS: u32, const COLUMNS: u32, const LINES: usize, const STAGES: u32>() -> Self {
        Self { rows: ROWS, columns: COLUMNS, square: 16 * LINES as u32, stages: STAGES }
    }

    const fn threads(self) -> u32 {
        self.rows / self.square * (self.columns / self.square) * thread::WARP
    }

    const fn stage_bytes(self) -> u32 {
        (self.rows + self.columns) * STAGE_BYTES
    }

    /// To the alignment, stages, and the bias of the tile's columns. The exchange of sums overwrites the stages.
    const fn shared_bytes(self) -> u32 {
        ALIGNMENT + self.stages * self.stage_bytes() + 4 * self.columns
    }

    pub(super) const fn shape(self, m: u32, n: u32, divisions: u32) -> LaunchShape {
        let tiles = Work::new([m, n, divisions], self.rows, self.columns).tiles();
        LaunchShape::new(tiles, self.threads()).with_shared(self.shared_bytes())
    }
}

/// Where a lane's row of the first matrices lies that a warp loads, in bytes from the operand's slab on: for rows (or columns) from `first` on. `second`: whether the second matrix is the next one along the depth, as B's is; or else along the rows.
#[device_inline]
fn lane_address<const BY_DEPTH: bool, const SIZE: u32>(first: u32, second_is_deeper: bool) -> u32 {
    let lane = thread::lane();
    let (second, third) = (lane / 8 % 2, lane / 16);
    let [deeper, further] = if second_is_deeper { [second, third] } else { [third, second] };
    if BY_DEPTH {
        let depth = lane % 8 + 8 * deeper;
        depth * 2 * SIZE + ((first / 8 + further) ^ (depth % 8)) * VECTOR
    } else {
        let row = first + lane % 8 + 8 * further;
        row * STAGE_BYTES + (deeper ^ (row / 2 % 4)) * VECTOR
    }
}

/// The operands of a warp's products from shared memory, of half `HALF` of a stage; `address` is the slab's, with the lane's own.
///
/// # Safety
/// All lanes of the warp are here; the slab is complete.
#[device_inline]
#[track_caller]
unsafe fn fragments<const BY_DEPTH: bool, const SIZE: u32, const LINES: usize, const HALF: u32>(
    address: u32,
) -> [[u32; 4]; LINES] {
    let mut words = [[0; 4]; LINES];
    unroll!(I in [0, 1, 2, 3] {
        if I < LINES {
            // SAFETY: rows of the slab, as the caller vouches: 16 rows further on, or two vectors; 32 bytes deeper, or 16 depths.
            words[I % LINES] = unsafe {
                if BY_DEPTH {
                    load_matrix_x4_transposed((address ^ (32 * I as u32)) + HALF * 16 * 2 * SIZE)
                } else {
                    load_matrix_x4((address ^ (32 * HALF)) + 16 * STAGE_BYTES * I as u32)
                }
            };
        }
    });
    words
}

/// Lines whose products are computed.
const ALL: usize = 0;
const FIRST_HALF: usize = 1;
const SECOND_HALF: usize = 2;

/// Adds the products of half a stage to a warp's sums, in those of its lines that `WHICH` says.
#[device_inline]
#[track_caller]
fn multiply<F: Multiply, const LINES: usize, const R: usize, const WHICH: usize>(
    d: &mut [[f32; R]; LINES],
    a: &[[u32; 4]; LINES],
    b: &[[u32; 4]; LINES],
) {
    let warp = whole_warp();
    unroll!(I in [0, 1, 2, 3] {
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            if I < LINES && 4 * J < R && (WHICH == ALL || I / (LINES / 2) == WHICH - FIRST_HALF) {
                let (at, pair, half) = (4 * J % R, J / 2 % LINES, J % 2 * 2);
                let c = [d[I % LINES][at], d[I % LINES][at + 1], d[I % LINES][at + 2], d[I % LINES][at + 3]];
                let c = F::product(&warp, c, a[I % LINES], [b[pair][half], b[pair][half + 1]]);
                d[I % LINES][at] = c[0];
                d[I % LINES][at + 1] = c[1];
                d[I % LINES][at + 2] = c[2];
                d[I % LINES][at + 3] = c[3];
            }
        });
    });
}

/// See the module. A warp has `LINES` times 16 rows, and `R` sums a thread of each. `G`: how the [rows](crate::tile::rows) of A come.
///
/// # Safety
/// Launched with the block's shape; the task's arrays have the lengths it says; and what `ending` asks for, whose threads do not meet.
#[device_inline]
pub(super) unsafe fn product<
    F: Multiply,
    const ROWS: u32,
    const COLUMNS: u32,
    const LINES: usize,
    const R: usize,
    const STAGES: u32,
    const THREADS: u32,
    const A: bool,
    const B: bool,
    const G: u32,
    E: Ending,
>(
    task: &ProductTask,
    ending: E,
) {
    const { assert!(E::MEETINGS == 0) };
    const { assert!(2 * R == 16 * LINES && Block::of::<ROWS, COLUMNS, LINES, STAGES>().threads() == THREADS) };
    const { assert!(epilogue::WARP_BYTES * THREADS / thread::WARP <= STAGES * (ROWS + COLUMNS) * STAGE_BYTES) };
    let block = const { Block::of::<ROWS, COLUMNS, LINES, STAGES>() };
    let [row, column, division] = Work::of(task, ROWS, COLUMNS).tile_at(thread::block_idx_x());
    let (first_row, first_column) = (row * ROWS, column * COLUMNS);
    let base = dynamic::<Vec4>(0, block.shared_bytes() / VECTOR).base().next_multiple_of(ALIGNMENT);
    // SAFETY: the block's own memory: `shared_bytes` has room for the alignment, the stages, and the bias behind them.
    let bias = unsafe { Shared::<f32>::from_address(base + STAGES * block.stage_bytes(), COLUMNS) };
    let own = thread::thread_idx_x();
    unroll!(I in [0, 1] {
        let at = own + I as u32 * THREADS;
        if I as u32 * THREADS < COLUMNS && at < COLUMNS {
            // SAFETY: a column below `n`, and an index below COLUMNS.
            unsafe {
                let is_there = !task.bias.is_null() && first_column + at < task.n;
                bias.set_unchecked(at, if is_there { load(task.bias, (first_column + at) as usize) } else { 0.0 });
            }
        }
    });
    let (first_depth, depths) = (division * task.division, depths_of(task, division));
    let (rows, columns) = ((first_row, task.m), (first_column, task.n));
    let (strides_a, strides_b) = ((task.a_stride, task.a_part_stride), (task.b_stride, task.b_part_stride));
    // SAFETY: the task's arrays have the lengths it says.
    let shares = unsafe {
        (
            Share::<A, G, ROWS, THREADS>::new::<F>(task, task.a, strides_a, rows, first_depth),
            Share::<B, AS_THEY_LIE, COLUMNS, THREADS>::new::<F>(task, task.b, strides_b, columns, first_depth),
        )
    };
    let mut cursor = Cursor::new(task, &shares, depths);
    // Of the next stage, on their way while this one is multiplied: copies cannot make numbers of them.
    let mut bytes = [0; MOST_GATHERED];
    if G == BYTES {
        // SAFETY: the operand is that of the task.
        bytes = unsafe { shares.0.bytes::<F>(cursor.a, cursor.left) };
    }
    // Starts the copies of the next stage, which is of zeros behind the last one.
    let mut fetch = |stage: u32| {
        let address = base + stage * block.stage_bytes();
        // SAFETY: nobody reads the stage, as the places below say; the operands are those of the task.
        unsafe {
            match G {
                BYTES => shares.0.put::<F>(address, &bytes),
                _ => shares.0.copy::<F>(address, cursor.a, cursor.left),
            }
            shares.1.copy::<F>(address + ROWS * STAGE_BYTES, cursor.b, cursor.left);
        }
        async_commit();
        cursor.advance::<F, A, B, G, ROWS, COLUMNS, THREADS>(task, &shares, depths);
        if G == BYTES {
            // SAFETY: as above.
            bytes = unsafe { shares.0.bytes::<F>(cursor.a, cursor.left) };
        }
    };
    let mut stage = 0;
    while stage < STAGES {
        fetch(stage);
        stage += 1;
    }
    let across = COLUMNS / block.square;
    let (own_row, own_column) =
        (thread::warp_index() / across * block.square, thread::warp_index() % across * block.square);
    let own_a = base + lane_address::<A, ROWS>(own_row, false);
    let own_b = base + ROWS * STAGE_BYTES + lane_address::<B, COLUMNS>(own_column, true);
    let mut d = [[0.0; R]; LINES];
    // The first stage is there.
    wait::<STAGES, 1>();
    let (mut at, mut stage) = (0, 0);
    let stages = n_pairs(task.a_parts, task.b_parts) * depths.div_ceil(depths_of_stage::<F>());
    // SAFETY: whole warps are here; what is loaded lies in a stage that is complete for all since the last barrier.
    unsafe {
        let mut a = fragments::<A, ROWS, LINES, 0>(own_a);
        let mut b = fragments::<B, COLUMNS, LINES, 0>(own_b);
        let mut number = 0;
        while number < stages {
            let next_a = fragments::<A, ROWS, LINES, 1>(own_a + at);
            let next_b = fragments::<B, COLUMNS, LINES, 1>(own_b + at);
            multiply::<F, LINES, R, ALL>(&mut d, &a, &b);
            // The next stage is there, and this one loaded.
            wait::<STAGES, 2>();
            at = if at + block.stage_bytes() == STAGES * block.stage_bytes() { 0 } else { at + block.stage_bytes() };
            a = fragments::<A, ROWS, LINES, 0>(own_a + at);
            b = fragments::<B, COLUMNS, LINES, 0>(own_b + at);
            // Among products, since tensor cores would wait for what all warps load and fetch at once.
            multiply::<F, LINES, R, FIRST_HALF>(&mut d, &next_a, &next_b);
            // This stage, of which all have loaded what they need before the barrier.
            fetch(stage);
            stage = if stage + 1 == STAGES { 0 } else { stage + 1 };
            multiply::<F, LINES, R, SECOND_HALF>(&mut d, &next_a, &next_b);
            number += 1;
        }
    }
    // Sums are exchanged where the stages were.
    async_wait_all();
    sync_threads();
    let exchange = base + thread::warp_index() * epilogue::WARP_BYTES;
    if first_column + own_column < task.n {
        unroll!(I in [0, 1, 2, 3] {
            if I < LINES {
                let part = Part {
                    row: first_row + own_row + epilogue::ROWS * I as u32,
                    column: first_column + own_column,
                    division,
                    exchange,
                    bias: bias.base() + 4 * own_column,
                };
                // SAFETY: each value of C is one warp's, whose exchange is its own; the bias is complete since the first barrier.
                unsafe { ending.write::<F, R, 4>(task, &d[I % LINES], part, 0) };
            }
        });
    }
}

/// Waits until the first `N` of the last `STAGES` stages that were asked for are there, and for all threads.
#[device_inline]
#[track_caller]
fn wait<const STAGES: u32, const N: u32>() {
    const { assert!(STAGES == 3 || STAGES == 4) };
    match STAGES - N {
        1 => async_wait::<1>(),
        2 => async_wait::<2>(),
        _ => async_wait::<3>(),
    }
    sync_threads();
}

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $rows:literal x $columns:literal, $lines:literal x $sums:literal, $stages:literal, $threads:literal, $blocks:literal, [$a:literal, $b:literal];)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices, with an epilogue.
            ///
            /// * Launch: a block for each tile of C and division of the depth; a warp for each 64 × 64 of a tile (32 × 32 of a tile of 64 × 64).
            /// * Reads: `a`, `b`, `bias`, `residual` or `residual_short`, `mask`.
            /// * Writes: `c` or `c_short`; `overflow`.
            /// * Shared: dynamic: three or four stages, each 64 bytes deep of both operands; bias of the tile's columns. The sums are exchanged where stages were.
            /// * Cost: 2 m n k operations by tensor cores for each pair of parts.
            /// * Twin: `warpplay_cpu_ref::tile::product`.
            /// * Source: the ring of stages is a known form (CUTLASS's multistage kernels); the code is ours.
            ///
            /// # Safety
            /// `side` is 1; exactly one of `c` and `c_short` is there, the latter, bias, residual, mask and activation only with one division; a division is a multiple of a slab's depth; operands, their parts and bias begin at multiples of 16 bytes, the mask at one of 8;
            /// the operands are not written meanwhile, and a residual only where it is C.
            #[kernel(
                shape = const { Block::of::<$rows, $columns, $lines, $stages>() }.shape(task.m, task.n, task.k.div_ceil(task.division)),
                max_threads = $threads,
                min_blocks = $blocks,
                require = task.rows.is_null() && task.moments.is_null()
            )]
            pub unsafe fn $name(task: ProductTask) {
                // SAFETY: launched with this shape, and the task is as the kernel asks.
                unsafe { product::<$format, $rows, $columns, $lines, $sums, $stages, $threads, $a, $b, AS_THEY_LIE, _>(&task, Alone) }
            }
        )*
    };
}

products! {
    /// bfloat16, tiles of 128 × 256.
    tile_mma_bf16_256, Bf16, 128 x 256, 4 x 32, 4, 256, 1, [false, false];
    /// bfloat16, tiles of 128 × 128.
    tile_mma_bf16_128, Bf16, 128 x 128, 4 x 32, 3, 128, 2, [false, false];
    /// bfloat16, tiles of 64 × 64.
    tile_mma_bf16_64, Bf16, 64 x 64, 2 x 16, 4, 128, 3, [false, false];
    /// bfloat16, tiles of 128 × 256, B depth by depth.
    tile_mma_bf16_256_b, Bf16, 128 x 256, 4 x 32, 4, 256, 1, [false, true];
    /// bfloat16, tiles of 128 × 128, B depth by depth.
    tile_mma_bf16_128_b, Bf16, 128 x 128, 4 x 32, 3, 128, 2, [false, true];
    /// bfloat16, tiles of 64 × 64, B depth by depth.
    tile_mma_bf16_64_b, Bf16, 64 x 64, 2 x 16, 4, 128, 3, [false, true];
    /// bfloat16, tiles of 128 × 256, A and B depth by depth.
    tile_mma_bf16_256_ab, Bf16, 128 x 256, 4 x 32, 4, 256, 1, [true, true];
    /// bfloat16, tiles of 128 × 128, A and B depth by depth.
    tile_mma_bf16_128_ab, Bf16, 128 x 128, 4 x 32, 3, 128, 2, [true, true];
    /// bfloat16, tiles of 64 × 64, A and B depth by depth.
    tile_mma_bf16_64_ab, Bf16, 64 x 64, 2 x 16, 4, 128, 3, [true, true];
    /// bfloat16, tiles of 128 × 256, A depth by depth.
    tile_mma_bf16_256_a, Bf16, 128 x 256, 4 x 32, 4, 256, 1, [true, false];
    /// bfloat16, tiles of 128 × 128, A depth by depth.
    tile_mma_bf16_128_a, Bf16, 128 x 128, 4 x 32, 3, 128, 2, [true, false];
    /// bfloat16, tiles of 64 × 64, A depth by depth.
    tile_mma_bf16_64_a, Bf16, 64 x 64, 2 x 16, 4, 128, 3, [true, false];
    /// Half precision, tiles of 128 × 256.
    tile_mma_f16_256, F16, 128 x 256, 4 x 32, 4, 256, 1, [false, false];
    /// Half precision, tiles of 128 × 128.
    tile_mma_f16_128, F16, 128 x 128, 4 x 32, 3, 128, 2, [false, false];
    /// Half precision, tiles of 64 × 64.
    tile_mma_f16_64, F16, 64 x 64, 2 x 16, 4, 128, 3, [false, false];
    /// Half precision, tiles of 128 × 256, B depth by depth.
    tile_mma_f16_256_b, F16, 128 x 256, 4 x 32, 4, 256, 1, [false, true];
    /// Half precision, tiles of 128 × 128, B depth by depth.
    tile_mma_f16_128_b, F16, 128 x 128, 4 x 32, 3, 128, 2, [false, true];
    /// Half precision, tiles of 64 × 64, B depth by depth.
    tile_mma_f16_64_b, F16, 64 x 64, 2 x 16, 4, 128, 3, [false, true];
    /// Half precision, tiles of 128 × 256, A and B depth by depth.
    tile_mma_f16_256_ab, F16, 128 x 256, 4 x 32, 4, 256, 1, [true, true];
    /// Half precision, tiles of 128 × 128, A and B depth by depth.
    tile_mma_f16_128_ab, F16, 128 x 128, 4 x 32, 3, 128, 2, [true, true];
    /// Half precision, tiles of 64 × 64, A and B depth by depth.
    tile_mma_f16_64_ab, F16, 64 x 64, 2 x 16, 4, 128, 3, [true, true];
    /// Half precision, tiles of 128 × 256, A depth by depth.
    tile_mma_f16_256_a, F16, 128 x 256, 4 x 32, 4, 256, 1, [true, false];
    /// Half precision, tiles of 128 × 128, A depth by depth.
    tile_mma_f16_128_a, F16, 128 x 128, 4 x 32, 3, 128, 2, [true, false];
    /// Half precision, tiles of 64 × 64, A depth by depth.
    tile_mma_f16_64_a, F16, 64 x 64, 2 x 16, 4, 128, 3, [true, false];
    /// TF32, tiles of 128 × 256.
    tile_mma_tf32_256, Tf32, 128 x 256, 4 x 32, 4, 256, 1, [false, false];
    /// TF32, tiles of 128 × 128.
    tile_mma_tf32_128, Tf32, 128 x 128, 4 x 32, 3, 128, 2, [false, false];
    /// TF32, tiles of 64 × 64.
    tile_mma_tf32_64, Tf32, 64 x 64, 2 x 16, 4, 128, 3, [false, false];
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn blocks_fit() {
        let [wide, square, small] =
            [Block::of::<128, 256, 4, 4>(), Block::of::<128, 128, 4, 3>(), Block::of::<64, 64, 2, 4>()];
        // Of capability 8.6 and 8.9: 99 KiB a block, 100 a multiprocessor, of which each block takes one more.
        assert!(wide.shared_bytes() <= 99 * 1024);
        assert!(2 * (square.shared_bytes() + 1024) <= 100 * 1024 && 2 * (small.shared_bytes() + 1024) <= 100 * 1024);
        assert_eq!([wide.threads(), square.threads(), small.threads()], [256, 128, 128]);
        assert_eq!(square.shape(129, 128, 3).grid, [6, 1, 1]);
    }
}
