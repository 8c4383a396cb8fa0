//! Where the time of a search goes.

use std::time::{Duration, Instant};

/// Time spent in each stage, summed over all steps (and, in the sequential form, over the trees of each step).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Selection.
    pub select: Duration,
    /// Expansion.
    pub expand: Duration,
    /// Playouts.
    pub playout: Duration,
    /// Backup.
    pub backup: Duration,
}

/// Adds the time since its last lap to a stage.
pub(super) struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn lap(&mut self, stage: &mut Duration) {
        let now = Instant::now();
        *stage += now - self.0;
        self.0 = now;
    }
}
