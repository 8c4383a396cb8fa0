//! The engine that evaluates again what single precision as two halves could not hold: plain arithmetic, opened when it is first needed.

use crate::azero::NetworkShape;
use crate::azero::engines::{Evaluate, layers};
use crate::azero::evaluation::{BlockOutput, Inputs, Outputs};
use crate::azero::folded::FoldedNetwork;
use crate::{Device, Memory, Precision, Result, Stream};

/// Maximum number of positions evaluated at once: activations are in device memory, 64 KiB per position.
const PART: usize = 1024;

/// The engine `layers` in f32, and the network to open it with.
pub(super) struct Spare {
    device: Device,
    network: FoldedNetwork,
    capacity: usize,
    opened: Option<Opened>,
}

struct Opened {
    engine: Box<dyn Evaluate>,
    /// Positions and results of a part, if a batch may be larger than one part.
    rows: Option<(Inputs, Outputs)>,
}

impl Spare {
    /// Makes a spare engine that takes no device memory yet.
    pub fn new(device: &Device, network: FoldedNetwork, capacity: usize) -> Self {
        Self { device: device.clone(), network, capacity, opened: None }
    }

    /// Adds the memory that it takes once opened, and the network that it keeps on the host until then.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn memory(device: &Device, others: Memory, shape: NetworkShape, capacity: usize) -> Result<Memory> {
        let part = capacity.min(PART);
        let rows = if capacity > PART { Inputs::bytes(shape, PART) + Outputs::bytes(shape, PART) } else { 0 };
        let engine = layers::memory(device, shape, Precision::F32, part)?.device();
        Ok(others.on_device("spare engine", engine + rows).on_host("spare network", FoldedNetwork::bytes(shape)))
    }

    /// As [`Evaluate::enqueue`]; the first call and batches larger than one part cannot be recorded.
    pub fn enqueue(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        let shape = self.network.shape;
        let (observation, actions) = (shape.n_observation(), shape.actions as usize);
        let Opened { engine, rows } = self.open(stream)?;
        let Some((from, to)) = rows.as_mut().filter(|_| n > PART) else {
            return engine.enqueue(stream, inputs, n, outputs);
        };
        for first in (0..n).step_by(PART) {
            let n = PART.min(n - first);
            stream.copy(&mut from.observations, 0, &inputs.observations, first * observation, n * observation)?;
            stream.copy(&mut from.masks, 0, &inputs.masks, first * actions, n * actions)?;
            engine.enqueue(stream, from, n, to)?;
            stream.copy(&mut outputs.values, first, &to.values, 0, n)?;
            stream.copy(&mut outputs.policy_logits, first * actions, &to.policy_logits, 0, n * actions)?;
            stream.copy(&mut outputs.policies, first * actions, &to.policies, 0, n * actions)?;
        }
        Ok(())
    }

    /// As [`Evaluate::blocks`].
    pub fn blocks(&mut self, stream: &Stream, inputs: &Inputs, n: usize) -> Result<Vec<BlockOutput>> {
        let observation = self.network.shape.n_observation();
        let Opened { engine, rows } = self.open(stream)?;
        let Some((from, _)) = rows.as_mut().filter(|_| n > PART) else { return engine.blocks(stream, inputs, n) };
        let mut found: Vec<BlockOutput> = Vec::new();
        for first in (0..n).step_by(PART) {
            let n = PART.min(n - first);
            stream.copy(&mut from.observations, 0, &inputs.observations, first * observation, n * observation)?;
            let part = engine.blocks(stream, from, n)?;
            match found.is_empty() {
                true => found = part,
                false => found.iter_mut().zip(part).for_each(|(block, part)| block.values.extend(part.values)),
            }
        }
        Ok(found)
    }

    fn open(&mut self, stream: &Stream) -> Result<&mut Opened> {
        if self.opened.is_none() {
            let (shape, part) = (self.network.shape, self.capacity.min(PART));
            let engine = layers::build(&self.device, stream, &self.network, Precision::F32, part)?;
            let rows = match self.capacity > PART {
                true => Some((Inputs::new(stream, shape, PART)?, Outputs::new(stream, shape, PART)?)),
                false => None,
            };
            // Other streams may use it next.
            stream.synchronize()?;
            self.opened = Some(Opened { engine, rows });
        }
        Ok(self.opened.as_mut().expect("it was opened"))
    }
}
