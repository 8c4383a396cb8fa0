//! Second phase: utilities and regrets, a level at a time from the last to the root.
//!
//! One thread, one sequence (or, with fewer threads than sequences, every so many).
//! Launch  [`shape`](super::shape), once a level.
//! Reads   `strategies` and `reaches` of the level, `utilities` of the next, the ends.
//! Writes  `regrets` and `utilities` of the level; at the root the utilities' sums, and the count of deals.
//! Twin    `warpplay_cpu_ref::cfr::sampled`.   Source: Reis 2015.

use super::BLOCK;
use super::sequence::{ACTIONS, Phase, child, way};
use warpplay_gpu::cfr::beats;
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::cuda::shared::{self, Shared};
use warpplay_gpu::cuda::{kernel, memory, thread};

/// Utility of `seat` after an action.
#[inline(always)]
#[track_caller]
unsafe fn after<T: Real>(phase: &Phase<T>, code: u32, seat: u32) -> T {
    // SAFETY: the caller's promise: the code names a sequence or an end, and the seat exists.
    unsafe {
        if code & child::END == 0 {
            return memory::load(phase.utilities, phase.offset(seat, code));
        }
        let end = (code & !child::END) as usize;
        let stake = memory::load(phase.stakes, seat as usize * phase.n_ends as usize + end);
        let here = memory::load(phase.ends, end);
        let winners = if here.eligible >> seat & 1 == 0 { 0 } else { beats::winners(phase.beats(seat), here.eligible) };
        if winners == 0 { -stake } else { T::from_f64(here.pot as f64) / T::from_u32(winners) - stake }
    }
}

/// Where a thread adds up the utilities of its sequence.
#[derive(Clone, Copy)]
enum Sums<T> {
    Shared(Shared<T>),
    Global,
}

impl<T: Real> Sums<T> {
    #[inline(always)]
    #[track_caller]
    unsafe fn get(self, phase: &Phase<T>, seat: u32, sequence: u32) -> T {
        match self {
            Self::Shared(sums) => sums.get(seat * thread::block_dim_x() + thread::thread_idx_x()),
            // SAFETY: the caller's promise: seat and sequence exist.
            Self::Global => unsafe { memory::load(phase.utilities, phase.offset(seat, sequence)) },
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn set(self, phase: &Phase<T>, seat: u32, sequence: u32, value: T) {
        match self {
            Self::Shared(sums) => sums.set(seat * thread::block_dim_x() + thread::thread_idx_x(), value),
            // SAFETY: the caller's promise: seat and sequence exist, and the sequence is this thread's.
            Self::Global => unsafe { memory::store(phase.utilities, phase.offset(seat, sequence), value) },
        }
    }
}

#[inline(always)]
unsafe fn up<T: Real>(phase: Phase<T>) {
    // As in the first phase: a value a seat and thread, each thread's own.
    let sums = if phase.is(way::SHARED) {
        Sums::Shared(shared::dynamic::<T>(0, phase.n_players * thread::block_dim_x()))
    } else {
        Sums::Global
    };
    let mut index = thread::index_1d() as u32;
    let stride = thread::grid_dim_x() * thread::block_dim_x();
    while index < phase.n {
        // SAFETY: the contract; each sequence is one thread's.
        unsafe {
            let number = phase.sequence_at(index);
            let sequence = phase.sequence(number);
            let mut seat = 0;
            while seat < phase.n_players {
                sums.set(&phase, seat, number, T::ZERO);
                seat += 1;
            }
            let mut values = [T::ZERO; ACTIONS];
            let mut action = 0;
            while action < ACTIONS {
                let code = sequence.children[action];
                if code != child::NONE {
                    let probability = memory::load(phase.strategies, number as usize * ACTIONS + action);
                    seat = 0;
                    while seat < phase.n_players {
                        let value = after(&phase, code, seat);
                        if seat == sequence.seat {
                            values[action] = value;
                        }
                        let sum = sums.get(&phase, seat, number);
                        sums.set(&phase, seat, number, sum + probability * value);
                        seat += 1;
                    }
                }
                action += 1;
            }
            // Counterfactual reach: that of all the others.
            let mut others = T::ONE;
            seat = 0;
            while seat < phase.n_players {
                if seat != sequence.seat {
                    others *= memory::load(phase.reaches, phase.offset(seat, number));
                }
                seat += 1;
            }
            let mean = sums.get(&phase, sequence.seat, number);
            let row = phase.row(number, phase.bucket(sequence.seat));
            action = 0;
            while action < ACTIONS {
                if sequence.children[action] != child::NONE {
                    let regret = memory::load(phase.regrets, row + action);
                    memory::store(phase.regrets, row + action, regret + others * (values[action] - mean));
                }
                action += 1;
            }
            let is_root = phase.first + index == 0;
            seat = 0;
            while seat < phase.n_players {
                let value = sums.get(&phase, seat, number);
                if phase.is(way::SHARED) {
                    memory::store(phase.utilities, phase.offset(seat, number), value);
                }
                if is_root {
                    let sum = memory::load(phase.sums, seat as usize);
                    memory::store(phase.sums, seat as usize, sum + value.to_f64());
                }
                seat += 1;
            }
            // The root is the last of an iteration, and one thread's.
            if is_root {
                memory::store(phase.next, 0, memory::load(phase.next, 0) + 1);
            }
        }
        index += stride;
    }
}

/// The phase at one level in single precision.
///
/// # Safety
/// Launched with `shape` after the phase of the level behind (of the last one: after the first phase); everything that `phase` points to is valid for the game.
#[kernel(max_threads = BLOCK)]
pub unsafe fn cfr_thesis_up_f32(phase: Phase<f32>) {
    // SAFETY: the contract.
    unsafe { up(phase) }
}

/// The phase at one level in double precision.
///
/// # Safety
/// As [`cfr_thesis_up_f32`].
#[kernel(max_threads = BLOCK)]
pub unsafe fn cfr_thesis_up_f64(phase: Phase<f64>) {
    // SAFETY: the contract.
    unsafe { up(phase) }
}
