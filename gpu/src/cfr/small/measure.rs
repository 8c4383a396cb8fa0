//! Values and best responses.

#[cfg(feature = "cfr-small")]
use super::MAX_THREADS;
use super::arena::Arena;
use super::sample::Drawn;
use super::upwards::Choice;
use super::{Task, copy_tables, pass, seat_of};
use crate::cfr::regret::{Real, Step};
#[cfg(feature = "cfr-small")]
use crate::cuda::kernel;
use crate::cuda::{memory, sync, thread};

/// Values and best responses against the averages, in chips: `utilities` gets `[game, seat, value or best response]`. In double precision whatever was solved
/// in: a best response's gain is a small difference.
///
/// * Launch: [`shape`](super::shape), a block a game, up to 512 threads.
/// * Reads: `games`, `chunks`, `words`, `reals`, `state`.
/// * Writes: `utilities`.
/// * Shared: dynamic: a whole game: values, reaches, both seats' tables, and the plan.
/// * Cost: four passes: for each seat its value and its best response.
/// * Twin: `warpplay_cpu_ref::cfr::vector::solver::Solver::values`, `warpplay_cpu_ref::cfr::vector::solver::Solver::best_responses`.
/// * Source: Johanson et al. 2011; a game in a block is ours.
///
/// # Safety
/// As the kernels that solve; `utilities` has twice as many values.
#[cfg(feature = "cfr-small")]
#[kernel(
    shape = |n_games: u32, largest_phase: u32, shared_bytes: u32| super::shape(n_games, largest_phase, shared_bytes),
    max_threads = MAX_THREADS,
    min_blocks = 1
)]
pub unsafe fn cfr_small_measure_f64(task: Task<f64>) {
    // SAFETY: launched for games that lie in the arrays, with results four values a game: what `measure` asks.
    unsafe { measure(task) }
}

/// All of a launch that measures: for each seat its value and that of its best response, against averages.
///
/// # Safety
/// As [`solve`](super::solve)'s; `utilities` has twice as many values.
#[device_inline]
#[track_caller]
pub unsafe fn measure<T: Real>(task: Task<T>) {
    // SAFETY: a game a block, which lies in the arrays and, copied, in the arena; phases have their barriers.
    unsafe {
        let game = memory::load(task.games, thread::block_idx_x() as usize);
        let arena = Arena::<T>::new(&game, task.n_deals);
        arena.load_plan(&game, [seat_of(&task, 0), seat_of(&task, 1)], task.chunks, task.words, task.reals);
        copy_tables(&arena, &game, &task, false);
        // The tables are there.
        sync::sync_threads();
        let step = Step::<T>::default();
        arena.strategies(&seat_of(&task, 0), &step, true, false);
        arena.strategies(&seat_of(&task, 1), &step, true, false);
        // The strategies are there.
        sync::sync_threads();
        for turn in 0..4 {
            let (seat, other) = (seat_of(&task, turn / 2), seat_of(&task, 1 - turn / 2));
            let choice = if turn % 2 == 0 { Choice::Strategy } else { Choice::Best };
            pass(&arena, &game, &task, [&seat, &other], None, &Drawn::NOTHING, choice);
            if thread::thread_idx_x() < thread::WARP {
                let value = arena.root(&seat);
                if thread::thread_idx_x() == 0 {
                    memory::store(task.utilities, (4 * thread::block_idx_x() + turn) as usize, value);
                }
            }
            // The values have been read.
            sync::sync_threads();
        }
    }
}
