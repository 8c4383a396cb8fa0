//! A whole two-player game in one block: public tree × hands in shared memory, many iterations in a launch, and as many games at once as there are blocks.
//!
//! A pass of one seat is, with a barrier behind each:
//!
//! 1. reaches of the other seat after each of its actions, as products along paths; the seat's averages; the draw where something is sampled
//! 2. values of terminals, a thread a terminal and hand
//! 3. values of the seat's nodes, its deepest decisions first: one phase for each decision in a row
//! 4. regrets and the next strategy

mod arena;
#[cfg(feature = "cfr-small")]
mod instantiate;
pub mod layout;
mod measure;
pub mod sample;
mod upwards;

#[cfg(all(feature = "cfr-small", not(target_arch = "nvptx64")))]
pub use instantiate::{RealKernels, SmallKernels};
#[cfg(feature = "cfr-small")]
pub use instantiate::{double, single};
pub use measure::measure;

use arena::Arena;
use layout::{BoardRecord, Game, Seat};
use sample::{Drawn, sampling};
use upwards::Choice;

use crate::cfr::regret::{Real, Step};
use crate::cuda::{DeviceArgs, math, memory, sync, thread};
use crate::launch::LaunchShape;

#[cfg(feature = "cfr-small")]
crate::kernel_set! {
    /// The kernel that has one precision.
    measure::cfr_small_measure_f64;
    ..instantiate
}

/// Most threads of a block: more would leave a thread too few registers.
pub const MAX_THREADS: u32 = 512;
/// Threads of a block where many games share a multiprocessor: fewer wait at each barrier.
const THREADS_OF_MANY: u32 = 256;

/// Launch shape for `n_games` games, a block each, of which the largest phase has `largest_phase` items, in blocks with `shared_bytes` bytes.
pub const fn shape(n_games: u32, largest_phase: u32, shared_bytes: u32) -> LaunchShape {
    // Up to a game a multiprocessor of the largest GPUs, latency counts, beyond that throughput.
    let most = if n_games <= 128 { MAX_THREADS } else { THREADS_OF_MANY };
    let wanted = largest_phase.div_ceil(2).next_multiple_of(thread::WARP);
    let threads = if wanted > most { most } else { wanted };
    LaunchShape::new(n_games, threads).with_shared(shared_bytes)
}

/// What the kernels work on: arrays of all games together.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Games.
    n_games: u32,
    /// Offsets behind those of the last game.
    end: Game,
    /// Values of `utilities` for each game: 2 where iterations are done, 4 where something is measured.
    n_utilities: u32
)]
pub struct Task<T> {
    /// The games, one a block.
    #[len(n_games)]
    pub games: *const Game,
    /// Paths and lists.
    #[len(end.chunks_from)]
    pub chunks: *const u64,
    /// The other parts of the plans.
    #[len(end.words_from)]
    pub words: *const u32,
    /// Weights and payoffs.
    #[len(end.reals_from)]
    pub reals: *const T,
    /// Tables: regrets of both seats, averages, last regrets where the algorithm predicts.
    #[len(end.state_from)]
    pub state: *mut T,
    /// Sums of utilities `[game, seat]`, or results.
    #[len(n_games * n_utilities)]
    pub utilities: *mut f64,
    /// Boards, for drawing.
    #[len(end.boards_from)]
    pub boards: *const BoardRecord,
    /// Cards of the hands, for drawing.
    #[len(end.hands_from)]
    pub hands: *const u64,
    /// What each iteration of the launch does; the first is read in any case where iterations are done.
    #[len(n_iterations.max(1))]
    pub steps: *const Step<T>,
    /// Iterations of all launches before.
    pub first_iteration: u64,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Iterations.
    pub n_iterations: u32,
    /// One of [`sampling`].
    pub sampling: u32,
    /// Deals of a draw.
    pub n_deals: u32,
    /// 1 where both seats learn from the same strategies, 0 where they take turns.
    pub simultaneous: u32,
    /// 1 where the other seat plays its best response to the one that learns.
    pub responds: u32,
    /// 1 where the tables hold last regrets.
    pub predicts: u32,
}

const _: () = assert!(size_of::<Task<f32>>() == 112 && size_of::<Task<f64>>() == 112);

/// A seat of the block's game. It is asked for again in every pass: both seats at once would take too many registers.
///
/// # Safety
/// The kernels' contract; `number` is 0 or 1.
#[device_inline]
#[track_caller]
unsafe fn seat_of<T>(task: &Task<T>, number: u32) -> Seat {
    // SAFETY: the block's game is there; the address of its field is not read before the load.
    unsafe {
        let seats = &raw const (*task.games.add(thread::block_idx_x() as usize)).seats;
        memory::load(seats.cast::<Seat>(), number as usize)
    }
}

/// Copies tables between global and shared memory.
///
/// # Safety
/// Called by every thread; `state` holds the game's tables.
#[device_inline]
#[track_caller]
unsafe fn copy_tables<T: Real>(arena: &Arena<T>, game: &Game, task: &Task<T>, stores: bool) {
    let mut global = game.state_from as usize;
    for table in 0..2 * (2 + task.predicts) {
        // SAFETY: as many values as the seat has; each is one thread's.
        unsafe {
            let seat = seat_of(task, table % 2);
            let first = if table < 2 {
                seat.regrets
            } else if table < 4 {
                seat.averages
            } else {
                seat.last
            };
            let n = seat.n_vectors * seat.n_hands;
            for at in thread::strided(thread::thread_idx_x(), n, thread::block_dim_x()) {
                if stores {
                    memory::store(task.state, global + at as usize, arena.reals.get(first + at));
                } else {
                    arena.reals.set(first + at, memory::load(task.state, global + at as usize));
                }
            }
            global += n as usize;
        }
    }
}

/// The phases from reaches to the values of the highest nodes, for `seat` against `other`; `weight` of the averages, if there are any.
///
/// # Safety
/// Called by every thread, behind a barrier; the task has the boards and hands of all games.
#[device_inline]
#[track_caller]
unsafe fn pass<T: Real>(
    arena: &Arena<T>,
    game: &Game,
    task: &Task<T>,
    [seat, other]: [&Seat; 2],
    weight: Option<T>,
    drawn: &Drawn,
    choice: Choice,
) {
    arena.reaches(game, other);
    if let Some(weight) = weight {
        arena.add_averages(seat, weight);
    }
    if drawn.sampling != sampling::NONE {
        // SAFETY: every thread is here, behind a barrier; the task has the boards and hands of all games.
        unsafe { arena.draw(game, drawn, task.boards, task.hands) };
    }
    // Reaches and deals are there.
    sync::sync_threads();
    arena.terminals(game, seat, other, drawn);
    // The terminals' values are there.
    sync::sync_threads();
    for level in 0..seat.n_levels {
        arena.combine(game, seat, level, choice);
        // The level above adds these values up.
        sync::sync_threads();
    }
}

/// A seat's part of iteration `iteration` of the launch.
///
/// # Safety
/// Called by every thread, behind a barrier after the last change of tables and strategies.
#[device_inline]
#[track_caller]
unsafe fn learn<T: Real>(arena: &Arena<T>, game: &Game, task: &Task<T>, number: u32, iteration: u32, step: &Step<T>) {
    // SAFETY: the game has two seats, and is in the arena; phases have their barriers.
    unsafe {
        let (seat, other) = (seat_of(task, number), seat_of(task, 1 - number));
        let iteration = task.first_iteration + iteration as u64;
        let (sampling, n_deals) = (task.sampling, task.n_deals);
        let drawn = Drawn { sampling, n_deals, seat: number, key: sample::key(task.seed, iteration, number) };
        if math::opaque(task.responds) != 0 {
            // The best response is to all deals, whatever is drawn for learning.
            pass(arena, game, task, [&other, &seat], None, &Drawn::NOTHING, Choice::Respond);
        }
        pass(arena, game, task, [&seat, &other], Some(step.weight), &drawn, Choice::Strategy);
        arena.add_regrets(game, &seat, step, math::opaque(task.simultaneous) == 0);
        let thread = thread::thread_idx_x();
        if thread < thread::WARP {
            let value = arena.root(&seat);
            if thread == 0 {
                arena.utilities.set(number, arena.utilities.get(number) + value);
            }
        }
        if math::opaque(task.responds) != 0 {
            arena.strategies(&other, step, false, true);
        }
    }
}

/// All of a launch that solves.
///
/// # Safety
/// As a kernel: launched with [`shape`] for the games and their shared memory; all arrays hold what the games and the plan say, and `steps` one for each
/// iteration, at least one.
#[device_inline]
#[track_caller]
pub unsafe fn solve<T: Real>(task: Task<T>) {
    // SAFETY: a game a block, which lies in the arrays and, copied, in the arena; a step for each iteration; phases have their barriers.
    unsafe {
        let game = memory::load(task.games, thread::block_idx_x() as usize);
        let arena = Arena::<T>::new(&game, task.n_deals);
        arena.load_plan(&game, [seat_of(&task, 0), seat_of(&task, 1)], task.chunks, task.words, task.reals);
        copy_tables(&arena, &game, &task, false);
        let utilities = 2 * thread::block_idx_x() as usize;
        let thread = thread::thread_idx_x();
        if thread < 2 {
            arena.utilities.set(thread, memory::load(task.utilities, utilities + thread as usize));
        }
        // The tables are there.
        sync::sync_threads();
        let mut step = memory::load(task.steps, 0);
        arena.strategies(&seat_of(&task, 0), &step, false, false);
        arena.strategies(&seat_of(&task, 1), &step, false, false);
        // The strategies are there.
        sync::sync_threads();
        let mut iteration = 0;
        while iteration < task.n_iterations {
            // Asked for now, needed in the next turn.
            let ahead = if iteration + 1 < task.n_iterations { iteration + 1 } else { iteration };
            let next = memory::load(task.steps, ahead as usize);
            for number in 0..2 {
                learn(&arena, &game, &task, number, iteration, &step);
                // The seat's tables are done.
                sync::sync_threads();
            }
            if math::opaque(task.simultaneous) != 0 {
                arena.strategies(&seat_of(&task, 0), &step, false, true);
                arena.strategies(&seat_of(&task, 1), &step, false, true);
                // The strategies are renewed.
                sync::sync_threads();
            }
            step = next;
            iteration += 1;
        }
        copy_tables(&arena, &game, &task, true);
        if thread < 2 {
            memory::store(task.utilities, utilities + thread as usize, arena.utilities.get(thread));
        }
    }
}
