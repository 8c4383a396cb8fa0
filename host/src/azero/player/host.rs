//! Trees in host memory: the plain search, with leaves evaluated together.

use rayon::prelude::*;
use warpplay_cpu_ref::azero::search as reference;
use warpplay_cpu_ref::mcts as reference_mcts;
use warpplay_gpu::azero::observation::{Observed, n_observation};
use warpplay_gpu::azero::search::Searched;
use warpplay_gpu::azero::search::tree::MAX_PATH;

use super::estimator::{Estimator, Leaves};
use super::options::SearchOptions;
use super::task::{Choice, ChoiceAction, Task, not_finite};
use crate::azero::{Evaluation, Evaluator, Inputs, ObservationLayout, ValueOf};
use crate::mcts::{Adapted, Player};
use crate::{Backend, Device, Error, Memory, Result};

/// Number of random games between two calls of `go_on`: some hundredths of a second of one core.
const PLAYOUTS_AT_ONCE: u32 = 1 << 13;

/// A device game in the form that the plain search takes, with its list of legal actions.
#[derive(Clone)]
struct Position<G>(Adapted<G>);

impl<G: Observed> reference_mcts::Game for Position<G> {
    fn max_actions(&self) -> usize {
        self.0.max_actions()
    }

    fn to_move(&self) -> usize {
        self.0.to_move()
    }

    fn is_legal(&self, action: usize) -> bool {
        self.0.is_legal(action)
    }

    fn apply(&mut self, action: usize) {
        self.0.apply(action);
    }

    fn result_after(&self, action: usize) -> Option<reference_mcts::GameResult> {
        self.0.result_after(action)
    }

    fn result(&self) -> Option<reference_mcts::GameResult> {
        self.0.result()
    }

    fn legal_actions(&self, out: &mut Vec<usize>) {
        let legal = self.0.0.legal();
        out.clear();
        out.extend((0..G::n_legal(&legal)).map(|n| G::nth_legal(&legal, n) as usize));
    }

    fn playout(&self, stream: &mut reference_mcts::Stream) -> (reference_mcts::GameResult, u32) {
        self.0.playout(stream)
    }
}

/// A search with its trees in host memory.
pub(super) struct HostTrees {
    leaves: Leaves,
    arrays: Arrays,
}

/// Memory that every step reuses.
#[derive(Default)]
struct Arrays {
    observations: Vec<f32>,
    masks: Vec<u8>,
    evaluation: Evaluation,
}

impl HostTrees {
    /// Adds the most memory that searches of `n_trees` positions can take to that of the evaluator of leaves; trees grow as they fill.
    pub fn memory<G: Searched>(
        evaluator: Memory,
        device: &Device,
        options: &SearchOptions,
        estimator: &Estimator,
        n_trees: usize,
    ) -> Memory {
        let nodes = u64::from(options.capacity::<G>()) * reference::node_bytes::<Position<G>>() as u64;
        let memory = evaluator.on_host("trees", n_trees as u64 * nodes);
        let Estimator::Network { network, .. } = estimator else { return memory };
        let (shape, n_rows) = (network.shape(), n_trees * options.leaves as usize);
        let actions = u64::from(shape.actions);
        // An evaluator on the CPU counts its results itself; the batch of values and logits is of single precision.
        let results = if device.backend() == Backend::Cpu { 0 } else { 8 * (1 + 2 * actions) };
        memory.on_host("leaves", Inputs::bytes(shape, n_rows) + n_rows as u64 * (results + 4 * (1 + actions)))
    }

    pub fn new(leaves: Leaves) -> Self {
        Self { leaves, arrays: Arrays::default() }
    }

    /// Number of batches that were evaluated twice.
    pub fn repeated_batches(&self) -> u64 {
        match &self.leaves {
            Leaves::Network(evaluator) => evaluator.repeated_batches(),
            _ => 0,
        }
    }

    /// Searches all positions, calling `go_on` at every step; `None` if it returns false.
    pub fn search<G: Searched>(
        &mut self,
        options: &SearchOptions,
        tasks: &[Task<G>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Choice>>> {
        let params = reference::Params {
            leaves: options.leaves as usize,
            c_puct: options.c_puct,
            noise: options.noise.map(|noise| reference::Noise { alpha: noise.alpha, epsilon: noise.epsilon }),
            max_nodes: options.capacity::<G>() as usize,
            max_path: MAX_PATH as usize,
        };
        let jobs: Vec<_> = tasks
            .iter()
            .map(|task| reference::Task {
                position: Position(Adapted(task.position)),
                key: task.key(options.seed),
                temperature: options.temperature_at(task.ply),
                simulations: options.simulations as usize,
            })
            .collect();
        let Self { leaves, arrays } = self;
        // The error `None` is a search that was stopped.
        let found = reference::search(params, jobs, |waiting| -> Result<reference::Batch, Option<Error>> {
            if !go_on() {
                return Err(None);
            }
            match leaves {
                Leaves::Uniform => Ok(reference::uniform(waiting)),
                Leaves::Playouts(n) => playouts(waiting, *n, go_on).ok_or(None),
                Leaves::Network(evaluator) => arrays.evaluate(evaluator, waiting, go_on).map_err(Some)?.ok_or(None),
            }
        });
        let found = match found {
            Ok(found) => found,
            Err(None) => return Ok(None),
            Err(Some(error)) => return Err(error),
        };
        let checked = found.into_iter().zip(tasks.iter().enumerate()).map(|(found, (index, task))| match found.fault {
            None => Ok(decision(found)),
            Some(fault) => {
                let (what, value) = match fault {
                    reference::Fault::Value(value) => ("value", value),
                    reference::Fault::Logit(logit) => ("policy logit", logit),
                };
                Err(not_finite(what, f64::from(value), index, task, self.leaves.precision()))
            }
        });
        checked.collect::<Result<Vec<Choice>>>().map(Some)
    }
}

/// The mean results of `n` random games from each leaf, calling `go_on` between parts; `None` if it returns false.
fn playouts<G: Observed>(
    leaves: &[reference::Leaf<'_, Position<G>>],
    n: u32,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<reference::Batch> {
    // A leaf for each core at least.
    let at_once = ((PLAYOUTS_AT_ONCE / n) as usize).max(rayon::current_num_threads());
    let mut batch = reference::Batch::default();
    for (part, leaves) in leaves.chunks(at_once).enumerate() {
        if part > 0 && !go_on() {
            return None;
        }
        batch.values.extend(reference::playouts(leaves, n).values);
    }
    Some(batch)
}

fn decision(found: reference::Found) -> Choice {
    let visits = |action: &reference::FoundAction| ChoiceAction {
        action: action.action as u32,
        visits: action.visits,
        prior: action.prior,
        value: action.value,
    };
    Choice {
        action: found.action as u32,
        value: found.value,
        actions: found.actions.iter().map(visits).collect(),
        n_nodes: found.n_nodes as u32,
    }
}

impl Arrays {
    /// Evaluates all leaves by the network, as many at a time as fit, calling `go_on` between parts; `None` if it returns false.
    fn evaluate<G: Observed>(
        &mut self,
        evaluator: &mut Evaluator,
        leaves: &[reference::Leaf<'_, Position<G>>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<reference::Batch>> {
        let n = n_observation::<G>() as usize;
        let n_actions = G::MAX_ACTIONS as usize;
        let (layout, value_of) = (evaluator.observation(), evaluator.value_of());
        let mut batch = reference::Batch::default();
        for leaves in leaves.chunks(evaluator.max_batch()) {
            self.observations.resize(leaves.len() * n, 0.0);
            self.masks.resize(leaves.len() * n_actions, 0);
            (self.observations.par_chunks_exact_mut(n))
                .zip(self.masks.par_chunks_exact_mut(n_actions))
                .zip(leaves)
                .for_each(|((observation, mask), leaf)| observe(&leaf.position.0.0, layout, observation, mask));
            if !evaluator.evaluate_while(&self.observations, &self.masks, &mut self.evaluation, go_on)? {
                return Ok(None);
            }
            batch.values.extend(self.evaluation.values.iter().zip(leaves).map(|(&value, leaf)| {
                let turned = value_of == ValueOf::Mover && leaf.position.0.0.to_move() == Player::Second;
                if turned { -value as f32 } else { value as f32 }
            }));
            batch.logits.extend(self.evaluation.policy_logits.iter().map(|&logit| logit as f32));
        }
        Ok(Some(batch))
    }
}

/// Writes the observation of a position for the network.
fn observe<G: Observed>(position: &G, layout: ObservationLayout, observation: &mut [f32], mask: &mut [u8]) {
    let cells = (G::BOARD.0 * G::BOARD.1) as usize;
    for (plane, values) in (0u32..).zip(observation.chunks_exact_mut(cells)) {
        let bits = position.plane(plane, position.to_move(), layout.into());
        for (cell, value) in values.iter_mut().enumerate() {
            *value = (bits >> cell & 1) as f32;
        }
    }
    let legal = position.legal();
    for (action, value) in (0u32..).zip(mask) {
        *value = u8::from(G::allows(&legal, action));
    }
}
