//! Checkpoints that are written while the work runs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::runtime::checkpoint::{Checkpoint, State};
use crate::{Error, Result};

/// Default time between two checkpoints.
const EVERY: Duration = Duration::from_secs(300);

/// Where and how often the state is saved, during a run and at its end. A builder passes it to the trainer or solver that it builds.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    /// The file; with `None`, no checkpoint is written.
    pub path: Option<PathBuf>,
    /// Time between two checkpoints; default 5 minutes.
    pub every: Option<Duration>,
    /// Time of the last checkpoint, or of the beginning of the run.
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

    /// Starts the timer.
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

    /// Writes the state if a file was given.
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
