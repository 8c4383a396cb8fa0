//! What the program holds on the device, and what it copies.

use serde::{Deserialize, Serialize};

/// Bytes of device memory by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceBytes {
    /// Weights and biases.
    pub parameters: u64,
    /// Their gradients.
    pub gradients: u64,
    /// Inputs of a batch.
    pub input: u64,
    /// Hidden values of a batch, before and after ReLU.
    pub hidden: u64,
    /// Logits and probabilities of a batch.
    pub output: u64,
    /// Gradients by hidden values and logits.
    pub backward: u64,
    /// Labels and losses of a batch, loss sums, orders, and what classification writes.
    pub other: u64,
    /// Weights as they were before the epoch, to go back to.
    pub kept: u64,
    /// Data sets that lie on the device.
    pub sets: u64,
}

impl DeviceBytes {
    /// All.
    pub fn total(&self) -> u64 {
        let Self { parameters, gradients, input, hidden, output, backward, other, kept, sets } = *self;
        parameters + gradients + input + hidden + output + backward + other + kept + sets
    }

    /// What depends on the samples of a batch.
    pub fn of_batch(&self) -> u64 {
        self.input + self.hidden + self.output + self.backward
    }
}

/// Copies between host and device since the program was opened, those of weights and of sets that stay on the device left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Steps trained.
    pub steps: u64,
    /// Copies to the device.
    pub copies_in: u64,
    /// Bytes of those.
    pub bytes_in: u64,
    /// Copies from the device, for each of which the host waits.
    pub copies_out: u64,
    /// Bytes of those.
    pub bytes_out: u64,
}

impl Traffic {
    /// A copy of `n` values to the device.
    pub(super) fn copied_in<T>(&mut self, n: usize) {
        self.copies_in += 1;
        self.bytes_in += (n * size_of::<T>()) as u64;
    }

    /// A copy of `n` values from the device.
    pub(super) fn copied_out<T>(&mut self, n: usize) {
        self.copies_out += 1;
        self.bytes_out += (n * size_of::<T>()) as u64;
    }
}
