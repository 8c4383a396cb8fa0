//! A search of many positions at once, whatever grows the trees.

use warpplay_gpu::azero::search::finish::{Found, FoundAction};
use warpplay_gpu::azero::search::tree::{Head, Leaf, MAX_PATH, Node};
use warpplay_gpu::azero::search::{SearchKernels, random};

use super::device::DeviceTrees;
use super::estimator::{Estimator, Leaves};
use super::host::HostTrees;
use super::options::{SearchOptions, Trees};
use crate::azero::{Engine, Evaluator};
use crate::{Device, Error, Memory, Precision, Result};

/// What a search found of a position, by numbers of actions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The action to be played.
    pub action: u32,
    /// Mean value for the player to move, -1 to 1.
    pub value: f32,
    /// All legal actions, ascending.
    pub actions: Vec<ChoiceAction>,
    /// Nodes of the tree.
    pub n_nodes: u32,
}

/// What a search found of one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ChoiceAction {
    /// The action.
    pub action: u32,
    /// Simulations that began with it.
    pub visits: u32,
    /// Its probability before the search, with the noise.
    pub prior: f32,
    /// Its mean value, or known result, for the player to move; 0 without visits.
    pub value: f32,
}

/// A position to be searched, and its ply in a game, which names its random numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<G> {
    pub position: G,
    pub game: u64,
    pub ply: u32,
}

impl<G> Task<G> {
    /// The key of its random numbers.
    pub fn key(&self, seed: u64) -> u64 {
        random::key(seed, self.game, u64::from(self.ply))
    }
}

/// Trees for up to a number of positions, with what evaluates their leaves.
pub(super) struct Searcher<G: SearchKernels> {
    options: SearchOptions,
    name: String,
    capacity: usize,
    trees: Grown<G>,
    engine: Option<Engine>,
    memory: Memory,
}

enum Grown<G: SearchKernels> {
    Device(Box<DeviceTrees<G>>),
    Host(Box<HostTrees>),
}

impl<G: SearchKernels> Searcher<G> {
    /// What searches of `capacity` positions at once need.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed.
    pub fn memory(device: &Device, options: &SearchOptions, estimator: &Estimator, capacity: usize) -> Result<Memory> {
        options.check()?;
        let memory = match estimator {
            Estimator::Network { network, options: evaluation, .. } => {
                let builder = Evaluator::builder(network).options(evaluation.clone());
                builder.max_batch(capacity * options.leaves as usize).memory_needed(device)?
            }
            _ => Memory::default(),
        };
        Ok(match options.trees.chosen(device)? {
            Trees::Host => memory,
            _ => memory.on_device("trees", tree_bytes::<G>(options, capacity as u64)),
        })
    }

    /// Takes the memory for `capacity` positions at once.
    pub fn new(device: &Device, options: SearchOptions, estimator: &Estimator, capacity: usize) -> Result<Self> {
        options.check()?;
        let trees = options.trees.chosen(device)?;
        let memory = Self::memory(device, &options, estimator, capacity)?;
        device.expect_memory(&memory)?;
        let name = estimator.name();
        let leaves = Leaves::new::<G>(device, estimator, capacity * options.leaves as usize)?;
        let engine = leaves.engine();
        let trees = match trees {
            Trees::Host => Grown::Host(Box::new(HostTrees::new(leaves))),
            _ => Grown::Device(Box::new(DeviceTrees::new(device, &options, leaves, capacity as u32)?)),
        };
        Ok(Self { options, name, capacity, trees, engine, memory })
    }

    /// The options.
    pub fn options(&self) -> &SearchOptions {
        &self.options
    }

    /// Name of what evaluates.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which implementation evaluates; none without a network.
    pub fn engine(&self) -> Option<Engine> {
        self.engine
    }

    /// What it took for positions, results and trees.
    pub fn memory_needed(&self) -> Memory {
        self.memory.clone()
    }

    /// Searches positions that are not over.
    pub fn search(&mut self, tasks: &[Task<G>]) -> Result<Vec<Choice>> {
        let mut decisions = Vec::with_capacity(tasks.len());
        for tasks in tasks.chunks(self.capacity) {
            decisions.extend(match &mut self.trees {
                Grown::Device(trees) => trees.search(&self.options, tasks)?,
                Grown::Host(trees) => trees.search(&self.options, tasks)?,
            });
        }
        Ok(decisions)
    }
}

/// Bytes of `n` trees in device memory.
fn tree_bytes<G: SearchKernels>(options: &SearchOptions, n: u64) -> u64 {
    let position = size_of::<G>() as u64;
    let nodes = u64::from(options.capacity::<G>()) * size_of::<Node>() as u64;
    let positions = (u64::from(options.simulations) + 2) * position;
    let leaf = size_of::<Leaf>() as u64 + position + 4 * (u64::from(MAX_PATH) + 1);
    let found =
        (size_of::<Head>() + size_of::<Found>()) as u64 + u64::from(G::MAX_LEGAL) * size_of::<FoundAction>() as u64;
    n.saturating_mul(nodes + positions + u64::from(options.leaves) * leaf + found)
}

/// The error of an evaluation that is no number, in tree number `index` of those searched together.
pub(super) fn not_finite<G>(what: &str, value: f64, index: usize, task: &Task<G>, precision: Precision) -> Error {
    let what = format!("game {}, ply {}: {what}", task.game, task.ply);
    Error::NotFinite { what, position: index, value, precision }
}
