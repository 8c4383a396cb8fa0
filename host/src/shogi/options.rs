//! How engines work, whatever they compute.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::runtime::threads;

/// How an engine works; what it computes does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparseOptions {
    /// Most bytes of positions that are kept on the device. Shards that do not fit are copied in every pass, the next piece while the last is computed. `None`: as
    /// many as are free. Weights, gradient and the optimiser's memory come on top.
    pub device_bytes: Option<u64>,
    /// Threads on [`Device::cpu`](crate::Device::cpu): 1 for the plain program, `None` for all cores.
    pub threads: Option<usize>,
}

impl SparseOptions {
    /// Refuses what is out of range.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) names the option.
    pub fn check(&self) -> Result<()> {
        threads::check(self.threads)
    }
}
