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

            /// # Safety
            /// As [`reach::reach`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_reach(task: Reach<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { reach::reach(task) }
            }

            /// # Safety
            /// As [`values::values`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_values(task: Values<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { values::values(task) }
            }

            /// # Safety
            /// As [`respond::respond`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_respond(task: Respond<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { respond::respond(task) }
            }

            /// # Safety
            /// As [`update::update`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_update(task: Update<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { update::update(task) }
            }

            /// # Safety
            /// As [`profile::profile`].
            #[kernel(suffix = $suffix, max_threads = BLOCK)]
            pub unsafe fn cfr_explicit_profile(tree: TreeView, averages: *const $real, average_profile: *mut f64) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { profile::profile(tree, averages, average_profile) }
            }

            /// # Safety
            /// As [`external::external`].
            #[kernel(suffix = $suffix, max_threads = sample::BLOCK)]
            pub unsafe fn cfr_explicit_sample_external(task: Sample<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { external::external(task) }
            }

            /// # Safety
            /// As [`outcome::outcome`].
            #[kernel(suffix = $suffix, max_threads = sample::BLOCK)]
            pub unsafe fn cfr_explicit_sample_outcome(task: Sample<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { outcome::outcome(task) }
            }

            /// # Safety
            /// As [`chance::chance`].
            #[kernel(suffix = $suffix, max_threads = sample::BLOCK, min_blocks = 8)]
            pub unsafe fn cfr_explicit_sample_chance(task: Sample<$real>) {
                // SAFETY: the kernel's contract is that of the function.
                unsafe { chance::chance(task) }
            }

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
