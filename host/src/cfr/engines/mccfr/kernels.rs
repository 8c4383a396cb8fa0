//! Sampled traversals by the kernels on a tree.

use warpplay_gpu::cfr::explicit::ExplicitKernels;
use warpplay_gpu::cfr::explicit::apply::ApplyArgs;
use warpplay_gpu::cfr::explicit::sample::SampleArgs;

use super::found::{Found, Scales};
use crate::cfr::engines::explicit::{DeviceTree, Kernels, Learnt, STEPS};
use crate::cfr::layout::Number;
use crate::cfr::options::{Options, Sampling};
use crate::runtime::launch::views;
use crate::{Buffer, InOut, Result, Stream};

impl<T: ExplicitKernels + Number> Kernels<T> {
    /// The traversals of an iteration for the seats, and what they found into the tables.
    #[allow(clippy::too_many_arguments, reason = "a stage's arrays, named one by one")]
    pub(super) fn traverse(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        payoffs: &Buffer<T>,
        learnt: &mut Learnt<T>,
        found: &mut Found,
        options: &Options,
        scales: Scales,
        seats: std::ops::Range<usize>,
    ) -> Result<()> {
        let (first_seat, n_learners) = (seats.start as u32, seats.len() as u32);
        let task = views! { SampleArgs {
            learnt reads strategies, clock;
            found writes regrets, averages, utilities;
            options has exploration, seed;
            tree: tree.args(),
            payoffs: payoffs.view(),
            regret_scale: scales.regret,
            average_scale: scales.average,
            n: options.batch,
            first_seat,
            n_rows: tree.n_rows(),
            n_probabilities: tree.n_probabilities(),
        } };
        let (set, seats) = (&self.set, (n_learners,));
        // SAFETY: nodes and rows in the tree's arrays are its own. `fits` has seen that the lines are short enough for the stacks.
        unsafe {
            match options.sampling {
                Sampling::Outcome => stream.run_unchecked_with(&set.cfr_explicit_sample_outcome, seats, (task,))?,
                Sampling::Chance => stream.run_unchecked_with(&set.cfr_explicit_sample_chance, seats, (task,))?,
                _ => stream.run_unchecked_with(&set.cfr_explicit_sample_external, seats, (task,))?,
            }
        }
        let task = views! { ApplyArgs {
            learnt reads steps, clock;
            learnt writes strategies, regrets, averages, utilities;
            tree: tree.args(),
            predictions: learnt.predictions.as_mut().map_or_else(InOut::none, Buffer::view_mut),
            found_regrets: found.regrets.view_mut(),
            found_averages: found.averages.view_mut(),
            found_utilities: found.utilities.view_mut(),
            regret_parts: scales.regret * f64::from(options.batch),
            average_parts: scales.average * f64::from(options.batch),
            first_seat,
            n_learners,
            n_rows: tree.n_rows(),
            n_steps: STEPS,
        } };
        // SAFETY: as above; the clock is within the steps, which `Learnt::begin` wrote for as many iterations as are launched.
        unsafe { stream.run_unchecked(&self.set.cfr_explicit_apply, (task,)) }
    }
}
