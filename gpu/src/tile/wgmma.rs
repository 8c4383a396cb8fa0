//! Products by warpgroups: warps fetch slabs of both operands in turn by bulk tensor copies, one or two warpgroups multiply (`sm_90a`).
//!
//! A warpgroup has 64 rows of the tile, or twice as many, and all of its columns. Blocks take tiles in turn; while the last sums of a tile are written, the slabs of the next one are on their way. Tiles are taken in
//! strips of eight rows of tiles, so that blocks that work at a time share operands in the second-level cache.

use core::borrow::Borrow;

use super::epilogue::{self, Alone, Ending, Part, meet};
use super::images::{self, Column, Pixel, taps_of_depth};
use super::slab::Slabs;
use super::task::{Bf16, E4m3, F16, Format, ProductTask, Tf32, n_pairs};
use super::work::{Work, depths_of};
use crate::cuda::math::opaque;
use crate::cuda::memory::{Vec4, load};
use crate::cuda::ring::{Ring, sync_simt};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::{follow, sync_some, sync_threads};
use crate::cuda::tensor_map::{MapAt, TensorMap};
use crate::cuda::wgmma::{self, Tiles, WholeGroup};
use crate::cuda::{kernel, thread, warp};
use crate::launch::LaunchShape;

/// Rows of a tile that a warpgroup multiplies at a time.
pub const GROUP_ROWS: u32 = 64;
/// Bytes of a slab's row: what a rectangle of a [`TensorMap`] has.
pub const SLAB_BYTES: u32 = TensorMap::ROW_BYTES;
/// Bytes of a rectangle of an operand that lies depth by depth: 64 rows or columns of 64 depths.
const RECTANGLE_BYTES: u32 = GROUP_ROWS * SLAB_BYTES;
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

/// Warps that fetch: as many as it takes until one lane's instructions for a slab take no longer than its products.
const fn n_fetchers<const GROUPS: u32>() -> u32 {
    if GROUPS == 1 { 4 } else { 2 }
}

/// Steps of a loop that take about as long as a lane needs to describe a slab to the copy engine.
const TURN: u32 = 16;
/// Quads of a lane that are written at a time, by kernels without clusters.
pub(super) const ALONE: usize = 4;
/// The same, by those whose depth a cluster shares.
pub(super) const SHARED: usize = 1;

/// Barrier of the first warpgroup that multiplies; the second one's is the next.
const FIRST_BARRIER: u32 = 1;

/// The products of a format for `R` sums a thread; `A`, `B`: whether the operand lies depth by depth.
pub trait Multiply<const R: usize, const A: bool, const B: bool>: Format {
    /// Starts the four products of a slab.
    fn start(whole: &WholeGroup, d: &mut [f32; R], a: [Tiles<A>; 4], b: [Tiles<B>; 4], add: u32);
    /// Waits for all products.
    fn complete(whole: &WholeGroup, d: &mut [f32; R]);
}

// The brackets name what may be either: TF32's operands lie in one order alone.
macro_rules! multiply {
    ($($format:ty, $sums:literal, $start:ident, $complete:ident, [$($either:ident)*] $a:tt $b:tt;)*) => {$(
        impl<$(const $either: bool),*> Multiply<$sums, $a, $b> for $format {
            #[device_inline]
            fn start(whole: &WholeGroup, d: &mut [f32; $sums], a: [Tiles<$a>; 4], b: [Tiles<$b>; 4], add: u32) {
                wgmma::$start(whole, d, a, b, add);
            }

            #[device_inline]
            fn complete(whole: &WholeGroup, d: &mut [f32; $sums]) {
                wgmma::$complete::<0>(whole, d);
            }
        }
    )*};
}

multiply! {
    Bf16, 128, bf16_n256, complete_n256, [A B] A B;
    Bf16, 96, bf16_n192, complete_n192, [A B] A B;
    Bf16, 64, bf16_n128, complete_n128, [A B] A B;
    Bf16, 32, bf16_n64, complete_n64, [A B] A B;
    F16, 128, f16_n256, complete_n256, [A B] A B;
    F16, 96, f16_n192, complete_n192, [A B] A B;
    F16, 64, f16_n128, complete_n128, [A B] A B;
    F16, 32, f16_n64, complete_n64, [A B] A B;
    Tf32, 128, tf32_n256, complete_n256, [] false false;
    Tf32, 96, tf32_n192, complete_n192, [] false false;
    Tf32, 64, tf32_n128, complete_n128, [] false false;
    Tf32, 32, tf32_n64, complete_n64, [] false false;
    E4m3, 64, e4m3_n128, complete_n128, [] false false;
    E4m3, 32, e4m3_n64, complete_n64, [] false false;
}

/// Rows of a tile: `HIGH` times [`GROUP_ROWS`] of each of `GROUPS` warpgroups.
const fn rows<const GROUPS: u32, const HIGH: u32>() -> u32 {
    GROUPS * HIGH * GROUP_ROWS
}

/// Columns of a tile, of which a thread has `R` sums for each time of its warpgroup's rows.
const fn width<const R: usize>() -> u32 {
    2 * R as u32
}

/// Bytes of a slot: a slab of A and one of B.
const fn stage_bytes<const R: usize, const GROUPS: u32, const HIGH: u32>() -> u32 {
    (rows::<GROUPS, HIGH>() + width::<R>()) * SLAB_BYTES
}

/// Bytes in which warps exchange what they write.
const fn exchange_bytes<const R: usize, const GROUPS: u32, const N: usize>() -> u32 {
    4 * GROUPS * warp_bytes::<R, N>()
}

const fn warp_bytes<const R: usize, const N: usize>() -> u32 {
    if N == SHARED { epilogue::warp_bytes_in_cluster::<R>() } else { epilogue::WARP_BYTES }
}

/// Bytes of the bias of a tile's columns: two for each warpgroup, since the next tile's is written while others read this one's.
const fn bias_bytes<const R: usize, const GROUPS: u32>() -> u32 {
    2 * GROUPS * width::<R>() * 4
}

/// Slots of the ring.
const fn n_slots<const R: usize, const GROUPS: u32, const HIGH: u32, const N: usize>() -> u32 {
    let others = ALIGNMENT + bias_bytes::<R, GROUPS>() + exchange_bytes::<R, GROUPS, N>();
    let slots = (SHARED_BYTES - others) / (stage_bytes::<R, GROUPS, HIGH>() + 16);
    if slots > 8 { 8 } else { slots }
}

/// Bytes of a block's dynamic shared memory: to the alignment, slots and their objects, bias, exchange.
const fn shared_bytes<const R: usize, const GROUPS: u32, const HIGH: u32, const N: usize>() -> u32 {
    let slots = n_slots::<R, GROUPS, HIGH, N>() * (stage_bytes::<R, GROUPS, HIGH>() + 16);
    ALIGNMENT + slots + bias_bytes::<R, GROUPS>() + exchange_bytes::<R, GROUPS, N>()
}

/// Launch shape for a product of `m` rows and `n` columns in `divisions` of the depth on a device with `multiprocessors`; clusters of `cluster` blocks.
pub(super) const fn shape<const R: usize, const GROUPS: u32, const HIGH: u32, const N: usize>(
    [m, n, divisions]: [u32; 3],
    cluster: u32,
    multiprocessors: u32,
) -> LaunchShape {
    let tiles = m.div_ceil(rows::<GROUPS, HIGH>()) * n.div_ceil(width::<R>()) * divisions;
    shape_of_tiles::<R, GROUPS, HIGH, N>(tiles, cluster, multiprocessors)
}

/// Launch shape for so many tiles.
pub(super) const fn shape_of_tiles<const R: usize, const GROUPS: u32, const HIGH: u32, const N: usize>(
    tiles: u32,
    cluster: u32,
    multiprocessors: u32,
) -> LaunchShape {
    let most = if multiprocessors < cluster { 1 } else { multiprocessors / cluster };
    let clusters = if tiles < most { tiles } else { most };
    let shape = LaunchShape::new(clusters * cluster, 128 * (GROUPS + 1))
        .with_shared(shared_bytes::<R, GROUPS, HIGH, N>())
        .with_cluster(cluster);
    // Where blocks take several tiles, those of the next launch would only wait.
    if tiles > most { shape } else { shape.overlapping() }
}

/// The launch shape of a product, or of a convolution with filters of `side` taps: such launches follow short ones, of norms, and overlap with them however many tiles they have.
pub(super) const fn shape_of(shape: LaunchShape, side: u32) -> LaunchShape {
    if side > 1 { shape.overlapping() } else { shape }
}

/// A launch of one cluster of `cluster` blocks that share the depth: for asking how many a device runs at a time.
pub const fn one_cluster<const R: usize, const GROUPS: u32>(cluster: u32) -> LaunchShape {
    shape_of_tiles::<R, GROUPS, 1, SHARED>(1, cluster, cluster)
}

/// Where a launch's tiles come from.
pub(super) trait Tasks: Copy {
    /// A product, or a reference to one: the parameters of a kernel need no registers.
    type Task: Borrow<ProductTask>;
    /// The maps of the first product.
    fn maps(self) -> *const TensorMap;
    /// Blocks that share the depth of a tile.
    fn cluster(self) -> u32;
    /// Tiles of all products.
    fn tiles<const R: usize, const GROUPS: u32, const HIGH: u32>(self) -> u32;
    /// The product that the launch's tile `tile` belongs to, and where it is there: row and column, in tiles, and division.
    ///
    /// # Safety
    /// There is one; what the tasks point to is valid.
    unsafe fn locate<const R: usize, const GROUPS: u32, const HIGH: u32>(self, tile: u32) -> (Self::Task, [u32; 3]);
}

impl Tasks for &ProductTask {
    type Task = Self;

    #[device_inline]
    fn maps(self) -> *const TensorMap {
        self.maps
    }

    #[device_inline]
    fn cluster(self) -> u32 {
        self.cluster
    }

    #[device_inline]
    fn tiles<const R: usize, const GROUPS: u32, const HIGH: u32>(self) -> u32 {
        work_of::<R, GROUPS, HIGH>(self).tiles()
    }

    #[device_inline]
    unsafe fn locate<const R: usize, const GROUPS: u32, const HIGH: u32>(self, tile: u32) -> (Self, [u32; 3]) {
        (self, work_of::<R, GROUPS, HIGH>(self).tile_at(tile))
    }
}

/// A product's work.
#[device_inline]
pub(super) const fn work_of<const R: usize, const GROUPS: u32, const HIGH: u32>(task: &ProductTask) -> Work {
    Work::of(task, rows::<GROUPS, HIGH>(), width::<R>())
}

/// The slabs of a tile, of all pairs of parts, that this block takes: from the first number to before the second.
#[device_inline]
fn share<F: Format, const B: bool, const N: usize>(task: &ProductTask, division: u32) -> [u32; 2] {
    let slabs = n_pairs(task.a_parts, task.b_parts) * taps_of_depth::<B>(task) * slabs_of::<F>(task, division);
    if N != SHARED {
        return [0, slabs];
    }
    // Each has as many as another or one more, those of lower ranks.
    let (rank, blocks) = (thread::block_rank_in_cluster(), task.cluster);
    let (each, more) = (slabs / blocks, slabs % blocks);
    let before = |rank: u32| rank * each + if rank < more { rank } else { more };
    [before(rank), before(rank + 1)]
}

/// The first tile of this block, and how far it is to its next.
#[device_inline]
fn turn<T: Tasks, const N: usize>(tasks: T) -> [u32; 2] {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    if N == SHARED { [block / tasks.cluster(), blocks / tasks.cluster()] } else { [block, blocks] }
}

/// Slabs of a division's depth; of images, of a tap's channels.
#[device_inline]
const fn slabs_of<F: Format>(task: &ProductTask, division: u32) -> u32 {
    depths_of(task, division).div_ceil(F::SLAB)
}

/// The maps of A and of B; of images those of a part.
///
/// # Safety
/// There are two.
#[device_inline]
unsafe fn maps_at(maps: *const TensorMap) -> [MapAt; 2] {
    // SAFETY: as the caller vouches.
    unsafe { [MapAt::new(maps), MapAt::new(maps.add(1))] }
}

/// See the module.
///
/// # Safety
/// Launched with `shape`; the maps are those of the tasks, with the rectangles that the kernel asks for, and the tasks' arrays have the lengths they say; and what `ending` asks for.
#[device_inline]
pub(super) unsafe fn product<
    F: Multiply<R, A, B>,
    T: Tasks,
    const R: usize,
    const GROUPS: u32,
    const HIGH: u32,
    const A: bool,
    const B: bool,
    const N: usize,
    E: Ending,
>(
    tasks: T,
    ending: E,
) {
    // The same in all lanes, and known to be so: conditions on it do not split warps.
    let warp_index = warp::shuffle(warp::ALL, thread::warp_index(), 0);
    // A warp that fetches sees the releases of its own stages alone: with fewer slots than such warps, what it waits for could be the round before.
    const { assert!(n_slots::<R, GROUPS, HIGH, N>() >= n_fetchers::<GROUPS>()) };
    let slots = n_slots::<R, GROUPS, HIGH, N>();
    let vectors = stage_bytes::<R, GROUPS, HIGH>() / 16;
    let base = dynamic::<Vec4>(0, shared_bytes::<R, GROUPS, HIGH, N>() / 16).base();
    let first = base.next_multiple_of(ALIGNMENT);
    let objects = first + slots * vectors * 16;
    // SAFETY: the block's own memory: `shared_bytes` has room for the alignment, the slots, two words a slot, the bias, and the exchange.
    let (ring, bias) = unsafe {
        let slot_vectors = Shared::from_address(first, slots * vectors);
        let bias = Shared::<f32>::from_address(objects + 16 * slots, bias_bytes::<R, GROUPS>() / 4);
        (Ring::new(slot_vectors, Shared::from_address(objects, 2 * slots), slots, vectors), bias)
    };
    if thread::thread_idx_x() == 0 {
        ring.open(GROUPS);
        // SAFETY: a product has two maps.
        let [a, b] = unsafe { maps_at(tasks.maps()) };
        a.prefetch();
        b.prefetch();
    }
    sync_threads();
    follow();
    // SAFETY: whole warpgroups take each branch; both counts of registers together are those of the launch, see the assertion above. The rest is the caller's.
    unsafe {
        let whole = WholeGroup::assume();
        if warp_index >= 4 * GROUPS {
            if GROUPS == 2 {
                wgmma::fewer_registers::<FETCHER_REGISTERS>(&whole);
            }
            fetch::<F, T, R, GROUPS, HIGH, A, B, N, E>(tasks, ring, warp_index);
        } else {
            if GROUPS == 2 {
                wgmma::more_registers::<WORKER_REGISTERS>(&whole);
            }
            work::<F, T, R, GROUPS, HIGH, A, B, N, E>(tasks, ending, (ring, bias), &whole);
        }
    }
}

/// Copies an operand's part of a slab, `ROWS` rows of A or columns of B from number `first` on.
///
/// # Safety
/// As [`MapAt::copy`]: there is room for the slab at `to`, whose bytes `object` expects.
#[device_inline]
#[track_caller]
unsafe fn copy<const ROWS: u32, const BY_DEPTH: bool>(
    map: MapAt,
    to: u32,
    [first, depth, part]: [u32; 3],
    object: u32,
) {
    // SAFETY: as the caller vouches; rectangles of 64 rows follow each other.
    unsafe {
        if BY_DEPTH {
            let mut rectangle = 0;
            while rectangle < ROWS / GROUP_ROWS {
                let at = [first + rectangle * GROUP_ROWS, depth, part];
                map.copy(to + rectangle * RECTANGLE_BYTES, at, object);
                rectangle += 1;
            }
        } else {
            map.copy(to, [depth, first, part], object);
        }
    }
}

/// The warps that fetch: slabs in turn, a lane of each, since what one lane does for a slab takes longer than the products of a small one. Under `simt` all keep step.
///
/// # Safety
/// As [`product`].
#[device_inline]
unsafe fn fetch<
    F: Multiply<R, A, B>,
    T: Tasks,
    const R: usize,
    const GROUPS: u32,
    const HIGH: u32,
    const A: bool,
    const B: bool,
    const N: usize,
    E: Ending,
>(
    tasks: T,
    ring: Ring,
    warp_index: u32,
) {
    let fetchers = n_fetchers::<GROUPS>();
    // Which of every so many stages are this thread's; none of one that does not fetch.
    let own = warp_index % 4;
    let own = if thread::lane() == 0 && own < fetchers { Some(own) } else { None };
    // The copy engine takes what it is asked for in turn: the first slabs should come first.
    let (mut step, steps) = (0, own.map_or(0, |own| own * TURN));
    while step < steps {
        step = opaque(step + 1);
    }
    let mut stage = 0;
    let [mut tile, to_next] = turn::<T, N>(tasks);
    while tile < tasks.tiles::<R, GROUPS, HIGH>() {
        // SAFETY: one of the tiles; the rest as the caller vouches.
        let (task, [row, column, division]) = unsafe { tasks.locate::<R, GROUPS, HIGH>(tile) };
        let task = task.borrow();
        let (first_row, first_column) = (row * rows::<GROUPS, HIGH>(), column * width::<R>());
        let pixel = Pixel::of(task, first_row);
        let first_depth = division * task.division;
        let [from, to] = share::<F, B, N>(task, division);
        let first = match own {
            Some(own) => own.wrapping_sub(stage) % fetchers,
            None => to - from,
        };
        ring.pass_over(if first < to - from { first } else { to - from });
        let slabs = Slabs::of(task, slabs_of::<F>(task, division), taps_of_depth::<B>(task));
        let mut number = first;
        let mut slab = slabs.after(slabs.first(), from + number);
        // Of images that lie depth by depth.
        let (mut column, mut step, mut pixel_of_depth) = (Column::FIRST, pixel, pixel);
        let of_images = A && B && task.side > 1;
        if of_images {
            (column, step) = (Column::of(task, first_column), Pixel::of(task, fetchers * F::SLAB));
            pixel_of_depth = Pixel::of(task, first_depth + slab.number * F::SLAB);
        }
        while number < to - from {
            let (slot, object) = ring.expect(stage + number);
            let slot_b = slot + rows::<GROUPS, HIGH>() * SLAB_BYTES;
            let depth = first_depth + slab.number * F::SLAB;
            // SAFETY: two maps, or two for each part of images, as the caller vouches; the slot is free, and both together have its bytes, which its object expects.
            unsafe {
                let maps = maps_at(task.maps);
                let at = [first_row, depth, slab.part_of_a];
                match GROUPS * HIGH {
                    _ if !A && task.side > 1 => {
                        let [map, _] = maps_at(task.maps.add(2 * slab.part_of_a as usize));
                        pixel.copy(task, map, slot, slab.tap, depth, object);
                    }
                    4 => copy::<{ 4 * GROUP_ROWS }, A>(maps[0], slot, at, object),
                    2 => copy::<{ 2 * GROUP_ROWS }, A>(maps[0], slot, at, object),
                    _ => copy::<GROUP_ROWS, A>(maps[0], slot, at, object),
                }
                let at = [first_column, depth, slab.part_of_b() * task.b_part_layers + slab.tap];
                match R {
                    // The widest tile has no registers left for it.
                    _ if A && B && R < 128 && task.side > 1 => {
                        let rectangles = width::<R>() / images::COLUMNS;
                        let [_, map] = maps_at(task.maps.add(2 * slab.part_of_b() as usize));
                        pixel_of_depth.copy_columns(task, map, slot_b, column, rectangles, object);
                    }
                    128 => copy::<256, B>(maps[1], slot_b, at, object),
                    96 => copy::<192, B>(maps[1], slot_b, at, object),
                    64 => copy::<128, B>(maps[1], slot_b, at, object),
                    _ => copy::<64, B>(maps[1], slot_b, at, object),
                }
            }
            let left = to - from - number;
            ring.pass_over(if left < fetchers { left } else { fetchers });
            number += fetchers;
            let next = slabs.after(slab, fetchers);
            if of_images {
                pixel_of_depth = match next.number == slab.number + fetchers {
                    true => pixel_of_depth.after(task, step),
                    // Of the next pair of parts.
                    false => Pixel::of(task, first_depth + next.number * F::SLAB),
                };
            }
            slab = next;
        }
        stage += to - from;
        // When the bias is there.
        sync_simt();
        // When the others meet in the epilogue.
        let mut meeting = 0;
        while meeting < E::MEETINGS * HIGH {
            sync_simt();
            meeting += 1;
        }
        if N == SHARED {
            // When the sums are there, and when they are read.
            meet();
            meet();
        }
        tile += to_next;
    }
}

/// The tiles of an operand's slab at a shared address, one for each product.
///
/// # Safety
/// As [`Tiles::copied`].
#[device_inline]
unsafe fn steps<const BY_DEPTH: bool>(address: u32) -> [Tiles<BY_DEPTH>; 4] {
    // SAFETY: as the caller vouches.
    let first = unsafe { Tiles::copied(address, RECTANGLE_BYTES) };
    let step = if BY_DEPTH { 16 * SLAB_BYTES } else { SLAB_BYTES / 4 };
    [first, first.offset(step), first.offset(2 * step), first.offset(3 * step)]
}

/// The warpgroups that multiply.
///
/// # Safety
/// As [`product`].
#[device_inline]
unsafe fn work<
    F: Multiply<R, A, B>,
    T: Tasks,
    const R: usize,
    const GROUPS: u32,
    const HIGH: u32,
    const A: bool,
    const B: bool,
    const N: usize,
    E: Ending,
>(
    tasks: T,
    ending: E,
    (ring, bias): (Ring, Shared<f32>),
    whole: &WholeGroup,
) {
    let (group, member) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let mut stage = 0;
    let [mut tile, to_next] = turn::<T, N>(tasks);
    let (first_bias, mut half) = (group * 2 * width::<R>(), 0);
    while tile < tasks.tiles::<R, GROUPS, HIGH>() {
        // SAFETY: one of the tiles; the rest as the caller vouches.
        let (task, [row, column, division]) = unsafe { tasks.locate::<R, GROUPS, HIGH>(tile) };
        let task = task.borrow();
        let (row, column) = ((row * GROUPS + group) * HIGH * GROUP_ROWS, column * width::<R>());
        // On its way while slabs are multiplied.
        // SAFETY: as the caller vouches.
        let own_bias = unsafe { own_bias(task, column, member) };
        let [from, to] = share::<F, B, N>(task, division);
        let slabs = to - from;
        // The sums of the group's first rows, and of its second ones, if it has such.
        let (mut d, mut e) = ([0.0; R], [0.0; R]);
        let mut slab = 0;
        while slab < slabs {
            ring.wait(stage);
            let address = ring.address_of(stage);
            // SAFETY: the group's rows of the slab of A, and the slab of B, which are there; they came by copies.
            let (a, b) = unsafe {
                (
                    steps::<A>(address + group * HIGH * GROUP_ROWS * SLAB_BYTES),
                    steps::<B>(address + rows::<GROUPS, HIGH>() * SLAB_BYTES),
                )
            };
            // SAFETY: as above.
            let second_a = || unsafe { steps::<A>(address + (group * HIGH + 1) * GROUP_ROWS * SLAB_BYTES) };
            if F::HAS_SHORT_SUMS {
                add_slab::<F, R, A, B>(whole, &mut d, a, b);
                if HIGH == 2 {
                    add_slab::<F, R, A, B>(whole, &mut e, second_a(), b);
                }
                if member == 0 {
                    ring.release(stage);
                }
                stage += 1;
                slab += 1;
                continue;
            }
            F::start(whole, &mut d, a, b, (slab > 0) as u32);
            if HIGH == 2 {
                F::start(whole, &mut e, second_a(), b, (slab > 0) as u32);
            }
            if slab > 0 {
                // Those of the last slab have ended.
                if HIGH == 2 {
                    wgmma::wait::<2>(whole);
                } else {
                    wgmma::wait::<1>(whole);
                }
                if member == 0 {
                    ring.release(stage - 1);
                }
            }
            stage += 1;
            slab += 1;
        }
        if !F::HAS_SHORT_SUMS {
            F::complete(whole, &mut d);
            if HIGH == 2 {
                F::complete(whole, &mut e);
            }
            if member == 0 && slabs > 0 {
                ring.release(stage - 1);
            }
        }
        // In the half of the group's bias that nobody reads: whoever is here has ended the last tile but one.
        if member < width::<R>() {
            bias.set(first_bias + half + member, own_bias[0]);
        }
        if member + 128 < width::<R>() {
            bias.set(first_bias + half + member + 128, own_bias[1]);
        }
        sync_some(FIRST_BARRIER + group, 128);
        let bias_bytes = bias_bytes::<R, GROUPS>();
        let part = Part {
            row: row + member / 32 * epilogue::ROWS,
            column,
            division,
            exchange: bias.base() + bias_bytes + (group * 4 + member / 32) * warp_bytes::<R, N>(),
            bias: bias.base() + 4 * (first_bias + half),
        };
        // SAFETY: each value of C is one warp's, the exchange lies behind the bias, and the group's bias is complete.
        unsafe {
            let second = Part { row: part.row + GROUP_ROWS, ..part };
            ending.write::<F, R, N>(task, &d, part, FIRST_BARRIER + group);
            if HIGH == 2 {
                ending.write::<F, R, N>(task, &e, second, FIRST_BARRIER + group);
            }
        }
        half = width::<R>() - half;
        tile += to_next;
    }
}

/// Adds the products of a slab to `d`, in single precision.
#[device_inline]
#[track_caller]
fn add_slab<F: Multiply<R, A, B>, const R: usize, const A: bool, const B: bool>(
    whole: &WholeGroup,
    d: &mut [f32; R],
    a: [Tiles<A>; 4],
    b: [Tiles<B>; 4],
) {
    let mut sums = [0.0; R];
    F::start(whole, &mut sums, a, b, 0);
    F::complete(whole, &mut sums);
    let mut at = 0;
    while at < R {
        d[at] += sums[at];
        at += 1;
    }
}

/// The bias of two of a tile's columns, `member` and 128 further on; 0 where there is none.
///
/// # Safety
/// The task's bias, if it has one, has its columns.
#[device_inline]
unsafe fn own_bias(task: &ProductTask, column: u32, member: u32) -> [f32; 2] {
    [column + member, column + member + 128].map(|column| {
        // SAFETY: a column below `n`.
        if !task.bias.is_null() && column < task.n { unsafe { load(task.bias, column as usize) } } else { 0.0 }
    })
}

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $sums:literal, $groups:literal * $high:literal, [$a:literal, $b:literal] $quads:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices, with an epilogue.
            ///
            /// * Launch: a block (a cluster of `task.cluster`, for those whose depth is shared) for each tile of C and division of the depth, at most one a multiprocessor; a warpgroup for each 64 rows of a tile (128 of one of 256), and one whose warps fetch.
            /// * Reads: `a`, `b` through their maps; `bias`, `residual` or `residual_short`, `mask`.
            /// * Writes: `c` or `c_short`; `overflow`.
            /// * Shared: dynamic: up to eight slots, each a slab of both operands 128 bytes deep; bias of two tiles, and 2,560 bytes a warp for the exchange of sums, or so many for each 32 columns where the depth is shared.
            /// * Cost: 2 m n k operations by tensor cores for each pair of parts, or for each tap.
            /// * Twin: `warpplay_cpu_ref::tile::product`, `warpplay_cpu_ref::tile::convolution`.
            /// * Source: the ring of slabs is a known form (CUTLASS's warp-specialised persistent kernels); the code is ours.
            ///
            /// # Safety
            /// The maps are of the task's operands: rectangles of 128 bytes of the depth and the tile's rows or columns, or, of an operand that lies depth by depth, of 64 rows or columns and 64 depths, or, of images, as many pixels as the tile has rows, 64 where they lie depth by depth, which tiles of 256 columns do not take; exactly one of `c` and `c_short` is
            /// there, the latter, bias, residual, mask and activation only with one division; a division is a multiple of a slab's depth; `cluster` is 1, or a power of two to `MAX_CLUSTER` for those whose depth is shared; the mask begins at a multiple of 8 bytes; the operands are not written meanwhile, and a residual only where it is C.
            #[kernel(
                shape = |multiprocessors: u32| shape_of(shape::<$sums, $groups, $high, $quads>([task.m, task.n, task.k.div_ceil(task.division)], task.cluster, multiprocessors), task.side),
                max_threads = 128 * ($groups + 1),
                min_blocks = 1,
                require = task.rows.is_null() && task.moments.is_null()
            )]
            pub unsafe fn $name(task: ProductTask) {
                // SAFETY: launched with this shape, and the maps are as the kernel asks.
                unsafe { product::<$format, _, $sums, $groups, $high, $a, $b, $quads, _>(&task, Alone) }
            }
        )*
    };
}

products! {
    /// bfloat16, tiles of 128 × 256.
    tile_wgmma_bf16_256, Bf16, 128, 2 * 1, [false, false] ALONE;
    /// bfloat16, tiles of 128 × 192.
    tile_wgmma_bf16_192, Bf16, 96, 2 * 1, [false, false] ALONE;
    /// bfloat16, tiles of 128 × 128.
    tile_wgmma_bf16_128, Bf16, 64, 2 * 1, [false, false] ALONE;
    /// bfloat16, tiles of 256 × 128.
    tile_wgmma_bf16_128_high, Bf16, 64, 2 * 2, [false, false] ALONE;
    /// bfloat16, tiles of 128 × 64.
    tile_wgmma_bf16_64, Bf16, 32, 2 * 1, [false, false] ALONE;
    /// bfloat16, tiles of 64 × 64.
    tile_wgmma_bf16_64_single, Bf16, 32, 1 * 1, [false, false] ALONE;
    /// bfloat16, tiles of 128 × 256, B depth by depth.
    tile_wgmma_bf16_256_b, Bf16, 128, 2 * 1, [false, true] ALONE;
    /// bfloat16, tiles of 128 × 128, B depth by depth.
    tile_wgmma_bf16_128_b, Bf16, 64, 2 * 1, [false, true] ALONE;
    /// bfloat16, tiles of 64 × 64, B depth by depth.
    tile_wgmma_bf16_64_single_b, Bf16, 32, 1 * 1, [false, true] ALONE;
    /// bfloat16, tiles of 128 × 256, A and B depth by depth.
    tile_wgmma_bf16_256_ab, Bf16, 128, 2 * 1, [true, true] ALONE;
    /// bfloat16, tiles of 128 × 192, A and B depth by depth.
    tile_wgmma_bf16_192_ab, Bf16, 96, 2 * 1, [true, true] ALONE;
    /// bfloat16, tiles of 128 × 128, A and B depth by depth.
    tile_wgmma_bf16_128_ab, Bf16, 64, 2 * 1, [true, true] ALONE;
    /// bfloat16, tiles of 64 × 64, A and B depth by depth.
    tile_wgmma_bf16_64_single_ab, Bf16, 32, 1 * 1, [true, true] ALONE;
    /// bfloat16, tiles of 128 × 256, A depth by depth.
    tile_wgmma_bf16_256_a, Bf16, 128, 2 * 1, [true, false] ALONE;
    /// bfloat16, tiles of 128 × 128, A depth by depth.
    tile_wgmma_bf16_128_a, Bf16, 64, 2 * 1, [true, false] ALONE;
    /// bfloat16, tiles of 64 × 64, A depth by depth.
    tile_wgmma_bf16_64_single_a, Bf16, 32, 1 * 1, [true, false] ALONE;
    /// Half precision, tiles of 128 × 256.
    tile_wgmma_f16_256, F16, 128, 2 * 1, [false, false] ALONE;
    /// Half precision, tiles of 128 × 192.
    tile_wgmma_f16_192, F16, 96, 2 * 1, [false, false] ALONE;
    /// Half precision, tiles of 128 × 128.
    tile_wgmma_f16_128, F16, 64, 2 * 1, [false, false] ALONE;
    /// Half precision, tiles of 256 × 128.
    tile_wgmma_f16_128_high, F16, 64, 2 * 2, [false, false] ALONE;
    /// Half precision, tiles of 128 × 64.
    tile_wgmma_f16_64, F16, 32, 2 * 1, [false, false] ALONE;
    /// Half precision, tiles of 64 × 64.
    tile_wgmma_f16_64_single, F16, 32, 1 * 1, [false, false] ALONE;
    /// Half precision, tiles of 128 × 256, B depth by depth.
    tile_wgmma_f16_256_b, F16, 128, 2 * 1, [false, true] ALONE;
    /// Half precision, tiles of 128 × 128, B depth by depth.
    tile_wgmma_f16_128_b, F16, 64, 2 * 1, [false, true] ALONE;
    /// Half precision, tiles of 64 × 64, B depth by depth.
    tile_wgmma_f16_64_single_b, F16, 32, 1 * 1, [false, true] ALONE;
    /// Half precision, tiles of 128 × 256, A and B depth by depth.
    tile_wgmma_f16_256_ab, F16, 128, 2 * 1, [true, true] ALONE;
    /// Half precision, tiles of 128 × 192, A and B depth by depth.
    tile_wgmma_f16_192_ab, F16, 96, 2 * 1, [true, true] ALONE;
    /// Half precision, tiles of 128 × 128, A and B depth by depth.
    tile_wgmma_f16_128_ab, F16, 64, 2 * 1, [true, true] ALONE;
    /// Half precision, tiles of 64 × 64, A and B depth by depth.
    tile_wgmma_f16_64_single_ab, F16, 32, 1 * 1, [true, true] ALONE;
    /// Half precision, tiles of 128 × 256, A depth by depth.
    tile_wgmma_f16_256_a, F16, 128, 2 * 1, [true, false] ALONE;
    /// Half precision, tiles of 128 × 128, A depth by depth.
    tile_wgmma_f16_128_a, F16, 64, 2 * 1, [true, false] ALONE;
    /// Half precision, tiles of 64 × 64, A depth by depth.
    tile_wgmma_f16_64_single_a, F16, 32, 1 * 1, [true, false] ALONE;
    /// TF32, tiles of 128 × 256.
    tile_wgmma_tf32_256, Tf32, 128, 2 * 1, [false, false] ALONE;
    /// TF32, tiles of 128 × 192.
    tile_wgmma_tf32_192, Tf32, 96, 2 * 1, [false, false] ALONE;
    /// TF32, tiles of 128 × 128.
    tile_wgmma_tf32_128, Tf32, 64, 2 * 1, [false, false] ALONE;
    /// TF32, tiles of 256 × 128.
    tile_wgmma_tf32_128_high, Tf32, 64, 2 * 2, [false, false] ALONE;
    /// TF32, tiles of 128 × 64.
    tile_wgmma_tf32_64, Tf32, 32, 2 * 1, [false, false] ALONE;
    /// TF32, tiles of 64 × 64.
    tile_wgmma_tf32_64_single, Tf32, 32, 1 * 1, [false, false] ALONE;
    /// bfloat16, tiles of 64 × 64, whose depth blocks share.
    tile_wgmma_bf16_64_shared, Bf16, 32, 1 * 1, [false, false] SHARED;
    /// bfloat16, tiles of 64 × 64, whose depth blocks share, B depth by depth.
    tile_wgmma_bf16_64_shared_b, Bf16, 32, 1 * 1, [false, true] SHARED;
    /// bfloat16, tiles of 64 × 64, whose depth blocks share, A and B depth by depth.
    tile_wgmma_bf16_64_shared_ab, Bf16, 32, 1 * 1, [true, true] SHARED;
    /// bfloat16, tiles of 64 × 64, whose depth blocks share, A depth by depth.
    tile_wgmma_bf16_64_shared_a, Bf16, 32, 1 * 1, [true, false] SHARED;
    /// Half precision, tiles of 64 × 64, whose depth blocks share.
    tile_wgmma_f16_64_shared, F16, 32, 1 * 1, [false, false] SHARED;
    /// Half precision, tiles of 64 × 64, whose depth blocks share, B depth by depth.
    tile_wgmma_f16_64_shared_b, F16, 32, 1 * 1, [false, true] SHARED;
    /// Half precision, tiles of 64 × 64, whose depth blocks share, A and B depth by depth.
    tile_wgmma_f16_64_shared_ab, F16, 32, 1 * 1, [true, true] SHARED;
    /// Half precision, tiles of 64 × 64, whose depth blocks share, A depth by depth.
    tile_wgmma_f16_64_shared_a, F16, 32, 1 * 1, [true, false] SHARED;
    /// TF32, tiles of 64 × 64, whose depth blocks share.
    tile_wgmma_tf32_64_shared, Tf32, 32, 1 * 1, [false, false] SHARED;
    /// bfloat16, tiles of 128 × 128, whose depth blocks share.
    tile_wgmma_bf16_128_shared, Bf16, 64, 2 * 1, [false, false] SHARED;
    /// bfloat16, tiles of 128 × 128, whose depth blocks share, B depth by depth.
    tile_wgmma_bf16_128_shared_b, Bf16, 64, 2 * 1, [false, true] SHARED;
    /// bfloat16, tiles of 128 × 128, whose depth blocks share, A and B depth by depth.
    tile_wgmma_bf16_128_shared_ab, Bf16, 64, 2 * 1, [true, true] SHARED;
    /// bfloat16, tiles of 128 × 128, whose depth blocks share, A depth by depth.
    tile_wgmma_bf16_128_shared_a, Bf16, 64, 2 * 1, [true, false] SHARED;
    /// Half precision, tiles of 128 × 128, whose depth blocks share.
    tile_wgmma_f16_128_shared, F16, 64, 2 * 1, [false, false] SHARED;
    /// Half precision, tiles of 128 × 128, whose depth blocks share, B depth by depth.
    tile_wgmma_f16_128_shared_b, F16, 64, 2 * 1, [false, true] SHARED;
    /// Half precision, tiles of 128 × 128, whose depth blocks share, A and B depth by depth.
    tile_wgmma_f16_128_shared_ab, F16, 64, 2 * 1, [true, true] SHARED;
    /// Half precision, tiles of 128 × 128, whose depth blocks share, A depth by depth.
    tile_wgmma_f16_128_shared_a, F16, 64, 2 * 1, [true, false] SHARED;
    /// TF32, tiles of 128 × 128, whose depth blocks share.
    tile_wgmma_tf32_128_shared, Tf32, 64, 2 * 1, [false, false] SHARED;
    /// e4m3, tiles of 256 × 128.
    tile_wgmma_e4m3_128_high, E4m3, 64, 2 * 2, [false, false] ALONE;
    /// e4m3, tiles of 128 × 128.
    tile_wgmma_e4m3_128, E4m3, 64, 2 * 1, [false, false] ALONE;
    /// e4m3, tiles of 64 × 64.
    tile_wgmma_e4m3_64_single, E4m3, 32, 1 * 1, [false, false] ALONE;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn blocks_fit() {
        let alone = [n_slots::<128, 2, 1, ALONE>(), n_slots::<96, 2, 1, ALONE>(), n_slots::<64, 2, 1, ALONE>()];
        assert_eq!(alone, [4, 5, 6]);
        assert_eq!(
            [n_slots::<32, 1, 1, ALONE>(), n_slots::<32, 1, 1, SHARED>(), n_slots::<64, 2, 1, SHARED>()],
            [8, 8, 4]
        );
        let (wide, shared) =
            (shape::<128, 2, 1, ALONE>([4096, 4096, 1], 1, 132), shape::<64, 2, 1, SHARED>([64, 65, 1], 8, 132));
        assert!(wide.shared_bytes <= SHARED_BYTES && shared.shared_bytes <= SHARED_BYTES);
        assert_eq!(shape::<32, 1, 1, ALONE>([64, 65, 3], 1, 132).grid, [6, 1, 1]);
        assert_eq!([1, 3, 99].map(|m| shape::<32, 1, 1, SHARED>([64 * m, 64, 1], 4, 132).grid[0]), [4, 12, 132]);
    }
}
