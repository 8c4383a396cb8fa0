//! The kernels: a block has one betting subtree on one board, with all hands or, where several blocks share it, some of them.

use super::averaging::Averaging;
use super::block::BlockView;
use super::layout::{MAX_PASSES, Pass, Task, control, mode, source};
use super::numbers::Numbers;
use super::{down, eval, up};
use crate::cfr::regret::Step;
use crate::cuda::{math, memory, sync};

/// Which streets a launch works on, and with how much shared memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Where {
    /// First of the streets of this number.
    pub street: u32,
    /// Games of the batch, each with a street of this number.
    pub n_games: u32,
    /// Values of the block's shared memory.
    pub n_shared: u32,
    /// Iterations, of `street_solve`.
    pub n_iterations: u32,
    /// Blocks that share the hands of a board and entry, of the passes down and up of a street that is not the last.
    pub n_parts: u32,
}

const _: () = assert!(size_of::<Where>() == 20);

/// The step of the current iteration, or with `ahead` = 1 that of the next one. Read here and not through the view, which would make the compiler keep more of the task in local memory.
///
/// # Safety
/// As [`BlockView::find`]; the host has made a step for each iteration that it launches, and one more after the last.
#[device_inline]
#[track_caller]
unsafe fn step(task: &Task, ahead: u32) -> Step<f32> {
    // SAFETY: there is a step for the number of the iteration, and one more after it.
    unsafe {
        let iteration = memory::load(task.control, control::STEP) + ahead;
        memory::load(task.steps, iteration as usize)
    }
}

/// Averages and the way down on a street that is not the last.
///
/// # Safety
/// Launched with [`shape`](super::shape) of `at.n_parts` after the street before; the task and its tables are the host's, and `at.n_shared` values of shared memory hold what the programs address.
#[device_inline]
#[track_caller]
pub(super) unsafe fn go_down<N: Numbers, const PLAIN: bool>(task: &Task, at: Where, pass: Pass) {
    // SAFETY: the task and its tables are the host's, whose programs name what is there, in `n_shared` values of shared memory; there is a step.
    unsafe {
        if !BlockView::has_subtree(task, at.street, at.n_parts) {
            return;
        }
        let view = BlockView::find(task, at.street, at.n_games, at.n_shared, at.n_parts);
        let factor = view.board_factor(&pass);
        if factor <= 0.0 {
            return;
        }
        let step = step(task, 0);
        let program = view.program(pass.traverser);
        let side = view.side(pass.traverser);
        let other = view.side(1 - pass.traverser);
        if pass.mode == mode::LEARN {
            down::arrive::<true>(&view, &side, program.own_root, false, factor, &pass);
            down::run::<N, true, PLAIN>(&view, &side, program.own, pass.own, &step, &pass, own_averaging(&step, &pass));
        }
        down::arrive::<true>(&view, &other, program.opponent_root, true, factor, &pass);
        down::run::<N, true, PLAIN>(&view, &other, program.down, pass.opponent, &step, &pass, Averaging::NONE);
    }
}

/// How a pass adds the traverser's strategy to its averages.
#[device_inline]
fn own_averaging(step: &Step<f32>, pass: &Pass) -> Averaging {
    Averaging { weight: if pass.averages != 0 { step.weight } else { 0.0 }, ..Averaging::NONE }
}

/// One pass over the block's subtree: on a last street all of it, else the way back up, on which each of the blocks that share a subtree makes all of the opponent's reach and sums
/// and has its part of the traverser's hands.
///
/// On the last street a plain pass adds the opponent's strategy to its averages, as `averaging` says, instead of the traverser's, because it reads the opponent's tables for the reach anyway. See
/// the [module](super) for which iteration they belong to.
///
/// Barriers: three a segment; none if `averaging.alone`. All threads of the block call it.
#[device_inline]
#[track_caller]
fn go_up<N: Numbers, const PLAIN: bool, const IS_LAST: bool>(
    view: &BlockView<'_>,
    step: &Step<f32>,
    pass: &Pass,
    factor: f32,
    averaging: Averaging,
) {
    let program = view.program(pass.traverser);
    let side = view.side(pass.traverser);
    let other = view.side(1 - pass.traverser);
    if IS_LAST && !PLAIN && pass.mode == mode::LEARN {
        down::arrive::<false>(view, &side, program.own_root, false, factor, pass);
        down::run::<N, false, PLAIN>(view, &side, program.own, pass.own, step, pass, own_averaging(step, pass));
    }
    down::arrive::<false>(view, &other, program.opponent_root, true, factor, pass);
    let mut segment = math::opaque(program.segments[0]);
    let end = math::opaque(program.segments[1]);
    while segment < end {
        let ranges = view.segment(segment);
        down::run::<N, false, PLAIN>(view, &other, ranges.down, pass.opponent, step, pass, averaging);
        segment += 1;
        if averaging.alone {
            continue;
        }
        // The vectors are there.
        sync::sync_threads();
        eval::run(view, &other, ranges.evals);
        // The sums are there.
        sync::sync_threads();
        match IS_LAST {
            true => up::run::<N, false, PLAIN>(view, &side, &other, ranges.up, step, pass),
            false => up::run::<N, true, PLAIN>(view, &side, &other, ranges.up, step, pass),
        }
        // All have read the vectors and sums: they may be written again.
        sync::sync_threads();
    }
    if averaging.alone {
        return;
    }
    match IS_LAST {
        true => up::depart::<false>(view, &side, program.value_root, pass),
        false => up::depart::<true>(view, &side, program.value_root, pass),
    }
}

/// Prefetches the block's regrets, and the opponent's averages, for a plain pass of the last street.
#[device_inline]
#[track_caller]
fn prefetch<N: Numbers>(view: &BlockView<'_>, pass: &Pass) {
    let program = view.program(pass.traverser);
    let rows = program.rows;
    // Chosen, not indexed: an index would send the rows to local memory.
    let (own, other) = if pass.traverser == 0 { (rows[0], rows[1]) } else { (rows[1], rows[0]) };
    view.prefetch::<N>(&view.side(1 - pass.traverser), other, true);
    view.prefetch::<N>(&view.side(pass.traverser), own, false);
}

/// A pass up a street, or down and up the last one.
///
/// # Safety
/// As [`go_down`], after it, the next street's pass up and its [`returns`](super::returns); on the last street after the street before, with one more step after that of the iteration.
#[device_inline]
#[track_caller]
pub(super) unsafe fn go_up_once<N: Numbers, const PLAIN: bool, const IS_LAST: bool>(
    task: &Task,
    at: Where,
    pass: Pass,
) {
    let n_parts = if IS_LAST { 1 } else { at.n_parts };
    // SAFETY: as in `go_down`; for a pass of the last street there is one more step after its own.
    unsafe {
        if !BlockView::has_subtree(task, at.street, n_parts) {
            return;
        }
        let view = BlockView::find(task, at.street, at.n_games, at.n_shared, n_parts);
        if IS_LAST && PLAIN {
            prefetch::<N>(&view, &pass);
        }
        let factor = view.board_factor(&pass);
        if factor <= 0.0 {
            return;
        }
        let of_iteration = step(task, 0);
        let averaging = if IS_LAST && PLAIN {
            let alone = pass.mode == mode::AVERAGE;
            Averaging::with_priors(step(task, if alone { 0 } else { pass.traverser }).weight, alone)
        } else {
            Averaging::NONE
        };
        let pass = if PLAIN { learning(pass.traverser) } else { pass };
        go_up::<N, PLAIN, IS_LAST>(&view, &of_iteration, &pass, factor, averaging);
    }
}

/// The pass in which `traverser` learns from regrets and nothing is sampled or kept: known to the compiler, which leaves out all else.
#[device_inline]
pub(super) const fn learning(traverser: u32) -> Pass {
    Pass {
        traverser,
        mode: mode::LEARN,
        own: source::REGRETS,
        opponent: source::REGRETS,
        averages: 1,
        keeps: 0,
        utilities: 1,
        sampled: 0,
    }
}

/// Many iterations of a last street that is the first too; with `PLAIN` passes are plain ones of seat 0 and seat 1.
///
/// # Safety
/// As [`go_down`]; `task.steps` holds `at.n_iterations` steps, and one more after the last; there is at least one pass, and nothing is sampled.
#[device_inline]
#[track_caller]
pub(super) unsafe fn solve<N: Numbers, const PLAIN: bool>(task: &Task, at: Where, passes: &Passes) {
    // SAFETY: as in `go_down`; there is a step for each iteration, and one more.
    unsafe {
        if !BlockView::has_subtree(task, at.street, 1) {
            return;
        }
        let view = BlockView::find(task, at.street, at.n_games, at.n_shared, 1);
        if PLAIN {
            // Turn 0 is before the first iteration: seat 0's strategy is added to its average, as the later ones are at the end of the iteration before theirs.
            let mut turn = 0;
            while turn <= 2 * at.n_iterations {
                let step = memory::load(task.steps, turn.saturating_sub(1) as usize / 2);
                let weight = memory::load(task.steps, turn as usize / 2).weight;
                let averaging = Averaging::with_priors(weight, turn == 0);
                go_up::<N, PLAIN, true>(&view, &step, &learning((turn + 1) % 2), 1.0, averaging);
                turn += 1;
            }
            return;
        }
        let mut turn = 0;
        while turn < at.n_iterations * passes.n {
            let step = memory::load(task.steps, (turn / passes.n) as usize);
            // Chosen, not indexed: an index would send the kernel's parameters to local memory.
            let mut pass = passes.all[0];
            let mut i = 1;
            while i < MAX_PASSES {
                if turn % passes.n == i as u32 {
                    pass = passes.all[i];
                }
                i += 1;
            }
            go_up::<N, PLAIN, true>(&view, &step, &pass, 1.0, Averaging::NONE);
            turn += 1;
        }
    }
}

/// The passes of an iteration.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// In order.
    pub all: [Pass; MAX_PASSES],
    /// How many.
    pub n: u32,
}
