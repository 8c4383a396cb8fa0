//! A search of many positions at once, whatever grows the trees.

use warpplay_gpu::azero::search::SearchKernels;

use super::device::DeviceTrees;
use super::estimator::{Estimator, Leaves};
use super::host::HostTrees;
use super::options::{SearchOptions, Trees};
use super::task::{Choice, Task};
use crate::azero::{Engine, Evaluator};
use crate::{Device, Memory, Result};

/// Trees for several positions, with the evaluator of their leaves.
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
    /// Memory for searching `capacity` positions at once: trees, and the evaluator of their leaves.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for a value that is not allowed; errors of the driver.
    pub fn memory(device: &Device, options: &SearchOptions, estimator: &Estimator, capacity: usize) -> Result<Memory> {
        options.check()?;
        let evaluator = match estimator {
            Estimator::Network { network, options: evaluation, .. } => {
                let builder = Evaluator::builder(network).options(evaluation.clone());
                builder.max_batch(capacity * options.leaves as usize).memory_needed(device)?
            }
            _ => Memory::default(),
        };
        Ok(match options.trees.chosen(device)? {
            Trees::Host => HostTrees::memory::<G>(evaluator, device, options, estimator, capacity),
            _ => DeviceTrees::<G>::memory(evaluator, options, estimator, capacity as u32),
        })
    }

    /// Allocates the memory for `capacity` positions at once.
    pub fn new(device: &Device, options: SearchOptions, estimator: &Estimator, capacity: usize) -> Result<Self> {
        options.check()?;
        let trees = options.trees.chosen(device)?;
        let memory = Self::memory(device, &options, estimator, capacity)?;
        // Trees in host memory are counted at their limit, though they are allocated as they grow: memory that runs out within a search ends the process.
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

    /// Name of the estimator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine that evaluates; `None` without a network.
    pub fn engine(&self) -> Option<Engine> {
        self.engine
    }

    /// Number of batches of leaves that were evaluated twice.
    pub fn repeated_batches(&self) -> u64 {
        match &self.trees {
            Grown::Device(trees) => trees.repeated_batches(),
            Grown::Host(trees) => trees.repeated_batches(),
        }
    }

    /// Memory that it took, as [`Searcher::memory`].
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Searches positions that are not over, calling `go_on` between steps; `None` if it returns false. The unfinished search is then discarded: the next search of the same
    /// positions gives the same result as an uninterrupted one.
    pub fn search(&mut self, tasks: &[Task<G>], go_on: &mut dyn FnMut() -> bool) -> Result<Option<Vec<Choice>>> {
        let mut decisions = Vec::with_capacity(tasks.len());
        for tasks in tasks.chunks(self.capacity) {
            let found = match &mut self.trees {
                Grown::Device(trees) => trees.search(&self.options, tasks, go_on)?,
                Grown::Host(trees) => trees.search(&self.options, tasks, go_on)?,
            };
            let Some(found) = found else { return Ok(None) };
            decisions.extend(found);
        }
        Ok(Some(decisions))
    }
}
