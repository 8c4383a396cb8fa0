//! What runs a search: kernels on a device, or the plain search on the CPU.

pub(super) mod cpu;
pub(super) mod gpu;

use super::report::{StageMs, TreesReport};

/// The results of a search, from any engine.
pub(super) struct Found {
    pub steps: u64,
    pub n_root: u64,
    /// Index, n, wins, draws, win flag; ascending by index.
    pub actions: Vec<[u64; 5]>,
    pub best: u32,
    pub ms: StageMs,
    pub stage_times_from: String,
    pub trees: TreesReport,
}
