//! Positions, and the network's values and policies for them, in host and in device memory: what evaluator and engines share.

use std::path::Path;

use super::NetworkShape;
use crate::runtime::atomic_file;
use crate::runtime::tensors::{self, Tensor};
use crate::{Buffer, Precision, Result, Stream};

/// Most positions that one call may evaluate.
pub const MAX_BATCH: usize = 1 << 20;

/// The network's values and policies for some positions, in host memory; single-precision values are widened exactly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// `[n]`: expected result, -1 to 1.
    pub values: Vec<f64>,
    /// `[n, actions]`: logits of all actions, also of illegal ones.
    pub policy_logits: Vec<f64>,
    /// `[n, actions]`: softmax of the legal actions' logits; illegal ones have 0.
    pub policies: Vec<f64>,
}

impl Evaluation {
    /// Adds the positions of another evaluation.
    pub fn append(&mut self, mut other: Self) {
        self.values.append(&mut other.values);
        self.policy_logits.append(&mut other.policy_logits);
        self.policies.append(&mut other.policies);
    }

    /// Writes the tensors `value` `[n]`, `policy_logits` `[n, actions]` and `policy` `[n, actions]`: F64 for [`Precision::F64`], else F32, which is exact. The file is
    /// written completely or not at all.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>, precision: Precision) -> Result<()> {
        let path = path.as_ref();
        let n = self.values.len();
        let actions = self.policies.len() / n.max(1);
        let write = |name: &str, shape: Vec<usize>, values: &[f64]| match precision {
            Precision::F64 => Tensor::double(name.into(), shape, values.iter().copied()),
            _ => Tensor::single(name.into(), shape, values.iter().map(|&value| value as f32)),
        };
        let tensors = [
            write("value", vec![n], &self.values),
            write("policy_logits", vec![n, actions], &self.policy_logits),
            write("policy", vec![n, actions], &self.policies),
        ];
        atomic_file::write(path, &tensors::to_bytes(path, &tensors, "precision", &precision.to_string())?)
    }
}

/// Positions in device memory, for up to `capacity` of them.
#[derive(Debug)]
pub struct Inputs {
    /// `[capacity, planes, rows, columns]`.
    pub observations: Buffer<f32>,
    /// `[capacity, actions]`: 1 for a legal action, 0 for another.
    pub masks: Buffer<u8>,
}

/// The network's values and policies for the positions, in device memory.
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
    /// Bytes for `capacity` positions.
    pub(in crate::azero) fn bytes(shape: NetworkShape, capacity: usize) -> u64 {
        capacity as u64 * (4 * shape.n_observation() as u64 + u64::from(shape.actions))
    }

    /// Allocates memory for `capacity` positions.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error)and errors of the driver.
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
    /// Bytes for `capacity` positions.
    pub(in crate::azero) fn bytes(shape: NetworkShape, capacity: usize) -> u64 {
        capacity as u64 * (4 + 8 * u64::from(shape.actions))
    }

    /// Allocates memory for `capacity` positions.
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

/// Activations after a part of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockOutput {
    /// `input`, `torso_0_mid`, `torso_0`, …, `value_head_plane`, `policy_head_planes`.
    pub name: String,
    /// The values after the part's rectifier, `[n, channels, rows, columns]`.
    pub values: Vec<f32>,
}
