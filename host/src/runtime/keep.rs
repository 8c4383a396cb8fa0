//! Checkpoints that are written while the work runs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::runtime::checkpoint::{Checkpoint, State};
use crate::{Error, Result};

/// Time between two checkpoints, where none is given.
const EVERY: Duration = Duration::from_secs(300);

/// Where the state is written at the end of a run and while it lasts, and how often. A builder takes it, and what it builds keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    /// The file; none is written without.
    pub path: Option<PathBuf>,
    /// Time between two; 5 minutes unless said.
    pub every: Option<Duration>,
    /// When it was last written, or the run began.
    last: Instant,
}

impl Default for Keep {
    fn default() -> Self {
        Self { path: None, every: None, last: Instant::now() }
    }
}

impl Keep {
    /// # Errors
    /// [`Error::Option`] names `checkpoint_every`: a time of 0, or one without a file.
    pub fn check(&self) -> Result<()> {
        match (self.every, &self.path) {
            (Some(Duration::ZERO), _) => Err(Error::option("checkpoint_every", "0 s", "a time above 0")),
            (Some(every), None) => {
                Err(Error::option("checkpoint_every", format!("{every:?}"), "only with a checkpoint's path"))
            }
            _ => Ok(()),
        }
    }

    /// The time counts from now.
    pub fn begin(&mut self) {
        self.last = Instant::now();
    }

    /// Whether there is a file to write.
    pub fn is_wanted(&self) -> bool {
        self.path.is_some()
    }

    /// Whether it is time to write.
    pub fn is_due(&self) -> bool {
        self.is_wanted() && self.last.elapsed() >= self.every.unwrap_or(EVERY)
    }

    /// Writes the state, where there is a file for it.
    ///
    /// # Errors
    /// As [`Checkpoint::save`].
    pub fn write<S: State>(&mut self, checkpoint: &Checkpoint<S>) -> Result<()> {
        if let Some(path) = &self.path {
            checkpoint.save(path)?;
        }
        self.begin();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_a_file_and_is_above_0() {
        let text = |keep: &Keep| keep.check().unwrap_err().to_string();
        let mut keep = Keep::default();
        assert!(keep.check().is_ok() && !keep.is_due());
        keep.every = Some(Duration::from_secs(60));
        assert_eq!(text(&keep), "option checkpoint_every: 60s is not allowed (only with a checkpoint's path)");
        keep.path = Some("state".into());
        assert!(keep.check().is_ok() && keep.is_wanted() && !keep.is_due());
        keep.every = Some(Duration::ZERO);
        assert_eq!(text(&keep), "option checkpoint_every: 0 s is not allowed (a time above 0)");
        assert!(keep.is_due());
    }
}
