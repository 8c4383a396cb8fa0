//! What the torso's and the output's kernels have in common: one block an output channel of a position, one input channel a thread, tiles in shared memory,
//! and sums over the channels by atomic additions.
//!
//! Thread (x, y) takes input channel x and column y of the board, or all columns where the block has one layer only. *Banked*, each channel has a bank for
//! itself: its values stand below one another in a column of 32-value rows, which for 128 channels gives the paper's `[256][32]` for the board and, for
//! 9 taps, `[36][32]` for the filters.
//!
//! ```text
//!               column = channel % 32
//! board    row = channel / 32 · 64 + square      [4 · 64][32]
//! filters  row = channel / 32 · taps + tap       [4 · taps][32]
//! ```
//!
//! The 32 lanes of a warp are 32 channels, so their reads always are in 32 banks. *Plain* keeps the order of memory, `[128][64]` and `[128][taps]`: the boards of
//! all lanes begin in the same bank, and every read of a warp takes 32 turns; a filter's stride of 9 is odd, and conflicts nowhere. *Unstaged* operands
//! stay in global memory.
//!
//! Staged *by channels*, a lane copies its own channel, so that writes meet 32 banks, and reads from global memory are 64 values apart. Staged *by values*,
//! neighbouring lanes copy neighbouring values, which are read from global memory together and written to one bank by all lanes of a warp.
//!
//! A thread's sum over the taps of its channel is a part of the output's value; 128 threads have one for each square. They are added up atomically:
//! *global*, each on the output itself, which is cleared before; *shared*, in 64 values (256 bytes) of shared memory that are stored at the end. A warp's 32
//! additions are to one address. In global memory the cache's own units add; in shared memory there is no instruction that adds floats, and the compiler
//! makes a loop of compare-and-exchange, which the 32 lanes leave one by one.
//!
//! More than 128 channels are taken in turns of 128.
//!
//! Paper  Paul and Xu, sections III.B and III.C: threads, both arrays, a column a group, the atomics. How the tiles are filled is not said.

use super::{CELLS, SIDE, Values, WITHOUT_BIAS, neighbour};
use warpplay_gpu::cuda::shared::Shared;
use warpplay_gpu::cuda::sync::sync_threads;
use warpplay_gpu::cuda::{atomic, math, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Input channels that a block holds at a time.
pub const CHANNELS: u32 = 128;
/// Banks of shared memory.
pub(super) const BANKS: u32 = 32;
/// Values of the staged boards.
pub(super) const BOARDS: u32 = CHANNELS * CELLS;

/// A bank a channel.
pub(super) const BANKED: u32 = 0;
/// The order of memory.
pub(super) const PLAIN: u32 = 1;
/// Not in shared memory.
pub(super) const UNSTAGED: u32 = 2;

/// Launch shape for `layers` threads a channel: 1, or 8, a board column each.
pub const fn shape(n: u32, n_outputs: u32, layers: u32) -> LaunchShape {
    let mut shape = LaunchShape::grid_2d(n, n_outputs, CHANNELS);
    shape.block[1] = layers;
    shape
}

/// Operands of one convolution.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub x: *const f32,
    pub weight: *const f32,
    pub bias: *const f32,
    pub out: *mut f32,
    pub n_inputs: u32,
    pub with_bias: u32,
}

/// The block's arrays in shared memory; an operand without one is unstaged.
#[derive(Clone, Copy)]
pub(super) struct Arrays {
    pub boards: Option<Shared<f32>>,
    pub weights: Option<Shared<f32>>,
    /// Where the sums are, if not in global memory.
    pub sums: Option<Shared<f32>>,
}

/// Offset of value `at` of a channel, of `PER_CHANNEL` each.
#[inline(always)]
pub(super) fn offset<const LAYOUT: u32, const PER_CHANNEL: u32>(channel: u32, at: u32) -> u32 {
    if LAYOUT == BANKED {
        (channel / BANKS * PER_CHANNEL + at) * BANKS + channel % BANKS
    } else {
        channel * PER_CHANNEL + at
    }
}

/// Copies `n_channels` channels of `PER_CHANNEL` values, by all threads of the block; the caller waits for the block.
///
/// # Safety
/// `from` holds them, `to` as many for 128 channels; the block is that of [`shape`].
#[inline(always)]
#[track_caller]
unsafe fn stage<const LAYOUT: u32, const PER_CHANNEL: u32, const BY_VALUES: bool>(
    from: *const f32,
    to: Shared<f32>,
    n_channels: u32,
) {
    let (lane, layer, layers) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::block_dim_y());
    if BY_VALUES {
        let mut value = layer * CHANNELS + lane;
        while value < n_channels * PER_CHANNEL {
            let at = offset::<LAYOUT, PER_CHANNEL>(value / PER_CHANNEL, value % PER_CHANNEL);
            // SAFETY: the value is one of the channels'.
            unsafe { to.set_unchecked(at, memory::load(from, value as usize)) };
            value += layers * CHANNELS;
        }
    } else if lane < n_channels {
        let mut at = layer;
        while at < PER_CHANNEL {
            // SAFETY: the lane is one of the channels.
            unsafe {
                let value = memory::load(from, (lane * PER_CHANNEL + at) as usize);
                to.set_unchecked(offset::<LAYOUT, PER_CHANNEL>(lane, at), value);
            }
            at += layers;
        }
    }
}

/// An operand of `n_channels` channels of `PER_CHANNEL` values, staged where there is an array for it; the caller waits for the block.
///
/// # Safety
/// As [`stage`].
#[inline(always)]
#[track_caller]
unsafe fn operand<const LAYOUT: u32, const PER_CHANNEL: u32, const BY_VALUES: bool>(
    from: *const f32,
    array: Option<Shared<f32>>,
    n_channels: u32,
) -> Values {
    match array {
        Some(to) => {
            // SAFETY: `from` holds the channels, and the array has room for them, as the caller says.
            unsafe { stage::<LAYOUT, PER_CHANNEL, BY_VALUES>(from, to, n_channels) };
            Values::Shared(to)
        }
        None => Values::Global(from),
    }
}

/// Adds the thread's channel to the sums of the squares in its columns: each from `start` on, the sum over the taps.
///
/// # Safety
/// The operands have the channel of the thread's lane; the sums are 64 values, in shared memory or from `out` on.
#[inline(always)]
unsafe fn add_channel<const TAPS: u32, const BOARD: u32, const FILTER: u32>(
    boards: Values,
    weights: Values,
    start: f32,
    sums: Option<Shared<f32>>,
    out: *mut f32,
) {
    let (lane, layers) = (thread::thread_idx_x(), thread::block_dim_y());
    // SAFETY: taps are below TAPS, and the squares that a tap meets below 64, as rows and columns are below 8: values of the lane's channel, and sums of the board.
    unsafe {
        let mut taps = [0.0; 9];
        let mut tap = 0;
        while tap < TAPS {
            taps[tap as usize] = weights.get(offset::<FILTER, TAPS>(lane, tap));
            tap += 1;
        }
        let mut column = thread::thread_idx_y();
        while column < SIDE {
            let mut row = 0;
            while row < SIDE {
                let mut sum = start;
                let mut tap = 0;
                while tap < TAPS {
                    let met = if TAPS == 1 { Some(row * SIDE + column) } else { neighbour(row, column, tap) };
                    if let Some(square) = met {
                        let value = boards.get(offset::<BOARD, CELLS>(lane, square));
                        sum = math::fma(value, taps[tap as usize], sum);
                    }
                    tap += 1;
                }
                let square = row * SIDE + column;
                match sums {
                    Some(sums) => atomic::shared_add_f32(sums, square, sum),
                    None => atomic::add_f32(out.add(square as usize), sum),
                };
                row += 1;
            }
            column += layers;
        }
    }
}

/// The convolution of `TAPS` taps, 9 (3×3) or 1.
///
/// # Safety
/// Launched with [`shape`]. `x` holds `n * n_inputs * 64` values, `weight` `outputs * n_inputs * TAPS`, `bias` `outputs`, `out` `n * outputs * 64`; `out` overlaps
/// none of them, and is 0 where no array for the sums is given; the arrays have 128 · 64, 128 · `TAPS` and 64 values, and there is one for each layout that is not
/// [`UNSTAGED`].
#[inline(always)]
pub(super) unsafe fn convolve<const TAPS: u32, const BOARD: u32, const FILTER: u32, const BY_VALUES: bool>(
    operands: Operands,
    arrays: Arrays,
) {
    let Operands { x, weight, bias, out, n_inputs, with_bias } = operands;
    let (position, output) = (thread::block_idx_x(), thread::block_idx_y());
    let lane = thread::thread_idx_x();
    let thread = thread::thread_idx_y() * CHANNELS + lane;
    // SAFETY: position and output are those of the launch, channel < n_inputs where it is used; offsets are below the arrays' lengths.
    unsafe {
        let x = x.add(position as usize * n_inputs as usize * CELLS as usize);
        let weight = weight.add(output as usize * n_inputs as usize * TAPS as usize);
        let out = out.add((position as usize * thread::grid_dim_y() as usize + output as usize) * CELLS as usize);
        if let Some(sums) = arrays.sums
            && thread < CELLS
        {
            sums.set_unchecked(thread, 0.0);
        }
        let mut first = 0;
        while first < n_inputs {
            let here = if n_inputs - first < CHANNELS { n_inputs - first } else { CHANNELS };
            let (x, weight) = (x.add((first * CELLS) as usize), weight.add((first * TAPS) as usize));
            let boards = operand::<BOARD, CELLS, BY_VALUES>(x, arrays.boards, here);
            let weights = operand::<FILTER, TAPS, BY_VALUES>(weight, arrays.weights, here);
            // Others stage what this thread reads; the sums are cleared by others too.
            sync_threads();
            // Asked anew: a condition that is known before a barrier and after it lets the compiler write the barrier twice, once for each answer.
            let active = math::opaque(lane) < here;
            if active {
                let start = if with_bias != WITHOUT_BIAS && first + lane == 0 {
                    memory::load(bias, output as usize)
                } else {
                    0.0
                };
                add_channel::<TAPS, BOARD, FILTER>(boards, weights, start, arrays.sums, out);
            }
            // All have read: the arrays may be written again, and the sums are complete.
            sync_threads();
            first += CHANNELS;
        }
        if let Some(sums) = arrays.sums
            && thread < CELLS
        {
            memory::store(out, thread as usize, sums.get_unchecked(thread));
        }
    }
}

/// Kernels of [`convolve`]: name, taps, layouts of boards and filters, whether they are staged by values, and the arrays.
macro_rules! tile_kernels {
    ($($(#[$doc:meta])* $name:ident, $taps:expr, $board:expr, $filter:expr, $by_values:literal { $($array:ident: $length:expr),* }
    )*) => {$(
        $(#[$doc])*
        ///
        /// A convolution of channels to channels, an input channel a thread, sums by atomic additions, in the form of its name: where boards, filters and sums are.
        ///
        /// * Launch: [`shape`], a block an output of a position, 128 threads or 128 × 8.
        /// * Reads: `x` `[n, channels, 8, 8]`, `weight` `[outputs, channels]` for each tap, `bias`.
        /// * Writes: `out` `[n, outputs, 8, 8]`, added to atomically but for *shared*: the last bits change from run to run.
        /// * Shared: 128 boards (32,768 bytes) and 128 filters (512 bytes a tap) where they are staged; in *shared* 64 sums.
        /// * Cost: taps × squares of its columns × ⌈channels / 128⌉ products a thread, as many atomic additions as squares.
        /// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, `warpplay_cpu_ref::azero::forward::Network::conv_1x1`.
        /// * Source: Paul and Xu, sections III.B and III.C; the repository's `torso_conv_cuda.cu` and `output_conv_cuda.cu`.
        ///
        /// # Safety
        /// Launched with [`shape`]. `x` holds `n * n_inputs * 64` values, `weight` `outputs * n_inputs` for each tap, `bias` `outputs`, `out` `n * outputs * 64`;
        /// `out` overlaps none of them, and nobody else accesses it meanwhile; `n_inputs >= 1`.
        #[warpplay_gpu::cuda::kernel(max_threads = $crate::checkers_conv::kernels::tiles::CHANNELS * $crate::checkers_conv::kernels::SIDE)]
        pub unsafe fn $name(
            x: *const f32,
            weight: *const f32,
            bias: *const f32,
            out: *mut f32,
            n_inputs: u32,
            with_bias: u32,
        ) {
            use $crate::checkers_conv::kernels::tiles::{Arrays, Operands, convolve};
            let mut arrays = Arrays { boards: None, weights: None, sums: None };
            $(arrays.$array = Some(warpplay_gpu::cuda::shared_array![f32; { $length } as usize]);)*
            // SAFETY: the same contract; the arrays have the lengths, and the layouts say which there are.
            unsafe {
                convolve::<{ $taps }, { $board }, { $filter }, $by_values>(
                    Operands { x, weight, bias, out, n_inputs, with_bias },
                    arrays,
                )
            }
        }
    )*};
}
pub(super) use tile_kernels;
