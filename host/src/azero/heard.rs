//! Launches in whose middle the caller may stop them.

use warpplay_gpu::simt;

use crate::{Backend, Device, Error, Result};

/// Launches kernels on a device. Under `simt` a launch may take minutes, so `go_on` is also called within it. Returns `None` if it returned false there; buffers then hold
/// what was written before.
///
/// # Errors
/// Those of `launches`.
pub(super) fn heard<R>(
    device: &Device,
    go_on: &mut dyn FnMut() -> bool,
    launches: impl FnOnce() -> Result<R>,
) -> Result<Option<R>> {
    if device.backend() != Backend::Simt {
        return launches().map(Some);
    }
    match simt::watch::asking(go_on, launches) {
        Err(Error::Simt(fault)) if fault.kind == simt::FaultKind::Stopped => Ok(None),
        launched => launched.map(Some),
    }
}
