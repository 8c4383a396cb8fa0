//! Products by warpgroups: a warp fetches slabs of both operands by bulk tensor copies, one or two warpgroups multiply (`sm_90a`).
//!
//! A warpgroup has 64 rows of the tile and all of its columns. Blocks take tiles in turn; while the last sums of a tile are written, the slabs of the next one are on their way. Tiles are taken in
//! strips of eight rows of tiles, so that blocks that work at a time share operands in the second-level cache.

use crate::cuda::math::relu;
use crate::cuda::memory::{Vec4, load, store};
use crate::cuda::mma::{pack_bf16, pack_f16};
use crate::cuda::ring::{Ring, sync_simt};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::{sync_some, sync_threads};
use crate::cuda::tensor_map::{MapAt, TensorMap};
use crate::cuda::wgmma::{self, Tiles, WholeGroup};
use crate::cuda::{DeviceArgs, kernel, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Rows of a tile that a warpgroup computes.
pub const GROUP_ROWS: u32 = 64;
/// Bytes of a slab's row: what a rectangle of a [`TensorMap`] has.
pub const SLAB_BYTES: u32 = TensorMap::ROW_BYTES;
/// Rows of tiles of a strip.
const STRIP: u32 = 8;
/// Bytes of shared memory that a block may use on `sm_90`.
const SHARED_BYTES: u32 = 232_448;
/// Alignment of what is exchanged in shared memory.
const ALIGNMENT: u32 = 1024;
/// Registers of a thread that multiplies, and of one that fetches, where there are two warpgroups of the first.
const WORKER_REGISTERS: u32 = 232;
const FETCHER_REGISTERS: u32 = 40;
/// Registers of a thread at the launch of such a block: what the assembler gives each of 384 threads.
pub const LAUNCH_REGISTERS: u32 = 168;
// With more, the workers would wait for ever for those that are missing.
const _: () = assert!(256 * WORKER_REGISTERS + 128 * FETCHER_REGISTERS <= 384 * LAUNCH_REGISTERS);

/// Barrier of the first warpgroup that multiplies; the second one's is the next.
const FIRST_BARRIER: u32 = 1;

/// What happens to a sum before it is written.
pub mod activation {
    /// Nothing.
    pub const NONE: u32 = 0;
    /// What is below 0 becomes 0.
    pub const RELU: u32 = 1;
}

/// What a launch works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Bytes of an operand's value.
    value_bytes: u32
)]
#[require(m >= 1 && n >= 1 && k >= 1 && k <= a_stride && k <= b_stride && n <= c_stride)]
#[require((a_stride * value_bytes).is_multiple_of(16) && (b_stride * value_bytes).is_multiple_of(16))]
pub struct ProductTask {
    /// `[2]` A, with rectangles of the tile's rows, and B, with rectangles of the tile's columns.
    #[len(2)]
    pub maps: *const TensorMap,
    /// `[m][a_stride]` A; kernels read it through its map.
    #[len(m as usize * a_stride as usize * value_bytes as usize)]
    pub a: *const u8,
    /// `[n][b_stride]` B, a row for each column; kernels read it through its map.
    #[len(n as usize * b_stride as usize * value_bytes as usize)]
    pub b: *const u8,
    /// `[n]` What is added to the columns of C; null for nothing.
    #[len(n)]
    #[nullable]
    pub bias: *const f32,
    /// `[m][c_stride]` C in single precision; null where `c_short` is not.
    #[len(m as usize * c_stride as usize)]
    #[nullable]
    pub c: *mut f32,
    /// `[m][c_stride]` C in the operands' format of 16 bits; null where `c` is not.
    #[len(m as usize * c_stride as usize)]
    #[nullable]
    pub c_short: *mut u16,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Depth: columns of A and rows of B.
    pub k: u32,
    /// Values from a row of A to the next.
    pub a_stride: u32,
    /// Values from a column of B to the next.
    pub b_stride: u32,
    /// Values from a row of C to the next.
    pub c_stride: u32,
    /// One of [`activation`].
    pub activation: u32,
    /// 0.
    pub reserved: u32,
}

/// The format of the operands.
pub trait Format {
    /// Values of a slab's row.
    const SLAB: u32;
    /// Two numbers as they are stored; the first in the lower half.
    fn pack(low: f32, high: f32) -> u32;
}

/// The products of a format for `R` sums a thread.
pub trait Multiply<const R: usize>: Format {
    /// Starts the four products of a slab.
    fn start(whole: &WholeGroup, d: &mut [f32; R], a: [Tiles; 4], b: [Tiles; 4], add: u32);
    /// Waits for all products.
    fn complete(whole: &WholeGroup, d: &mut [f32; R]);
}

/// bfloat16.
pub struct Bf16;
/// Half precision.
pub struct F16;
/// TF32.
pub struct Tf32;

impl Format for Bf16 {
    const SLAB: u32 = SLAB_BYTES / 2;
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
}

impl Format for F16 {
    const SLAB: u32 = SLAB_BYTES / 2;
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_f16(low, high)
    }
}

impl Format for Tf32 {
    const SLAB: u32 = SLAB_BYTES / 4;
    /// Not used: results of TF32 are of single precision.
    #[inline(always)]
    fn pack(low: f32, _: f32) -> u32 {
        low.to_bits()
    }
}

macro_rules! multiply {
    ($($format:ty, $sums:literal, $start:ident, $complete:ident;)*) => {$(
        impl Multiply<$sums> for $format {
            #[inline(always)]
            fn start(whole: &WholeGroup, d: &mut [f32; $sums], a: [Tiles; 4], b: [Tiles; 4], add: u32) {
                wgmma::$start(whole, d, a, b, add);
            }

            #[inline(always)]
            fn complete(whole: &WholeGroup, d: &mut [f32; $sums]) {
                wgmma::$complete::<0>(whole, d);
            }
        }
    )*};
}

multiply! {
    Bf16, 128, bf16_n256, complete_n256;
    Bf16, 96, bf16_n192, complete_n192;
    Bf16, 64, bf16_n128, complete_n128;
    Bf16, 32, bf16_n64, complete_n64;
    F16, 128, f16_n256, complete_n256;
    F16, 96, f16_n192, complete_n192;
    F16, 64, f16_n128, complete_n128;
    F16, 32, f16_n64, complete_n64;
    Tf32, 128, tf32_n256, complete_n256;
    Tf32, 96, tf32_n192, complete_n192;
    Tf32, 64, tf32_n128, complete_n128;
    Tf32, 32, tf32_n64, complete_n64;
}

/// A block's part of the work: `R` sums a thread of `GROUPS` warpgroups.
const fn width<const R: usize>() -> u32 {
    2 * R as u32
}

/// Bytes of a slot: a slab of A and one of B.
const fn stage_bytes<const R: usize, const GROUPS: u32>() -> u32 {
    (GROUPS * GROUP_ROWS + width::<R>()) * SLAB_BYTES
}

/// Bytes of the bias of a tile's columns: two for each warpgroup, since the next tile's is written while others read this one's.
const fn bias_bytes<const R: usize, const GROUPS: u32>() -> u32 {
    2 * GROUPS * width::<R>() * 4
}

/// Slots of the ring.
const fn n_slots<const R: usize, const GROUPS: u32>() -> u32 {
    let slots = (SHARED_BYTES - ALIGNMENT - bias_bytes::<R, GROUPS>()) / (stage_bytes::<R, GROUPS>() + 16);
    if slots > 8 { 8 } else { slots }
}

/// Bytes of a block's dynamic shared memory: to the alignment, slots and their objects, bias.
const fn shared_bytes<const R: usize, const GROUPS: u32>() -> u32 {
    ALIGNMENT + n_slots::<R, GROUPS>() * (stage_bytes::<R, GROUPS>() + 16) + bias_bytes::<R, GROUPS>()
}

/// Launch shape for a product of `m` rows and `n` columns on a device with `multiprocessors`.
const fn shape<const R: usize, const GROUPS: u32>(m: u32, n: u32, multiprocessors: u32) -> LaunchShape {
    let tiles = m.div_ceil(GROUPS * GROUP_ROWS) * n.div_ceil(width::<R>());
    let blocks = if tiles < multiprocessors { tiles } else { multiprocessors };
    LaunchShape::new(blocks, 128 * (GROUPS + 1)).with_shared(shared_bytes::<R, GROUPS>())
}

/// First row and column of tile `tile` of C, in tiles: strips of [`STRIP`] rows, column by column.
#[inline(always)]
fn tile_at(tile: u32, rows: u32, columns: u32) -> [u32; 2] {
    let strip = tile / (STRIP * columns);
    let first = strip * STRIP;
    let height = if rows - first < STRIP { rows - first } else { STRIP };
    let within = tile - first * columns;
    [first + within % height, within / height]
}

/// See the module.
///
/// # Safety
/// Launched with `shape`; the maps are those of the task, with rectangles of `GROUPS` · 64 and of `width` rows, and the task's arrays have the lengths it says.
#[inline(always)]
unsafe fn product<F: Multiply<R>, const R: usize, const GROUPS: u32>(task: &ProductTask) {
    // SAFETY: two maps, as the caller vouches.
    let maps = unsafe { [MapAt::new(task.maps), MapAt::new(task.maps.add(1))] };
    // The same in all lanes, and known to be so: conditions on it do not split warps.
    let warp_index = warp::shuffle(warp::ALL, thread::warp_index(), 0);
    let slots = n_slots::<R, GROUPS>();
    let vectors = stage_bytes::<R, GROUPS>() / 16;
    let base = dynamic::<Vec4>(0, shared_bytes::<R, GROUPS>() / 16).base();
    let first = base.next_multiple_of(ALIGNMENT);
    let objects = first + slots * vectors * 16;
    // SAFETY: the block's own memory: `shared_bytes` has room for the alignment, the slots, two words a slot, and the bias.
    let (ring, bias) = unsafe {
        let slot_vectors = Shared::from_address(first, slots * vectors);
        let bias = Shared::<f32>::from_address(objects + 16 * slots, bias_bytes::<R, GROUPS>() / 4);
        (Ring::new(slot_vectors, Shared::from_address(objects, 2 * slots), slots, vectors), bias)
    };
    if thread::thread_idx_x() == 0 {
        ring.open(GROUPS);
        maps[0].prefetch();
        maps[1].prefetch();
    }
    sync_threads();
    let tiles = [task.m.div_ceil(GROUPS * GROUP_ROWS), task.n.div_ceil(width::<R>())];
    let slabs = task.k.div_ceil(F::SLAB);
    // SAFETY: whole warpgroups take each branch; both counts of registers together are those of the launch, see the assertion above. The rest is the caller's.
    unsafe {
        let whole = WholeGroup::assume();
        if warp_index >= 4 * GROUPS {
            if GROUPS == 2 {
                wgmma::fewer_registers::<FETCHER_REGISTERS>(&whole);
            }
            fetch::<F, R, GROUPS>(maps, ring, tiles, slabs, (warp_index, !task.bias.is_null()));
        } else {
            if GROUPS == 2 {
                wgmma::more_registers::<WORKER_REGISTERS>(&whole);
            }
            work::<F, R, GROUPS>(task, (ring, bias), tiles, slabs, &whole);
        }
    }
}

/// The warps that fetch. Only the first one's first lane asks; under `simt` all keep step.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn fetch<F: Multiply<R>, const R: usize, const GROUPS: u32>(
    maps: [MapAt; 2],
    ring: Ring,
    tiles: [u32; 2],
    slabs: u32,
    (warp_index, has_bias): (u32, bool),
) {
    let asks = thread::lane() == 0 && warp_index == 4 * GROUPS;
    let mut stage = 0;
    let mut tile = thread::block_idx_x();
    while tile < tiles[0] * tiles[1] {
        let [row, column] = tile_at(tile, tiles[0], tiles[1]);
        if has_bias {
            sync_simt();
        }
        let mut slab = 0;
        while slab < slabs {
            if asks {
                let depth = slab * F::SLAB;
                let from = [[depth, row * GROUPS * GROUP_ROWS], [depth, column * width::<R>()]];
                // SAFETY: the rectangles together have the bytes of a slot, and the ring tells when it is free.
                unsafe { ring.fill_rectangles(stage, maps, from, GROUPS * GROUP_ROWS * SLAB_BYTES) };
            }
            ring.pass();
            stage += 1;
            slab += 1;
        }
        tile += thread::grid_dim_x();
    }
}

/// The warpgroups that multiply.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn work<F: Multiply<R>, const R: usize, const GROUPS: u32>(
    task: &ProductTask,
    (ring, bias): (Ring, Shared<f32>),
    tiles: [u32; 2],
    slabs: u32,
    whole: &WholeGroup,
) {
    let (group, member) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let mut stage = 0;
    let mut tile = thread::block_idx_x();
    let (first_bias, mut half) = (group * 2 * width::<R>(), 0);
    while tile < tiles[0] * tiles[1] {
        let [row, column] = tile_at(tile, tiles[0], tiles[1]);
        let (row, column) = ((row * GROUPS + group) * GROUP_ROWS, column * width::<R>());
        if !task.bias.is_null() {
            // SAFETY: columns below `n`, and the half of the group's bias that nobody reads: whoever is here has ended the last tile but one.
            unsafe { load_bias::<R>(task, bias, first_bias + half, column, member) };
            sync_some(FIRST_BARRIER + group, 128);
        }
        let mut d = [0.0; R];
        let mut slab = 0;
        while slab < slabs {
            ring.wait(stage);
            let address = ring.address_of(stage);
            // SAFETY: the group's rows of the slab of A, and the slab of B, which are there; they came by copies.
            let (a, b) = unsafe {
                (
                    Tiles::swizzled(address + group * GROUP_ROWS * SLAB_BYTES),
                    Tiles::swizzled(address + GROUPS * GROUP_ROWS * SLAB_BYTES),
                )
            };
            F::start(whole, &mut d, steps(a), steps(b), (slab > 0) as u32);
            if slab > 0 {
                wgmma::wait::<1>(whole);
                if member == 0 {
                    ring.release(stage - 1);
                }
            }
            stage += 1;
            slab += 1;
        }
        F::complete(whole, &mut d);
        if member == 0 {
            ring.release(stage - 1);
        }
        let is_whole = row + GROUP_ROWS <= task.m && column + width::<R>() <= task.n && task.c_stride.is_multiple_of(4);
        let (row, lane) = (row + member / 32 * 16 + thread::lane() / 4, 2 * (thread::lane() % 4));
        let bias = BiasAt { bias, at: first_bias + half + lane };
        // SAFETY: each value of C within its bounds is one thread's, and of a whole tile all are within; the group's bias is complete.
        unsafe {
            if is_whole {
                write::<F, R, true>(task, &d, row, column + lane, bias);
            } else {
                write::<F, R, false>(task, &d, row, column + lane, bias);
            }
        }
        half = width::<R>() - half;
        tile += thread::grid_dim_x();
    }
}

/// Loads the bias of a tile's columns to `at`; 0 for columns that are not there.
///
/// # Safety
/// The task has a bias, `bias` room for a tile's columns from `at` on, which nobody reads.
#[inline(always)]
unsafe fn load_bias<const R: usize>(task: &ProductTask, bias: Shared<f32>, at: u32, column: u32, member: u32) {
    let mut offset = member;
    while offset < width::<R>() {
        // SAFETY: a column below `n`.
        let value = if column + offset < task.n { unsafe { load(task.bias, (column + offset) as usize) } } else { 0.0 };
        bias.set(at + offset, value);
        offset += 128;
    }
}

/// The four steps of a slab.
#[inline(always)]
fn steps(tiles: Tiles) -> [Tiles; 4] {
    [tiles, tiles.offset(32), tiles.offset(64), tiles.offset(96)]
}

/// The bias of a thread's columns in shared memory.
#[derive(Clone, Copy)]
struct BiasAt {
    bias: Shared<f32>,
    at: u32,
}

/// The epilogue: bias, activation, and the sums of a thread into C; `d[4 j + 2 i + c]` is that of row `row + 8 i` and column `column + 8 j + c`. `WHOLE`: all of these are in C, and four columns are aligned
/// together.
///
/// # Safety
/// The task's arrays have the lengths it says, no other thread writes these values, and the bias is there, if the task has one. All lanes of the warp are here.
#[inline(always)]
unsafe fn write<F: Format, const R: usize, const WHOLE: bool>(
    task: &ProductTask,
    d: &[f32; R],
    row: u32,
    column: u32,
    bias: BiasAt,
) {
    unroll!(PAIR in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] {
        if PAIR * 8 < R {
            let column = column + 16 * PAIR as u32;
            let mut added = [[0.0; 2]; 2];
            if !task.bias.is_null() {
                // SAFETY: columns of the tile.
                added = unsafe {
                    let at = bias.at + 16 * PAIR as u32;
                    let get = |at| bias.bias.get_unchecked(at);
                    [[get(at), get(at + 1)], [get(at + 8), get(at + 9)]]
                };
            }
            let end = |sum: f32, bias: f32| {
                let sum = sum + bias;
                if task.activation == activation::RELU { relu(sum) } else { sum }
            };
            // Of a row, the two columns of each of two blocks of eight.
            let of_row = |from: usize| [
                [end(d[from % R], added[0][0]), end(d[(from + 1) % R], added[0][1])],
                [end(d[(from + 4) % R], added[1][0]), end(d[(from + 5) % R], added[1][1])],
            ];
            let (upper, lower) = (of_row(8 * PAIR), of_row(8 * PAIR + 2));
            // SAFETY: as the caller vouches.
            unsafe {
                if WHOLE && task.c.is_null() {
                    write_four::<F>(task, row, column, upper);
                    write_four::<F>(task, row + 8, column, lower);
                } else {
                    write_pair::<F, WHOLE>(task, row, column, upper[0]);
                    write_pair::<F, WHOLE>(task, row, column + 8, upper[1]);
                    write_pair::<F, WHOLE>(task, row + 8, column, lower[0]);
                    write_pair::<F, WHOLE>(task, row + 8, column + 8, lower[1]);
                }
            }
        }
    });
}

/// Writes a row's values of 16 bits in two blocks of eight columns: four lanes exchange theirs, so that each writes four side by side, and the four together 32 bytes.
///
/// # Safety
/// As [`write`], for a whole tile.
#[inline(always)]
unsafe fn write_four<F: Format>(task: &ProductTask, row: u32, column: u32, values: [[f32; 2]; 2]) {
    let blocks = [F::pack(values[0][0], values[0][1]), F::pack(values[1][0], values[1][1])];
    let lane = thread::lane() % 4;
    // Lanes 0 and 1 take the first block, lanes 2 and 3 the second: each has its words `lane % 2` and `lane % 2 + 2` then.
    let first = lane < 2;
    let (kept, given) = if first { (blocks[0], blocks[1]) } else { (blocks[1], blocks[0]) };
    let got = warp::shuffle_xor(warp::ALL, given, 2);
    let (low, high) = if first { (kept, got) } else { (got, kept) };
    // Neighbours exchange, so that one has the words 0 and 1, the other 2 and 3.
    let even = lane.is_multiple_of(2);
    let got = warp::shuffle_xor(warp::ALL, if even { high } else { low }, 1);
    let [low, high] = if even { [low, got] } else { [got, high] };
    let at = row as usize * task.c_stride as usize + (column + 2 * lane) as usize;
    // SAFETY: within C, and four values at a multiple of four are aligned together.
    unsafe { store(task.c_short.cast::<u64>(), at / 4, u64::from(low) | u64::from(high) << 32) };
}

/// Writes two values of C side by side, or those of them that are there.
///
/// # Safety
/// As [`write`]; `column` is even.
#[inline(always)]
unsafe fn write_pair<F: Format, const WHOLE: bool>(task: &ProductTask, row: u32, column: u32, values: [f32; 2]) {
    if !WHOLE && (row >= task.m || column >= task.n) {
        return;
    }
    let at = row as usize * task.c_stride as usize + column as usize;
    let pair = WHOLE || column + 1 < task.n;
    let together = WHOLE || pair && task.c_stride.is_multiple_of(2);
    // SAFETY: within C; two at an even index are aligned together.
    unsafe {
        if !task.c.is_null() {
            if together {
                let both = u64::from(values[0].to_bits()) | u64::from(values[1].to_bits()) << 32;
                store(task.c.cast::<u64>(), at / 2, both);
            } else {
                store(task.c, at, values[0]);
                if pair {
                    store(task.c, at + 1, values[1]);
                }
            }
        } else {
            let both = F::pack(values[0], values[1]);
            if together {
                store(task.c_short.cast::<u32>(), at / 2, both);
            } else {
                store(task.c_short, at, both as u16);
                if pair {
                    store(task.c_short, at + 1, (both >> 16) as u16);
                }
            }
        }
    }
}

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $sums:literal, $groups:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices, with bias and activation.
            ///
            /// * Launch: a block for each tile of C, at most one a multiprocessor; a warpgroup for each 64 rows of a tile, and one that fetches.
            /// * Reads: `a`, `b` through their maps; `bias`.
            /// * Writes: `c` or `c_short`.
            /// * Shared: dynamic: up to eight slots, each a slab of both operands 128 bytes deep.
            /// * Cost: 2 m n k operations by tensor cores.
            /// * Twin: `warpplay_cpu_ref::tile::product`.
            /// * Source: the ring of slabs is a known form (CUTLASS's warp-specialised persistent kernels); the code is ours.
            ///
            /// # Safety
            /// The maps are of the task's operands, with rectangles of the tile's rows and columns and of 128 bytes; exactly one of `c` and `c_short` is there; the operands are not written meanwhile.
            #[kernel(
                shape = |multiprocessors: u32| shape::<$sums, $groups>(task.m, task.n, multiprocessors),
                max_threads = 128 * ($groups + 1),
                min_blocks = 1
            )]
            pub unsafe fn $name(task: ProductTask) {
                // SAFETY: launched with this shape, and the maps are as the kernel asks.
                unsafe { product::<$format, $sums, $groups>(&task) }
            }
        )*
    };
}

products! {
    /// bfloat16, tiles of 128 × 256.
    tile_wgmma_bf16_256, Bf16, 128, 2;
    /// bfloat16, tiles of 128 × 192.
    tile_wgmma_bf16_192, Bf16, 96, 2;
    /// bfloat16, tiles of 128 × 128.
    tile_wgmma_bf16_128, Bf16, 64, 2;
    /// bfloat16, tiles of 128 × 64.
    tile_wgmma_bf16_64, Bf16, 32, 2;
    /// bfloat16, tiles of 64 × 64.
    tile_wgmma_bf16_64_single, Bf16, 32, 1;
    /// Half precision, tiles of 128 × 256.
    tile_wgmma_f16_256, F16, 128, 2;
    /// Half precision, tiles of 128 × 192.
    tile_wgmma_f16_192, F16, 96, 2;
    /// Half precision, tiles of 128 × 128.
    tile_wgmma_f16_128, F16, 64, 2;
    /// Half precision, tiles of 128 × 64.
    tile_wgmma_f16_64, F16, 32, 2;
    /// Half precision, tiles of 64 × 64.
    tile_wgmma_f16_64_single, F16, 32, 1;
    /// TF32, tiles of 128 × 256.
    tile_wgmma_tf32_256, Tf32, 128, 2;
    /// TF32, tiles of 128 × 192.
    tile_wgmma_tf32_192, Tf32, 96, 2;
    /// TF32, tiles of 128 × 128.
    tile_wgmma_tf32_128, Tf32, 64, 2;
    /// TF32, tiles of 128 × 64.
    tile_wgmma_tf32_64, Tf32, 32, 2;
    /// TF32, tiles of 64 × 64.
    tile_wgmma_tf32_64_single, Tf32, 32, 1;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_taken_once() {
        for (rows, columns) in [(1, 1), (3, 5), (8, 2), (9, 4), (17, 3)] {
            let mut seen: Vec<_> = (0..rows * columns).map(|tile| tile_at(tile, rows, columns)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len() as u32, rows * columns);
            assert!(seen.iter().all(|&[row, column]| row < rows && column < columns));
        }
    }

    #[test]
    fn blocks_fit() {
        assert_eq!([n_slots::<128, 2>(), n_slots::<96, 2>(), n_slots::<64, 2>(), n_slots::<32, 1>()], [4, 5, 6, 8]);
        for shape in [shape::<128, 2>(4096, 4096, 132), shape::<32, 1>(64, 65, 132)] {
            assert!(shape.shared_bytes <= SHARED_BYTES);
        }
        assert_eq!(shape::<32, 1>(64, 65, 132).grid, [2, 1, 1]);
    }
}
