//! The sheets of the items: what is measured for each, and how it stands beside what is published.

pub mod checks;
pub mod future;
pub mod play;
pub mod times;

use warpplay::{Backend, Device};

use crate::experiment::Cell;

/// What a sheet says where kernels would run.
const NO_KERNELS: &str = "the back end cpu runs no kernels";

/// Whether there are kernels.
fn has_kernels(device: &Device) -> bool {
    device.backend() != Backend::Cpu
}

/// As `1 position`, `8 positions`.
fn positions(n: usize) -> String {
    format!("{n} position{}", if n == 1 { "" } else { "s" })
}

/// An error; some outputs have none that is finite.
fn error(value: Option<f64>) -> Cell {
    value.map_or_else(|| "not finite".into(), Cell::from)
}

/// A verdict in words.
fn verdict(within: bool) -> &'static str {
    if within { "within" } else { "beyond" }
}
