//! The whole network for one position, one launch: a cluster of blocks shares out every convolution.
//!
//! Every block has all activations in shared memory, and makes 16 channels of one half of the board of every convolution. Its 16 warps have 16 squares and an eighth of the
//! input channels each; the eighths are added up through shared memory. What comes out goes to all blocks of the cluster, 16 bytes a time, through a [`Mailbox`]: a
//! block goes on when all its bytes have arrived. There are two arrays, X and M, as in [`tower`](super::tower): whoever sends into one has received from everybody who read it.
//! Weights come through a [`Ring`], a convolution a stage, and are in registers before the activations are there.
//!
//! Logits are shared out in the same way, 1 in 16 actions a block; what the blocks exchange for the softmax and the value are 16 bytes each.

mod heads;

use super::format::{Bf16, Format, Fp16, Split, Tf32, activation_bytes, chunk_bytes, load_factor, tap_steps};
use super::{CELLS, FILTERS, PADDED_WIDTH, PLANES, SIDE, WIDTH};
use crate::cuda::mailbox::Mailbox;
use crate::cuda::math::{fma, relu};
use crate::cuda::memory::{Vec4, load};
use crate::cuda::ring::Ring;
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::{WholeWarp, sync_cluster, sync_threads, whole_warp};
use crate::cuda::{DeviceArgs, kernel, mma, thread, warp};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{KernelInfo, info};
use crate::launch::LaunchShape;

/// Blocks of a cluster.
pub const BLOCKS: u32 = 16;
/// Threads of a block: one for each square and channel that it makes.
pub const THREADS: u32 = BLOCK_CELLS * CHANNELS;
/// Parts of the board.
const HALVES: u32 = 2;
/// Channels of a block.
pub const CHANNELS: u32 = WIDTH * HALVES / BLOCKS;
/// Squares of a block: half the board.
const BLOCK_CELLS: u32 = CELLS / HALVES;
/// Parts of the input channels, a warp each for 16 squares.
const EIGHTHS: u32 = 8;
/// Words of a square's sums: not a multiple of the banks.
const SUM_STRIDE: u32 = CHANNELS + 4;
/// Most actions, and most hidden units, of a block.
const SHARE: u32 = 64;
/// Bytes of the sums of the eighths.
const SUM_BYTES: u32 = EIGHTHS * BLOCK_CELLS * SUM_STRIDE * 4;
/// Bytes of what is small: head weights, planes, logits and hidden units of the block, messages, barrier objects.
const SMALL_BYTES: u32 = (FILTERS * WIDTH + FILTERS * CELLS + 2 * SHARE) * 4 + BLOCKS * 16 + 256;
/// Bytes of shared memory that a block may use on `sm_90`.
const SHARED_BYTES: u32 = 232_448;

/// What a launch works on. `n_convs` is 1 + 2 · depth.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Vectors of the weights.
    n_weights: u32
)]
#[require(n_convs >= 1 && planes <= PLANES && value_filters + policy_filters <= FILTERS)]
#[require(hidden <= MAX_HIDDEN && actions <= MAX_ACTIONS)]
pub struct SingleTask {
    /// `[n, planes, 8, 8]`.
    #[len(n * planes * CELLS)]
    pub observations: *const f32,
    /// Weights of all convolutions for each block, `[BLOCKS]` times [`block_bytes`], as [`weight_offset`] says.
    #[len(n_weights)]
    pub weights: *const Vec4,
    /// `[n_convs, 128]`, in the scale of the convolution's outputs.
    #[len(n_convs * WIDTH)]
    pub biases: *const f32,
    /// `[n_convs, 128]`: powers of two that take a convolution's sums to the scale of its outputs.
    #[len(n_convs * WIDTH)]
    pub factors: *const f32,
    /// Weights of the heads' 1×1 convolutions, `[filters, 128]`.
    #[len((value_filters + policy_filters) * WIDTH)]
    pub head_weights: *const f32,
    /// Their biases, `[filters]`.
    #[len(value_filters + policy_filters)]
    pub head_biases: *const f32,
    /// First linear layer of the value, `[hidden, 64 value_filters]`.
    #[len(CELLS * value_filters * hidden)]
    pub value_weights_1: *const f32,
    /// Its bias, `[hidden]`.
    #[len(hidden)]
    pub value_bias_1: *const f32,
    /// Second linear layer of the value, `[hidden]`.
    #[len(hidden)]
    pub value_weights_2: *const f32,
    /// Its bias, `[1]`.
    #[len(1)]
    pub value_bias_2: *const f32,
    /// Linear layer of the policy, `[actions, 64 policy_filters]`.
    #[len(CELLS * policy_filters * actions)]
    pub policy_weights: *const f32,
    /// Its bias, `[actions]`.
    #[len(actions)]
    pub policy_bias: *const f32,
    /// Legal actions, `[n, actions]`.
    #[len(n * actions)]
    pub masks: *const u8,
    /// Values, `[n]`.
    #[len(n)]
    pub values: *mut f32,
    /// Logits, `[n, actions]`.
    #[len(n * actions)]
    pub logits: *mut f32,
    /// Softmax of the legal actions' logits, `[n, actions]`.
    #[len(n * actions)]
    pub policies: *mut f32,
    /// Positions.
    pub n: u32,
    /// Planes of an observation, at most [`PLANES`].
    pub planes: u32,
    /// Convolutions.
    pub n_convs: u32,
    /// Channels of the value's convolution.
    pub value_filters: u32,
    /// Channels of the policy's convolution; with the value's at most [`FILTERS`].
    pub policy_filters: u32,
    /// Units of the value's hidden layer, at most [`MAX_HIDDEN`].
    pub hidden: u32,
    /// Actions, at most [`MAX_ACTIONS`].
    pub actions: u32,
}

/// Most actions.
pub const MAX_ACTIONS: u32 = SHARE * BLOCKS;
/// Most units of the value's hidden layer.
pub const MAX_HIDDEN: u32 = SHARE * BLOCKS;

/// Bytes of a step's weights, of one part: 16 for a lane.
pub const STEP_BYTES: u32 = 512;

/// Bytes of a convolution's weights for one block.
pub const fn conv_bytes<F: Format>(channels: u32) -> u32 {
    9 * tap_steps::<F>(channels) * STEP_BYTES * F::PARTS
}

/// Bytes of all weights for one block: the first convolution's, then `n_torso` more.
pub const fn block_bytes<F: Format>(n_torso: u32) -> usize {
    conv_bytes::<F>(PLANES) as usize + n_torso as usize * conv_bytes::<F>(WIDTH) as usize
}

/// Offset in bytes of a weight within the convolution's weights for a block, of its first part; the second is [`STEP_BYTES`] further. `output` is one of the block's 16.
pub const fn weight_offset<F: Format>(output: u32, input: u32, tap: u32) -> u32 {
    let bytes = 16 / F::CHANNELS;
    // Within a step inputs are words of two, or of one, as operand B of `mma` has them.
    let (pair, within) = (input / (2 * F::CHANNELS), input % (2 * F::CHANNELS));
    let (half, within) = (within / F::CHANNELS, within % F::CHANNELS * bytes);
    let lane = output % 8 * 4 + within / 4;
    (pair * 9 + tap) * STEP_BYTES * F::PARTS + lane * 16 + output / 8 * 8 + half * 4 + within % 4
}

/// Slots of the ring.
const fn n_slots<F: Format>() -> u32 {
    let free = SHARED_BYTES - 2 * activation_bytes::<F>(1) - SUM_BYTES - SMALL_BYTES;
    let slots = free / conv_bytes::<F>(WIDTH);
    if slots > 8 { 8 } else { slots }
}

/// Shape for `n` positions, of which the device works on `clusters` at a time.
fn shape<F: Format>(n: u32, clusters: u32) -> LaunchShape {
    let bytes = 2 * activation_bytes::<F>(1) + n_slots::<F>() * conv_bytes::<F>(WIDTH) + SUM_BYTES + SMALL_BYTES;
    LaunchShape::new(n.min(clusters) * BLOCKS, THREADS).with_shared(bytes).with_cluster(BLOCKS)
}

/// What a block has in shared memory.
#[derive(Clone, Copy)]
struct SharedLayout {
    x: Shared<Vec4>,
    m: Shared<Vec4>,
    sums: Shared<f32>,
    head_weights: Shared<f32>,
    planes: Shared<f32>,
    logits: Shared<f32>,
    hidden: Shared<f32>,
    messages: Shared<Vec4>,
    x_box: Mailbox,
    m_box: Mailbox,
    message_box: Mailbox,
    ring: Ring,
}

impl SharedLayout {
    #[device_inline]
    fn new<F: Format>() -> Self {
        let array = activation_bytes::<F>(1);
        let stage = conv_bytes::<F>(WIDTH);
        let slots = n_slots::<F>();
        let ring_at = 2 * array;
        let sums_at = ring_at + slots * stage;
        let heads_at = sums_at + SUM_BYTES;
        let planes_at = heads_at + FILTERS * WIDTH * 4;
        let logits_at = planes_at + FILTERS * CELLS * 4;
        let messages_at = logits_at + 2 * SHARE * 4;
        let objects_at = messages_at + BLOCKS * 16;
        Self {
            x: dynamic(0, array / 16),
            m: dynamic(array, array / 16),
            sums: dynamic(sums_at, SUM_BYTES / 4),
            head_weights: dynamic(heads_at, FILTERS * WIDTH),
            planes: dynamic(planes_at, FILTERS * CELLS),
            logits: dynamic(logits_at, SHARE),
            hidden: dynamic(logits_at + SHARE * 4, SHARE),
            messages: dynamic(messages_at, BLOCKS),
            x_box: Mailbox::new(dynamic(objects_at, 1)),
            m_box: Mailbox::new(dynamic(objects_at + 8, 1)),
            message_box: Mailbox::new(dynamic(objects_at + 16, 1)),
            ring: Ring::new(
                dynamic(ring_at, slots * stage / 16),
                dynamic(objects_at + 24, 2 * slots),
                slots,
                stage / 16,
            ),
        }
    }
}

impl SharedLayout {
    /// Opens the ring and the mailboxes, by one thread of the block.
    #[device_inline]
    fn open<F: Format>(&self) {
        self.ring.open(THREADS / 32);
        self.x_box.open();
        self.m_box.open();
        self.message_box.open();
        self.x_box.expect(array_bytes::<F>());
        self.m_box.expect(array_bytes::<F>());
        self.message_box.expect(BLOCKS * 16);
    }
}

/// Works on the cluster's positions.
///
/// # Safety
/// Launched with [`shape`] of the format; `task` is the launch's.
#[device_inline]
unsafe fn single<F: Format>(task: SingleTask) {
    let shared = SharedLayout::new::<F>();
    let me = thread::thread_idx_x();
    let rank = thread::block_rank_in_cluster();
    // The same in all lanes, and known to be so.
    let warp_index = warp::shuffle(warp::ALL, thread::warp_index(), 0);
    let (cluster, clusters) = (thread::block_idx_x() / BLOCKS, thread::grid_dim_x() / BLOCKS);
    let n_mine = (task.n - cluster).div_ceil(clusters);
    // SAFETY: the task is a launch's, so its arrays have the lengths it says. Ranks of a cluster are below BLOCKS, positions below `n`; slots are made for convolutions, and X and M lie
    // together at the beginning of the block's shared memory. All of the cluster send as many bytes as are expected, and whoever reads an array or a slot has passed a barrier or received
    // what comes before: M is not in use between two positions, and X is complete before the heads.
    unsafe {
        let mut weights = Weights::new::<F>(task, shared.ring, rank, n_mine);
        if me == 0 {
            shared.open::<F>();
        }
        clear(Shared::from_address(shared.x.base(), 2 * activation_bytes::<F>(1) / 16));
        load_head_weights(task.head_weights, task.value_filters + task.policy_filters, shared.head_weights);
        sync_cluster();
        if me == 0 {
            weights.fetch_first::<F>();
        }
        let mut rounds = Rounds { x: 0, m: 0 };
        let mut turn = 0;
        while turn < n_mine {
            let position = cluster + turn * clusters;
            load_observation::<F>(task, shared.m, position);
            convolutions::<F>(task, shared, &mut weights, &mut rounds, rank, warp_index);
            receive::<F>(shared.x_box, &mut rounds.x);
            heads::heads::<F>(task, shared, rank, warp_index, position, turn);
            turn += 1;
        }
    }
}

/// Rounds that the mailboxes have had.
struct Rounds {
    x: u32,
    m: u32,
}

/// All convolutions of a position.
///
/// # Safety
/// All threads of the cluster call it for each position in turn, whose observation is in M. `task` is the launch's, and `weights` are those of its first convolution.
#[device_inline]
unsafe fn convolutions<F: Format>(
    task: SingleTask,
    shared: SharedLayout,
    weights: &mut Weights,
    rounds: &mut Rounds,
    rank: u32,
    warp_index: u32,
) {
    // The value of this thread's square and channel after the last block.
    let mut kept = 0.0;
    let mut conv = 0;
    while conv < task.n_convs {
        let (from, to, to_box) = match conv % 2 {
            0 => (shared.m, shared.x, shared.x_box),
            _ => (shared.x, shared.m, shared.m_box),
        };
        // SAFETY: a launch has a factor and a bias for each channel of each convolution. The stage has the weights of the whole convolution when the ring has been waited for, and `from`
        // is complete when all has been received. Whoever sends into an array has received from everybody who read it.
        unsafe {
            // Asked for before the waits, so that nobody waits for it.
            let row = (conv * WIDTH + rank / HALVES * CHANNELS + thread::thread_idx_x() % CHANNELS) as usize;
            let (factor, bias) = (load_factor::<F>(task.factors, row), load(task.biases, row));
            shared.ring.wait(weights.stage);
            let stage = shared.ring.address_of(weights.stage);
            let ready = torso_weights::<F>(stage, warp_index, conv > 0);
            if conv > 0 && n_slots::<F>() == 1 {
                // The slot is free for the next convolution's weights while this one is worked on: there is no other.
                sync_threads();
                weights.next::<F>();
            }
            if conv == 0 {
                sync_threads();
            } else if conv % 2 == 1 {
                receive::<F>(shared.x_box, &mut rounds.x);
            } else {
                receive::<F>(shared.m_box, &mut rounds.m);
            }
            let sums = match conv {
                0 => input_sums::<F>(from, rank, stage, warp_index),
                _ => torso_sums::<F>(from, rank, &ready, warp_index),
            };
            write_sums(shared.sums, sums, warp_index);
            sync_threads();
            let value =
                relu(fma(read_sum(shared.sums), factor, bias) + if conv > 0 && conv % 2 == 0 { kept } else { 0.0 });
            if conv % 2 == 0 {
                kept = value;
            }
            send::<F>(to, to_box, rank, warp_index, value);
            if conv == 0 || n_slots::<F>() > 1 {
                weights.next::<F>();
            }
        }
        conv += 1;
    }
}

/// Bytes of an array of activations that the other blocks send.
const fn array_bytes<F: Format>() -> u32 {
    CELLS * 16 * (WIDTH / F::CHANNELS) * F::PARTS / BLOCKS * (BLOCKS - 1)
}

/// Waits for an array of activations, whose mailbox has had `round` rounds, and announces the next.
#[device_inline]
#[track_caller]
fn receive<F: Format>(mailbox: Mailbox, round: &mut u32) {
    mailbox.wait(*round);
    *round += 1;
    if thread::thread_idx_x() == 0 {
        mailbox.expect(array_bytes::<F>());
    }
}

/// Zeroes an array by all threads of the block.
#[device_inline]
#[track_caller]
fn clear(array: Shared<Vec4>) {
    let mut at = thread::thread_idx_x();
    while at < array.len() {
        array.set(at, Vec4([0; 4]));
        at += THREADS;
    }
}

/// Weights of the heads' convolutions into shared memory, 0 for filters that there are not.
///
/// # Safety
/// `task` is a launch's.
#[device_inline]
#[track_caller]
unsafe fn load_head_weights(from: *const f32, filters: u32, to: Shared<f32>) {
    let mut at = thread::thread_idx_x();
    while at < FILTERS * WIDTH {
        let weight = match at < filters * WIDTH {
            // SAFETY: a launch has a weight for each filter and channel, and `at` is one of them.
            true => unsafe { load(from, at as usize) },
            false => 0.0,
        };
        to.set(at, weight);
        at += THREADS;
    }
}

/// What is fetched next.
#[derive(Clone, Copy)]
struct Weights {
    ring: Ring,
    /// Of this block.
    first: *const Vec4,
    /// Convolution whose weights are used next, counted over all positions.
    stage: u32,
    /// Convolution whose weights are fetched next.
    fetched: u32,
    /// Convolutions of a position, of all positions.
    n_convs: u32,
    all: u32,
}

impl Weights {
    /// The weights of the block with `rank`, nothing of which is fetched yet.
    ///
    /// # Safety
    /// `task` is a launch's, `rank` below [`BLOCKS`]; the ring's slots have room for a convolution each.
    #[device_inline]
    unsafe fn new<F: Format>(task: SingleTask, ring: Ring, rank: u32, n_positions: u32) -> Self {
        let bytes = block_bytes::<F>(task.n_convs - 1);
        // SAFETY: a launch's weights have `bytes` for each block of a cluster.
        let first = unsafe { task.weights.add(rank as usize * bytes / 16) };
        Self { ring, first, stage: 0, fetched: 0, n_convs: task.n_convs, all: task.n_convs * n_positions }
    }

    #[device_inline]
    fn fetch_first<F: Format>(&mut self) {
        while self.fetched < n_slots::<F>() && self.fetched < self.all {
            self.fetch_next::<F>();
        }
    }

    /// The warp is done with the present stage: it goes on to the next, and another one is fetched.
    #[device_inline]
    fn next<F: Format>(&mut self) {
        if thread::lane() == 0 {
            self.ring.release(self.stage);
        }
        self.stage += 1;
        if thread::thread_idx_x() == 0 {
            self.fetch_next::<F>();
        }
    }

    #[device_inline]
    fn fetch_next<F: Format>(&mut self) {
        if self.fetched == self.all {
            return;
        }
        let conv = self.fetched % self.n_convs;
        let (offset, bytes) = match conv {
            0 => (0, conv_bytes::<F>(PLANES)),
            _ => (conv_bytes::<F>(PLANES) + (conv - 1) * conv_bytes::<F>(WIDTH), conv_bytes::<F>(WIDTH)),
        };
        // SAFETY: the weights of one of the `n_convs` convolutions, all of which lie behind `first`, as `new` asks; nobody writes them, and a slot has room for them.
        unsafe { self.ring.fill(self.fetched, self.first.add((offset / 16) as usize), bytes / 16) };
        self.fetched += 1;
    }
}

/// Index of a square in a chunk's array.
#[device_inline]
fn padded_index(cell: u32) -> u32 {
    (cell / SIDE + 1) * PADDED_WIDTH + cell % SIDE + 1
}

/// Planes as the first channels of M, the others up to [`PLANES`] zeroed.
///
/// # Safety
/// `task` is a launch's, `position` one of its `n`; nobody else uses `to`, which is M.
#[device_inline]
unsafe fn load_observation<F: Format>(task: SingleTask, to: Shared<Vec4>, position: u32) {
    let chunks = PLANES / F::CHANNELS;
    let mut item = thread::thread_idx_x();
    while item < CELLS * chunks {
        let (cell, chunk) = (item % CELLS, item / CELLS);
        let mut values = [0.0; 8];
        let mut at = 0;
        while at < F::CHANNELS {
            let plane = chunk * F::CHANNELS + at;
            if plane < task.planes {
                // SAFETY: the observation has that plane.
                values[at as usize] =
                    unsafe { load(task.observations, ((position * task.planes + plane) * CELLS + cell) as usize) };
            }
            at += 1;
        }
        let packed = F::pack(values);
        let index = chunk * chunk_bytes(1) / 16 + padded_index(cell);
        to.set(index, Vec4(packed[0]));
        if F::PARTS == 2 {
            to.set(index + to.len() / 2, Vec4(packed[1]));
        }
        item += THREADS;
    }
}

/// Shared address of the lane's row of operand A for the warp's 16 squares, tap (-1, -1), first pair of chunks.
#[device_inline]
fn rows_of(from: Shared<Vec4>, rank: u32, warp_index: u32) -> u32 {
    let lane = thread::lane();
    let row = rank % HALVES * (SIDE / HALVES) + 2 * (warp_index % 2) + lane / 8 % 2;
    from.base() + lane / 16 * chunk_bytes(1) + (row * PADDED_WIDTH + lane % 8) * 16
}

/// Bytes from an array's first part to its second.
#[device_inline]
fn part_bytes<F: Format>() -> u32 {
    WIDTH / F::CHANNELS * chunk_bytes(1)
}

/// The warp's part of the first convolution: every eighth step.
///
/// # Safety
/// All lanes call it. `from` is a whole array of activations; `weights` is the shared address of the first convolution's weights, which are there.
#[device_inline]
unsafe fn input_sums<F: Format>(from: Shared<Vec4>, rank: u32, weights: u32, warp_index: u32) -> [[f32; 4]; 2] {
    let a = rows_of(from, rank, warp_index);
    let mut sums = [[0.0; 4]; 4];
    let mut step = warp_index / 2;
    while step < 9 * tap_steps::<F>(PLANES) {
        let (pair, tap) = (step / 9, step % 9);
        let whole = whole_warp();
        // SAFETY: the step is one of the convolution's, all of whose weights are at `weights`, as is asked for; the rows of its tap are those of the padded board at `from`.
        unsafe {
            let w = step_weights::<F>(weights, step);
            let a = a + pair * 2 * chunk_bytes(1) + (tap / 3 * PADDED_WIDTH + tap % 3) * 16;
            add_step::<F>(&whole, &mut sums, false, a, w);
        }
        step += EIGHTHS;
    }
    [add(sums[0], sums[2]), add(sums[1], sums[3])]
}

/// The lane's operands of a step, both parts.
///
/// # Safety
/// `weights` is the shared address of a convolution's weights, which are there, and `step` one of its steps.
#[device_inline]
unsafe fn step_weights<F: Format>(weights: u32, step: u32) -> [Vec4; 2] {
    let address = weights + step * STEP_BYTES * F::PARTS + thread::lane() * 16;
    // SAFETY: the stage has that step.
    unsafe {
        let first = Shared::from_address(address, 1).get_unchecked(0);
        let second = if F::PARTS == 2 { Shared::from_address(address + STEP_BYTES, 1).get_unchecked(0) } else { first };
        [first, second]
    }
}

/// The lane's operands of all its steps: an eighth of the channels, nine taps, twice as many where steps or parts are twice as many. Zeros if there are no such.
///
/// # Safety
/// If they are wanted, `weights` is the shared address of the weights of a convolution of [`WIDTH`] channels, which are there.
#[device_inline]
unsafe fn torso_weights<F: Format>(weights: u32, warp_index: u32, wanted: bool) -> [Vec4; 18] {
    let mut ready = [Vec4([0; 4]); 18];
    if wanted {
        let first = warp_index / 2 * (tap_steps::<F>(WIDTH) / EIGHTHS) * 9;
        macro_rules! take {
            ($($tap:literal)*) => {$(
                // SAFETY: a warp's eighth of the steps is the nine taps from `first` on, and where a tap has twice as many steps, the nine behind them: steps of the convolution,
                // all of whose weights are there.
                unsafe {
                    let [w, second] = step_weights::<F>(weights, first + $tap);
                    ready[$tap] = w;
                    if F::PARTS == 2 {
                        ready[$tap + 9] = second;
                    } else if tap_steps::<F>(WIDTH) == 2 * EIGHTHS {
                        ready[$tap + 9] = step_weights::<F>(weights, first + 9 + $tap)[0];
                    }
                }
            )*};
        }
        take!(0 1 2 3 4 5 6 7 8);
    }
    ready
}

/// The warp's part of another convolution: an eighth of the channels.
///
/// # Safety
/// All lanes call it. `from` is a whole array of activations.
#[device_inline]
unsafe fn torso_sums<F: Format>(from: Shared<Vec4>, rank: u32, ready: &[Vec4; 18], warp_index: u32) -> [[f32; 4]; 2] {
    let pairs = tap_steps::<F>(WIDTH) / EIGHTHS;
    let a = rows_of(from, rank, warp_index) + warp_index / 2 * pairs * 2 * chunk_bytes(1);
    let mut sums = [[0.0; 4]; 4];
    let whole = whole_warp();
    macro_rules! taps {
        ($first:literal, $($tap:literal)*) => {$(
            // SAFETY: the row that a lane names, moved by a tap of -1 to 1, is one of the padded board's; the array at `from` is whole.
            unsafe {
                let a = a + $first / 9 * 2 * chunk_bytes(1) + ($tap / 3 * PADDED_WIDTH + $tap % 3) * 16;
                add_step::<F>(&whole, &mut sums, $tap % 2 == 1, a, [ready[$first + $tap], ready[$tap + 9]]);
            }
        )*};
    }
    taps!(0, 0 1 2 3 4 5 6 7 8);
    if pairs == 2 {
        taps!(9, 0 1 2 3 4 5 6 7 8);
    }
    [add(sums[0], sums[2]), add(sums[1], sums[3])]
}

/// [`Format::step`] with operands A from the lane's row at `a`. A tensor core cuts its sums off, so the steps of a split product are added up outside of it, rounded.
///
/// # Safety
/// As [`mma::load_matrix_x4`], for both parts of the activations.
#[device_inline]
unsafe fn add_step<F: Format>(whole: &WholeWarp, sums: &mut [[f32; 4]; 4], odd: bool, a: u32, [w, second]: [Vec4; 2]) {
    // SAFETY: the lane's rows of both parts are in the block's memory, aligned to 16 bytes, as is asked for; the whole warp is here.
    let operand = |part: u32| unsafe { mma::load_matrix_x4(a + part) };
    if F::PARTS == 2 {
        let mut one = [[0.0; 4]; 4];
        F::step(whole, &mut one, odd, [operand(0), operand(part_bytes::<F>())], [w, second]);
        sums[0] = add(sums[0], one[0]);
        sums[1] = add(sums[1], one[1]);
    } else {
        let x = operand(0);
        F::step(whole, sums, odd, [x, x], [w, second]);
    }
}

#[device_inline]
fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

/// Puts a warp's sums where the threads of their squares and channels find them: `[eighth][square][channel]`.
#[device_inline]
fn write_sums(sums: Shared<f32>, c: [[f32; 4]; 2], warp_index: u32) {
    let lane = thread::lane();
    let at = (warp_index / 2 * BLOCK_CELLS + warp_index % 2 * 16 + lane / 4) * SUM_STRIDE + lane % 4 * 2;
    let pair = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
    // SAFETY: the array has that many pairs.
    let pairs = unsafe { Shared::<u64>::from_address(sums.base(), sums.len() / 2) };
    pairs.set(at / 2, pair(c[0][0], c[0][1]));
    pairs.set(at / 2 + 4, pair(c[1][0], c[1][1]));
    pairs.set(at / 2 + 4 * SUM_STRIDE, pair(c[0][2], c[0][3]));
    pairs.set(at / 2 + 4 * SUM_STRIDE + 4, pair(c[1][2], c[1][3]));
}

/// The sum of this thread's square and channel.
#[device_inline]
fn read_sum(sums: Shared<f32>) -> f32 {
    let me = thread::thread_idx_x();
    let at = me / CHANNELS * SUM_STRIDE + me % CHANNELS;
    let eighth = |number: u32| sums.get(number * BLOCK_CELLS * SUM_STRIDE + at);
    ((eighth(0) + eighth(1)) + (eighth(2) + eighth(3))) + ((eighth(4) + eighth(5)) + (eighth(6) + eighth(7)))
}

/// Puts the block's values into its own array, and sends them from there to the others: a warp to each, whose lanes have neighbouring squares.
///
/// # Safety
/// All threads of the block call it. `to` is an array of activations at the same place in all blocks of the cluster, which have ended the mailbox's round before.
#[device_inline]
unsafe fn send<F: Format>(to: Shared<Vec4>, mailbox: Mailbox, rank: u32, warp_index: u32, value: f32) {
    let (me, lane) = (thread::thread_idx_x(), thread::lane());
    let of = |number: u32| warp::shuffle(warp::ALL, value, (lane & !7) + number);
    let packed = F::pack([of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]);
    let first = rank / HALVES * CHANNELS;
    // Words of 8 channels: chunks of the first part, then of the second.
    let index = |channel: u32, second: u32, square: u32| {
        let chunk = (first + channel) / F::CHANNELS;
        let chunk = if F::PARTS == 2 { chunk + second * (WIDTH / F::CHANNELS) } else { chunk + second };
        chunk * (chunk_bytes(1) / 16) + padded_index(rank % HALVES * BLOCK_CELLS + square)
    };
    let both = F::PARTS == 2 || F::CHANNELS < 8;
    if me % 8 == 0 {
        let (channel, square) = (me % CHANNELS, me / CHANNELS);
        to.set(index(channel, 0, square), Vec4(packed[0]));
        if both {
            to.set(index(channel, 1, square), Vec4(packed[1]));
        }
    }
    sync_threads();
    if warp_index != rank {
        let mut channel = 0;
        while channel < CHANNELS {
            // SAFETY: the vector is one of the array's chunks and the rank one of the cluster's; every block has ended the mailbox's round before, as the caller says.
            unsafe {
                let at = index(channel, 0, lane);
                mailbox.send_vec4(to, warp_index, at, to.get_unchecked(at));
                if both {
                    let at = index(channel, 1, lane);
                    mailbox.send_vec4(to, warp_index, at, to.get_unchecked(at));
                }
            }
            channel += 8;
        }
    }
}

macro_rules! singles {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $shape:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// The whole network for one position, or a few, in one launch. The name says the format.
            ///
            /// * Launch: the shape function of its name: a cluster of 16 blocks a position, 512 threads a block.
            /// * Reads: `observations`, `weights`, `biases`, `factors`, the weights of the heads, `masks`.
            /// * Writes: `values`, `logits`, `policies`.
            /// * Shared: dynamic: two arrays of activations, one to four convolutions' weights, sums of the eighths; 218,624 bytes in the formats of 16
            ///   bits, 191,488 in the others.
            /// * Cost: a sixteenth of the network: of 2 × 9 × 128 × 128 × 64 operations a convolution, by tensor cores; three times as many in fp32.
            /// * Twin: `warpplay_cpu_ref::azero::forward::Network::forward`.
            /// * Source: OpenSpiel's residual network (Paul and Xu, section II.C); the partition is ours.
            ///
            /// # Safety
            /// The task's arrays have the lengths it says, inputs and outputs are different.
            #[kernel(shape = |clusters: u32| shape::<$format>(task.n, clusters), max_threads = 512, min_blocks = 1)]
            pub unsafe fn $name(task: SingleTask) {
                // SAFETY: launched with the shape of this format, which the shape function of the kernel's name is; the launch has checked the task's lengths and limits.
                unsafe { single::<$format>(task) }
            }

            /// Launch shape of the kernel of that name for `n` positions, of which the device works on `clusters` at a time.
            pub fn $shape(n: u32, clusters: u32) -> LaunchShape {
                shape::<$format>(n, clusters)
            }
        )*

        /// Descriptions of the kernels.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn kernels() -> Vec<KernelInfo> {
            vec![$(info::<$name>()),*]
        }
    };
}

singles! {
    /// Half precision.
    azero_fused_single_fp16, Fp16, shape_fp16;
    /// bfloat16.
    azero_fused_single_bf16, Bf16, shape_bf16;
    /// TF32.
    azero_fused_single_tf32, Tf32, shape_tf32;
    /// Single precision.
    azero_fused_single_fp32, Split, shape_fp32;
}
