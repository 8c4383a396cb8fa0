//! First phase: strategies and reaches, a level at a time from the root on.
//!
//! One thread, one sequence (or, with fewer threads than sequences, every so many).
//! Launch  [`shape`](super::shape), once a level.
//! Reads   `regrets` of the acting seat's bucket, `reaches` of the level.
//! Writes  `strategies` and `averages` of the level, `reaches` of the next.
//! Twin    `warpplay_cpu_ref::cfr::sampled`.   Source: Reis 2015.

use super::BLOCK;
use super::sequence::{ACTIONS, Phase, child, matched, way};
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::cuda::shared::{self, Shared};
use warpplay_gpu::cuda::{kernel, memory, thread};

/// Reach of a sequence by a seat: from shared memory where it was put there, else from global memory.
#[inline(always)]
#[track_caller]
unsafe fn reach<T: Real>(phase: &Phase<T>, staged: Option<Shared<T>>, seat: u32, sequence: u32) -> T {
    match staged {
        Some(staged) => staged.get(seat * thread::block_dim_x() + thread::thread_idx_x()),
        // SAFETY: the caller's promise: seat and sequence exist.
        None => unsafe { memory::load(phase.reaches, phase.offset(seat, sequence)) },
    }
}

#[inline(always)]
unsafe fn down<T: Real>(phase: Phase<T>) {
    // A value a seat and thread; neighbours in a row are neighbouring threads, so no two of a warp share a bank. Each thread reads what it wrote itself.
    let staged = phase.is(way::SHARED).then(|| shared::dynamic::<T>(0, phase.n_players * thread::block_dim_x()));
    let mut index = thread::index_1d() as u32;
    let stride = thread::grid_dim_x() * thread::block_dim_x();
    while index < phase.n {
        // SAFETY: the contract; each sequence is one thread's, and has one parent, so its reaches are written once.
        unsafe {
            let number = phase.sequence_at(index);
            let sequence = phase.sequence(number);
            let row = phase.row(number, phase.bucket(sequence.seat));
            let mut regrets = [T::ZERO; ACTIONS];
            let mut action = 0;
            while action < ACTIONS {
                regrets[action] = memory::load(phase.regrets, row + action);
                action += 1;
            }
            if let Some(staged) = staged {
                let mut seat = 0;
                while seat < phase.n_players {
                    let value = memory::load(phase.reaches, phase.offset(seat, number));
                    staged.set(seat * thread::block_dim_x() + thread::thread_idx_x(), value);
                    seat += 1;
                }
            }
            let strategy = matched(regrets, sequence.children);
            let own = reach(&phase, staged, sequence.seat, number);
            action = 0;
            while action < ACTIONS {
                memory::store(phase.strategies, number as usize * ACTIONS + action, strategy[action]);
                if sequence.children[action] != child::NONE {
                    let sum = memory::load(phase.averages, row + action);
                    memory::store(phase.averages, row + action, sum + own * strategy[action]);
                    // Ends need no reach.
                    if sequence.children[action] & child::END == 0 {
                        let mut seat = 0;
                        while seat < phase.n_players {
                            let before = reach(&phase, staged, seat, number);
                            let after = if seat == sequence.seat { before * strategy[action] } else { before };
                            memory::store(phase.reaches, phase.offset(seat, sequence.children[action]), after);
                            seat += 1;
                        }
                    }
                }
                action += 1;
            }
        }
        index += stride;
    }
}

/// The phase at one level in single precision.
///
/// # Safety
/// Launched with `shape` after the phase of the level before; everything that `phase` points to is valid for the game.
#[kernel(max_threads = BLOCK)]
pub unsafe fn cfr_thesis_down_f32(phase: Phase<f32>) {
    // SAFETY: the contract.
    unsafe { down(phase) }
}

/// The phase at one level in double precision.
///
/// # Safety
/// As [`cfr_thesis_down_f32`].
#[kernel(max_threads = BLOCK)]
pub unsafe fn cfr_thesis_down_f64(phase: Phase<f64>) {
    // SAFETY: the contract.
    unsafe { down(phase) }
}
