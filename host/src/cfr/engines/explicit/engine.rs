//! Full traversals on a device that runs kernels.

use std::ops::Range;
use std::sync::Arc;

use warpplay_gpu::cfr::explicit::ExplicitKernels;

use super::arrays::{DeviceTree, Learnt, Pass, STEPS};
use super::kernels::Kernels;
use super::measure::Measuring;
use super::no_measuring;
use crate::cfr::engines::Solve;
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::{Measured, Number, Tables};
use crate::cfr::options::{Algorithm, Options, Updates};
use crate::{Buffer, Device, Graph, Memory, Result, Stream};

/// Iterations of the longer graph: a replay costs some microseconds, as much as a small tree's iteration.
const REPEATS: u32 = 16;
/// Largest tree for the longer graph.
const SMALL: usize = 1 << 17;

/// The engine for explicit trees.
pub(super) struct Explicit<T: ExplicitKernels + Number> {
    stream: Stream,
    work: Work<T>,
    options: Options,
    /// None in an engine that only learns.
    measuring: Option<Measuring>,
    one: Graph,
    many: Option<Graph>,
}

/// The arrays and kernels of an iteration.
struct Work<T: ExplicitKernels + Number> {
    kernels: Kernels<T>,
    tree: DeviceTree,
    pass: Pass<T>,
    learnt: Learnt<T>,
    /// For cfr_br, by seat that learns: its strategies, and the other's best response to them; otherwise empty.
    answers: Vec<Buffer<T>>,
    /// Seats that learn.
    seats: Range<usize>,
    simultaneous: bool,
}

/// Memory on the device.
pub(super) fn memory<T: ExplicitKernels + Number>(tree: &Tree, options: &Options) -> Memory {
    let answers = if options.algorithm == Algorithm::CfrBr { 2 * (tree.n_rows() + tree.outcomes.len()) } else { 0 };
    let memory = Memory::default()
        .on_device("tree", DeviceTree::bytes(tree))
        .on_device("regrets, averages and strategies", Learnt::<T>::bytes(tree, options))
        .on_device("values and reaches", Pass::<T>::bytes(tree));
    if answers > 0 { memory.on_device("best responses", (size_of::<T>() * answers) as u64) } else { memory }
}

impl<T: ExplicitKernels + Number> Explicit<T> {
    /// Allocates the memory and records an iteration.
    pub fn new(
        device: &Device,
        tree: &Arc<Tree>,
        options: &Options,
        seats: Range<usize>,
        measures: bool,
    ) -> Result<Self> {
        let stream = device.stream()?;
        let learnt = Learnt::new(&stream, tree, options)?;
        let n_answers = if options.algorithm == Algorithm::CfrBr { seats.len() } else { 0 };
        let first = stream.read(&learnt.strategies)?;
        let answers = (0..n_answers).map(|_| stream.upload(&first)).collect::<Result<_>>()?;
        let mut work = Work {
            kernels: Kernels::load(device)?,
            tree: DeviceTree::new(&stream, tree)?,
            pass: Pass::new(&stream, tree)?,
            learnt,
            answers,
            seats,
            simultaneous: options.updates == Updates::Simultaneous,
        };
        let measuring = measures.then(|| Measuring::new(device, &stream, tree)).transpose()?;
        let one = stream.capture(|stream| work.iterate(stream))?;
        let many = if tree.n_nodes() <= SMALL {
            Some(stream.capture(|stream| (0..REPEATS).try_for_each(|_| work.iterate(stream)))?)
        } else {
            None
        };
        Ok(Self { stream, work, options: *options, measuring, one, many })
    }
}

impl<T: ExplicitKernels + Number> Work<T> {
    /// Queues one iteration.
    fn iterate(&mut self, stream: &Stream) -> Result<()> {
        let mut seats = self.seats.clone();
        self.kernels.tick(stream, &mut self.learnt)?;
        if !self.answers.is_empty() {
            return seats.try_for_each(|seat| self.iterate_against_best(stream, seat));
        }
        if self.simultaneous {
            return self.learn(stream, seats);
        }
        seats.try_for_each(|seat| self.learn(stream, seat..seat + 1))
    }

    /// Queues a pass from which the seats learn.
    fn learn(&mut self, stream: &Stream, seats: Range<usize>) -> Result<()> {
        let Self { kernels, tree, pass, learnt, .. } = self;
        let mut traversal = kernels.of(stream, tree, pass, seats);
        traversal.reach(&learnt.strategies)?;
        traversal.values(&learnt.strategies)?;
        traversal.update(learnt, None)
    }

    /// Queues an iteration in which one of two seats learns against the best response to its strategy.
    fn iterate_against_best(&mut self, stream: &Stream, seat: usize) -> Result<()> {
        let Self { kernels, tree, pass, learnt, answers, seats, .. } = self;
        let Some(answer) = answers.get_mut(seat - seats.start) else { return Ok(()) };
        let (own, other) = (seat..seat + 1, 1 - seat..2 - seat);
        kernels.of(stream, tree, pass, other).best_responses(&learnt.strategies, Some(answer))?;
        let mut traversal = kernels.of(stream, tree, pass, own);
        traversal.reach(answer)?;
        traversal.values(answer)?;
        traversal.update(learnt, Some(answer))
    }
}

impl<T: ExplicitKernels + Number> Solve for Explicit<T> {
    fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n;
        while left > 0 {
            let now = left.min(STEPS);
            self.work.learnt.begin(&self.stream, &self.options, now)?;
            let mut ones = now;
            if let Some(many) = &self.many {
                (0..now / REPEATS).try_for_each(|_| self.stream.launch_graph(many))?;
                ones = now % REPEATS;
            }
            (0..ones).try_for_each(|_| self.stream.launch_graph(&self.one))?;
            left -= now;
        }
        self.stream.synchronize()
    }

    fn measure(&mut self) -> Result<Measured> {
        let Work { kernels, tree, learnt, .. } = &self.work;
        let measuring = self.measuring.as_mut().ok_or_else(no_measuring)?;
        measuring.measure(&self.stream, kernels, tree, &learnt.averages)
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        self.stream.read(&self.work.learnt.utilities)
    }

    fn tables(&mut self) -> Result<Tables> {
        self.work.learnt.read(&self.stream, &self.work.tree.tree)
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let Self { stream, work, .. } = self;
        let tree = Arc::clone(&work.tree.tree);
        work.learnt.write(stream, &tree, tables)?;
        let n = work.learnt.strategies.len();
        work.answers.iter_mut().try_for_each(|answer| stream.copy(answer, 0, &work.learnt.strategies, 0, n))
    }
}
