//! Reports of learning, which its folder keeps.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::LearnOptions;
use crate::azero::Engine;
use crate::azero::player::{GamesPlayed, MatchReport};
use crate::azero::train::{self, EpochReport};
use crate::runtime::{atomic_file, input_file};
use crate::{Error, Result};

/// Version of the report.
const SCHEMA: u32 = 1;
/// Name of the report's file.
pub(super) const FILE: &str = "learn.json";

/// An iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IterationReport {
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Self-play; all 0 if the games already existed.
    pub self_play: GamesPlayed,
    /// Epochs of the training.
    pub training: Vec<EpochReport>,
    /// The new network against the best one.
    pub gate: MatchReport,
    /// Whether the new network is now the best.
    pub accepted: bool,
    /// Seconds of all parts, without those done earlier.
    pub seconds: f64,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnReport {
    /// Version of this structure.
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The options.
    pub options: LearnOptions,
    /// Iterations done.
    pub iterations: Vec<IterationReport>,
    /// The device of the last run; empty in files of version 0.1.
    #[serde(default)]
    pub device: String,
    /// The engine of self-play and matches in the last run; `auto` in files of version 0.1.
    #[serde(default = "auto")]
    pub engine: Engine,
    /// The engine of training in the last run; `auto` in files of version 0.1.
    #[serde(default)]
    pub training_engine: train::Engine,
    /// Seed of the initial network, also added to all other seeds.
    #[serde(default)]
    pub seed: u64,
    /// Seconds of all runs; 0 in files of version 0.1.
    #[serde(default)]
    pub seconds: f64,
}

fn auto() -> Engine {
    Engine::Auto
}

impl fmt::Display for LearnReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, iterations, device, engine, training_engine, seed, seconds, .. } = self;
        let (done, best) = (iterations.len(), self.best());
        write!(f, "{done} of {} iterations on {device}, engine {engine}, ", options.iterations)?;
        write!(f, "training engine {training_engine}, seed {seed}: ")?;
        match best {
            0 => write!(f, "the initial network is the best")?,
            _ => write!(f, "the network of iteration {best} is the best")?,
        }
        write!(f, "; {seconds:.1} s")?;
        let repeated = |report: &IterationReport| {
            report.self_play.repeated_batches + report.gate.repeated_batches.iter().sum::<u64>()
        };
        match iterations.iter().map(repeated).sum::<u64>() {
            0 => Ok(()),
            batches => write!(f, "; {batches} batches evaluated twice"),
        }
    }
}

impl LearnReport {
    pub(super) fn new(options: LearnOptions) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            seed: options.seed,
            options,
            iterations: Vec::new(),
            device: String::new(),
            engine: Engine::Auto,
            training_engine: train::Engine::Auto,
            seconds: 0.0,
        }
    }

    /// The iteration whose network is the best: the last accepted one; 0 is the initial network.
    pub fn best(&self) -> u32 {
        self.iterations.iter().rev().find(|report| report.accepted).map_or(0, |report| report.iteration)
    }

    /// Whether all iterations are done.
    pub fn is_done(&self) -> bool {
        self.iterations.len() >= self.options.iterations as usize
    }

    /// The report in a folder, if there is one.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let wrong = |reason: String| Error::file(&path, None, reason);
        let bytes = input_file::read(&path)?;
        let report: Self =
            serde_json::from_slice(&bytes).map_err(|error| wrong(format!("not a report of learning: {error}")))?;
        if report.schema != SCHEMA {
            return Err(wrong(format!("schema {}, expected {SCHEMA}", report.schema)));
        }
        report.options.check().map_err(|error| wrong(error.to_string()))?;
        if let Some((found, number)) =
            report.iterations.iter().zip(1..).find(|(found, number)| found.iteration != *number)
        {
            return Err(wrong(format!("iteration {} where {number} should be", found.iteration)));
        }
        Ok(Some(report))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::file(&path, None, format!("cannot be written: {error}")))?;
        atomic_file::write(&path, &bytes)
    }

    /// Returns the report with the new number of iterations, if no other option has changed. Before the first training (`is_trained` is false), options that have not been
    /// used yet may change too: correcting one, such as a batch larger than the number of positions, then costs no games.
    pub(super) fn continued(mut self, folder: &Path, options: &LearnOptions, is_trained: bool) -> Result<Self> {
        self.options.iterations = options.iterations;
        if !is_trained {
            let LearnOptions { window, train, gate, gate_search, threshold, .. } = options.clone();
            self.options = LearnOptions { window, train, gate, gate_search, threshold, ..self.options };
        }
        if self.options != *options {
            let (old, new) = (serde_json::to_value(&self.options), serde_json::to_value(options));
            let text =
                |value: &serde_json::Value, key: &str| value.get(key).map(ToString::to_string).unwrap_or_default();
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            let keys = old.as_object().into_iter().flat_map(|map| map.keys());
            let differing = keys.filter(|key| text(&old, key) != text(&new, key));
            let list: Vec<String> =
                differing.map(|key| format!("{key} {}, there {}", text(&new, key), text(&old, key))).collect();
            let allowed = format!("those of {}, where another run was begun", folder.display());
            return Err(Error::option("options of learning", list.join("; "), allowed));
        }
        Ok(self)
    }
}
