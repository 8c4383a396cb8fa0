//! The kernels, resolved, with a safe function for each stage.

use std::ops::Range;

use warpplay_gpu::cfr::explicit::reach::ReachArgs;
use warpplay_gpu::cfr::explicit::respond::RespondArgs;
use warpplay_gpu::cfr::explicit::update::UpdateArgs;
use warpplay_gpu::cfr::explicit::values::ValuesArgs;
use warpplay_gpu::cfr::explicit::{self, ExplicitKernels};
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

    /// Full traversals for some seats.
    pub fn of<'a>(
        &'a self,
        stream: &'a Stream,
        tree: &'a DeviceTree,
        pass: &'a mut Pass<T>,
        seats: Range<usize>,
    ) -> Traversal<'a, T> {
        Traversal { kernels: self, stream, tree, pass, seats }
    }

    /// The average profile into the first values of `probabilities`.
    pub fn profile(
        &self,
        stream: &Stream,
        tree: &DeviceTree,
        averages: &Buffer<T>,
        probabilities: &mut Buffer<f64>,
    ) -> Result<()> {
        // SAFETY: as in `reach`; both have a value for each of its rows.
        unsafe { stream.run_unchecked(&self.set.cfr_explicit_profile, (tree.args(), averages, probabilities)) }
    }
}

/// Full traversals for some seats.
pub(in crate::cfr) struct Traversal<'a, T: ExplicitKernels + Number> {
    kernels: &'a Kernels<T>,
    stream: &'a Stream,
    tree: &'a DeviceTree,
    pass: &'a mut Pass<T>,
    seats: Range<usize>,
}

impl<T: ExplicitKernels + Number> Traversal<'_, T> {
    /// The first seat, and how many.
    fn range(&self) -> (u32, u32) {
        (self.seats.start as u32, self.seats.len() as u32)
    }

    /// Reach of the seats' histories.
    pub fn reach(&mut self, probabilities: &Buffer<T>) -> Result<()> {
        let (first_seat, n_seats) = self.range();
        let (tree, pass) = (self.tree, &mut *self.pass);
        let task = views! { ReachArgs {
            pass writes others, own;
            tree: tree.args(),
            probabilities: probabilities.view(),
            first_seat,
            reserved: 0,
            n_decisions: tree.n_decisions(),
            n_probabilities: tree.n_probabilities(),
        } };
        let function = &self.kernels.set.cfr_explicit_reach;
        // SAFETY: nodes and rows in the tree's arrays are its own; no seat has more histories.
        unsafe { self.stream.run_unchecked_with(function, (tree.most_members, n_seats), (task,)) }
    }

    /// Values of all nodes, from the deepest level up.
    pub fn values(&mut self, probabilities: &Buffer<T>) -> Result<()> {
        // The deepest level has ends only.
        (0..self.tree.tree.n_levels() - 1).rev().try_for_each(|level| self.level_values(probabilities, level, false))
    }

    /// Values of all nodes, each of the seats playing its best against the others; the response goes into `answer`, where there is one.
    pub fn best_responses(&mut self, probabilities: &Buffer<T>, mut answer: Option<&mut Buffer<T>>) -> Result<()> {
        self.reach(probabilities)?;
        for level in (0..self.tree.tree.n_levels() - 1).rev() {
            self.level_values(probabilities, level, true)?;
            let most_sets = self.tree.most_sets_on(level, self.seats.clone());
            if most_sets > 0 {
                self.respond(level, most_sets, answer.as_deref_mut())?;
            }
        }
        Ok(())
    }

    fn level_values(&mut self, probabilities: &Buffer<T>, level: usize, skips_own: bool) -> Result<()> {
        let nodes = self.tree.tree.level(level);
        let (start, n) = (nodes.start as u32, nodes.len() as u32);
        let (first_seat, n_seats) = self.range();
        let task = ValuesArgs {
            tree: self.tree.args(),
            probabilities: probabilities.view(),
            values: self.pass.values.view_mut(),
            start,
            n,
            first_seat,
            skips_own: u32::from(skips_own),
            n_probabilities: self.tree.n_probabilities(),
        };
        // SAFETY: as in `reach`; the level below is done, launches of a stream keep their order.
        unsafe { self.stream.run_unchecked_with(&self.kernels.set.cfr_explicit_values, (n_seats,), (task,)) }
    }

    fn respond(&mut self, level: usize, most_sets: u32, answer: Option<&mut Buffer<T>>) -> Result<()> {
        let (first_seat, n_seats) = self.range();
        let (tree, pass) = (self.tree, &mut *self.pass);
        let writes = u32::from(answer.is_some());
        let task = views! { RespondArgs {
            tree reads set_levels;
            pass reads others;
            pass writes values;
            tree: tree.args(),
            strategies: answer.map_or_else(InOut::none, Buffer::view_mut),
            level: level as u32,
            n_levels: tree.tree.n_levels() as u32,
            first_seat,
            lanes: tree.lanes,
            writes,
            reserved: 0,
            n_decisions: tree.n_decisions(),
            n_rows: tree.n_rows(),
        } };
        let function = &self.kernels.set.cfr_explicit_respond;
        // SAFETY: as in `reach`; the level below is done, launches of a stream keep their order.
        unsafe { self.stream.run_unchecked_with(function, (most_sets, n_seats), (task,)) }
    }

    /// Regrets, averages and next strategies of the seats; the strategies go to `copy` too, where there is one.
    pub fn update(&mut self, learnt: &mut Learnt<T>, copy: Option<&mut Buffer<T>>) -> Result<()> {
        let (first_seat, n_seats) = self.range();
        let (tree, pass) = (self.tree, &*self.pass);
        let strategies = learnt.strategies.view_mut();
        let task = views! { UpdateArgs {
            pass reads values, others, own;
            learnt reads steps, clock;
            learnt writes regrets, averages, utilities;
            tree: tree.args(),
            // SAFETY: without a copy the kernel is told the strategies again.
            copy: copy.map_or_else(|| unsafe { strategies.again() }, Buffer::view_mut),
            strategies,
            predictions: learnt.predictions.as_mut().map_or_else(InOut::none, Buffer::view_mut),
            first_seat,
            lanes: tree.lanes,
            n_decisions: tree.n_decisions(),
            n_rows: tree.n_rows(),
            n_steps: STEPS,
        } };
        let function = &self.kernels.set.cfr_explicit_update;
        // SAFETY: as in `reach`; reach and values of the pass are done; the clock is within the steps, which `Learnt::begin` wrote for as many iterations
        // as are launched.
        unsafe { self.stream.run_unchecked_with(function, (tree.most_sets, n_seats), (task,)) }
    }
}
