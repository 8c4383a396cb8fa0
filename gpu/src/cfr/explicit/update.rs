//! Regrets of a seat's information sets, its averages, and its next strategies.
//!
//! A [`Group`] of threads has a set.

use super::super::regret::{Real, Step, probability};
use super::view::{self, BLOCK, Group};
use crate::cuda::warp::Word;
use crate::cuda::{DeviceArgs, math, memory, thread};
use crate::launch::LaunchShape;

/// Launch shape for seats of at most `n_sets` sets, `lanes` threads each.
pub const fn shape(n_sets: u32, n_seats: u32, lanes: u32) -> LaunchShape {
    let blocks = if n_sets == 0 { 1 } else { n_sets.div_ceil(BLOCK / lanes) };
    LaunchShape::grid_2d(blocks, n_seats, BLOCK)
}

/// Threads for each of `n_sets` sets that have `n_members` histories together: one for about four of a set's histories.
pub const fn lanes(n_members: u32, n_sets: u32) -> u32 {
    let mean = n_members / if n_sets == 0 { 1 } else { n_sets };
    let mut lanes = 1;
    while lanes < 32 && lanes * 4 < mean {
        lanes *= 2;
    }
    lanes
}

/// What the kernel works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Histories where somebody acts.
    n_decisions: u32,
    /// Rows of the sets' actions.
    n_rows: u32,
    /// Steps on the device.
    n_steps: u32
)]
#[require(first_seat < tree.n_seats && lanes.is_power_of_two() && lanes <= thread::WARP)]
pub struct Update<T> {
    /// The tree.
    #[args]
    pub tree: view::TreeView,
    /// `[n_seats][n_nodes]` Value of each node.
    #[len(tree.n_seats * tree.n_nodes)]
    pub values: *const T,
    /// `[n_decisions]` Reach of chance and the others.
    #[len(n_decisions)]
    pub others: *const T,
    /// `[n_decisions]` Own reach.
    #[len(n_decisions)]
    pub own: *const T,
    /// `[n_rows]` Probabilities of the strategies.
    #[len(n_rows)]
    pub strategies: *mut T,
    /// `[n_rows]` The same where it is kept twice, else `strategies` again.
    #[len(n_rows)]
    pub copy: *mut T,
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
    /// `[n_steps]` Steps of the iterations from `clock[1] + 1` on.
    #[len(n_steps)]
    pub steps: *const Step<T>,
    /// `[2]` The iteration, from 1; iterations before the first of `steps`.
    #[len(2)]
    pub clock: *const u64,
    /// `[n_seats]` Sums of the values of the root.
    #[len(tree.n_seats)]
    pub utilities: *mut f64,
    /// Seat of the blocks with y = 0.
    pub first_seat: u32,
    /// Threads a set, a power of two.
    pub lanes: u32,
}

/// The iteration's step.
///
/// # Safety
/// `clock` and `steps` are as [`Update`] tells, and the clock is within the steps.
#[device_inline]
#[track_caller]
pub unsafe fn current_step<T: Real>(steps: *const Step<T>, clock: *const u64) -> Step<T> {
    // SAFETY: the clock has two values, whose difference is the number of one of the steps, from 1.
    unsafe {
        let at = memory::load(clock, 0) - memory::load(clock, 1) - 1;
        memory::load(steps, at as usize)
    }
}

/// Turns the positive parts in a set's rows into probabilities; `total` is their sum.
///
/// # Safety
/// Both arrays have the rows, which no other thread accesses in this launch.
#[device_inline]
#[track_caller]
pub unsafe fn match_regrets<T: Real>(strategies: *mut T, copy: *mut T, first: u32, end: u32, total: T) {
    for row in first as usize..end as usize {
        // SAFETY: both arrays have the row, which is this thread's.
        unsafe {
            let part = probability(memory::load(strategies, row), total, end - first);
            memory::store(strategies, row, part);
            memory::store(copy, row, part);
        }
    }
}

/// See the module.
///
/// # Safety
/// Launched with `shape` after reach and all values of the pass; the arrays are those of the tree.
#[device_inline]
pub unsafe fn update<T: Real + Word>(task: Update<T>) {
    let group = Group::of_thread(task.lanes);
    let leads = math::opaque(group.rank) == 0;
    let seat_index = task.first_seat + thread::block_idx_y();
    // SAFETY: the set is one of the tree's, whose arrays these are, and all values of the pass are there, as the kernel asks; the rows of a set are its group's, written by one thread of it.
    unsafe {
        let tree = view::Tree::of(&task.tree);
        let seat = tree.seat(seat_index);
        let values = task.values.add(seat_index as usize * task.tree.n_nodes as usize);
        if group.index == 0 && leads {
            let sum = memory::load(task.utilities, seat_index as usize) + memory::load(values, 0).to_f64();
            memory::store(task.utilities, seat_index as usize, sum);
        }
        if group.index >= seat.range().sets_end - seat.range().sets {
            // The whole group: its threads share the index.
            return;
        }
        let set = seat.range().sets + group.index;
        let step = current_step(task.steps, task.clock);
        let (first_row, end_row) = tree.rows_of_set(set);
        let (first, end) = tree.members_of_set(set);
        // Histories of a set have one own reach, or with imperfect recall several, of which the mean counts. The first is taken as it is, so that a sum does not round it.
        let reach = memory::load(task.own, first as usize);
        let (mut sum, mut n_others) = (T::ZERO, T::ZERO);
        for member in thread::strided(first + group.rank, end, group.size) {
            let own = memory::load(task.own, member as usize);
            sum += own;
            n_others += if own == reach { T::ZERO } else { T::ONE };
        }
        let (sum, n_others) = (group.sum(sum), group.sum(n_others));
        let weight = step.weight * if n_others == T::ZERO { reach } else { sum / T::from_u32(end - first) };
        let mut total = T::ZERO;
        for row in first_row..end_row {
            let mut gain = T::ZERO;
            for member in thread::strided(first + group.rank, end, group.size) {
                let node = memory::load(task.tree.members, member as usize);
                let child = memory::load(task.tree.first, node as usize) + (row - first_row);
                let better = memory::load(values, child as usize) - memory::load(values, node as usize);
                gain += memory::load(task.others, member as usize) * better;
            }
            let gain = group.sum(gain);
            if leads {
                let at = row as usize;
                let regret = step.regret(memory::load(task.regrets, at), gain);
                memory::store(task.regrets, at, regret);
                if step.predicts > T::ZERO {
                    memory::store(task.predictions, at, gain);
                }
                let played = memory::load(task.strategies, at);
                memory::store(task.averages, at, memory::load(task.averages, at) + weight * played);
                let positive = step.matched(regret, gain);
                memory::store(task.strategies, at, positive);
                total += positive;
            }
        }
        if leads {
            match_regrets(task.strategies, task.copy, first_row, end_row, total);
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_set_follow_its_size() {
        assert_eq!([lanes(0, 0), lanes(12, 6), lanes(2000, 100), lanes(1 << 20, 1)], [1, 1, 8, 32]);
        assert_eq!(shape(100, 3, 8).grid, [7, 3, 1]);
        assert_eq!(shape(0, 1, 1).grid, [1, 1, 1]);
    }
}
