//! A search of many positions at once, whatever grows the trees.

use serde::{Deserialize, Serialize};
use warpplay_gpu::azero::search::{SearchKernels, random};

use super::device::DeviceTrees;
use super::estimator::{Estimator, Leaves};
use super::host::HostTrees;
use super::options::{SearchOptions, Trees};
use crate::{Device, Error, Precision, Result};

/// What a search found of one action.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionVisits {
    /// The action.
    pub action: u32,
    /// Simulations that began with it.
    pub visits: u32,
    /// Its probability before the search, with the noise.
    pub prior: f32,
    /// Its mean value, or known result, for the player to move, -1 to 1; 0 without visits.
    pub value: f32,
}

/// What a search found of a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The action to be played.
    pub action: u32,
    /// Mean value for the player to move, -1 to 1.
    pub value: f32,
    /// All legal actions, ascending.
    pub actions: Vec<ActionVisits>,
    /// Nodes of the tree.
    pub n_nodes: u32,
}

/// A position to be searched, and its place in a game, which names its random numbers.
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
    engine: Engine<G>,
}

enum Engine<G: SearchKernels> {
    Device(Box<DeviceTrees<G>>),
    Host(Box<HostTrees>),
}

impl<G: SearchKernels> Searcher<G> {
    /// Takes the memory for `capacity` positions at once.
    pub fn new(device: &Device, options: SearchOptions, estimator: &Estimator, capacity: usize) -> Result<Self> {
        options.check()?;
        let trees = options.trees.chosen(device)?;
        let name = estimator.name();
        let leaves = Leaves::new::<G>(device, estimator, capacity * options.leaves as usize)?;
        let engine = match trees {
            Trees::Host => Engine::Host(Box::new(HostTrees::new(leaves))),
            _ => Engine::Device(Box::new(DeviceTrees::new(device, &options, leaves, capacity as u32)?)),
        };
        Ok(Self { options, name, capacity, engine })
    }

    /// The options.
    pub fn options(&self) -> &SearchOptions {
        &self.options
    }

    /// Name of what evaluates.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Searches positions that are not over.
    pub fn search(&mut self, tasks: &[Task<G>]) -> Result<Vec<Decision>> {
        let mut decisions = Vec::with_capacity(tasks.len());
        for tasks in tasks.chunks(self.capacity) {
            decisions.extend(match &mut self.engine {
                Engine::Device(trees) => trees.search(&self.options, tasks)?,
                Engine::Host(trees) => trees.search(&self.options, tasks)?,
            });
        }
        Ok(decisions)
    }
}

/// The error of an evaluation that is no number, in the tree of place `place` of those searched together.
pub(super) fn not_finite<G>(what: &str, value: f64, place: usize, task: &Task<G>, precision: Precision) -> Error {
    let what = format!("game {}, ply {}: {what}", task.game, task.ply);
    Error::NotFinite { what, position: place, value, precision }
}
