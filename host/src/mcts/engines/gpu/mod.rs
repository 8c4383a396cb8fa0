//! The search on a device: which kernels follow which, and when the host looks.

#[allow(unsafe_code)]
pub(in crate::mcts) mod kernels;

use std::time::{Duration, Instant};

use warpplay_gpu::mcts::KernelSet;
use warpplay_gpu::mcts::reduce::RootAction;
use warpplay_gpu::mcts::tree::TreeHead;

use self::kernels::{Arrays, Kernels};
use super::Found;
use crate::mcts::blocks::BlockSizes;
use crate::mcts::clock::Clock;
use crate::mcts::options::{Engine, Options};
use crate::mcts::report::{StageMs, StageTimes, TreesReport};
use crate::{Backend, Device, Event, Graph, Result, Stream};

/// Steps of one graph.
const GRAPH_STEPS: u64 = 32;
/// Steps slower than this are launched one by one: a graph would save nothing, and the caller's `watch` would be called too rarely.
const GRAPH_STEP_LIMIT: Duration = Duration::from_micros(400);

/// The number of steps to queue next: those of a graph, 1, or 0 to wait for the running ones first. The running and queued steps fit into the time that is `left`, except
/// for the step in which a search ends.
fn next_batch(left: Duration, under_way: u64, step_time: Duration, allows_graph: bool) -> u64 {
    let fits = |n: u64| step_time.saturating_mul((under_way + n) as u32) <= left;
    if allows_graph && step_time < GRAPH_STEP_LIMIT && fits(GRAPH_STEPS) {
        GRAPH_STEPS
    } else {
        u64::from(under_way == 0 || fits(1))
    }
}

/// The results of a search on the device.
struct Outcome {
    totals: Vec<RootAction>,
    best: RootAction,
    heads: Vec<TreeHead>,
    reduce_over_trees_ms: f64,
    reduce_over_actions_ms: f64,
}

impl Outcome {
    fn found(&self, steps: u64, loop_ms: f64, total_ms: f64, stages: Option<StageTimes>) -> Found {
        let count = self.heads.len();
        let nodes: u64 = self.heads.iter().map(|head| u64::from(head.size)).sum();
        let depths: u64 = self.heads.iter().map(|head| head.depth_sum).sum();
        Found {
            steps,
            n_root: self.best.n_root,
            actions: self
                .totals
                .iter()
                .map(|total| [u64::from(total.action), total.n, total.wins, total.draws, u64::from(total.win_flag)])
                .collect(),
            best: self.best.action,
            ms: StageMs {
                total: total_ms,
                loop_: loop_ms,
                mean_select: stages.map(|stages| stages.select_ms),
                mean_expand: stages.map(|stages| stages.expand_ms),
                mean_playout: stages.map(|stages| stages.playout_ms),
                mean_backup: stages.map(|stages| stages.backup_ms),
                reduce_over_trees: self.reduce_over_trees_ms,
                reduce_over_actions: self.reduce_over_actions_ms,
            },
            stage_times_from: match stages {
                Some(stages) if stages.steps == 1 => {
                    "a profiling run of a step after the search, by events".to_string()
                }
                Some(stages) => format!("a profiling run of {} steps after the search, by events", stages.steps),
                None => "not measured".to_string(),
            },
            trees: TreesReport {
                count: count as u32,
                mean_depth: depths as f64 / nodes as f64,
                max_depth: self.heads.iter().map(|head| head.max_depth).max().unwrap_or(0),
                mean_size: nodes as f64 / count as f64,
                max_size: self.heads.iter().map(|head| u64::from(head.size)).max().unwrap_or(0),
                full: self.heads.iter().filter(|head| head.refused > 0).count() as u32,
                refused: self.heads.iter().map(|head| head.refused).sum(),
            },
        }
    }
}

/// The device side of a search.
pub(in crate::mcts) struct DeviceSearch<G: KernelSet> {
    graph: Option<Graph>,
    arrays: Arrays<G>,
    kernels: Kernels<G>,
    /// Events at the ends of batches; at most two batches are queued at a time.
    batch_ends: [Event; 2],
    /// Marks between the stages of a profiled step.
    marks: [Event; 5],
    stream: Stream,
    engine: Engine,
}

impl<G: KernelSet> DeviceSearch<G> {
    pub fn new(device: &Device, options: &Options, capacity: u32, blocks: BlockSizes, engine: Engine) -> Result<Self> {
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
            engine,
        })
    }

    /// Searches `position` until the clock ends it, then measures the stages over `profile_steps` steps more.
    pub fn search(
        &mut self,
        position: &G,
        options: &Options,
        profile_steps: Option<u32>,
        clock: &mut Clock<'_>,
    ) -> Result<Found> {
        self.begin(position, options)?;
        clock.start();
        let steps = self.run(options, clock)?;
        let loop_ms = clock.loop_ms();
        let outcome = self.finish(options)?;
        let total_ms = clock.total_ms();
        let stages = match profile_steps.unwrap_or(self.default_profile_steps()) {
            0 => None,
            n => Some(self.profile(options, n)?),
        };
        Ok(outcome.found(steps, loop_ms, total_ms, stages))
    }

    /// Makes single-node trees of `position` and starts all streams from the seed.
    pub fn begin(&mut self, position: &G, options: &Options) -> Result<()> {
        // A kernel is traced only when it is launched by itself.
        self.kernels.trace = tracing::enabled!(tracing::Level::DEBUG);
        self.kernels.reset(&self.stream, &mut self.arrays, position, options.seed)?;
        self.stream.synchronize()
    }

    fn engine(&self) -> Engine {
        if self.kernels.trace { Engine::Stages } else { self.engine }
    }

    /// Makes steps until the clock ends the search. Returns the number of steps, all of which have been backed up.
    fn run(&mut self, options: &Options, clock: &mut Clock<'_>) -> Result<u64> {
        let engine = self.engine();
        let n_steps = options.steps.unwrap_or(u64::MAX);
        let (mut steps, mut under_way, mut batch) = (0, 0, 0);
        // The first step alone, for the root's actions; the second tells how long a step takes, and then every batch.
        let (mut step_time, mut latest) = (Duration::ZERO, Instant::now());
        while steps < n_steps && clock.goes_on(steps) {
            let allows_graph = engine != Engine::Stages && steps >= 2 && n_steps - steps >= GRAPH_STEPS;
            let queued = next_batch(clock.left(), under_way, step_time, allows_graph);
            if queued == GRAPH_STEPS {
                if self.graph.is_none() {
                    self.graph = Some(self.capture(options, engine)?);
                    latest = Instant::now();
                }
                if let Some(graph) = &self.graph {
                    self.stream.launch_graph(graph)?;
                }
            } else if queued == 1 {
                self.enqueue_step(options, engine, steps == 0)?;
            }
            steps += queued;
            let done = if queued == 0 || steps <= 2 {
                self.stream.synchronize()?;
                std::mem::take(&mut under_way) + queued
            } else {
                // Wait for the batch before this one, so that the device always has the next one at hand.
                self.stream.record(&self.batch_ends[batch % 2])?;
                batch += 1;
                if under_way > 0 {
                    self.batch_ends[batch % 2].wait()?;
                }
                std::mem::replace(&mut under_way, queued)
            };
            if done > 0 {
                let now = Instant::now();
                step_time = (now - latest) / done as u32;
                latest = now;
            }
        }
        if engine == Engine::Graph && steps > 0 {
            self.kernels.backup(&self.stream, &mut self.arrays, options)?;
        }
        self.stream.synchronize()?;
        Ok(steps)
    }

    fn capture(&mut self, options: &Options, engine: Engine) -> Result<Graph> {
        let Self { arrays, kernels, stream, .. } = self;
        stream.capture(|stream| {
            for _ in 0..GRAPH_STEPS {
                enqueue(stream, kernels, arrays, options, engine, false)?;
            }
            Ok(())
        })
    }

    fn enqueue_step(&mut self, options: &Options, engine: Engine, first: bool) -> Result<()> {
        let Self { arrays, kernels, stream, .. } = self;
        enqueue(stream, kernels, arrays, options, engine, first)
    }

    /// Sums the results over the trees and chooses an action.
    fn finish(&mut self, options: &Options) -> Result<Outcome> {
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

    /// Makes further steps stage by stage with an event between stages, and returns the mean times. The trees grow by these steps.
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

    /// Default number of steps of the profiling run.
    fn default_profile_steps(&self) -> u32 {
        if self.stream.device().backend() == Backend::Simt { 1 } else { 32 }
    }
}

/// Queues one step.
fn enqueue<G: KernelSet>(
    stream: &Stream,
    kernels: &Kernels<G>,
    arrays: &mut Arrays<G>,
    options: &Options,
    engine: Engine,
    first: bool,
) -> Result<()> {
    if engine == Engine::Graph {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The duration and the number of steps of a search with time limit `limit` on a device whose steps all take `step`; batches are queued and awaited as by
    /// [`DeviceSearch::run`].
    fn search(limit: Duration, step: Duration) -> (Duration, u64) {
        // The host's clock, and when all that is queued is done.
        let (mut now, mut all_done) = (2 * step, 2 * step);
        let (mut steps, mut under_way) = (2, 0);
        while now < limit {
            let queued = next_batch(limit - now, under_way, step, true);
            let before = all_done;
            all_done = before.max(now) + step * queued as u32;
            // Nothing queued: all is waited for; else the batch before, if there is one.
            now = now.max(if queued == 0 { all_done } else { before });
            (steps, under_way) = (steps + queued, queued);
        }
        (all_done, steps)
    }

    #[test]
    fn a_search_of_slow_steps_ends_within_a_step_of_its_time() {
        let limit = Duration::from_millis(100);
        // Gomoku with all children played out by 4 trees takes 0.387 ms, just short enough for graphs: two of them under way would last 25 ms.
        for micros in [1, 20, 387, 399, 401, 700, 30_000] {
            let step = Duration::from_micros(micros);
            let (took, steps) = search(limit, step);
            assert!(limit <= took && took < limit + step, "steps of {step:?}: {took:?}");
            assert_eq!(steps, limit.as_micros().div_ceil(step.as_micros()) as u64, "no time is lost");
        }
    }

    #[test]
    fn graphs_are_queued_while_there_is_time_for_them() {
        let step = Duration::from_micros(100);
        assert_eq!(next_batch(Duration::MAX, GRAPH_STEPS, step, true), GRAPH_STEPS, "no limit of time");
        assert_eq!(next_batch(64 * step, GRAPH_STEPS, step, true), GRAPH_STEPS);
        assert_eq!(next_batch(63 * step, GRAPH_STEPS, step, true), 1);
        assert_eq!(next_batch(33 * step, GRAPH_STEPS, step, true), 1);
        assert_eq!(next_batch(32 * step, GRAPH_STEPS, step, true), 0, "those under way take all of it");
        assert_eq!(next_batch(Duration::MAX, 0, step, false), 1);
        assert_eq!(next_batch(Duration::MAX, 0, GRAPH_STEP_LIMIT, true), 1);
    }
}
