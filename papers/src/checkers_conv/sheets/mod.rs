//! The sheets of the items: what is measured for each, and how it stands beside what is published.

pub mod checks;
pub mod future;
pub mod play;
pub mod times;

use warpplay::{Backend, Device};

/// What a sheet says where kernels would run.
const NO_KERNELS: &str = "the back end cpu runs no kernels";

/// Whether there are kernels.
fn has_kernels(device: &Device) -> bool {
    device.backend() != Backend::Cpu
}
