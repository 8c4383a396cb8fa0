//! What sampled traversals share: the task, the choice of an edge, and sums of whole numbers.
//!
//! All traversals of an iteration use the same strategies. What they find is rounded to a multiple of 1 / `scale` and added as 64-bit integers, so the
//! result does not depend on who came first.

use super::super::regret::Real;
use super::random::Draws;
use super::view;
use crate::cuda::{DeviceArgs, atomic, memory, thread};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 64;
/// Most decisions on one line of play that sampled traversals take: the size of their stacks.
pub const MAX_DECISIONS: usize = 64;
/// Sums stay within ± 2⁶²: one contribution is cut off at this, divided by the number of traversals.
const MOST: f64 = 4_611_686_018_427_387_904.0;

/// Launch shape for `n` traversals of each of `n_seats` seats.
pub const fn shape(n: u32, n_seats: u32) -> LaunchShape {
    LaunchShape::grid_2d(n.div_ceil(BLOCK), n_seats, BLOCK)
}

/// What the kernels work on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Rows of the sets' actions.
    n_rows: u32,
    /// Rows of the sets' actions, and of chance.
    n_probabilities: u32
)]
#[require(first_seat < tree.n_seats)]
pub struct Sample<T> {
    /// The tree.
    #[args]
    pub tree: view::TreeView,
    /// `[n_probabilities]` Probabilities of the strategies.
    #[len(n_probabilities)]
    pub strategies: *const T,
    /// `[n_seats][n_nodes]` Payoffs of the ends.
    #[len(tree.n_seats * tree.n_nodes)]
    pub payoffs: *const T,
    /// `[n_rows]` Regrets found, times `regret_scale`.
    #[len(n_rows)]
    pub regrets: *mut u64,
    /// `[n_rows]` Strategies found, times `average_scale`.
    #[len(n_rows)]
    pub averages: *mut u64,
    /// `[n_seats]` Values of the root found, times `regret_scale`.
    #[len(tree.n_seats)]
    pub utilities: *mut u64,
    /// `[2]` The iteration, from 1; not used.
    #[len(2)]
    pub clock: *const u64,
    /// Parts of a chip.
    pub regret_scale: f64,
    /// Parts of a strategy.
    pub average_scale: f64,
    /// Exploration of outcome sampling.
    pub exploration: f64,
    /// Seed of the solve.
    pub seed: u64,
    /// Traversals of each seat.
    pub n: u32,
    /// Seat of the blocks with y = 0.
    pub first_seat: u32,
}

impl<T: Real> Sample<T> {
    /// This thread's traversal: its seat and its random numbers; `None` beyond the last.
    ///
    /// # Safety
    /// `clock` is as told above.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn begin(&self) -> Option<(u32, Draws)> {
        let traversal = thread::index_1d_below(self.n)?;
        let seat = self.first_seat + thread::block_idx_y();
        // SAFETY: the caller's promise.
        let iteration = unsafe { memory::load(self.clock, 0) };
        Some((seat, Draws::new(self.seed, iteration, seat, traversal)))
    }

    /// Probability of a row.
    ///
    /// # Safety
    /// `row` is one of the tree.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn probability(&self, row: u32) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { memory::load(self.strategies, row as usize) }.to_f64()
    }

    /// A seat's payoff at an end.
    ///
    /// # Safety
    /// Both are of the tree.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn payoff(&self, seat: u32, node: u32) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { memory::load(self.payoffs, seat as usize * self.tree.n_nodes as usize + node as usize) }.to_f64()
    }

    /// The child that the number `u` in [0, 1) chooses among `first .. end` by the edges' probabilities.
    ///
    /// # Safety
    /// They are the children of a node.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn choose(&self, first: u32, end: u32, u: f64) -> u32 {
        let mut child = first;
        let mut sum = 0.0;
        while child + 1 < end {
            // SAFETY: the caller's promise.
            sum += unsafe { self.probability(self.tree.row(child)) };
            if u < sum {
                return child;
            }
            child += 1;
        }
        child
    }

    /// Adds to the regret of a row.
    ///
    /// # Safety
    /// `row` is one of a set.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn add_regret(&self, row: u32, value: f64) {
        // SAFETY: the caller's promise; all access is atomic.
        unsafe { self.add(self.regrets, row, value * self.regret_scale) }
    }

    /// Adds `weight` times the strategy to the average of a set's rows `first .. end`.
    ///
    /// # Safety
    /// They are the rows of a set.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn add_average(&self, first: u32, end: u32, weight: f64) {
        for row in first..end {
            // SAFETY: the caller's promise; all access is atomic.
            unsafe { self.add(self.averages, row, weight * self.probability(row) * self.average_scale) };
        }
    }

    /// Adds to the value of the root.
    ///
    /// # Safety
    /// `seat` is one of the game.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn add_utility(&self, seat: u32, value: f64) {
        // SAFETY: the caller's promise; all access is atomic.
        unsafe { self.add(self.utilities, seat, value * self.regret_scale) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn add(&self, sums: *mut u64, at: u32, scaled: f64) {
        let most = MOST / self.n as f64;
        let held = if scaled > most {
            most
        } else if scaled < -most {
            -most
        } else {
            scaled
        };
        let rounded = if held < 0.0 { (held - 0.5) as i64 } else { (held + 0.5) as i64 };
        if rounded != 0 {
            // SAFETY: the caller's promise.
            unsafe { atomic::add_u64(sums.add(at as usize), rounded as u64) };
        }
    }
}
