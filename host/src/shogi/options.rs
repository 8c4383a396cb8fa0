//! How engines work, whatever they compute.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::runtime::threads;

/// Options of an engine that do not affect its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparseOptions {
    /// Maximum number of bytes of positions kept on the device. Shards that do not fit are copied in every pass, each piece while the previous one is computed. `None`: all
    /// free memory. Weights, gradient and the optimiser's memory are not included.
    pub device_bytes: Option<u64>,
    /// Threads on [`Device::cpu`](crate::Device::cpu): 1 selects the plain program, `None` all cores.
    pub threads: Option<usize>,
}

impl SparseOptions {
    /// Checks that the options are in range.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) names the option.
    pub fn check(&self) -> Result<()> {
        threads::check(self.threads)
    }
}
