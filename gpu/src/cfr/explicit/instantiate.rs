//! The kernels in single and in double precision.

#[cfg(not(target_arch = "nvptx64"))]
use super::{
    apply::Apply, reach::Reach, respond::Respond, sample::Sample, update::Update, values::Values, view::TreeView,
};
use crate::cuda::{kernel, memory, thread};
#[cfg(not(target_arch = "nvptx64"))]
use crate::{
    cfr::regret::Real,
    kernel::{Kernel, KernelInfo, info},
};

/// Counts the iteration: adds 1 to `clock[0]`.
///
/// * Launch: any: the first thread does it.
/// * Reads: `clock`.
/// * Writes: `clock`.
/// * Shared: none.
/// * Cost: one addition.
/// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::iterate`.
/// * Source: our own.
///
/// # Safety
/// One thread does it; `clock` holds a value.
#[kernel]
pub unsafe fn cfr_explicit_tick(clock: *mut u64) {
    if thread::index_1d() == 0 {
        // SAFETY: the contract.
        unsafe { memory::store(clock, 0, memory::load(clock, 0) + 1) };
    }
}

/// The kernels of a precision.
#[cfg(not(target_arch = "nvptx64"))]
pub trait ExplicitKernels: Real {
    /// [`reach`](super::reach::reach).
    type Reach: Kernel<Params = (Reach<Self>,)> + Default;
    /// [`values`](super::values::values).
    type Values: Kernel<Params = (Values<Self>,)> + Default;
    /// [`respond`](super::respond::respond).
    type Respond: Kernel<Params = (Respond<Self>,)> + Default;
    /// [`update`](super::update::update).
    type Update: Kernel<Params = (Update<Self>,)> + Default;
    /// [`profile`](super::profile::profile).
    type Profile: Kernel<Params = (TreeView, *const Self, *mut f64)> + Default;
    /// [`external`](super::external::external).
    type External: Kernel<Params = (Sample<Self>,)> + Default;
    /// [`outcome`](super::outcome::outcome).
    type Outcome: Kernel<Params = (Sample<Self>,)> + Default;
    /// [`chance`](super::chance::chance).
    type Chance: Kernel<Params = (Sample<Self>,)> + Default;
    /// [`apply`](super::apply::apply).
    type Apply: Kernel<Params = (Apply<Self>,)> + Default;

    /// Descriptions of all of them.
    fn infos() -> [KernelInfo; 9] {
        [
            info::<Self::Reach>(),
            info::<Self::Values>(),
            info::<Self::Respond>(),
            info::<Self::Update>(),
            info::<Self::Profile>(),
            info::<Self::External>(),
            info::<Self::Outcome>(),
            info::<Self::Chance>(),
            info::<Self::Apply>(),
        ]
    }
}

macro_rules! instantiate {
    ($module:ident, $real:ty, $suffix:literal, $doc:literal) => {
        #[doc = $doc]
        pub mod $module {
            use crate::cfr::explicit::apply::{self, Apply};
            use crate::cfr::explicit::profile;
            use crate::cfr::explicit::reach::{self, Reach};
            use crate::cfr::explicit::respond::{self, Respond};
            use crate::cfr::explicit::sample::{self, Sample};
            use crate::cfr::explicit::update::{self, Update};
            use crate::cfr::explicit::values::{self, Values};
            use crate::cfr::explicit::view::{BLOCK, TreeView};
            use crate::cfr::explicit::{chance, external, outcome};
            use crate::cuda::kernel;

            /// Reach of a seat's histories: of chance and the others, and of the seat itself.
            ///
            /// * Launch: [`reach::shape`], a thread a history of the seat, blocks of 128; seats along y.
            /// * Reads: the tree; `probabilities`.
            /// * Writes: `others`, `own`.
            /// * Shared: none.
            /// * Cost: depth of the history steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Pass::value`.
            /// * Source: Zinkevich et al. 2007.
            ///
            /// # Safety
            /// As [`reach::reach`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_reach(task: Reach<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { reach::reach(task) }
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
            ///
            /// # Safety
            /// As [`values::values`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_values(task: Values<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { values::values(task) }
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
            ///
            /// # Safety
            /// As [`respond::respond`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_respond(task: Respond<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { respond::respond(task) }
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
            ///
            /// # Safety
            /// As [`update::update`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_update(task: Update<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { update::update(task) }
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
            ///
            /// # Safety
            /// As [`profile::profile`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_profile(tree: TreeView, averages: *const $real, average_profile: *mut f64) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { profile::profile(tree, averages, average_profile) }
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
            ///
            /// # Safety
            /// As [`external::external`].
            #[kernel(suffix = $suffix, max_threads = sample::BLOCK)]
            pub unsafe fn cfr_explicit_sample_external(task: Sample<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { external::external(task) }
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
            ///
            /// # Safety
            /// As [`outcome::outcome`].
            #[kernel(suffix = $suffix, max_threads = sample::BLOCK)]
            pub unsafe fn cfr_explicit_sample_outcome(task: Sample<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { outcome::outcome(task) }
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
            ///
            /// # Safety
            /// As [`chance::chance`].
            #[kernel(suffix = $suffix, max_threads = sample::BLOCK, min_blocks = 8)]
            pub unsafe fn cfr_explicit_sample_chance(task: Sample<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { chance::chance(task) }
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
            ///
            /// # Safety
            /// As [`apply::apply`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_apply(task: Apply<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { apply::apply(task) }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl ExplicitKernels for $real {
            type Reach = $module::cfr_explicit_reach;
            type Values = $module::cfr_explicit_values;
            type Respond = $module::cfr_explicit_respond;
            type Update = $module::cfr_explicit_update;
            type Profile = $module::cfr_explicit_profile;
            type External = $module::cfr_explicit_sample_external;
            type Outcome = $module::cfr_explicit_sample_outcome;
            type Chance = $module::cfr_explicit_sample_chance;
            type Apply = $module::cfr_explicit_apply;
        }
    };
}

instantiate!(single, f32, "f32", "The kernels in single precision.");
instantiate!(double, f64, "f64", "The kernels in double precision.");

/// All kernels of the module.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    let tick = [info::<cfr_explicit_tick>()];
    tick.into_iter().chain(f32::infos()).chain(f64::infos()).collect()
}
