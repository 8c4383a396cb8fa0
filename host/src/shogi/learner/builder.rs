//! How a learner is made.

use std::path::{Path, PathBuf};

use super::checkpoint::Checkpoint;
use super::course::{Course, Place};
use super::options::{EarlyStopping, Options, Quiet};
use super::run::Learner;
use super::weights::Weights;
use crate::shogi::engine::Engine;
use crate::shogi::ranks::{Ranks, agree, expect_same, share};
use crate::shogi::{FeatureSet, Optimizer, Shard, SparseOptions, Values};
use crate::{Device, Error, Result};

/// Options of a [`Learner`]; made by [`Learner::builder`].
#[derive(Clone, Debug, Default)]
pub struct LearnerBuilder {
    options: Options,
    sparse: SparseOptions,
    weights: Option<Weights>,
    resume: Option<Checkpoint>,
    keep: Option<(PathBuf, u32)>,
}

impl LearnerBuilder {
    /// All options at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// What the evaluation counts.
    pub fn features(mut self, features: FeatureSet) -> Self {
        self.options.features = features;
        self
    }

    /// How weights move.
    pub fn optimizer(mut self, optimizer: Optimizer) -> Self {
        self.options.optimizer = optimizer;
        self
    }

    /// Learning rate.
    pub fn rate(mut self, rate: f64) -> Self {
        self.options.rate = Some(rate);
        self
    }

    /// First values of L N S G B R +P +L +N +S +B +R.
    pub fn init(mut self, values: Values) -> Self {
        self.options.init = values;
        self
    }

    /// Stops when the objective on held-out games no longer falls.
    pub fn early_stopping(mut self, patience: u32, min_delta: f64) -> Self {
        self.options.early_stopping = Some(EarlyStopping { patience, min_delta });
        self
    }

    /// Compares the last positions of quiet lines, searched anew every `every` iterations.
    pub fn quiet(mut self, every: u32, depth: u32) -> Self {
        self.options.quiet = Some(Quiet { every, depth });
        self
    }

    /// How the back end works, which has no influence on what is learnt.
    pub fn engine(mut self, options: SparseOptions) -> Self {
        self.sparse = options;
        self
    }

    /// First weights, instead of the values of [`Options::init`].
    pub fn weights(mut self, weights: Weights) -> Self {
        self.weights = Some(weights);
        self
    }

    /// Goes on from a checkpoint. Options are not taken from it: start from [`Checkpoint::options`]. Only `early_stopping` may differ. What is learnt then has the
    /// bits of a course that never stopped.
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Some(checkpoint);
        self
    }

    /// Writes a checkpoint to `path` every `every` iterations and at the end of a run. To be set on all ranks alike; rank 0 writes.
    pub fn checkpoint(mut self, path: impl AsRef<Path>, every: u32) -> Self {
        self.keep = Some((path.as_ref().to_path_buf(), every));
        self
    }

    /// Checks everything, takes the device's memory and sets the first weights.
    ///
    /// All ranks are given all positions, `train` to learn from and `held_out` to measure on (it may be empty); each works on its own [`share`].
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is out of range or does not go with the others; [`Error::Shape`] without positions, for a shard whose columns do not fit
    /// together, or if the checkpoint's positions were others;
    /// [`Error::Rank`] if another rank failed, or has other options or positions; errors of the device.
    pub fn build<'a>(
        self,
        device: &Device,
        train: &[&'a Shard],
        held_out: &[&'a Shard],
        ranks: &'a dyn Ranks,
    ) -> Result<Learner<'a>> {
        let opened = self.check(train, held_out).and_then(|()| self.open(device));
        let engine = agree(ranks, opened)?;
        self.build_on(engine, device, train, held_out, ranks)
    }

    /// What can be said before anything is opened.
    pub(super) fn check(&self, train: &[&Shard], held_out: &[&Shard]) -> Result<()> {
        self.options.check()?;
        if self.weights.is_some() && self.resume.is_some() {
            return Err(Error::option("weights", "given", "not together with a checkpoint, which has its own"));
        }
        if let Some((_, 0)) = self.keep {
            return Err(Error::option("checkpoint", "every 0 iterations", "every 1 or more"));
        }
        if let Some(weights) = self.weights.as_ref().filter(|weights| weights.features() != self.options.features) {
            let allowed = format!("{}, those of the given weights", weights.features());
            return Err(Error::option("features", self.options.features, allowed));
        }
        let parents = |shards: &[&Shard]| shards.iter().map(|shard| shard.n_parents()).sum::<usize>();
        if parents(train) == 0 {
            return Err(Error::shape("positions to learn from", "1 or more", 0));
        }
        if self.options.early_stopping.is_some() && parents(held_out) == 0 {
            return Err(Error::option("early_stopping", "given", "only with held-out positions"));
        }
        for (number, shard) in train.iter().enumerate() {
            shard.expect_sound(format!("shard {number} to learn from"))?;
        }
        for (number, shard) in held_out.iter().enumerate() {
            shard.expect_sound(format!("held-out shard {number}"))?;
        }
        Ok(())
    }

    fn open(&self, device: &Device) -> Result<Box<dyn Engine>> {
        crate::shogi::sparse::build(device, self.options.features, &self.sparse)
    }

    /// The rest of [`build`](Self::build), on an engine that is open.
    pub(super) fn build_on<'a>(
        self,
        mut engine: Box<dyn Engine>,
        device: &Device,
        train: &[&'a Shard],
        held_out: &[&'a Shard],
        ranks: &'a dyn Ranks,
    ) -> Result<Learner<'a>> {
        let Self { options, weights, resume, keep, .. } = self;
        let fingerprint = |shards: &[&Shard]| shards.iter().map(|shard| shard.fingerprint()).fold(0, u64::wrapping_add);
        let fingerprint = fingerprint(train).rotate_left(1) ^ fingerprint(held_out);
        let data = format!("{fingerprint:016x}");
        expect_same(ranks, "fingerprint of data", &data)?;
        // Plain data, which always has a JSON form.
        let text = serde_json::to_string(&options).unwrap_or_default();
        let start = match (&weights, &resume) {
            (Some(weights), _) => format!("weights {:016x}", sum_of(weights.values())),
            (_, Some(checkpoint)) => format!("iteration {}, weights {:016x}", checkpoint.iteration(), checkpoint.sum()),
            _ => "new".into(),
        };
        // Rank 0 writes, but all wait until it has.
        let every = keep.as_ref().map_or("no".into(), |(_, every)| every.to_string());
        expect_same(ranks, "set of options", &format!("{text} from {start}, checkpoint every {every} iterations"))?;
        let place = match resume {
            Some(checkpoint) => {
                agree(ranks, checkpoint.check_fits(&options, fingerprint))?;
                let set = engine.set_weights(&checkpoint.weights).and_then(|()| engine.set_memory(&checkpoint.memory));
                agree(ranks, set)?;
                Place::from(checkpoint)
            }
            None => {
                let first = match weights {
                    Some(weights) => weights.values().to_vec(),
                    None => options.features.weights_of(&options.init),
                };
                agree(ranks, engine.set_weights(&first))?;
                let scale = agree(ranks, engine.values())?.iter().take(13).map(|&weight| f64::from(weight)).sum();
                Place { scale, ..Place::default() }
            }
        };
        if let Some((path, _)) = keep.as_ref().filter(|_| ranks.rank() == 0) {
            tracing::debug!("checkpoints go to {}", path.display());
        }
        Ok(Learner::new(Course {
            engine,
            device: device.clone(),
            train: share(train, ranks.rank(), ranks.size())?,
            held_out: share(held_out, ranks.rank(), ranks.size())?,
            has_held_out: held_out.iter().any(|shard| shard.n_parents() > 0),
            options,
            threads: self.sparse.threads,
            ranks,
            fingerprint,
            keep,
            place,
        }))
    }
}

/// A sum over the bits of weights, to compare them between ranks.
pub(super) fn sum_of(weights: &[f32]) -> u64 {
    let add = |sum: u64, weight: &f32| {
        (sum ^ u64::from(weight.to_bits())).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
    };
    weights.iter().fold(0xCBF2_9CE4_8422_2325, add)
}
