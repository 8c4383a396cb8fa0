//! The ways to train: `device`, by kernels, and `cpu`, the plain program. This is where one is chosen.

mod cpu;
mod device;
#[allow(unsafe_code)]
mod kernels;
mod plan;

use std::sync::Arc;

use super::step::{Numbers, StepReport};
use super::{Options, Samples};
use crate::azero::Network;
use crate::{Backend, Device, Result};

/// Opens the way to train that a device has.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has not enough; [`Error::Shape`](crate::Error::Shape) for a network or a batch that its kernels do not take.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Train>> {
    match device.backend() {
        Backend::Cpu => cpu::open(setup),
        _ => device::open(device, setup),
    }
}

/// Its name.
pub(super) fn name(device: &Device) -> &'static str {
    match device.backend() {
        Backend::Cpu => "cpu",
        _ => "device",
    }
}

/// Steps between two answers of a device. On the CPU every step may be the last that the caller wants.
pub(super) fn steps_at_once(device: &Device) -> u32 {
    match device.backend() {
        Backend::Cpu => 1,
        _ => device::STEPS_AT_ONCE as u32,
    }
}

/// What an engine is opened with.
pub(in crate::azero::train) struct Setup {
    pub options: Options,
    pub samples: Arc<Samples>,
    pub state: Numbers,
}

/// A way to train.
pub(in crate::azero::train) trait Train: Send {
    /// One step for each whole batch of `order`; `updates` were done before.
    fn train(&mut self, order: &[u32], updates: u64) -> Result<Vec<StepReport>>;

    /// Sums of the policy's and the value's losses, and of the hits, over the positions of `order`, with the running statistics.
    fn evaluate(&mut self, order: &[u32]) -> Result<[f64; 3]>;

    /// Gradient of the loss of one batch, without the L2 term; running statistics are 0. Nothing is changed.
    fn gradient(&mut self, order: &[u32]) -> Result<Network>;

    /// The present state.
    fn state(&mut self) -> Result<Numbers>;

    /// Goes back to a state.
    fn set_state(&mut self, state: &Numbers) -> Result<()>;
}
