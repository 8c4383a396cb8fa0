//! What an evaluator asks of each way to run the network. One implementation a folder or file: `cpu`, `layers`, `fused`.

use super::NetworkShape;
use crate::{Buffer, L2Span, Result, Stream};

/// Positions in device memory, for up to `capacity` of them.
#[derive(Debug)]
pub struct Inputs {
    /// `[capacity, planes, rows, columns]`.
    pub observations: Buffer<f32>,
    /// `[capacity, actions]`: 1 for a legal action, 0 for another.
    pub masks: Buffer<u8>,
}

/// What the network says of them, in device memory.
#[derive(Debug)]
pub struct Outputs {
    /// `[capacity]`: expected result, -1 to 1.
    pub values: Buffer<f32>,
    /// `[capacity, actions]`: logits of all actions, also of illegal ones.
    pub policy_logits: Buffer<f32>,
    /// `[capacity, actions]`: softmax of the legal actions' logits; illegal ones have 0.
    pub policies: Buffer<f32>,
}

impl Inputs {
    /// Room for `capacity` positions.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error) and what the driver says.
    pub fn new(stream: &Stream, shape: NetworkShape, capacity: usize) -> Result<Self> {
        Ok(Self {
            observations: stream.alloc(capacity * shape.n_observation())?,
            masks: stream.alloc(capacity * shape.actions as usize)?,
        })
    }

    /// Checks that there is room for `n` positions of a shape.
    pub(in crate::azero) fn check(&self, shape: NetworkShape, n: usize) -> Result<()> {
        self.observations.expect_len_at_least("observations", n * shape.n_observation())?;
        self.masks.expect_len_at_least("masks", n * shape.actions as usize)
    }
}

impl Outputs {
    /// Room for `capacity` positions.
    ///
    /// # Errors
    /// As [`Inputs::new`].
    pub fn new(stream: &Stream, shape: NetworkShape, capacity: usize) -> Result<Self> {
        let actions = capacity * shape.actions as usize;
        Ok(Self {
            values: stream.alloc(capacity)?,
            policy_logits: stream.alloc(actions)?,
            policies: stream.alloc(actions)?,
        })
    }

    /// Checks that there is room for `n` positions of a shape.
    pub(in crate::azero) fn check(&self, shape: NetworkShape, n: usize) -> Result<()> {
        self.values.expect_len_at_least("values", n)?;
        self.policy_logits.expect_len_at_least("policy logits", n * shape.actions as usize)?;
        self.policies.expect_len_at_least("policies", n * shape.actions as usize)
    }
}

/// What positions leave behind after a part of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockOutput {
    /// `input`, `torso_0_mid`, `torso_0`, …, `value_head_plane`, `policy_head_planes`.
    pub name: String,
    /// The values after the part's rectifier, `[n, channels, rows, columns]`.
    pub values: Vec<f32>,
}

/// A way to run the network on a device with memory of its own (CUDA and `simt`).
pub(in crate::azero) trait Engine: Send {
    /// Enqueues the evaluation of the first `n` positions; `n` is at most the capacity the engine was made for. Allocates nothing.
    fn enqueue(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()>;

    /// What the first `n` positions leave behind after every block: for each block, `[n, channels, rows, columns]`. For tests and error tables.
    fn blocks(&mut self, stream: &Stream, inputs: &Inputs, n: usize) -> Result<Vec<BlockOutput>>;

    /// Where its weights lie in device memory, for [`Stream::keep_in_l2`]; none where they are not in one stretch worth keeping.
    fn weights(&self) -> Option<L2Span> {
        None
    }
}
