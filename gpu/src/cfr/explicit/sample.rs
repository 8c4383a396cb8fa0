//! What sampled traversals share: the task, the choice of an edge, and sums of whole numbers.
//!
//! All traversals of an iteration use the same strategies. What they find is rounded to a multiple of 1 / `scale` and added as 64-bit integers, so the
//! result does not depend on who came first.

use super::super::regret::Real;
use super::random::Draws;
use super::view::{self, Children, Node, Row, Seat, SetRow, SetRows, Tree};
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

/// A thread's traversal. Rows and nodes are of the task's tree, so all that is looked up by them is there; sums are only added to, atomically, while the kernel runs.
pub struct Traversal<T> {
    task: Sample<T>,
    tree: Tree,
    /// The seat that learns.
    pub seat: Seat,
    /// The seat behind it.
    pub next_seat: Seat,
    /// Rows of the sets' actions: those behind are outcomes of chance.
    pub n_rows: u32,
    /// The random numbers.
    pub draws: Draws,
    /// The seat's number.
    number: u32,
}

/// A sum that traversals add to.
enum Sum {
    Regret(SetRow),
    Average(SetRow),
    Utility,
}

impl<T: Real> Sample<T> {
    /// The thread's number among the traversals of its seat; `None` beyond the last.
    #[device_inline]
    pub fn number(&self) -> Option<u32> {
        thread::index_1d_below(self.n)
    }

    /// Traversal number `number` of the thread's seat. (Not an `Option` of the traversal: a whole task would be carried to where its two cases meet.)
    ///
    /// # Safety
    /// The contract of the kernels: launched with [`shape`] for seats from `first_seat` on; the arrays are those of the tree.
    #[device_inline]
    #[track_caller]
    pub unsafe fn begin(self, number: u32) -> Traversal<T> {
        let (seat, n_seats) = (self.first_seat + thread::block_idx_y(), self.tree.n_seats);
        // SAFETY: the arrays are those of the tree, as the kernel asks: the clock has two values, and the seat is one of the game; so are the next, by the remainder, and the last.
        unsafe {
            let tree = Tree::new(self.tree);
            Traversal {
                draws: Draws::new(self.seed, memory::load(self.clock, 0), seat, number),
                seat: tree.seat(seat),
                next_seat: tree.seat((seat + 1) % n_seats),
                n_rows: tree.seat(n_seats - 1).range().rows_end,
                number: seat,
                tree,
                task: self,
            }
        }
    }
}

impl<T: Real> Traversal<T> {
    /// The tree.
    #[device_inline]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Exploration of outcome sampling.
    #[device_inline]
    pub fn exploration(&self) -> f64 {
        self.task.exploration
    }

    /// Whether a row is an outcome of chance.
    #[device_inline]
    pub fn is_chance(&self, row: Row) -> bool {
        row.number() >= self.n_rows as usize
    }

    /// Probability of a row.
    #[device_inline]
    #[track_caller]
    pub fn probability(&self, row: Row) -> f64 {
        // SAFETY: a probability for each row.
        unsafe { memory::load(self.task.strategies, row.number()) }.to_f64()
    }

    /// The seat's payoff at an end.
    #[device_inline]
    #[track_caller]
    pub fn payoff(&self, node: Node) -> f64 {
        let of_seat = self.number as usize * self.tree.n_nodes() as usize;
        // SAFETY: a payoff for each seat and node.
        unsafe { memory::load(self.task.payoffs, of_seat + node.number()) }.to_f64()
    }

    /// The child that the number `u` in [0, 1) chooses by the edges' probabilities.
    #[device_inline]
    #[track_caller]
    pub fn choose(&self, children: Children, u: f64) -> Node {
        let mut child = children.first();
        let mut sum = 0.0;
        while let Some(next) = children.after(child) {
            sum += self.probability(self.tree.row(child));
            if u < sum {
                return child;
            }
            child = next;
        }
        child
    }

    /// Adds to the regret of an action.
    #[device_inline]
    #[track_caller]
    pub fn add_regret(&self, row: SetRow, value: f64) {
        self.add(Sum::Regret(row), value * self.task.regret_scale);
    }

    /// Adds `weight` times the strategy to the average of a set's actions.
    #[device_inline]
    #[track_caller]
    pub fn add_average(&self, rows: SetRows, weight: f64) {
        for row in rows.each() {
            self.add(Sum::Average(row), weight * self.probability(row.row()) * self.task.average_scale);
        }
    }

    /// Adds to the value of the root.
    #[device_inline]
    #[track_caller]
    pub fn add_utility(&self, value: f64) {
        self.add(Sum::Utility, value * self.task.regret_scale);
    }

    #[device_inline]
    #[track_caller]
    fn add(&self, sum: Sum, scaled: f64) {
        let most = MOST / self.task.n as f64;
        let held = if scaled > most {
            most
        } else if scaled < -most {
            -most
        } else {
            scaled
        };
        let rounded = if held < 0.0 { (held - 0.5) as i64 } else { (held + 0.5) as i64 };
        if rounded != 0 {
            let (sums, at) = match sum {
                Sum::Regret(row) => (self.task.regrets, row.row().number()),
                Sum::Average(row) => (self.task.averages, row.row().number()),
                Sum::Utility => (self.task.utilities, self.number as usize),
            };
            // SAFETY: a sum for each row of a set, and for each seat.
            unsafe { atomic::add_u64(sums.add(at), rounded as u64) };
        }
    }
}
