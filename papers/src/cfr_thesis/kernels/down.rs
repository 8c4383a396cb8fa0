//! First phase: strategies, averages and reaches, a level at a time from the root on.
//!
//! One thread, one sequence.

use super::kept::{Row, column};
use super::sequence::{ACTIONS, Phase, Sequence, child, matched};
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::cuda::{memory, thread};

/// An action of a sequence: its probability, its share of the average strategy, and the reaches of what it leads to. `own` is the acting seat's reach.
///
/// # Safety
/// As `down`; `number` is this thread's sequence.
#[inline(always)]
#[track_caller]
unsafe fn act<T: Real, const HOME: u32>(
    phase: &Phase<T>,
    sequence: &Sequence,
    number: u32,
    own: T,
    averages: &mut Row<T, HOME>,
    strategy: &[T; ACTIONS],
    action: usize,
) {
    let (probability, code) = (strategy[action], sequence.children[action]);
    // SAFETY: the caller's promise.
    unsafe {
        memory::store(phase.strategies, number as usize * ACTIONS + action, probability);
        if code == child::NONE {
            return;
        }
        averages.set(action, averages.get(action) + own * probability);
        // Ends need no reach.
        if code & child::END == 0 {
            let mut seat = 0;
            while seat < phase.n_players {
                let before = memory::load(phase.reaches, phase.offset(seat, number));
                let after = if seat == sequence.seat { before * probability } else { before };
                memory::store(phase.reaches, phase.offset(seat, code), after);
                seat += 1;
            }
        }
    }
}

/// A thread's part of the phase.
///
/// # Safety
/// Launched with [`shape`](super::shape) after the phase of the level before; everything that `phase` points to is valid for the game.
#[inline(always)]
pub(super) unsafe fn down<T: Real, const HOME: u32>(phase: Phase<T>) {
    let Some(index) = thread::index_1d_below(phase.n) else { return };
    let column = column::<T, HOME>(&phase);
    // SAFETY: the contract; each sequence is one thread's, and has one parent, so its reaches are written once. Two rows are 2 · ACTIONS values, which a column has.
    unsafe {
        let number = phase.sequence_at(index);
        let sequence = phase.sequence(number);
        let row = phase.row(number, phase.bucket(sequence.seat));
        let regrets = Row::<T, HOME>::open(column, phase.regrets.add(row), 0);
        let mut averages = Row::<T, HOME>::open(column, phase.averages.add(row), ACTIONS as u32);
        let strategy = matched([regrets.get(0), regrets.get(1), regrets.get(2)], sequence.children);
        let own = memory::load(phase.reaches, phase.offset(sequence.seat, number));
        // Not a loop: with indices that the compiler knows, rows and strategy stay in registers.
        act(&phase, &sequence, number, own, &mut averages, &strategy, 0);
        act(&phase, &sequence, number, own, &mut averages, &strategy, 1);
        act(&phase, &sequence, number, own, &mut averages, &strategy, 2);
        averages.close();
    }
}
