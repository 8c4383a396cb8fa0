//! The kernels, resolved, with a safe function for each stage.

use std::ops::Range;

use warpplay_gpu::cfr::explicit::reach::{self, Reach};
use warpplay_gpu::cfr::explicit::respond::Respond;
use warpplay_gpu::cfr::explicit::update::{self, Update};
use warpplay_gpu::cfr::explicit::values::{self, Values};
use warpplay_gpu::cfr::explicit::{ExplicitKernels, cfr_explicit_tick, profile};
use warpplay_gpu::launch::LaunchShape;
use warpplay_gpu::ptx::embedded::CFR_EXPLICIT;

use super::arrays::{DeviceTree, Learnt, Pass};
use crate::cfr::layout::Number;
use crate::{Buffer, Device, Function, Module, Result, Stream};

/// The kernels of full traversals.
pub(in crate::cfr) struct Kernels<T: ExplicitKernels + Number> {
    tick: Function<cfr_explicit_tick>,
    reach: Function<T::Reach>,
    values: Function<T::Values>,
    respond: Function<T::Respond>,
    update: Function<T::Update>,
    profile: Function<T::Profile>,
}

impl<T: ExplicitKernels + Number> Kernels<T> {
    /// Loads the module: a kernel that is missing is found here.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &CFR_EXPLICIT)?;
        Ok(Self {
            tick: module.function(cfr_explicit_tick)?,
            reach: module.function(T::Reach::default())?,
            values: module.function(T::Values::default())?,
            respond: module.function(T::Respond::default())?,
            update: module.function(T::Update::default())?,
            profile: module.function(T::Profile::default())?,
        })
    }

    /// Counts an iteration.
    pub fn tick(&self, stream: &Stream, learnt: &mut Learnt<T>) -> Result<()> {
        // SAFETY: the clock has two values; the graph that this may be recorded in lives no longer than the engine's buffers.
        unsafe { stream.launch(&self.tick, LaunchShape::new(1, 1), (&mut learnt.clock,)) }
    }

    /// Reach of the seats' histories.
    pub fn reach(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        probabilities: &Buffer<T>,
        pass: &mut Pass<T>,
        seats: Range<usize>,
    ) -> Result<()> {
        let task = Reach {
            tree: tree.view(),
            probabilities: probabilities.as_ptr(),
            others: pass.others.as_mut_ptr(),
            own: pass.own.as_mut_ptr(),
            first_seat: seats.start as u32,
            reserved: 0,
        };
        let shape = reach::shape(tree.most_members, seats.len() as u32);
        // SAFETY: all arrays were made for this tree, and live as long as the engine that launches or replays this.
        unsafe { stream.launch(&self.reach, shape, (task,)) }
    }

    /// Values of all nodes for the seats, from the deepest level up.
    pub fn all_values(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        probabilities: &Buffer<T>,
        pass: &mut Pass<T>,
        seats: Range<usize>,
    ) -> Result<()> {
        // The deepest level has ends only.
        for level in (0..tree.tree.n_levels() - 1).rev() {
            self.level_values(stream, tree, probabilities, pass, seats.clone(), level, false)?;
        }
        Ok(())
    }

    /// Values of all nodes for the seats, each playing its best against the others; the response goes into `answer`, where there is one.
    pub fn best_responses(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        probabilities: &Buffer<T>,
        pass: &mut Pass<T>,
        seats: Range<usize>,
        mut answer: Option<&mut Buffer<T>>,
    ) -> Result<()> {
        self.reach(stream, tree, probabilities, pass, seats.clone())?;
        for level in (0..tree.tree.n_levels() - 1).rev() {
            self.level_values(stream, tree, probabilities, pass, seats.clone(), level, true)?;
            if !tree.acts_on(level, seats.clone()) {
                continue;
            }
            let values = pass.values.as_mut_ptr();
            let task = Respond {
                tree: tree.view(),
                set_levels: tree.set_levels.as_ptr(),
                values,
                others: pass.others.as_ptr(),
                // Not used where there is no answer.
                strategies: answer.as_deref_mut().map_or(values, Buffer::as_mut_ptr),
                level: level as u32,
                n_levels: tree.tree.n_levels() as u32,
                first_seat: seats.start as u32,
                lanes: tree.lanes,
                writes: u32::from(answer.is_some()),
                reserved: 0,
            };
            let stride = tree.tree.n_levels() + 1;
            let n_sets = |seat: usize| {
                let at = seat * stride + level;
                tree.set_levels_here[at + 1] - tree.set_levels_here[at]
            };
            let most = seats.clone().map(n_sets).max().unwrap_or(0);
            let shape = update::shape(most, seats.len() as u32, tree.lanes);
            // SAFETY: as in `reach`; the level below is done, launches of a stream keep their order.
            unsafe { stream.launch(&self.respond, shape, (task,))? };
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "a stage's arrays, named one by one")]
    fn level_values(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        probabilities: &Buffer<T>,
        pass: &mut Pass<T>,
        seats: Range<usize>,
        level: usize,
        skips_own: bool,
    ) -> Result<()> {
        let nodes = tree.tree.level(level);
        let task = Values {
            tree: tree.view(),
            probabilities: probabilities.as_ptr(),
            values: pass.values.as_mut_ptr(),
            start: nodes.start as u32,
            n: nodes.len() as u32,
            first_seat: seats.start as u32,
            skips_own: u32::from(skips_own),
        };
        let shape = values::shape(nodes.len() as u32, seats.len() as u32);
        // SAFETY: as in `reach`; the level below is done, launches of a stream keep their order.
        unsafe { stream.launch(&self.values, shape, (task,)) }
    }

    /// Regrets, averages and next strategies of the seats; the strategies go to `copy` too, where there is one.
    pub fn update(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        pass: &Pass<T>,
        learnt: &mut Learnt<T>,
        copy: Option<&mut Buffer<T>>,
        seats: Range<usize>,
    ) -> Result<()> {
        let strategies = learnt.strategies.as_mut_ptr();
        let task = Update {
            tree: tree.view(),
            values: pass.values.as_ptr(),
            others: pass.others.as_ptr(),
            own: pass.own.as_ptr(),
            strategies,
            copy: copy.map_or(strategies, Buffer::as_mut_ptr),
            regrets: learnt.regrets.as_mut_ptr(),
            averages: learnt.averages.as_mut_ptr(),
            predictions: learnt.predictions.as_mut_ptr(),
            steps: learnt.steps.as_ptr(),
            clock: learnt.clock.as_ptr(),
            utilities: learnt.utilities.as_mut_ptr(),
            first_seat: seats.start as u32,
            lanes: tree.lanes,
        };
        let shape = update::shape(tree.most_sets, seats.len() as u32, tree.lanes);
        // SAFETY: as in `reach`; reach and values of the pass are done; the clock is within the steps, which `Learnt::begin` wrote for as many iterations
        // as are launched.
        unsafe { stream.launch(&self.update, shape, (task,)) }
    }

    /// The average profile into the first values of `probabilities`.
    pub fn profile(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        averages: &Buffer<T>,
        probabilities: &mut Buffer<f64>,
    ) -> Result<()> {
        let shape = profile::shape(tree.tree.sets.len() as u32);
        // SAFETY: as in `reach`.
        unsafe { stream.launch(&self.profile, shape, (tree.view(), averages, probabilities)) }
    }
}
