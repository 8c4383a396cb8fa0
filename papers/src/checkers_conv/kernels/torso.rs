//! Torso convolution: channels to channels, 3×3, one block an output channel of a position, one input channel a thread.
//!
//! Thread (x, y) takes input channel x and board row y, or all rows where the block has one layer only. Both operands are staged in shared memory.
//! *Banked*, each channel has a bank for itself: its values stand below one another in a column of 32-value rows, which for 128 channels gives the paper's
//! `[256][32]` for the board and `[36][32]` for the weights.
//!
//! ```text
//!               column = channel % 32
//! board    row = channel / 32 · 64 + square      [4 · 64][32]
//! weights  row = channel / 32 · 9 + tap          [4 · 9][32]
//! ```
//!
//! The 32 lanes of a warp are 32 channels, so they always are in 32 banks. *Plain* keeps the order of memory, `[128][64]` and `[128][9]`: the boards of all
//! lanes begin in the same bank, and every read of a warp takes 32 turns; the weights' stride of 9 is odd, and conflicts nowhere.
//!
//! A thread's sum over the nine taps of its channel is a part of the output's value; 128 threads have one for each square. They are added up atomically:
//! *global*, each on the output itself, which is cleared before; *shared*, in 64 values of shared memory that are stored at the end. A warp's 32 additions
//! are to one address. In global memory the cache's own units add; in shared memory there is no instruction that adds floats, and the compiler makes a loop
//! of compare-and-exchange, which the 32 lanes leave one by one. That is why the second form, with less traffic, is the slower one.
//!
//! More than 128 channels are taken in turns of 128. The published description gives the numbers of threads, both arrays, and the atomics; which thread
//! does what with them is our reading, in which the numbers come out.
//!
//! Launch  grid [positions, outputs], block [128, 1] or [128, 8].
//! Reads   `x` `[n, channels, 8, 8]`, `weight` `[outputs, channels, 3, 3]`, `bias` `[outputs]`, all f32.
//! Writes  `out` `[n, outputs, 8, 8]` f32; *global* adds to it. The order of additions is not fixed, so neither are the last bits.
//! Twin    `warpplay_cpu_ref::azero`.   Paper  Paul and Xu, torso kernel.

use super::{CELLS, SIDE, TAPS, WITHOUT_BIAS, neighbour};
use warpplay_gpu::cuda::shared::Shared;
use warpplay_gpu::cuda::sync::sync_threads;
use warpplay_gpu::cuda::{atomic, kernel, math, memory, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Input channels that a block holds at a time.
pub const CHANNELS: u32 = 128;
/// Banks of shared memory.
const BANKS: u32 = 32;
/// Values of the staged boards.
const BOARDS: u32 = CHANNELS * CELLS;
/// Values of the staged weights.
const WEIGHTS: u32 = CHANNELS * TAPS;

/// Launch shape for `layers` threads a channel: 1, or 8, a board row each.
pub const fn shape(n: u32, n_outputs: u32, layers: u32) -> LaunchShape {
    let mut shape = LaunchShape::grid_2d(n, n_outputs, CHANNELS);
    shape.block[1] = layers;
    shape
}

/// Operands of one convolution.
#[derive(Clone, Copy)]
struct Operands {
    x: *const f32,
    weight: *const f32,
    bias: *const f32,
    out: *mut f32,
    n_inputs: u32,
    with_bias: u32,
}

/// Place of value `at` of a channel, of `PER_CHANNEL` each.
#[inline(always)]
fn offset<const BANKED: bool, const PER_CHANNEL: u32>(channel: u32, at: u32) -> u32 {
    if BANKED { (channel / BANKS * PER_CHANNEL + at) * BANKS + channel % BANKS } else { channel * PER_CHANNEL + at }
}

/// The convolution; `sums` is there where they are added up in shared memory.
///
/// # Safety
/// As [`azero_paper_torso_global_banked`]; the arrays have [`BOARDS`], [`WEIGHTS`] and [`CELLS`] values.
#[inline(always)]
unsafe fn convolve<const BANKED: bool>(
    operands: Operands,
    boards: Shared<f32>,
    weights: Shared<f32>,
    sums: Option<Shared<f32>>,
) {
    let Operands { x, weight, bias, out, n_inputs, with_bias } = operands;
    let (position, output) = (thread::block_idx_x(), thread::block_idx_y());
    let (lane, layer, layers) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::block_dim_y());
    let thread = layer * CHANNELS + lane;
    // SAFETY: position and output are those of the launch, channel < n_inputs where it is used; offsets are below the arrays' lengths.
    unsafe {
        let x = x.add(position as usize * n_inputs as usize * CELLS as usize);
        let weight = weight.add(output as usize * n_inputs as usize * TAPS as usize);
        let out = out.add((position as usize * thread::grid_dim_y() as usize + output as usize) * CELLS as usize);
        if let Some(sums) = sums
            && thread < CELLS
        {
            sums.set_unchecked(thread, 0.0);
        }
        let mut first = 0;
        while first < n_inputs {
            let channel = (first + lane) as usize;
            let active = first + lane < n_inputs;
            if active {
                let mut square = layer * SIDE;
                while square < CELLS {
                    let mut column = 0;
                    while column < SIDE {
                        let value = memory::load(x, channel * CELLS as usize + (square + column) as usize);
                        boards.set_unchecked(offset::<BANKED, CELLS>(lane, square + column), value);
                        column += 1;
                    }
                    square += layers * SIDE;
                }
                let mut tap = layer;
                while tap < TAPS {
                    let value = memory::load(weight, channel * TAPS as usize + tap as usize);
                    weights.set_unchecked(offset::<BANKED, TAPS>(lane, tap), value);
                    tap += layers;
                }
            }
            // The rows above and below are staged by other threads; the sums are cleared by others too.
            sync_threads();
            // Asked anew: a condition that is known before a barrier and after it lets the compiler write the barrier twice, once for each answer.
            let active = math::opaque(first + lane) < n_inputs;
            if active {
                let start =
                    if with_bias != WITHOUT_BIAS && channel == 0 { memory::load(bias, output as usize) } else { 0.0 };
                let mut taps = [0.0; TAPS as usize];
                let mut tap = 0;
                while tap < TAPS {
                    taps[tap as usize] = weights.get_unchecked(offset::<BANKED, TAPS>(lane, tap));
                    tap += 1;
                }
                let mut row = layer;
                while row < SIDE {
                    let mut column = 0;
                    while column < SIDE {
                        let mut sum = start;
                        let mut tap = 0;
                        while tap < TAPS {
                            if let Some(square) = neighbour(row, column, tap) {
                                let value = boards.get_unchecked(offset::<BANKED, CELLS>(lane, square));
                                sum = math::fma(value, taps[tap as usize], sum);
                            }
                            tap += 1;
                        }
                        let square = row * SIDE + column;
                        match sums {
                            Some(sums) => atomic::shared_add_f32(sums, square, sum),
                            None => atomic::add_f32(out.add(square as usize), sum),
                        };
                        column += 1;
                    }
                    row += layers;
                }
            }
            // All have read: the arrays may be written again, and the sums are complete.
            sync_threads();
            first += CHANNELS;
        }
        if let Some(sums) = sums
            && thread < CELLS
        {
            memory::store(out, thread as usize, sums.get_unchecked(thread));
        }
    }
}

macro_rules! instances {
    ($($(#[$doc:meta])* $name:ident, $banked:literal $(, sums $sums:ident)?;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Launched with [`shape`]. `x` holds `n * n_inputs * 64` values, `weight` `outputs * n_inputs * 9`, `bias` `outputs`, `out` `n * outputs * 64`;
        /// `out` overlaps none of them, and nobody else accesses it meanwhile; `n_inputs >= 1`.
        #[kernel(max_threads = CHANNELS * SIDE)]
        pub unsafe fn $name(
            x: *const f32,
            weight: *const f32,
            bias: *const f32,
            out: *mut f32,
            n_inputs: u32,
            with_bias: u32,
        ) {
            let boards = shared_array![f32; BOARDS as usize];
            let weights = shared_array![f32; WEIGHTS as usize];
            #[allow(unused_variables, reason = "the other form has sums")]
            let none: Option<Shared<f32>> = None;
            $(let none = Some(shared_array![f32; $sums as usize]);)?
            // SAFETY: the same contract; the arrays have the lengths.
            unsafe { convolve::<$banked>(Operands { x, weight, bias, out, n_inputs, with_bias }, boards, weights, none) }
        }
    )*};
}

instances! {
    /// Torso convolution, a bank a channel, added up in global memory: `out` must be 0 before.
    azero_paper_torso_global_banked, true;
    /// Torso convolution, the order of memory kept, added up in global memory: `out` must be 0 before.
    azero_paper_torso_global_plain, false;
    /// Torso convolution, a bank a channel, added up in shared memory.
    azero_paper_torso_shared_banked, true, sums CELLS;
    /// Torso convolution, the order of memory kept, added up in shared memory.
    azero_paper_torso_shared_plain, false, sums CELLS;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn the_sources_arrays_hold_every_value_once() {
        assert_eq!((BOARDS, WEIGHTS), (256 * 32, 36 * 32));
        let mut boards = vec![false; BOARDS as usize];
        for channel in 0..CHANNELS {
            for square in 0..CELLS {
                let offset = offset::<true, CELLS>(channel, square);
                assert_eq!(offset % BANKS, channel % BANKS);
                assert!(!std::mem::replace(&mut boards[offset as usize], true));
            }
        }
    }
}
