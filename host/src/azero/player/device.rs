//! Trees in device memory: many steps are queued at once, and waited for once.

use std::collections::HashMap;

use warpplay_gpu::azero::search::tree::{self, fault};
use warpplay_gpu::azero::search::{SearchKernels, finish};

use super::estimator::{Estimator, Leaves};
use super::kernels::{Arrays, Kernels, Rows};
use super::options::SearchOptions;
use super::task::{Choice, ChoiceAction, Task, not_finite};
use crate::azero::heard::heard;
use crate::azero::{Evaluator, Inputs, Outputs};
use crate::{Backend, Device, Error, Graph, Memory, Result, Stream};

/// Steps that are queued at once and recorded as one graph; the caller may stop a search between two such parts.
const GRAPH_STEPS: u32 = 32;
/// Number of sizes for which graphs are recorded: multiples of this fraction of the capacity. The trees of a search are rounded up to the next size.
const SIZES: u32 = 8;

/// A search with its trees in device memory.
pub(super) struct DeviceTrees<G: SearchKernels> {
    /// Graphs of first and of repeated evaluations, by number of trees.
    graphs: [HashMap<u32, Graph>; 2],
    /// Whether the evaluator can be recorded, for first and for repeated evaluations.
    records: [bool; 2],
    /// Number of repeated evaluations.
    repeated_batches: u64,
    work: Work<G>,
    stream: Stream,
}

/// Everything that launches use.
struct Work<G: SearchKernels> {
    kernels: Kernels<G>,
    arrays: Arrays<G>,
    answers: Answers,
    /// Whether the evaluator's second engine evaluates the leaves, because numbers were too large for the first.
    again: bool,
}

/// The evaluator of leaves, with its device memory.
enum Answers {
    Network(Box<Evaluator>, Inputs, Outputs),
    Uniform,
    Playouts(u32),
}

impl Answers {
    fn rows(&mut self) -> Rows<'_> {
        match self {
            Self::Network(evaluator, inputs, outputs) => {
                Rows::Network(inputs, outputs, evaluator.observation(), evaluator.value_of())
            }
            Self::Uniform => Rows::Uniform,
            Self::Playouts(_) => Rows::Playouts,
        }
    }
}

impl<G: SearchKernels> Work<G> {
    /// Queues the evaluation of the waiting leaves, in `row_stride` rows per tree.
    fn evaluate(&mut self, stream: &Stream, n_trees: u32, row_stride: u32) -> Result<()> {
        match &mut self.answers {
            Answers::Network(evaluator, inputs, outputs) => {
                let n = (n_trees * row_stride) as usize;
                match self.again {
                    true => evaluator.enqueue_again(stream, inputs, n, outputs),
                    false => evaluator.enqueue(stream, inputs, n, outputs),
                }
            }
            Answers::Uniform => Ok(()),
            Answers::Playouts(n) => self.kernels.playouts(stream, &mut self.arrays, *n, n_trees, row_stride),
        }
    }

    fn step(&mut self, stream: &Stream, options: &SearchOptions, n_trees: u32, strides: (u32, u32)) -> Result<()> {
        let rows = &mut self.answers.rows();
        self.kernels.step(stream, &mut self.arrays, rows, options.c_puct, n_trees, strides)
    }

    /// Queues all work before the evaluation of the first simulations.
    fn begin(&mut self, stream: &Stream, options: &SearchOptions, n_trees: u32) -> Result<()> {
        self.kernels.begin(stream, &mut self.arrays, &mut self.answers.rows(), n_trees)?;
        self.evaluate(stream, n_trees, 1)?;
        self.step(stream, options, n_trees, (1, 0))?;
        if let Some(noise) = options.noise {
            self.kernels.noise(stream, &mut self.arrays, noise, n_trees)?;
        }
        self.step(stream, options, n_trees, (1, options.leaves))
    }

    /// Queues `steps` steps.
    fn steps(&mut self, stream: &Stream, options: &SearchOptions, n_trees: u32, steps: u32) -> Result<()> {
        for _ in 0..steps {
            self.evaluate(stream, n_trees, options.leaves)?;
            self.step(stream, options, n_trees, (options.leaves, options.leaves))?;
        }
        Ok(())
    }
}

impl<G: SearchKernels> DeviceTrees<G> {
    /// Adds the memory of [`DeviceTrees::new`] to that of the evaluator of leaves.
    pub fn memory(evaluator: Memory, options: &SearchOptions, estimator: &Estimator, n_trees: u32) -> Memory {
        let playouts = matches!(estimator, Estimator::Playouts(_));
        let memory = Arrays::<G>::memory(evaluator, options, n_trees, playouts);
        let Estimator::Network { network, .. } = estimator else { return memory };
        let (shape, n_rows) = (network.shape(), n_trees as usize * options.leaves as usize);
        memory.on_device("inputs and outputs of leaves", Inputs::bytes(shape, n_rows) + Outputs::bytes(shape, n_rows))
    }

    /// Allocates the memory for `n_trees` trees.
    pub fn new(device: &Device, options: &SearchOptions, leaves: Leaves, n_trees: u32) -> Result<Self> {
        let stream = device.stream()?;
        let kernels = Kernels::load(device)?;
        let arrays = Arrays::new(&stream, options, n_trees, matches!(leaves, Leaves::Playouts(_)))?;
        let answers = match leaves {
            Leaves::Uniform => Answers::Uniform,
            Leaves::Playouts(n) => Answers::Playouts(n),
            Leaves::Network(evaluator) => {
                let n_rows = n_trees as usize * options.leaves as usize;
                let inputs = Inputs::new(&stream, evaluator.shape(), n_rows)?;
                let outputs = Outputs::new(&stream, evaluator.shape(), n_rows)?;
                Answers::Network(evaluator, inputs, outputs)
            }
        };
        let work = Work { kernels, arrays, answers, again: false };
        Ok(Self { graphs: Default::default(), records: [true; 2], repeated_batches: 0, work, stream })
    }

    /// Number of evaluations repeated because numbers were too large for the evaluator's engine.
    pub fn repeated_batches(&self) -> u64 {
        self.repeated_batches
    }

    /// Searches at most as many positions as there are trees, calling `go_on` between parts; `None` if it returns false.
    ///
    /// A number too large for the evaluator's engine makes the leaf's value NaN, which its tree records as a fault. That
    /// search is then repeated with the other engine; other searches do not depend on it and are not repeated.
    pub fn search(
        &mut self,
        options: &SearchOptions,
        tasks: &[Task<G>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Choice>>> {
        let Some(mut found) = self.search_once(options, tasks, go_on)? else { return Ok(None) };
        let may_overflow = matches!(&self.work.answers, Answers::Network(evaluator, ..) if evaluator.may_overflow());
        if may_overflow && found.iter().any(Result::is_err) {
            let faulty: Vec<usize> = (0..tasks.len()).filter(|&at| found[at].is_err()).collect();
            let tasks: Vec<Task<G>> = faulty.iter().map(|&at| tasks[at]).collect();
            self.work.again = true;
            let again = self.search_once(options, &tasks, go_on);
            self.work.again = false;
            let Some(again) = again? else { return Ok(None) };
            for (at, mut again) in faulty.into_iter().zip(again) {
                if let Err(Error::NotFinite { position, .. }) = &mut again {
                    *position = at;
                }
                found[at] = again;
            }
            // The roots, then each step.
            self.repeated_batches += 1 + u64::from(options.steps());
        }
        found.into_iter().collect::<Result<Vec<Choice>>>().map(Some)
    }

    fn search_once(
        &mut self,
        options: &SearchOptions,
        tasks: &[Task<G>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Result<Choice>>>> {
        if tasks.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if !go_on() {
            return Ok(None);
        }
        let part = self.work.arrays.n_trees.div_ceil(SIZES);
        let n_trees = (tasks.len() as u32).next_multiple_of(part).min(self.work.arrays.n_trees);
        let positions: Vec<(G, tree::Task)> = tasks
            .iter()
            .map(|task| {
                let temperature = options.temperature_at(task.ply);
                let key = task.key(options.seed);
                (task.position, tree::Task { key, temperature, simulations: options.simulations })
            })
            .collect();
        self.work.arrays.write(&self.stream, &positions, n_trees as usize)?;
        let device = self.stream.device().clone();
        if heard(&device, go_on, || self.work.begin(&self.stream, options, n_trees))?.is_none()
            || !self.run_steps(options, n_trees, go_on)?
        {
            return Ok(None);
        }
        let Work { kernels, arrays, answers, .. } = &mut self.work;
        kernels.finish(&self.stream, arrays, n_trees)?;
        let (found, actions) = arrays.read(&self.stream, tasks.len())?;
        let precision = match answers {
            Answers::Network(evaluator, ..) => evaluator.precision(),
            _ => crate::Precision::F32,
        };
        let rows = actions.chunks_exact(G::MAX_LEGAL as usize);
        let decisions =
            found.iter().zip(rows).zip(tasks.iter().enumerate()).map(|((found, actions), (index, task))| {
                match found.faults {
                    0 => Ok(decision(found, actions)),
                    faults => {
                        let (what, value) = match () {
                            () if faults & fault::NAN_VALUE != 0 => ("value", f64::NAN),
                            () if faults & fault::INFINITE_VALUE != 0 => ("value", f64::INFINITY),
                            () if faults & fault::NAN_LOGIT != 0 => ("policy logit", f64::NAN),
                            () => ("policy logit", f64::INFINITY),
                        };
                        Err(not_finite(what, value, index, task, precision))
                    }
                }
            });
        Ok(Some(decisions.collect()))
    }

    /// Queues all steps: as graphs if the evaluator can be recorded, the rest one by one. Between parts, and without a GPU also within them, it waits and calls `go_on`.
    /// Returns whether all steps were queued.
    fn run_steps(&mut self, options: &SearchOptions, n_trees: u32, go_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        let steps = options.steps();
        // Without a GPU a step takes long, and there is nothing to gain by queueing many.
        let at_once = if self.stream.device().backend() == Backend::Cuda { GRAPH_STEPS } else { 1 };
        let chunk = steps.min(at_once);
        let again = usize::from(self.work.again);
        if self.records[again] && steps > 1 && !self.graphs[again].contains_key(&n_trees) {
            let work = &mut self.work;
            match self.stream.capture(|stream| work.steps(stream, options, n_trees, chunk)) {
                Ok(graph) => {
                    self.graphs[again].insert(n_trees, graph);
                }
                // An evaluator that waits, or replays a graph of its own, runs as it is.
                Err(Error::Capture { .. }) => self.records[again] = false,
                Err(error) => return Err(error),
            }
        }
        let graph = self.graphs[again].get(&n_trees);
        let mut queued = 0;
        while queued < steps {
            if queued > 0 {
                self.stream.synchronize()?;
                if !go_on() {
                    return Ok(false);
                }
            }
            let part = chunk.min(steps - queued);
            let (work, stream) = (&mut self.work, &self.stream);
            let launched = heard(stream.device(), go_on, || match graph {
                Some(graph) if part == chunk => stream.launch_graph(graph),
                _ => work.steps(stream, options, n_trees, part),
            })?;
            if launched.is_none() {
                return Ok(false);
            }
            queued += part;
        }
        Ok(true)
    }
}

fn decision(found: &finish::Found, actions: &[finish::FoundAction]) -> Choice {
    let visits = |action: &finish::FoundAction| ChoiceAction {
        action: action.action,
        visits: action.visits,
        prior: action.prior,
        value: action.value,
    };
    Choice {
        action: found.action,
        value: found.value,
        actions: actions[..found.n_children as usize].iter().map(visits).collect(),
        n_nodes: found.n_nodes,
    }
}
