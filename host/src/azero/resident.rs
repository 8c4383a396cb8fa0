//! Evaluation where kernels run: an engine with a stream, its buffers, and host memory to copy from and to.

use super::NetworkShape;
use super::engines::Evaluate;
use super::evaluation::{BlockOutput, Evaluation, Inputs, Outputs};
use crate::{Memory, Pinned, Result, Stream};

/// An engine with all memory that a call from host memory needs; nothing is allocated per call.
pub(super) struct Resident {
    pub engine: Box<dyn Evaluate>,
    stream: Stream,
    inputs: Inputs,
    outputs: Outputs,
    observations: Pinned<f32>,
    masks: Pinned<u8>,
    values: Pinned<f32>,
    policy_logits: Pinned<f32>,
    policies: Pinned<f32>,
    n_observation: usize,
    n_actions: usize,
}

/// Memory of an engine that itself takes `engine`, plus the inputs and outputs of `capacity` positions and their copies in pinned memory.
pub(super) fn memory(engine: Memory, shape: NetworkShape, capacity: usize) -> Memory {
    let (positions, results) = (Inputs::bytes(shape, capacity), Outputs::bytes(shape, capacity));
    engine.on_device("positions", positions).on_device("results", results).on_host("copies", positions + results)
}

impl Resident {
    pub fn new(engine: Box<dyn Evaluate>, stream: Stream, shape: NetworkShape, capacity: usize) -> Result<Self> {
        let (n_observation, n_actions) = (shape.n_observation(), shape.actions as usize);
        let resident = Self {
            engine,
            inputs: Inputs::new(&stream, shape, capacity)?,
            outputs: Outputs::new(&stream, shape, capacity)?,
            observations: stream.pinned(capacity * n_observation)?,
            masks: stream.pinned(capacity * n_actions)?,
            values: stream.pinned(capacity)?,
            policy_logits: stream.pinned(capacity * n_actions)?,
            policies: stream.pinned(capacity * n_actions)?,
            stream,
            n_observation,
            n_actions,
        };
        // Other streams may use the engine next: what was uploaded and zeroed has to be there.
        resident.stream.synchronize()?;
        Ok(resident)
    }

    /// Copies `n` positions to the device.
    fn send(&mut self, observations: &[f32], n: usize) -> Result<()> {
        self.observations.as_mut_slice()?[..observations.len()].copy_from_slice(observations);
        let (stream, inputs) = (&self.stream, &mut self.inputs);
        stream.write_pinned(&mut inputs.observations, 0, &self.observations, n * self.n_observation)?;
        stream.write_pinned(&mut inputs.masks, 0, &self.masks, n * self.n_actions)
    }

    /// Evaluates `n` positions; `found` has room for them. Returns whether some were evaluated twice, because a number was too large for the engine; the results of other
    /// positions do not depend on that.
    pub fn evaluate(&mut self, observations: &[f32], masks: &[u8], n: usize, found: &mut Evaluation) -> Result<bool> {
        self.masks.as_mut_slice()?[..masks.len()].copy_from_slice(masks);
        self.send(observations, n)?;
        self.engine.enqueue(&self.stream, &self.inputs, n, &mut self.outputs)?;
        self.receive(n)?;
        for (from, to) in [
            (&self.values, &mut found.values),
            (&self.policy_logits, &mut found.policy_logits),
            (&self.policies, &mut found.policies),
        ] {
            widen(from.as_slice()?, to);
        }
        // What is too large for the engine makes its position's value NaN.
        let is_lost = |&at: &usize| found.values[at].is_nan();
        let lost: Vec<usize> = if self.engine.may_overflow() { (0..n).filter(is_lost).collect() } else { Vec::new() };
        if !lost.is_empty() {
            self.evaluate_again(observations, masks, &lost, found)?;
        }
        Ok(!lost.is_empty())
    }

    /// Evaluates some of the positions again, and replaces their results.
    fn evaluate_again(
        &mut self,
        observations: &[f32],
        masks: &[u8],
        positions: &[usize],
        found: &mut Evaluation,
    ) -> Result<()> {
        let (n_observation, n_actions) = (self.n_observation, self.n_actions);
        let rows = self.masks.as_mut_slice()?.chunks_exact_mut(n_actions);
        rows.zip(positions).for_each(|(row, &at)| row.copy_from_slice(&masks[at * n_actions..][..n_actions]));
        let rows = positions.iter().flat_map(|&at| &observations[at * n_observation..][..n_observation]);
        self.send(&rows.copied().collect::<Vec<f32>>(), positions.len())?;
        self.engine.enqueue_again(&self.stream, &self.inputs, positions.len(), &mut self.outputs)?;
        self.receive(positions.len())?;
        for (from, to, each) in [
            (&self.values, &mut found.values, 1),
            (&self.policy_logits, &mut found.policy_logits, n_actions),
            (&self.policies, &mut found.policies, n_actions),
        ] {
            for (row, &at) in from.as_slice()?.chunks_exact(each).zip(positions) {
                widen(row, &mut to[at * each..][..each]);
            }
        }
        Ok(())
    }

    /// Copies the results of `n` positions to the host.
    fn receive(&mut self, n: usize) -> Result<()> {
        let Self { stream, outputs, n_actions, .. } = self;
        stream.read_pinned(&outputs.values, 0, &mut self.values, n)?;
        stream.read_pinned(&outputs.policy_logits, 0, &mut self.policy_logits, n * *n_actions)?;
        stream.read_pinned(&outputs.policies, 0, &mut self.policies, n * *n_actions)?;
        stream.synchronize()
    }

    /// Activations of `n` positions after every block.
    pub fn blocks(&mut self, observations: &[f32], n: usize) -> Result<Vec<BlockOutput>> {
        self.masks.as_mut_slice()?[..n * self.n_actions].fill(1);
        self.send(observations, n)?;
        self.engine.blocks(&self.stream, &self.inputs, n)
    }
}

fn widen(from: &[f32], to: &mut [f64]) {
    for (&from, to) in from.iter().zip(to) {
        *to = from.into();
    }
}
