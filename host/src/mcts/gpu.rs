//! The search on a device: which kernels follow which, and when the host looks.

use std::time::{Duration, Instant};

use warpplay_gpu::mcts::KernelSet;
use warpplay_gpu::mcts::reduce::RootAction;
use warpplay_gpu::mcts::tree::TreeHead;

use super::blocks::BlockSizes;
use super::config::Execution;
use super::kernels::{self, Arrays, Kernels};
use super::report::{Options, StageTimes};
use crate::{Backend, Device, Event, Graph, Result, Stream};

/// Steps of one graph.
const GRAPH_STEPS: u64 = 32;
/// Steps slower than this are launched one by one: the graph would save nothing, and a time limit would be met late.
const GRAPH_STEP_LIMIT: Duration = Duration::from_micros(400);

/// What a search left on the device.
pub(super) struct Outcome {
    pub totals: Vec<RootAction>,
    pub best: RootAction,
    pub heads: Vec<TreeHead>,
    pub reduce_over_trees_ms: f64,
    pub reduce_over_actions_ms: f64,
}

/// A search's device side. The graph comes first, so that it is gone before the arrays it works on.
pub(super) struct DeviceSearch<G: KernelSet> {
    graph: Option<Graph>,
    arrays: Arrays<G>,
    kernels: Kernels<G>,
    /// Two batches may be under way; each has an event at its end.
    batch_ends: [Event; 2],
    /// Marks between the stages of a profiled step.
    marks: [Event; 5],
    stream: Stream,
    execution: Execution,
}

impl<G: KernelSet> DeviceSearch<G> {
    pub fn new(
        device: &Device,
        options: &Options,
        capacity: u32,
        blocks: BlockSizes,
        execution: Execution,
    ) -> Result<Self> {
        let stream = device.stream()?;
        let kernels = kernels::load(device, blocks)?;
        let event = || stream.event();
        Ok(Self {
            graph: None,
            arrays: Arrays::new(&stream, options, capacity)?,
            kernels,
            batch_ends: [event()?, event()?],
            marks: [event()?, event()?, event()?, event()?, event()?],
            stream,
            execution,
        })
    }

    /// Makes single-node trees of `position` and starts all streams from the seed.
    pub fn begin(&mut self, position: &G, options: &Options) -> Result<()> {
        // A kernel is traced only when it is launched by itself.
        self.kernels.trace = tracing::enabled!(tracing::Level::DEBUG);
        self.kernels.reset(&self.stream, &mut self.arrays, position, options.seed)?;
        self.stream.synchronize()
    }

    fn execution(&self, options: &Options) -> Execution {
        if options.variant.is_thrifty() || self.kernels.trace { Execution::Stages } else { self.execution }
    }

    /// Steps as long as `goes_on(steps)` answers yes; `n_steps` is the limit of steps. Returns the steps done, all of them backed up.
    pub fn run(&mut self, options: &Options, mut goes_on: impl FnMut(u64) -> bool) -> Result<u64> {
        let execution = self.execution(options);
        let n_steps = options.steps.unwrap_or(u64::MAX);
        let mut steps = 0;
        let mut batch = 0;
        // The first step alone, for the root's actions; the second tells how long a step takes.
        let mut step_time = Duration::ZERO;
        while steps < n_steps && goes_on(steps) {
            let in_graph = execution != Execution::Stages
                && steps >= 2
                && n_steps - steps >= GRAPH_STEPS
                && step_time < GRAPH_STEP_LIMIT;
            if in_graph {
                if self.graph.is_none() {
                    self.graph = Some(self.capture(options, execution)?);
                }
                if let Some(graph) = &self.graph {
                    self.stream.launch_graph(graph)?;
                }
                steps += GRAPH_STEPS;
            } else {
                let start = Instant::now();
                self.enqueue_step(options, execution, steps == 0)?;
                steps += 1;
                if steps <= 2 {
                    self.stream.synchronize()?;
                    step_time = start.elapsed();
                }
            }
            // Wait for the batch before this one, so that the device always has the next one at hand.
            self.stream.record(&self.batch_ends[batch % 2])?;
            if batch > 0 {
                self.batch_ends[(batch + 1) % 2].wait()?;
            }
            batch += 1;
        }
        if execution == Execution::Graph && steps > 0 {
            self.kernels.backup(&self.stream, &mut self.arrays, options)?;
        }
        self.stream.synchronize()?;
        Ok(steps)
    }

    fn capture(&mut self, options: &Options, execution: Execution) -> Result<Graph> {
        let Self { arrays, kernels, stream, .. } = self;
        stream.capture(|stream| {
            for _ in 0..GRAPH_STEPS {
                enqueue(stream, kernels, arrays, options, execution, false)?;
            }
            Ok(())
        })
    }

    fn enqueue_step(&mut self, options: &Options, execution: Execution, first: bool) -> Result<()> {
        let Self { arrays, kernels, stream, .. } = self;
        enqueue(stream, kernels, arrays, options, execution, first)
    }

    /// Sums over the trees and chooses.
    pub fn finish(&mut self, options: &Options) -> Result<Outcome> {
        let Self { arrays, kernels, stream, .. } = self;
        let n_root_actions = arrays.root_children(stream)?;
        let start = Instant::now();
        let n_totals = kernels.reduce_over_trees(stream, arrays, options, n_root_actions)?;
        stream.synchronize()?;
        let middle = Instant::now();
        kernels.reduce_over_actions(stream, arrays, n_totals)?;
        let best = arrays.read_best(stream)?;
        let end = Instant::now();
        let mut totals = arrays.read_totals(stream)?;
        totals.truncate(n_totals as usize);
        totals.retain(|total| total.present == 1);
        Ok(Outcome {
            totals,
            best,
            heads: arrays.read_heads(stream)?.to_vec(),
            reduce_over_trees_ms: (middle - start).as_secs_f64() * 1e3,
            reduce_over_actions_ms: (end - middle).as_secs_f64() * 1e3,
        })
    }

    /// Steps on stage by stage with an event between the stages, and gives the mean times. The trees grow by these steps.
    pub fn profile(&mut self, options: &Options, steps: u32) -> Result<StageTimes> {
        let trace = std::mem::replace(&mut self.kernels.trace, false);
        let mut sums = [0.0; 4];
        for step in 0..=steps {
            let Self { arrays, kernels, stream, marks, .. } = self;
            stream.record(&marks[0])?;
            kernels.select(stream, arrays, options)?;
            stream.record(&marks[1])?;
            kernels.expand_1(stream, arrays, options)?;
            let n_listed = if options.variant.is_thrifty() { arrays.list_children(stream)? } else { 0 };
            kernels.expand_2(stream, arrays, options, n_listed)?;
            stream.record(&marks[2])?;
            kernels.playout(stream, arrays, options, n_listed)?;
            stream.record(&marks[3])?;
            kernels.backup(stream, arrays, options)?;
            stream.record(&marks[4])?;
            // The first step only warms up.
            for (sum, pair) in sums.iter_mut().zip(marks.windows(2)) {
                let ms = f64::from(Event::elapsed_ms(&pair[0], &pair[1])?);
                *sum += if step > 0 { ms } else { 0.0 };
            }
        }
        self.stream.synchronize()?;
        self.kernels.trace = trace;
        let mean = |sum: f64| sum / f64::from(steps.max(1));
        Ok(StageTimes {
            steps,
            select_ms: mean(sums[0]),
            expand_ms: mean(sums[1]),
            playout_ms: mean(sums[2]),
            backup_ms: mean(sums[3]),
        })
    }

    /// Steps of the profiling run unless the caller says otherwise.
    pub fn default_profile_steps(&self) -> u32 {
        if self.stream.device().backend() == Backend::Simt { 1 } else { 32 }
    }
}

/// Queues one step.
fn enqueue<G: KernelSet>(
    stream: &Stream,
    kernels: &Kernels<G>,
    arrays: &mut Arrays<G>,
    options: &Options,
    execution: Execution,
    first: bool,
) -> Result<()> {
    if execution == Execution::Graph {
        kernels.step(stream, arrays, options)?;
        if first {
            kernels.memorize_root_actions(stream, arrays)?;
        }
        return kernels.play(stream, arrays, options);
    }
    kernels.select(stream, arrays, options)?;
    kernels.expand_1(stream, arrays, options)?;
    if first {
        kernels.memorize_root_actions(stream, arrays)?;
    }
    let n_listed = if options.variant.is_thrifty() { arrays.list_children(stream)? } else { 0 };
    kernels.expand_2(stream, arrays, options, n_listed)?;
    kernels.playout(stream, arrays, options, n_listed)?;
    kernels.backup(stream, arrays, options)
}
