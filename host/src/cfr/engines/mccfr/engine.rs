//! Sampled traversals on a device that runs kernels.

use std::sync::Arc;

use warpplay_gpu::cfr::explicit::ExplicitKernels;

use super::found::{Found, Scales};
use crate::cfr::engines::Solve;
use crate::cfr::engines::explicit::{self, DeviceTree, Learnt, Measuring, STEPS};
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::{Measured, Number, Tables};
use crate::cfr::options::{Options, Sampling, Updates};
use crate::{Buffer, Device, Error, Graph, Memory, Result, Stream};

/// Iterations of the longer graph: a replay costs some microseconds, as much as an iteration of few traversals.
const REPEATS: u32 = 32;
/// Sums of sampled values stay below 2 to this power.
const SUM_BITS: f64 = 62.0;
/// Exponent of the finest resolution of a chip or a probability: 2⁻³⁶.
const FINEST_BITS: f64 = 36.0;
/// Exponent of the coarsest acceptable resolution: 2⁻¹².
const COARSEST_BITS: f64 = 12.0;
/// Exponent of the resolution of probabilities in outcome sampling, whose weights are 1 / (probability of the line): 2⁻²⁴.
const OUTCOME_BITS: f64 = 24.0;

impl Scales {
    /// The finest resolution with which no sum of an iteration's regrets can overflow; `None` if that is too coarse.
    ///
    /// A regret found by external and chance sampling is at most twice the largest payoff. Outcome sampling divides it by the probability of the seat's own sampled choices,
    /// each of which is at least ε / actions. Its weights of strategies are unbounded: a weight above 2³⁸ / batch, from an equally improbable line, is clamped to that
    /// value.
    pub fn new(tree: &Tree, options: &Options) -> Option<Self> {
        let payoff = tree.payoffs.iter().fold(0.0f64, |most, payoff| most.max(payoff.abs()));
        let outcome = options.sampling == Sampling::Outcome;
        let weight = if outcome { largest_weight(tree, options.exploration) } else { 1.0 };
        let largest = (2.0 * payoff * weight * f64::from(options.batch)).max(1.0);
        let bits = (SUM_BITS - largest.log2().ceil()).min(FINEST_BITS);
        let strategy_bits = SUM_BITS - f64::from(options.batch).log2().ceil();
        let average = if outcome { OUTCOME_BITS } else { strategy_bits.min(FINEST_BITS) };
        (bits >= COARSEST_BITS).then(|| Self { regret: bits.exp2(), average: average.exp2() })
    }
}

/// The largest of 1 / (probability of a seat's sampled choices on a line): each is at least ε / actions.
fn largest_weight(tree: &Tree, exploration: f64) -> f64 {
    let n_rows = tree.n_rows() as u32;
    let mut largest = 1.0f64;
    for seat in 0..tree.n_players {
        let rows = tree.seat_rows(seat);
        let mut weights = vec![1.0f64; tree.n_nodes()];
        for node in 1..tree.n_nodes() {
            let (parent, row) = (tree.parents[node] as usize, tree.rows[node]);
            let own = row < n_rows && rows.contains(&(row as usize));
            let n_actions = tree.children(parent).len() as f64;
            weights[node] = weights[parent] * if own { n_actions / exploration } else { 1.0 };
            largest = largest.max(weights[node]);
        }
    }
    largest
}

/// Memory on the device.
pub(super) fn memory<T: ExplicitKernels + Number>(tree: &Tree, options: &Options) -> Memory {
    let payoffs = size_of::<T>() * tree.n_players * tree.n_nodes();
    Memory::default()
        .on_device("tree", DeviceTree::bytes(tree) + payoffs as u64)
        .on_device("regrets, averages and strategies", Learnt::<T>::bytes(tree, options))
        .on_device("what traversals find", 8 * (2 * tree.n_rows() + tree.n_players) as u64)
}

/// The engine for sampled traversals of explicit trees.
pub(super) struct Mccfr<T: ExplicitKernels + Number> {
    stream: Stream,
    work: Work<T>,
    /// None in an engine that only learns.
    measuring: Option<Measuring>,
    one: Graph,
    many: Graph,
}

/// The arrays and kernels of an iteration.
struct Work<T: ExplicitKernels + Number> {
    kernels: explicit::Kernels<T>,
    tree: DeviceTree,
    payoffs: Buffer<T>,
    learnt: Learnt<T>,
    found: Found,
    options: Options,
    scales: Scales,
}

impl<T: ExplicitKernels + Number> Mccfr<T> {
    /// Allocates the memory and records an iteration.
    pub fn new(device: &Device, tree: &Arc<Tree>, options: &Options, measures: bool) -> Result<Self> {
        let scales = Scales::new(tree, options).ok_or_else(|| too_coarse(options))?;
        let stream = device.stream()?;
        let n_rows = tree.n_rows();
        let mut work = Work {
            kernels: explicit::Kernels::load(device)?,
            tree: DeviceTree::new(&stream, tree)?,
            payoffs: explicit::payoffs(&stream, tree)?,
            learnt: Learnt::new(&stream, tree, options)?,
            found: Found {
                regrets: stream.alloc(n_rows)?,
                averages: stream.alloc(n_rows)?,
                utilities: stream.alloc(tree.n_players)?,
            },
            options: *options,
            scales,
        };
        let measuring = measures.then(|| Measuring::new(device, &stream, tree)).transpose()?;
        let one = stream.capture(|stream| work.iterate(stream))?;
        let many = stream.capture(|stream| (0..REPEATS).try_for_each(|_| work.iterate(stream)))?;
        Ok(Self { stream, work, measuring, one, many })
    }
}

/// The error if sums could overflow.
pub(super) fn too_coarse(options: &Options) -> Error {
    let allowed = "fewer, or more exploration: regrets of this game could not be added exactly enough";
    Error::option("batch", options.batch, allowed)
}

impl<T: ExplicitKernels + Number> Work<T> {
    /// Queues one iteration.
    fn iterate(&mut self, stream: &Stream) -> Result<()> {
        let Self { kernels, tree, payoffs, learnt, found, options, scales } = self;
        kernels.tick(stream, learnt)?;
        let n_players = tree.tree.n_players;
        let step = if options.updates == Updates::Simultaneous { n_players } else { 1 };
        (0..n_players).step_by(step).try_for_each(|seat| {
            kernels.traverse(stream, tree, payoffs, learnt, found, options, *scales, seat..seat + step)
        })
    }
}

impl<T: ExplicitKernels + Number> Solve for Mccfr<T> {
    fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n;
        while left > 0 {
            let now = left.min(STEPS);
            let Work { learnt, options, .. } = &mut self.work;
            learnt.begin(&self.stream, options, now)?;
            (0..now / REPEATS).try_for_each(|_| self.stream.launch_graph(&self.many))?;
            (0..now % REPEATS).try_for_each(|_| self.stream.launch_graph(&self.one))?;
            left -= now;
        }
        self.stream.synchronize()
    }

    fn measure(&mut self) -> Result<Measured> {
        let Work { kernels, tree, learnt, .. } = &self.work;
        let measuring = self.measuring.as_mut().ok_or_else(explicit::no_measuring)?;
        measuring.measure(&self.stream, kernels, tree, &learnt.averages)
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        self.stream.read(&self.work.learnt.utilities)
    }

    fn tables(&mut self) -> Result<Tables> {
        self.work.learnt.read(&self.stream, &self.work.tree.tree)
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        // Random numbers depend on the iteration only: there is nothing else to restore.
        let tree = Arc::clone(&self.work.tree.tree);
        self.work.learnt.write(&self.stream, &tree, tables)
    }
}
