//! The CPU back end's evaluation: the plain implementation of `warpplay-cpu-ref`.

use std::collections::HashMap;

use warpplay_cpu_ref::azero as reference;
use warpplay_cpu_ref::azero::{Parallel, Pass, Real, Sequential};

use crate::azero::evaluation::{BlockOutput, Evaluation};
use crate::azero::network::n_values;
use crate::azero::{Network, NetworkShape};
use crate::runtime::threads::Threads;
use crate::{Device, Memory, Precision, Result};

/// Maximum number of positions that pass through the network at once: enough for all cores.
const POSITIONS_AT_ONCE: usize = 32;

/// Maximum size of their activations in bytes, unless one position alone takes more.
const PASS_BYTES: u64 = 512 << 20;

/// An evaluation in one of the two precisions.
pub(in crate::azero) trait Plain: Send {
    /// Evaluates the positions of `masks`; `found` has room for them. It calls `go_on` between the parts of a large batch, and returns whether all were evaluated.
    fn evaluate(
        &mut self,
        observations: &[f32],
        masks: &[u8],
        found: &mut Evaluation,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool;

    /// Activations of `n` positions after every block.
    fn blocks(&mut self, observations: &[f32], n: usize) -> Vec<BlockOutput>;
}

/// Opens the engine; `threads` is as in [`EvaluatorBuilder::threads`](crate::azero::EvaluatorBuilder::threads).
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) for a number of threads that is not available; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub(in crate::azero) fn open(
    device: &Device,
    network: &Network,
    precision: Precision,
    capacity: usize,
    threads: Option<usize>,
) -> Result<Box<dyn Plain>> {
    Ok(match precision {
        Precision::F64 => Box::new(Program::<f64>::new(device, network, capacity, threads)?),
        _ => Box::new(Program::<f32>::new(device, network, capacity, threads)?),
    })
}

/// Converts a shape to that of the reference.
pub(in crate::azero) fn reference_shape(shape: NetworkShape) -> reference::Shape {
    let size = |value: u32| value as usize;
    reference::Shape {
        rows: size(shape.rows),
        columns: size(shape.columns),
        planes: size(shape.planes),
        width: size(shape.width),
        depth: size(shape.depth),
        value_filters: size(shape.value_filters),
        value_hidden: size(shape.value_hidden),
        policy_filters: size(shape.policy_filters),
        actions: size(shape.actions),
    }
}

/// Converts a network to that of the reference.
pub(in crate::azero) fn reference_network<T: Real>(network: &Network) -> reference::Network<T> {
    let mut tensors = HashMap::new();
    network.visit(|name, _, values| {
        tensors.insert(name.to_string(), values);
    });
    reference::Network::from_tensors(reference_shape(network.shape()), |name, _| {
        tensors[name].iter().map(|&value| T::rounded(value.into())).collect()
    })
}

/// Bytes of one position's activations.
fn pass_bytes(shape: NetworkShape, value_bytes: usize) -> u64 {
    let (cells, size) = (shape.cells(), |value: u32| value as usize);
    let torso = (2 + 4 * size(shape.depth)) * shape.n_block();
    let patches = 9 * shape.n_block().max(shape.n_observation());
    let value = 2 * size(shape.value_filters) * cells + size(shape.value_hidden) + 2;
    let policy = 2 * size(shape.policy_filters) * cells + 2 * size(shape.actions);
    ((shape.n_observation() + torso + patches + value + policy) * value_bytes) as u64
}

/// Number of positions that pass through the network at once.
fn at_once(shape: NetworkShape, value_bytes: usize, capacity: usize) -> usize {
    ((PASS_BYTES / pass_bytes(shape, value_bytes)) as usize).clamp(1, POSITIONS_AT_ONCE).min(capacity)
}

/// Memory for evaluations of `capacity` positions: the network, its activations, and the results.
pub(in crate::azero) fn memory(shape: NetworkShape, value_bytes: usize, capacity: usize) -> Memory {
    let passes = pass_bytes(shape, value_bytes) * at_once(shape, value_bytes, capacity) as u64;
    let results = capacity as u64 * (1 + 2 * u64::from(shape.actions)) * 8;
    let network = n_values(shape) * value_bytes as u64;
    Memory::default().on_device("network", network).on_device("layers", passes).on_device("results", results)
}

struct Program<T> {
    network: reference::Network<T>,
    threads: Threads,
    at_once: usize,
    observations: Vec<T>,
    pass: Pass<T>,
}

impl<T: Real> Program<T> {
    fn new(device: &Device, network: &Network, capacity: usize, threads: Option<usize>) -> Result<Self> {
        let shape = network.shape();
        let at_once = at_once(shape, size_of::<T>(), capacity);
        device.expect_memory(&memory(shape, size_of::<T>(), capacity))?;
        let threads = Threads::new(threads)?;
        let network = reference_network(network);
        Ok(Self { network, threads, at_once, observations: Vec::new(), pass: Pass::default() })
    }

    /// Evaluates positions.
    fn forward(&mut self, observations: &[f32], masks: &[u8]) {
        self.observations.clear();
        self.observations.extend(observations.iter().map(|&value| T::rounded(value.into())));
        let Self { network, observations, pass, threads, .. } = self;
        match threads.is_one() {
            true => network.forward::<Sequential>(observations, masks, pass),
            false => threads.run_inside(|| network.forward::<Parallel>(observations, masks, pass)),
        }
    }
}

fn widen<T: Real>(from: &[T], to: &mut [f64]) {
    for (&from, to) in from.iter().zip(to) {
        *to = from.widened();
    }
}

impl<T: Real> Plain for Program<T> {
    fn evaluate(
        &mut self,
        observations: &[f32],
        masks: &[u8],
        found: &mut Evaluation,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        let reference::Shape { planes, actions, .. } = self.network.shape();
        let (at_once, n_observation) = (self.at_once, planes * self.network.shape().cells());
        let parts = observations.chunks(at_once * n_observation).zip(masks.chunks(at_once * actions));
        for (part, (observations, masks)) in parts.enumerate() {
            if part > 0 && !go_on() {
                return false;
            }
            self.forward(observations, masks);
            let first = part * at_once;
            widen(&self.pass.value, &mut found.values[first..]);
            widen(&self.pass.policy_logits, &mut found.policy_logits[first * actions..]);
            widen(&self.pass.policy, &mut found.policies[first * actions..]);
        }
        true
    }

    fn blocks(&mut self, observations: &[f32], n: usize) -> Vec<BlockOutput> {
        let masks = vec![1; n * self.network.shape().actions];
        let (observation, mask) = (observations.len() / n, self.network.shape().actions);
        let parts = observations.chunks(self.at_once * observation).zip(masks.chunks(self.at_once * mask));
        let mut blocks: Vec<BlockOutput> = Vec::new();
        for (observations, masks) in parts {
            self.forward(observations, masks);
            let parts = self.pass.named().into_iter().filter(|(name, _)| is_block(name));
            for (number, (name, values)) in parts.enumerate() {
                if blocks.len() == number {
                    blocks.push(BlockOutput { name, values: Vec::new() });
                }
                blocks[number].values.extend(values.iter().map(|value| value.widened() as f32));
            }
        }
        blocks
    }
}

/// Whether every engine computes this array of a pass; convolutions before their norms are excluded, since other engines fold the norms.
fn is_block(name: &str) -> bool {
    (name.starts_with("torso_") && !name.ends_with("_conv_1"))
        || matches!(name, "input" | "value_head_plane" | "policy_head_planes")
}
