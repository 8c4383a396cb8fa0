//! From observations to the planes of the heads, one launch: each block takes some boards through all convolutions.
//!
//! [`super::sums`] has the sums. A convolution is a product `D = W X`: 128 output channels × the squares of the block's boards, 9 taps of all input channels deep. Two warpgroups have 64 channels each, all squares;
//! operand W comes through a [`Ring`] that a warp of its own fills; operand X, the activations, stays in shared memory, and a tap is the
//! same tiles from another address on. There are two arrays of activations: the first convolution of a block goes from X to M, the second from M back to X. Where two do not fit, one
//! is both (`in_place`), and every thread keeps its part of a block's input in global memory until it is added.

use super::format::{
    Bf16, Format, Fp16, RowAddress, Split, Tf32, activation_bytes, chunk_bytes, load_factor, stage_bytes, tap_steps,
};
use super::sums::{Operands, Strides, for_each_pair};
use super::{CELLS, FILTERS, PADDED_WIDTH, PLANES, SIDE, WIDTH};
use crate::cuda::math::{fma, relu};
use crate::cuda::memory::{Vec4, load, load_vec4, store, store_vec4};
use crate::cuda::ring::{Ring, sync_simt};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::WholeWarp;
use crate::cuda::sync::{sync_some, sync_threads};
use crate::cuda::wgmma::{self, Tiles, WholeGroup};
use crate::cuda::{DeviceArgs, kernel, thread, warp};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{KernelInfo, info};
use crate::launch::LaunchShape;

/// Threads that multiply: two warpgroups.
const WORKERS: u32 = 256;
/// Registers of a thread that multiplies, and of one that fetches, of split numbers; of other formats both have what the launch gives.
const WORKER_REGISTERS: u32 = 232;
const FETCHER_REGISTERS: u32 = 40;
/// Registers of a thread at the launch of a tower of split numbers: what the assembler gives each of 384 threads; a test of the PTX holds it to that.
pub const LAUNCH_REGISTERS: u32 = 168;
// With more, the workers would wait for ever for those that are missing.
const _: () = assert!(WORKERS * WORKER_REGISTERS + 128 * FETCHER_REGISTERS <= (WORKERS + 128) * LAUNCH_REGISTERS);

/// Threads of a block: a warp more, which fetches the weights; for split numbers a warpgroup, whose registers the workers take.
const fn threads<F: Format>() -> u32 {
    WORKERS + if F::PARTS == 2 { 128 } else { 32 }
}
/// The workers' barrier.
const WORKERS_BARRIER: u32 = 1;
/// Bytes of shared memory that a block may use on `sm_90`.
const SHARED_BYTES: u32 = 232_448;
/// Bytes of the heads' convolutions.
const HEAD_BYTES: u32 = FILTERS * WIDTH * 4;

/// What a launch works on. `n_convs` is 1 + 2 · depth.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Vectors of the weights.
    n_weights: u32,
    /// Blocks of the launch.
    blocks: u32,
)]
#[require(n_convs >= 1 && planes <= PLANES && filters <= FILTERS)]
pub struct TowerTask {
    /// `[n, planes, 8, 8]`.
    #[len(n * planes * CELLS)]
    pub observations: *const f32,
    /// Stages of all convolutions in order, as [`weight_offset`] says, [`n_weight_bytes`] bytes.
    #[len(n_weights)]
    pub weights: *const Vec4,
    /// `[n_convs, 128]`, in the scale of the convolution's outputs.
    #[len(n_convs * WIDTH)]
    pub biases: *const f32,
    /// `[n_convs, 128]`: powers of two that take a convolution's sums to the scale of its outputs.
    #[len(n_convs * WIDTH)]
    pub factors: *const f32,
    /// Weights of the heads' 1×1 convolutions, `[filters, 128]`.
    #[len(filters * WIDTH)]
    pub head_weights: *const f32,
    /// Their biases, `[filters]`.
    #[len(filters)]
    pub head_biases: *const f32,
    /// Where the heads' planes go, after their rectifier: `[n, filters, 8, 8]`.
    #[len(n * filters * CELLS)]
    pub head_planes: *mut f32,
    /// Null, or where the outputs of all convolutions go after their rectifier: `[n_convs, n, 128, 8, 8]`.
    #[len(n_convs * n * WIDTH * CELLS)]
    #[nullable]
    pub trace: *mut f32,
    /// Where a tower in place keeps the inputs of blocks: [`scratch_bytes`] bytes; not used by others.
    #[len(scratch_bytes(blocks) / 16)]
    pub scratch: *mut Vec4,
    /// Positions, at least 1.
    pub n: u32,
    /// Planes of an observation, at most [`PLANES`].
    pub planes: u32,
    /// Convolutions.
    pub n_convs: u32,
    /// Channels of the heads, at most [`FILTERS`].
    pub filters: u32,
}

/// Bytes of a block's activations: two arrays where they fit.
const fn array_bytes<F: Format>(boards: u32) -> u32 {
    let bytes = activation_bytes::<F>(boards);
    if in_place::<F>(boards) { bytes } else { 2 * bytes }
}

/// Whether one array is both X and M.
const fn in_place<F: Format>(boards: u32) -> bool {
    2 * activation_bytes::<F>(boards) > SHARED_BYTES - HEAD_BYTES - 256 - 2 * stage_bytes::<F>()
}

/// Bytes of global memory that a launch of `blocks` blocks needs beside its arrays.
pub const fn scratch_bytes(blocks: u32) -> usize {
    blocks as usize * WORKERS as usize * 128 * 4
}

/// Slots of the ring.
const fn n_slots<F: Format>(boards: u32) -> u32 {
    let free = SHARED_BYTES - array_bytes::<F>(boards) - HEAD_BYTES - 256;
    let slots = free / stage_bytes::<F>();
    if slots > 8 { 8 } else { slots }
}

/// Bytes of a block's dynamic shared memory.
const fn shared_bytes<F: Format>(boards: u32) -> u32 {
    array_bytes::<F>(boards) + n_slots::<F>(boards) * (stage_bytes::<F>() + 16) + HEAD_BYTES
}

/// Stages of a convolution of `channels` inputs.
const fn n_stages<F: Format>(channels: u32) -> u32 {
    9 * tap_steps::<F>(channels) / F::STEPS
}

/// Bytes of all weights: the first convolution's, then `n_torso` more.
pub const fn n_weight_bytes<F: Format>(n_torso: u32) -> usize {
    (n_stages::<F>(PLANES) as usize + n_torso as usize * n_stages::<F>(WIDTH) as usize) * stage_bytes::<F>() as usize
}

/// Offset of a weight within a convolution of `channels` inputs (those of the first filled up to [`PLANES`]): chunk of 16 bytes of its first part, index in the chunk.
///
/// A step is `[half of the outputs 2][chunk of inputs 2][8 outputs 8][output 8]` chunks; parts of a step follow each other.
pub const fn weight_offset<F: Format>(channels: u32, output: u32, input: u32, tap: u32) -> (u32, u32) {
    let step = tap * tap_steps::<F>(channels) + input / (2 * F::CHANNELS);
    let chunk = input / F::CHANNELS % 2;
    let row = ((output / 64 * 2 + chunk) * 8 + output / 8 % 8) * 8 + output % 8;
    (step * F::PARTS * 256 + row, input % F::CHANNELS)
}

/// Blocks that take `boards` boards each, on a device with `multiprocessors`.
fn shape<F: Format>(boards: u32, n: u32, multiprocessors: u32) -> LaunchShape {
    let blocks = n.div_ceil(boards).min(multiprocessors);
    LaunchShape::new(blocks, threads::<F>()).with_shared(shared_bytes::<F>(boards))
}

/// What a block has in shared memory.
#[derive(Clone, Copy)]
struct SharedLayout {
    /// Array X.
    x: u32,
    /// Array M.
    m: u32,
    heads: Shared<f32>,
    ring: Ring,
}

impl SharedLayout {
    #[device_inline]
    fn new<F: Format>(boards: u32) -> Self {
        let arrays = array_bytes::<F>(boards);
        let (slots, stage) = (n_slots::<F>(boards), stage_bytes::<F>());
        let x = dynamic::<Vec4>(0, arrays / 16).base();
        let slot_vectors = dynamic::<Vec4>(arrays, slots * stage / 16);
        let heads = dynamic::<f32>(arrays + slots * stage, HEAD_BYTES / 4);
        let objects = dynamic::<u64>(arrays + slots * stage + HEAD_BYTES, 2 * slots);
        let m = if in_place::<F>(boards) { x } else { x + activation_bytes::<F>(boards) };
        Self { x, m, heads, ring: Ring::new(slot_vectors, objects, slots, stage / 16) }
    }
}

#[device_inline]
unsafe fn tower<F: Format, const BOARDS: u32, const R: usize>(task: TowerTask) {
    // The same in all lanes, and known to be so: conditions on it do not split warps.
    let warp_index = warp::shuffle(warp::ALL, thread::warp_index(), 0);
    let shared = SharedLayout::new::<F>(BOARDS);
    let n_tiles = task.n.div_ceil(BOARDS);
    if thread::thread_idx_x() == 0 {
        shared.ring.open(WORKERS / 128);
    }
    // SAFETY: the task is a launch's of the shape that this format and number of boards ask for. Whole warpgroups take the workers' branch, and the other one where it uses the token (384 threads); both counts of registers together are those of the launch, see the assertion above.
    unsafe {
        clear_and_load_heads::<F>(task, shared, BOARDS);
        wgmma::publish();
        sync_threads();
        let whole = WholeGroup::assume();
        if warp_index >= WORKERS / 32 {
            if F::PARTS == 2 {
                wgmma::fewer_registers::<FETCHER_REGISTERS>(&whole);
            }
            fetch::<F, BOARDS>(task, shared.ring, warp_index, n_tiles);
        } else {
            if F::PARTS == 2 {
                wgmma::more_registers::<WORKER_REGISTERS>(&whole);
            }
            work::<F, BOARDS, R>(task, shared, warp_index, n_tiles, &whole);
        }
    }
}

/// Zeroes the activations, whose edges stay so, and loads the heads' weights.
#[device_inline]
unsafe fn clear_and_load_heads<F: Format>(task: TowerTask, shared: SharedLayout, boards: u32) {
    let vectors = array_bytes::<F>(boards) / 16;
    // SAFETY: the activations have `vectors` vectors; a launch's task has `filters` rows of the heads' weights.
    unsafe {
        let mut at = thread::thread_idx_x();
        while at < vectors {
            Shared::<Vec4>::from_address(shared.x, vectors).set_unchecked(at, Vec4([0; 4]));
            at += threads::<F>();
        }
        let mut at = thread::thread_idx_x();
        while at < FILTERS * WIDTH {
            let weight = if at < task.filters * WIDTH { load(task.head_weights, at as usize) } else { 0.0 };
            shared.heads.set(at, weight);
            at += threads::<F>();
        }
    }
}

/// The warps that fetch: all stages, once for each of the block's tiles. Only the first one's first lane asks; under `simt` all keep step.
#[device_inline]
unsafe fn fetch<F: Format, const BOARDS: u32>(task: TowerTask, ring: Ring, warp_index: u32, n_tiles: u32) {
    let per_tile = n_stages::<F>(PLANES) + (task.n_convs - 1) * n_stages::<F>(WIDTH);
    let (lane, in_place) = (thread::lane(), in_place::<F>(BOARDS));
    // SAFETY: a launch's weights have `per_tile` stages, the end of the last one being just behind them.
    unsafe {
        let mut stage = 0;
        let mut tile = thread::block_idx_x();
        while tile < n_tiles {
            sync_simt();
            let mut from = task.weights;
            let mut in_tile = 0;
            let mut in_conv = n_stages::<F>(PLANES);
            while in_tile < per_tile {
                if lane == 0 && warp_index == WORKERS / 32 {
                    ring.fill(stage, from, stage_bytes::<F>() / 16);
                }
                ring.pass();
                from = from.add(stage_bytes::<F>() as usize / 16);
                stage += 1;
                in_tile += 1;
                in_conv -= 1;
                if in_conv == 0 {
                    in_conv = n_stages::<F>(WIDTH);
                    sync_simt();
                    if in_place {
                        sync_simt();
                    }
                }
            }
            sync_simt();
            tile += thread::grid_dim_x();
        }
    }
}

/// The warpgroups that multiply.
#[device_inline]
unsafe fn work<F: Format, const BOARDS: u32, const R: usize>(
    task: TowerTask,
    shared: SharedLayout,
    warp_index: u32,
    n_tiles: u32,
    whole: &WholeGroup,
) {
    let (group, member) = (warp_index / 4, thread::thread_idx_x() % 128);
    let lane = thread::lane();
    // The warp's channels: rows 16 warp … of the product.
    let channel = warp_index * 16;
    // SAFETY: the task is a launch's, whose arrays have the lengths it says. All threads of both warpgroups come here; what they multiply was written, published and followed by a barrier. Convolutions are below
    // `n_convs`. Each warp has rows and channels of its own in an array that nobody reads between two barriers, and each thread vectors of its own in the scratch, which has as
    // many a block. M is not in use between two tiles, and X is complete before the heads.
    unsafe {
        let (mut stage, mut tile) = (0, thread::block_idx_x());
        while tile < n_tiles {
            load_observations::<F, BOARDS>(task, shared.m, tile);
            wgmma::publish();
            sync_some(WORKERS_BARRIER, WORKERS);
            let mut conv = 0;
            while conv < task.n_convs {
                let (from, to) = if conv % 2 == 0 { (shared.m, shared.x) } else { (shared.x, shared.m) };
                let (channels, stages) =
                    if conv == 0 { (PLANES, n_stages::<F>(PLANES)) } else { (WIDTH, n_stages::<F>(WIDTH)) };
                let operands = operands::<F, BOARDS>(shared.ring, stage, stages, group, from, channels);
                let mut d = [0.0; R];
                F::sums(whole, &mut d, operands, member);
                stage += stages;
                let affine = {
                    let row = conv as usize * WIDTH as usize + (channel + lane / 4) as usize;
                    let of = |row| Affine { factor: load_factor::<F>(task.factors, row), bias: load(task.biases, row) };
                    [of(row), of(row + 8)]
                };
                let address = row_address::<F, BOARDS>(to, channel, lane);
                let kept = if in_place::<F>(BOARDS) {
                    sync_some(WORKERS_BARRIER, WORKERS);
                    task.scratch.add((thread::block_idx_x() * WORKERS * 32 + thread::thread_idx_x()) as usize)
                } else {
                    core::ptr::null_mut()
                };
                finish::<F, BOARDS, R>(&whole.warp(), &d, address, affine, (conv, kept));
                wgmma::publish();
                sync_some(WORKERS_BARRIER, WORKERS);
                if !task.trace.is_null() {
                    trace::<F, BOARDS>(task, to, conv, tile);
                }
                conv += 1;
            }
            heads::<F, BOARDS>(task, shared, tile);
            // X is overwritten by the next tile's first convolution only after the barrier behind its observations; in place, by these already.
            if in_place::<F>(BOARDS) {
                sync_some(WORKERS_BARRIER, WORKERS);
            } else {
                sync_simt();
            }
            tile += thread::grid_dim_x();
        }
    }
}

/// Operands of the convolution of `channels` channels that warpgroup `group` makes from the activations at `from`, in `stages` stages from `first` on.
///
/// # Safety
/// As [`Operands::new`], for one of the block's arrays.
#[device_inline]
unsafe fn operands<F: Format, const BOARDS: u32>(
    ring: Ring,
    first: u32,
    stages: u32,
    group: u32,
    from: u32,
    channels: u32,
) -> Operands {
    let chunk = chunk_bytes(BOARDS);
    let strides = Strides {
        chunk,
        part: WIDTH / F::CHANNELS * chunk,
        tap_row: BOARDS * PADDED_WIDTH * 16,
        tap_steps: tap_steps::<F>(channels),
    };
    // SAFETY: the array is one of the block's, and its operands are written, published and behind a barrier, as the caller says; the taps of the boards' squares are squares of the padded boards.
    unsafe {
        let b = Tiles::new(from, chunk, PADDED_WIDTH * 16);
        Operands::new(ring, first, stages, group * 2048, b, strides)
    }
}

/// Where the warp whose first channel is `channel` has its rows in the array at `to`.
///
/// # Safety
/// As [`RowAddress::new`], for one of the block's arrays.
#[device_inline]
unsafe fn row_address<F: Format, const BOARDS: u32>(to: u32, channel: u32, lane: u32) -> RowAddress {
    let chunk = chunk_bytes(BOARDS);
    let part = WIDTH / F::CHANNELS * chunk;
    let base = to + channel / F::CHANNELS * chunk + (BOARDS * PADDED_WIDTH + 1) * 16;
    // SAFETY: the array is one of the block's, as the caller says; 8 · boards storage rows follow, in pairs.
    unsafe { RowAddress::new(base, PADDED_WIDTH * 16, chunk, part, lane) }
}

/// Planes of the tile's boards as the first channels of `to`; the others are zeroed up to [`PLANES`].
#[device_inline]
unsafe fn load_observations<F: Format, const BOARDS: u32>(task: TowerTask, to: u32, tile: u32) {
    let squares = BOARDS * CELLS;
    let chunks = PLANES / F::CHANNELS;
    // SAFETY: a launch's task has `planes` planes of each of `n` positions, which are looked at; squares of the array are each one thread's.
    unsafe {
        let mut item = thread::thread_idx_x();
        while item < squares * chunks {
            let (square, chunk) = (item % squares, item / squares);
            let (board, cell) = (square / CELLS, square % CELLS);
            let position = tile * BOARDS + board;
            let mut values = [0.0; 8];
            let mut at = 0;
            while at < F::CHANNELS {
                let plane = chunk * F::CHANNELS + at;
                if position < task.n && plane < task.planes {
                    values[at as usize] = load(
                        task.observations,
                        (position as usize * task.planes as usize + plane as usize) * CELLS as usize + cell as usize,
                    );
                }
                at += 1;
            }
            let storage = ((cell / SIDE + 1) * BOARDS + board) * PADDED_WIDTH + cell % SIDE + 1;
            let packed = F::pack(values);
            let address = to + chunk * chunk_bytes(BOARDS) + storage * 16;
            Shared::<Vec4>::from_address(address, 1).set_unchecked(0, Vec4(packed[0]));
            if F::PARTS == 2 {
                let part = WIDTH / F::CHANNELS * chunk_bytes(BOARDS);
                Shared::<Vec4>::from_address(address + part, 1).set_unchecked(0, Vec4(packed[1]));
            }
            item += WORKERS;
        }
    }
}

/// What a channel's sums are multiplied by, exactly, and what is added.
#[derive(Clone, Copy)]
struct Affine {
    factor: f32,
    bias: f32,
}

impl Affine {
    #[device_inline]
    fn of(self, sum: f32) -> f32 {
        fma(sum, self.factor, self.bias)
    }
}

/// Factor and bias, the block's input where it is a block's second convolution, rectifier; into the array at `to`. In place, inputs of blocks come from and go to `kept`.
#[device_inline]
unsafe fn finish<F: Format, const BOARDS: u32, const R: usize>(
    whole: &WholeWarp,
    d: &[f32; R],
    to: RowAddress,
    affine: [Affine; 2],
    (conv, kept): (u32, *mut Vec4),
) {
    let residual = conv > 0 && conv.is_multiple_of(2);
    for_each_pair!(|PAIR| {
        if PAIR * 8 < R {
            let at = to.pair(PAIR);
            let mut v = [
                affine[0].of(d[PAIR * 8]),
                affine[0].of(d[PAIR * 8 + 1]),
                affine[1].of(d[PAIR * 8 + 2]),
                affine[1].of(d[PAIR * 8 + 3]),
                affine[0].of(d[PAIR * 8 + 4]),
                affine[0].of(d[PAIR * 8 + 5]),
                affine[1].of(d[PAIR * 8 + 6]),
                affine[1].of(d[PAIR * 8 + 7]),
            ];
            // SAFETY: `to` names rows and channels of the warp, as whoever made it vouches; in place, `kept` has room for the thread's values of all pairs.
            unsafe {
                if residual {
                    let x = if in_place::<F>(BOARDS) { load_kept(kept, PAIR) } else { F::load(whole, at) };
                    v = [
                        v[0] + x[0],
                        v[1] + x[1],
                        v[2] + x[2],
                        v[3] + x[3],
                        v[4] + x[4],
                        v[5] + x[5],
                        v[6] + x[6],
                        v[7] + x[7],
                    ];
                }
                v = [relu(v[0]), relu(v[1]), relu(v[2]), relu(v[3]), relu(v[4]), relu(v[5]), relu(v[6]), relu(v[7])];
                F::store(whole, at, v);
                if in_place::<F>(BOARDS) && conv.is_multiple_of(2) {
                    keep(kept, PAIR, v);
                }
            }
        }
    });
}

/// Writes eight values of pair `pair` where the thread keeps them.
#[device_inline]
unsafe fn keep(kept: *mut Vec4, pair: usize, v: [f32; 8]) {
    // SAFETY: the caller gives room for 32 vectors, a worker apart.
    unsafe {
        store_vec4(
            kept.add(2 * pair * WORKERS as usize),
            Vec4([v[0].to_bits(), v[1].to_bits(), v[2].to_bits(), v[3].to_bits()]),
        );
        store_vec4(
            kept.add((2 * pair + 1) * WORKERS as usize),
            Vec4([v[4].to_bits(), v[5].to_bits(), v[6].to_bits(), v[7].to_bits()]),
        );
    }
}

/// Reads what [`keep`] wrote.
#[device_inline]
unsafe fn load_kept(kept: *const Vec4, pair: usize) -> [f32; 8] {
    // SAFETY: the caller gives room for 32 vectors, a worker apart, which this thread has kept.
    let [a, b] = unsafe {
        [load_vec4(kept.add(2 * pair * WORKERS as usize)).0, load_vec4(kept.add((2 * pair + 1) * WORKERS as usize)).0]
    };
    let f = f32::from_bits;
    [f(a[0]), f(a[1]), f(a[2]), f(a[3]), f(b[0]), f(b[1]), f(b[2]), f(b[3])]
}

/// The values of a square's chunk.
///
/// # Safety
/// `array` is an array of activations that is complete.
#[device_inline]
unsafe fn read_chunk<F: Format>(array: u32, boards: u32, chunk: u32, storage: u32) -> [f32; 8] {
    let address = array + chunk * chunk_bytes(boards) + storage * 16;
    // SAFETY: a chunk of the array.
    unsafe {
        let first: Vec4 = Shared::from_address(address, 1).get_unchecked(0);
        let second: Vec4 = match F::PARTS {
            2 => Shared::from_address(address + WIDTH / F::CHANNELS * chunk_bytes(boards), 1).get_unchecked(0),
            _ => first,
        };
        F::unpack(first.0, second.0)
    }
}

/// Index of a board's square in a chunk's array.
#[device_inline]
fn storage_of(boards: u32, board: u32, cell: u32) -> u32 {
    ((cell / SIDE + 1) * boards + board) * PADDED_WIDTH + cell % SIDE + 1
}

/// Writes what a convolution left in `array`.
#[device_inline]
unsafe fn trace<F: Format, const BOARDS: u32>(task: TowerTask, array: u32, conv: u32, tile: u32) {
    let chunks = WIDTH / F::CHANNELS;
    let mut item = thread::thread_idx_x();
    while item < BOARDS * CELLS * chunks {
        let (cell, chunk, board) = (item % CELLS, item / CELLS % chunks, item / CELLS / chunks);
        let position = tile * BOARDS + board;
        if position < task.n {
            // SAFETY: the array is complete; a launch's trace has an element for each convolution, position, channel and square.
            unsafe {
                let values = read_chunk::<F>(array, BOARDS, chunk, storage_of(BOARDS, board, cell));
                let mut at = 0;
                while at < F::CHANNELS {
                    let channel = conv as usize * task.n as usize * WIDTH as usize
                        + (position * WIDTH + chunk * F::CHANNELS + at) as usize;
                    store(task.trace, channel * CELLS as usize + cell as usize, values[at as usize]);
                    at += 1;
                }
            }
        }
        item += WORKERS;
    }
}

/// The heads' 1×1 convolutions of X: neighbouring threads share a square's channels.
#[device_inline]
unsafe fn heads<F: Format, const BOARDS: u32>(task: TowerTask, shared: SharedLayout, tile: u32) {
    let sharers = WORKERS / (BOARDS * CELLS);
    let (square, share) = (thread::thread_idx_x() / sharers, thread::thread_idx_x() % sharers);
    let (board, cell) = (square / CELLS, square % CELLS);
    let storage = storage_of(BOARDS, board, cell);
    let mut sums = [0.0f32; FILTERS as usize];
    let chunks = WIDTH / F::CHANNELS / sharers;
    let mut chunk = 0;
    // SAFETY: X is complete. A launch's task has weights, a bias and planes for each of `filters`, of each of `n` positions, which are looked at.
    unsafe {
        while chunk < chunks {
            let chunk_index = chunk * sharers + share;
            let values = read_chunk::<F>(shared.x, BOARDS, chunk_index, storage);
            let weight =
                |filter: u32, at: u32| shared.heads.get_unchecked(filter * WIDTH + chunk_index * F::CHANNELS + at);
            let mut at = 0;
            while at < F::CHANNELS {
                let value = values[at as usize];
                sums[0] = fma(value, weight(0, at), sums[0]);
                sums[1] = fma(value, weight(1, at), sums[1]);
                sums[2] = fma(value, weight(2, at), sums[2]);
                sums[3] = fma(value, weight(3, at), sums[3]);
                at += 1;
            }
            chunk += 1;
        }
        let mut distance = 1;
        while distance < sharers {
            sums[0] += warp::shuffle_xor(warp::ALL, sums[0], distance);
            sums[1] += warp::shuffle_xor(warp::ALL, sums[1], distance);
            sums[2] += warp::shuffle_xor(warp::ALL, sums[2], distance);
            sums[3] += warp::shuffle_xor(warp::ALL, sums[3], distance);
            distance *= 2;
        }
        let position = tile * BOARDS + board;
        if share == 0 && position < task.n {
            let mut filter = 0;
            while filter < task.filters {
                let sum = match filter {
                    0 => sums[0],
                    1 => sums[1],
                    2 => sums[2],
                    _ => sums[3],
                };
                let value = relu(sum + load(task.head_biases, filter as usize));
                store(
                    task.head_planes,
                    (position as usize * task.filters as usize + filter as usize) * CELLS as usize + cell as usize,
                    value,
                );
                filter += 1;
            }
        }
    }
}

macro_rules! towers {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $boards:literal, $registers:literal, $shape:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// All convolutions of a batch in one launch, from observations to the planes of the heads. The name says the format and the boards of a block.
            ///
            /// * Launch: the shape function of its name: a block for so many boards as the name says, at most one a multiprocessor; 288 threads, in fp32
            ///   384.
            /// * Reads: `observations`, `weights`, `biases`, `factors`, `head_weights`, `head_biases`.
            /// * Writes: `head_planes`; `trace`, where it is wanted; `scratch`, where X and M are one array.
            /// * Shared: dynamic: the arrays of activations X and M, three to eight stages of weights, weights of the heads; 147,072 to 228,432 bytes.
            /// * Cost: 2 × 9 × 128 × 128 × 64 operations a convolution and board, by tensor cores; three times as many in fp32.
            /// * Twin: `warpplay_cpu_ref::azero::forward::Network::forward`.
            /// * Source: OpenSpiel's residual network (Paul and Xu, section II.C); the partition is ours.
            ///
            /// # Safety
            /// The task's arrays have the lengths it says, inputs and outputs are different.
            #[kernel(
                shape = |multiprocessors: u32| shape::<$format>($boards, task.n, multiprocessors),
                max_threads = 384,
                min_blocks = 1
            )]
            pub unsafe fn $name(task: TowerTask) {
                // SAFETY: launched with the shape of this format and number of boards, and the task's arrays have the lengths it says, as the kernel asks.
                unsafe { tower::<$format, $boards, $registers>(task) }
            }

            /// Launch shape of the kernel of that name for `n` positions, on a device with `multiprocessors`.
            pub fn $shape(n: u32, multiprocessors: u32) -> LaunchShape {
                shape::<$format>($boards, n, multiprocessors)
            }
        )*

        /// Descriptions of the kernels.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn kernels() -> Vec<KernelInfo> {
            vec![$(info::<$name>()),*]
        }
    };
}

towers! {
    /// Half precision, one board a block.
    azero_fused_tower_fp16_1, Fp16, 1, 32, shape_fp16_1;
    /// Half precision, two boards a block.
    azero_fused_tower_fp16_2, Fp16, 2, 64, shape_fp16_2;
    /// Half precision, four boards a block.
    azero_fused_tower_fp16_4, Fp16, 4, 128, shape_fp16_4;
    /// bfloat16, one board a block.
    azero_fused_tower_bf16_1, Bf16, 1, 32, shape_bf16_1;
    /// bfloat16, two boards a block.
    azero_fused_tower_bf16_2, Bf16, 2, 64, shape_bf16_2;
    /// bfloat16, four boards a block.
    azero_fused_tower_bf16_4, Bf16, 4, 128, shape_bf16_4;
    /// TF32, one board a block.
    azero_fused_tower_tf32_1, Tf32, 1, 32, shape_tf32_1;
    /// TF32, two boards a block.
    azero_fused_tower_tf32_2, Tf32, 2, 64, shape_tf32_2;
    /// TF32, four boards a block, in place.
    azero_fused_tower_tf32_4, Tf32, 4, 128, shape_tf32_4;
    /// Single precision, one board a block.
    azero_fused_tower_fp32_1, Split, 1, 32, shape_fp32_1;
    /// Single precision, two boards a block.
    azero_fused_tower_fp32_2, Split, 2, 64, shape_fp32_2;
}
