//! Engine.

use super::engine::{Engine, Setup};
use crate::{Device, Result};

/// Opens the engine.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Engine>> {
    let _ = (device, setup);
    todo!()
}
