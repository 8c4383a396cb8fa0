//! What an iteration's traversals found goes into the tables, as their mean, and the next strategies are matched.
//!
//! One thread, one set; the sums are 0 again afterwards. All averages are written, but regrets and strategies of the seats that traversed only.

use super::super::regret::{Real, Step};
use super::update::{current_step, match_regrets};
use super::view;
use crate::cuda::{DeviceArgs, memory, thread};

/// What the kernel works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Rows of the sets' actions.
    n_rows: u32,
    /// Steps on the device.
    n_steps: u32
)]
#[require(n_learners >= 1 && first_seat.saturating_add(n_learners) <= tree.n_seats)]
pub struct Apply<T> {
    /// The tree.
    #[args]
    pub tree: view::TreeView,
    /// `[n_rows]` Probabilities of the strategies.
    #[len(n_rows)]
    pub strategies: *mut T,
    /// `[n_rows]` Cumulative regrets.
    #[len(n_rows)]
    pub regrets: *mut T,
    /// `[n_rows]` Sums of strategies.
    #[len(n_rows)]
    pub averages: *mut T,
    /// `[n_rows]` Last regrets; null where no step predicts.
    #[len(n_rows)]
    #[nullable]
    pub predictions: *mut T,
    /// `[n_rows]` Regrets found.
    #[len(n_rows)]
    pub found_regrets: *mut u64,
    /// `[n_rows]` Strategies found.
    #[len(n_rows)]
    pub found_averages: *mut u64,
    /// `[n_seats]` Values of the root found.
    #[len(tree.n_seats)]
    pub found_utilities: *mut u64,
    /// `[n_seats]` Sums of the values of the root.
    #[len(tree.n_seats)]
    pub utilities: *mut f64,
    /// `[n_steps]` Steps of the iterations from `clock[1] + 1` on.
    #[len(n_steps)]
    pub steps: *const Step<T>,
    /// `[2]` The iteration, from 1; iterations before the first of `steps`.
    #[len(2)]
    pub clock: *const u64,
    /// What a found regret is divided by: parts of a chip, times traversals.
    pub regret_parts: f64,
    /// What a found strategy is divided by.
    pub average_parts: f64,
    /// First seat that traversed.
    pub first_seat: u32,
    /// Seats that traversed.
    pub n_learners: u32,
}

/// Reads a sum and leaves 0.
///
/// # Safety
/// There is such a sum, which no other thread accesses in this launch.
#[device_inline]
#[track_caller]
unsafe fn take(sums: *mut u64, at: usize, parts: f64) -> f64 {
    // SAFETY: the sum is there, and this thread's.
    unsafe {
        let sum = memory::load(sums, at) as i64;
        memory::store(sums, at, 0);
        sum as f64 / parts
    }
}

/// See the module.
///
/// # Safety
/// Launched with `profile::shape` after the traversals; the arrays are those of the tree.
#[device_inline]
pub unsafe fn apply<T: Real>(task: Apply<T>) {
    // SAFETY: the set is one of the tree's, whose arrays these are, as the kernel asks; the rows of a set are one thread's, utilities those of the first.
    unsafe {
        let tree = view::Tree::of(&task.tree);
        let seats = task.first_seat..task.first_seat + task.n_learners;
        if thread::index_1d() == 0 {
            for seat in seats.start..seats.end {
                let at = seat as usize;
                let sum = memory::load(task.utilities, at) + take(task.found_utilities, at, task.regret_parts);
                memory::store(task.utilities, at, sum);
            }
        }
        let Some(set) = thread::index_1d_below(task.tree.n_sets) else { return };
        let step = current_step(task.steps, task.clock);
        let (first, end) = tree.rows_of_set(set);
        let mut row = first as usize;
        while row < end as usize {
            let found = T::from_f64(take(task.found_averages, row, task.average_parts));
            memory::store(task.averages, row, memory::load(task.averages, row) + step.weight * found);
            row += 1;
        }
        if set < tree.seat(seats.start).range().sets || set >= tree.seat(seats.end - 1).range().sets_end {
            return;
        }
        let mut total = T::ZERO;
        row = first as usize;
        while row < end as usize {
            let gain = T::from_f64(take(task.found_regrets, row, task.regret_parts));
            let regret = step.regret(memory::load(task.regrets, row), gain);
            memory::store(task.regrets, row, regret);
            if step.predicts > T::ZERO {
                memory::store(task.predictions, row, gain);
            }
            let positive = step.matched(regret, gain);
            memory::store(task.strategies, row, positive);
            total += positive;
            row += 1;
        }
        match_regrets(task.strategies, task.strategies, first, end, total);
    }
}
