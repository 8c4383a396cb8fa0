//! The kernels in single and in double precision.

#[cfg(not(target_arch = "nvptx64"))]
use super::{
    apply::Apply, reach::Reach, respond::Respond, sample::Sample, update::Update, values::Values, view::TreeView,
};
#[cfg(not(target_arch = "nvptx64"))]
use crate::cfr::regret::Real;

/// The kernels, handed to a macro of [`kernel`](crate::kernel) behind what is given to it.
macro_rules! list {
    ($then:ident $given:tt $real:ty, $suffix:literal) => {
        crate::$then! { $given
            /// Reach of a seat's histories: of chance and the others, and of the seat itself.
            ///
            /// * Launch: [`reach::shape`], a thread a history of the seat, blocks of 128; seats along y.
            /// * Reads: the tree; `probabilities`.
            /// * Writes: `others`, `own`.
            /// * Shared: none.
            /// * Cost: depth of the history steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Pass::value`.
            /// * Source: Zinkevich et al. 2007.
            #[kernel(
                suffix = $suffix,
                shape = |n_members: u32, n_seats: u32| reach::shape(n_members, n_seats),
                max_threads = BLOCK,
                require = task.first_seat.saturating_add(n_seats) <= task.tree.n_seats
            )]
            pub unsafe fn cfr_explicit_reach(task: Reach<$real>) {
                reach::reach(task)
            }

            /// Values of the nodes of one level: the mean over the children.
            ///
            /// * Launch: [`values::shape`], a thread a node of the level, blocks of 128; seats along y.
            /// * Reads: the tree; `probabilities`, `values` of the level below.
            /// * Writes: `values` of the level.
            /// * Shared: none.
            /// * Cost: children of the node steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Pass::value`.
            /// * Source: Zinkevich et al. 2007.
            #[kernel(
                suffix = $suffix,
                shape = |n_seats: u32| values::shape(task.n, n_seats),
                max_threads = BLOCK,
                require = task.first_seat.saturating_add(n_seats) <= task.tree.n_seats
            )]
            pub unsafe fn cfr_explicit_values(task: Values<$real>) {
                values::values(task)
            }

            /// Best responses of one level: in each of a seat's sets the action with the largest counterfactual value, the first of equals.
            ///
            /// * Launch: [`update::shape`], 1 to 32 threads a set, blocks of 128; seats along y.
            /// * Reads: the tree; `set_levels`, `others`, `values` of the level below.
            /// * Writes: `values` of the level; `strategies`, where `writes` is 1.
            /// * Shared: none.
            /// * Cost: (actions + 1) × ⌈histories of the set / threads⌉ steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::best_response::BestResponse::best_action`.
            /// * Source: our own: the best response level by level.
            #[kernel(
                suffix = $suffix,
                shape = |n_sets: u32, n_seats: u32| update::shape(n_sets, n_seats, task.lanes),
                max_threads = BLOCK,
                require = task.lanes.is_power_of_two() && task.first_seat.saturating_add(n_seats) <= task.tree.n_seats
            )]
            pub unsafe fn cfr_explicit_respond(task: Respond<$real>) {
                respond::respond(task)
            }

            /// Regrets of a seat's information sets, its averages, and its next strategies.
            ///
            /// * Launch: [`update::shape`], 1 to 32 threads a set, blocks of 128; seats along y.
            /// * Reads: the tree; `values`, `others`, `own`, `steps`, `clock`.
            /// * Writes: `regrets`, `averages`, `predictions`, `strategies`, `copy`; `utilities`.
            /// * Shared: none.
            /// * Cost: actions × ⌈histories of the set / threads⌉ steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::pass`, `warpplay_cpu_ref::cfr::tree::solver::Solver::renew`.
            /// * Source: Zinkevich et al. 2007; its variants as `Options` of the host name them.
            #[kernel(
                suffix = $suffix,
                shape = |n_sets: u32, n_seats: u32| update::shape(n_sets, n_seats, task.lanes),
                max_threads = BLOCK,
                require = task.lanes.is_power_of_two() && task.first_seat.saturating_add(n_seats) <= task.tree.n_seats
            )]
            pub unsafe fn cfr_explicit_update(task: Update<$real>) {
                update::update(task)
            }

            /// The average profile in double precision; uniform where a set was never reached.
            ///
            /// * Launch: [`profile::shape`], a thread a set, blocks of 128.
            /// * Reads: the tree; `averages`.
            /// * Writes: `average_profile`.
            /// * Shared: none.
            /// * Cost: 2 × actions steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::profile::Profile::from_weights`.
            /// * Source: Zinkevich et al. 2007 (the average strategy).
            #[kernel(suffix = $suffix, shape = profile::shape(tree.n_sets), max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_profile(tree: TreeView, averages: *const $real, average_profile: *mut f64) {
                profile::profile(tree, averages, average_profile)
            }

            /// Traversals by external sampling: all actions of one seat, one of chance and of each other seat.
            ///
            /// * Launch: [`sample::shape`], a thread a traversal, blocks of 64; seats along y.
            /// * Reads: the tree; `strategies`, `payoffs`; the iteration in `clock`.
            /// * Writes: `regrets`, `averages` and `utilities`, added to atomically as whole numbers.
            /// * Shared: none.
            /// * Cost: histories that one draw of chance and of the others leaves.
            /// * Twin: `warpplay_cpu_ref::cfr::mccfr::external::Pass::external`.
            /// * Source: Lanctot et al. 2009 (external sampling).
            #[kernel(
                suffix = $suffix,
                shape = |n_seats: u32| sample::shape(task.n, n_seats),
                max_threads = sample::BLOCK,
                require = task.first_seat.saturating_add(n_seats) <= task.tree.n_seats
            )]
            pub unsafe fn cfr_explicit_sample_external(task: Sample<$real>) {
                external::external(task)
            }

            /// Traversals by outcome sampling: one line of play.
            ///
            /// * Launch: [`sample::shape`], a thread a traversal, blocks of 64; seats along y.
            /// * Reads: the tree; `strategies`, `payoffs`; the iteration in `clock`.
            /// * Writes: `regrets`, `averages` and `utilities`, added to atomically as whole numbers.
            /// * Shared: none.
            /// * Cost: 2 × the length of one line of play.
            /// * Twin: `warpplay_cpu_ref::cfr::mccfr::outcome::Pass::outcome`.
            /// * Source: Lanctot et al. 2009 (outcome sampling).
            #[kernel(
                suffix = $suffix,
                shape = |n_seats: u32| sample::shape(task.n, n_seats),
                max_threads = sample::BLOCK,
                require = task.first_seat.saturating_add(n_seats) <= task.tree.n_seats
            )]
            pub unsafe fn cfr_explicit_sample_outcome(task: Sample<$real>) {
                outcome::outcome(task)
            }

            /// Traversals by chance sampling: one deal, all actions of all seats.
            ///
            /// * Launch: [`sample::shape`], a thread a traversal, blocks of 64; seats along y.
            /// * Reads: the tree; `strategies`, `payoffs`; the iteration in `clock`.
            /// * Writes: `regrets`, `averages` and `utilities`, added to atomically as whole numbers.
            /// * Shared: none.
            /// * Cost: histories of one deal.
            /// * Twin: `warpplay_cpu_ref::cfr::mccfr::Pass::full`.
            /// * Source: Zinkevich et al. 2007; Lanctot et al. 2009 (chance sampling).
            #[kernel(
                suffix = $suffix,
                shape = |n_seats: u32| sample::shape(task.n, n_seats),
                max_threads = sample::BLOCK,
                min_blocks = 8,
                require = task.first_seat.saturating_add(n_seats) <= task.tree.n_seats
            )]
            pub unsafe fn cfr_explicit_sample_chance(task: Sample<$real>) {
                chance::chance(task)
            }

            /// What an iteration's traversals found goes into the tables, as their mean, and the next strategies are matched.
            ///
            /// * Launch: [`profile::shape`], a thread a set, blocks of 128.
            /// * Reads: `found_regrets`, `found_averages`, `found_utilities`; the tree, `steps`, `clock`.
            /// * Writes: `averages`, `regrets`, `predictions`, `strategies`, `utilities`; what was found is 0 again.
            /// * Shared: none.
            /// * Cost: 3 × actions steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::mccfr::Pass::add_regrets`, `warpplay_cpu_ref::cfr::mccfr::Pass::add_average`,
            ///   `warpplay_cpu_ref::cfr::pieces::match_regrets`.
            /// * Source: Lanctot et al. 2009; the mean over many traversals is ours.
            #[kernel(suffix = $suffix, shape = profile::shape(task.tree.n_sets), max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_apply(task: Apply<$real>) {
                apply::apply(task)
            }
        }
    };
}

list! { kernel_family {
    /// The kernels of a precision.
    pub trait ExplicitKernels: Real {}
    /// The kernels of a precision, looked up.
    pub struct RealKernels;
    for f32, f64
} Self, "" }

/// Names that the instances need.
mod names {
    pub(super) use crate::cfr::explicit::apply::{self, Apply};
    pub(super) use crate::cfr::explicit::profile;
    pub(super) use crate::cfr::explicit::reach::{self, Reach};
    pub(super) use crate::cfr::explicit::respond::{self, Respond};
    pub(super) use crate::cfr::explicit::sample::{self, Sample};
    pub(super) use crate::cfr::explicit::update::{self, Update};
    pub(super) use crate::cfr::explicit::values::{self, Values};
    pub(super) use crate::cfr::explicit::view::{BLOCK, TreeView};
    pub(super) use crate::cfr::explicit::{chance, external, outcome};
}

list! { kernel_instance {
    /// The kernels in single precision.
    pub mod single for f32: ExplicitKernels {}
    use super::names::*;
} f32, "f32" }

list! { kernel_instance {
    /// The kernels in double precision.
    pub mod double for f64: ExplicitKernels {}
    use super::names::*;
} f64, "f64" }
