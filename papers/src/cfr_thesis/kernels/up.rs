//! Second phase: utilities and regrets, a level at a time from the last to the root.
//!
//! One thread, one sequence.

use super::kept::{Row, Utilities, column};
use super::sequence::{ACTIONS, Phase, Sequence, child};
use warpplay_gpu::cfr::beats;
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::cuda::{memory, thread};

/// Utility of `seat` after an action.
///
/// # Safety
/// As `up`; `code` names a sequence or an end of the game, and the seat exists.
#[inline(always)]
#[track_caller]
unsafe fn after<T: Real>(phase: &Phase<T>, code: u32, seat: u32) -> T {
    // SAFETY: the caller's promise.
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

/// Adds what an action brings to every seat's utility; returns the acting seat's value of it, 0 where the action is not allowed.
///
/// # Safety
/// As `up`; `number` is this thread's sequence.
#[inline(always)]
#[track_caller]
unsafe fn add_up<T: Real>(phase: &Phase<T>, sequence: &Sequence, number: u32, sums: Utilities<T>, action: usize) -> T {
    let code = sequence.children[action];
    let mut own = T::ZERO;
    if code == child::NONE {
        return own;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let probability = memory::load(phase.strategies, number as usize * ACTIONS + action);
        let mut seat = 0;
        while seat < phase.n_players {
            let value = after(phase, code, seat);
            if seat == sequence.seat {
                own = value;
            }
            let sum = sums.get(phase, seat, number);
            sums.set(phase, seat, number, sum + probability * value);
            seat += 1;
        }
    }
    own
}

/// A thread's part of the phase.
///
/// # Safety
/// Launched with [`shape`](super::shape) after the phase of the level behind (of the last one: after the first phase); everything that `phase` points to is valid
/// for the game.
#[inline(always)]
pub(super) unsafe fn up<T: Real, const HOME: u32>(phase: Phase<T>) {
    let Some(index) = thread::index_1d_below(phase.n) else { return };
    let column = column::<T, HOME>(&phase);
    // SAFETY: the contract; each sequence is one thread's. A row and the utilities are ACTIONS + n_players values, which a column has.
    unsafe {
        let number = phase.sequence_at(index);
        let sequence = phase.sequence(number);
        let sums = Utilities::open(&phase, column, number);
        // Not a loop: with indices that the compiler knows, the values stay in registers.
        let values = [
            add_up(&phase, &sequence, number, sums, 0),
            add_up(&phase, &sequence, number, sums, 1),
            add_up(&phase, &sequence, number, sums, 2),
        ];
        // Counterfactual reach: that of all the others.
        let mut others = T::ONE;
        let mut seat = 0;
        while seat < phase.n_players {
            if seat != sequence.seat {
                others *= memory::load(phase.reaches, phase.offset(seat, number));
            }
            seat += 1;
        }
        let mean = sums.get(&phase, sequence.seat, number);
        let row = phase.row(number, phase.bucket(sequence.seat));
        let mut regrets = Row::<T, HOME>::open(column, phase.regrets.add(row), 0);
        let mut action = 0;
        while action < ACTIONS {
            if sequence.children[action] != child::NONE {
                regrets.set(action, regrets.get(action) + others * (values[action] - mean));
            }
            action += 1;
        }
        regrets.close();
        sums.close(&phase, number);
        // The root has the number 0 in every numbering. It is the last of an iteration, and one thread's.
        if number == 0 {
            seat = 0;
            while seat < phase.n_players {
                let sum = memory::load(phase.sums, seat as usize);
                memory::store(phase.sums, seat as usize, sum + sums.get(&phase, seat, number).to_f64());
                seat += 1;
            }
            memory::store(phase.next, 0, memory::load(phase.next, 0) + 1);
        }
    }
}
