//! The kernels, resolved, with a safe function for each stage.

use std::ops::Range;

use warpplay_gpu::cfr::explicit::reach::{self, ReachArgs};
use warpplay_gpu::cfr::explicit::respond::RespondArgs;
use warpplay_gpu::cfr::explicit::update::{self, UpdateArgs};
use warpplay_gpu::cfr::explicit::values::{self, ValuesArgs};
use warpplay_gpu::cfr::explicit::{self, ExplicitKernels, profile};
use warpplay_gpu::ptx::embedded::CFR_EXPLICIT;

use super::arrays::{DeviceTree, Learnt, Pass, STEPS};
use crate::cfr::layout::Number;
use crate::runtime::launch::views;
use crate::{Buffer, Device, InOut, Module, Result, Stream};

/// The kernels on a tree.
pub(in crate::cfr) struct Kernels<T: ExplicitKernels + Number> {
    tick: explicit::Kernels<Module>,
    pub set: explicit::RealKernels<Module, T>,
}

impl<T: ExplicitKernels + Number> Kernels<T> {
    /// Loads the module: a kernel that is missing is found here.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &CFR_EXPLICIT)?;
        Ok(Self { tick: explicit::Kernels::load(&module)?, set: explicit::RealKernels::load(&module)? })
    }

    /// Counts an iteration.
    pub fn tick(&self, stream: &Stream, learnt: &mut Learnt<T>) -> Result<()> {
        stream.run(&self.tick.cfr_explicit_tick, (&mut learnt.clock,))
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
        let task = ReachArgs {
            tree: tree.args(),
            probabilities: probabilities.view(),
            others: pass.others.view_mut(),
            own: pass.own.view_mut(),
            first_seat: seats.start as u32,
            reserved: 0,
            n_decisions: tree.n_decisions(),
            n_probabilities: tree.n_probabilities(),
        };
        let shape = reach::shape(tree.most_members, seats.len() as u32);
        // SAFETY: the shape has the tree's seats, from the first that is told; nodes and rows in its arrays are its own.
        unsafe { stream.launch(&self.set.cfr_explicit_reach, shape, (task,)) }
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
            let writes = u32::from(answer.is_some());
            let task = RespondArgs {
                tree: tree.args(),
                set_levels: tree.set_levels.view(),
                values: pass.values.view_mut(),
                others: pass.others.view(),
                strategies: answer.as_deref_mut().map_or_else(InOut::none, Buffer::view_mut),
                level: level as u32,
                n_levels: tree.tree.n_levels() as u32,
                first_seat: seats.start as u32,
                lanes: tree.lanes,
                writes,
                reserved: 0,
                n_decisions: tree.n_decisions(),
                n_rows: tree.n_rows(),
            };
            let stride = tree.tree.n_levels() + 1;
            let n_sets = |seat: usize| {
                let at = seat * stride + level;
                tree.set_levels_here[at + 1] - tree.set_levels_here[at]
            };
            let most = seats.clone().map(n_sets).max().unwrap_or(0);
            let shape = update::shape(most, seats.len() as u32, tree.lanes);
            // SAFETY: as in `reach`; the level below is done, launches of a stream keep their order.
            unsafe { stream.launch(&self.set.cfr_explicit_respond, shape, (task,))? };
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
        let task = ValuesArgs {
            tree: tree.args(),
            probabilities: probabilities.view(),
            values: pass.values.view_mut(),
            start: nodes.start as u32,
            n: nodes.len() as u32,
            first_seat: seats.start as u32,
            skips_own: u32::from(skips_own),
            n_probabilities: tree.n_probabilities(),
        };
        let shape = values::shape(nodes.len() as u32, seats.len() as u32);
        // SAFETY: as in `reach`; the level below is done, launches of a stream keep their order.
        unsafe { stream.launch(&self.set.cfr_explicit_values, shape, (task,)) }
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
        let strategies = learnt.strategies.view_mut();
        let task = views! { UpdateArgs {
            pass reads values, others, own;
            learnt reads steps, clock;
            learnt writes regrets, averages, utilities;
            lanes: tree.lanes,
            tree: tree.args(),
            // SAFETY: without a copy the kernel is told the strategies again.
            copy: copy.map_or_else(|| unsafe { strategies.again() }, Buffer::view_mut),
            strategies,
            predictions: learnt.predictions.as_mut().map_or_else(InOut::none, Buffer::view_mut),
            first_seat: seats.start as u32,
            n_decisions: tree.n_decisions(),
            n_rows: tree.n_rows(),
            n_steps: STEPS,
        } };
        let shape = update::shape(tree.most_sets, seats.len() as u32, tree.lanes);
        // SAFETY: as in `reach`; reach and values of the pass are done; the clock is within the steps, which `Learnt::begin` wrote for as many iterations
        // as are launched.
        unsafe { stream.launch(&self.set.cfr_explicit_update, shape, (task,)) }
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
        unsafe { stream.launch(&self.set.cfr_explicit_profile, shape, (tree.args(), averages, probabilities)) }
    }
}
