//! Engine.

use super::engine::{Engine, Setup};
use crate::{Device, Result};

/// Whether this engine can train what `setup` describes on this device.
///
/// # Errors
/// The option that forbids it, and what is allowed.
pub(super) fn fits(device: &Device, setup: &Setup) -> Result<()> {
    let _ = (device, setup);
    todo!()
}

/// Opens the engine.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Engine>> {
    let _ = (device, setup);
    todo!()
}
