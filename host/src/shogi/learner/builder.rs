//! How a learner is made.

use std::fmt;

use super::batch::Batches;
use super::checkpoint::{Checkpoint, sum_of};
use super::course::{Course, Status};
use super::exchange::{Exchange, sharing};
use super::options::{EarlyStopping, Engine, Options, Quiet};
use super::run::Learner;
use super::weights::Weights;
use crate::runtime::keep::Keep;
use crate::runtime::setters::{checkpoint_setters, setters};
use crate::shogi::dispatch;
use crate::shogi::engines::learn::Learn;
use crate::shogi::features::FeatureSet;
use crate::shogi::objective::Values;
use crate::shogi::ranks::{Alone, Ranks, agree, expect_same, share};
use crate::shogi::shard::{Shard, Shards};
use crate::shogi::update::Optimizer;
use crate::{Device, Error, Memory, Result};

/// Options and data of a [`Learner`]; made by [`Learner::builder`].
#[derive(Clone)]
pub struct LearnerBuilder<'a> {
    train: Vec<&'a Shard>,
    held_out: Vec<&'a Shard>,
    ranks: &'a dyn Ranks,
    options: Options,
    /// Names of the options that were set.
    given: Vec<&'static str>,
    weights: Option<Weights>,
    resume: Option<Checkpoint>,
    keep: Keep,
}

impl<'a> Learner<'a> {
    /// A builder for positions to learn from: a [`Dataset`](crate::shogi::dataset::Dataset) or shards.
    pub fn builder(train: impl Into<Shards<'a>>) -> LearnerBuilder<'a> {
        LearnerBuilder::new(train.into())
    }
}

/// An engine with its name and its memory.
struct Opened {
    engine: Box<dyn Learn>,
    which: Engine,
    memory: Memory,
}

/// Memory that weights, gradient, optimiser and exchange take.
fn memory_of(options: &Options, train: &[&Shard], n_ranks: usize) -> Memory {
    let mut memory = dispatch::memory_of_learn(options.features, Some(options.optimizer), n_ranks);
    if options.batch > 0 {
        // A lot and a number for each, while they are sorted; then the number.
        let n: u64 = train.iter().map(|shard| shard.n_parents() as u64).sum();
        memory = memory.on_host("order of positions", 20 * n);
    }
    let n = options.features.len() as u64;
    match options.optimizer {
        // Each step is two arrays in double precision; a search has two points.
        Optimizer::Lbfgs => memory.on_host("steps of L-BFGS", n * (16 * u64::from(options.history) + 24)),
        _ => memory,
    }
}

impl<'a> LearnerBuilder<'a> {
    fn new(train: Shards<'a>) -> Self {
        Self {
            train: train.0,
            held_out: Vec::new(),
            ranks: &Alone,
            options: Options::default(),
            given: Vec::new(),
            weights: None,
            resume: None,
            keep: Keep::default(),
        }
    }

    /// Positions for measuring, from games that are not used for learning; default none.
    #[must_use]
    pub fn held_out(mut self, data: impl Into<Shards<'a>>) -> Self {
        self.held_out = data.into().0;
        self
    }

    /// The ranks that learn together; default this process alone. Each rank is given all positions and processes its own [`share`].
    #[must_use]
    pub fn ranks(mut self, ranks: &'a dyn Ranks) -> Self {
        self.ranks = ranks;
        self
    }

    /// Sets all options at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self.given = vec![
            "engine",
            "features",
            "optimizer",
            "learning_rate",
            "rate_factor",
            "l1",
            "l2",
            "beta1",
            "beta2",
            "epsilon",
            "history",
            "a",
            "window",
            "siblings",
            "seed",
            "keep_scale",
            "init",
            "early_stopping",
            "quiet",
            "batch",
            "iterations",
            "threads",
            "device_bytes",
        ];
        self
    }

    setters! {
        noted in given;
        /// The implementation.
        engine: Engine,
        /// The features of the evaluation.
        features: FeatureSet,
        /// The optimiser.
        optimizer: Optimizer,
        /// Learning rate.
        learning_rate: f64 = Some(learning_rate),
        /// Factor of the rate after each iteration.
        rate_factor: f64,
        /// Weight of Σ|w|.
        l1: f64,
        /// Weight of Σw²/2.
        l2: f64,
        /// β₁ of momentum and Adam.
        beta1: f64,
        /// β₂ of Adam.
        beta2: f64,
        /// ε of AdaGrad and Adam.
        epsilon: f64,
        /// Steps that L-BFGS remembers.
        history: u32,
        /// Slope of the sigmoid.
        a: f64,
        /// Siblings whose evaluation differs from the played child's by more pawns than this do not count.
        window: f64 = Some(window),
        /// Maximum number of siblings of a parent that count; 0 for all.
        siblings: u32,
        /// Seed of the choice of siblings and of the order of mini-batches.
        seed: u64,
        /// Keeps the sum of the 13 values constant.
        keep_scale: bool,
        /// Initial values of L N S G B R +P +L +N +S +B +R.
        init: Values,
        /// Number of positions of a step; 0 for all.
        batch: u32,
        /// Total number of steps, including those before a checkpoint.
        iterations: u32,
        /// Threads of the work on the CPU; `None` for all cores.
        threads: impl Into<Option<usize>> = threads.into(),
        /// Maximum number of bytes of positions kept on the device; `None` for all free memory.
        device_bytes: impl Into<Option<u64>> = device_bytes.into(),
    }

    /// Stops when the objective on held-out games no longer decreases.
    #[must_use]
    pub fn early_stopping(mut self, patience: u32, min_delta: f64) -> Self {
        self.options.early_stopping = Some(EarlyStopping { patience, min_delta });
        self.given.push("early_stopping");
        self
    }

    /// Compares the last positions of quiet lines, which are searched again every `every` iterations.
    #[must_use]
    pub fn quiet(mut self, every: u32, depth: u32) -> Self {
        self.options.quiet = Some(Quiet { every, depth });
        self.given.push("quiet");
        self
    }

    /// Initial weights, in place of the values of [`Options::init`].
    #[must_use]
    pub fn weights(mut self, weights: Weights) -> Self {
        self.weights = Some(weights);
        self
    }

    checkpoint_setters! {
        /// Continues from a checkpoint, with the same bits as an uninterrupted course. Options that the caller did not set are the checkpoint's; of those that were set,
        /// only `iterations`, `early_stopping`, `engine`, `threads` and `device_bytes` may differ from it.
        resume,

        /// Writes a checkpoint to `path` during a run and at its end. All ranks must set it; rank 0 writes.
        checkpoint,

        /// Time between two checkpoints, above 0; default five minutes.
        checkpoint_every
    }

    /// Memory that weights, gradient and optimiser take; that of L-BFGS is on the host. Positions take additional memory as far as there is room; the rest is copied in
    /// every pass.
    ///
    /// # Errors
    /// As [`build`](Self::build) for options that do not fit the checkpoint, and for an engine that the device does not have.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        let options = self.merged()?;
        dispatch::chosen_learner(device, options.engine)?;
        Ok(memory_of(&options, &self.train, self.ranks.size()))
    }

    /// Checks everything, allocates the device's memory and sets the initial weights.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is out of range, contradicts others, or differs from the checkpoint's; [`Error::Shape`] without positions, for a shard with
    /// inconsistent columns, or if the positions differ from the checkpoint's; [`Error::OutOfMemory`] if the weights do not fit; [`Error::Rank`] if another rank failed, or
    /// has other options or positions; errors of the device.
    pub fn build(self, device: &Device) -> Result<Learner<'a>> {
        let opened = self.merged().and_then(|options| {
            self.check(&options)?;
            let (which, memory) = (
                dispatch::chosen_learner(device, options.engine)?,
                memory_of(&options, &self.train, self.ranks.size()),
            );
            let engine = dispatch::learn(device, options.features, &options.sparse(), &memory)?;
            Ok((options, Opened { engine, which, memory }))
        });
        let (options, opened) = agree(self.ranks, opened)?;
        self.build_on(options, opened, device)
    }

    /// The options, merged with those of a checkpoint.
    fn merged(&self) -> Result<Options> {
        match &self.resume {
            Some(checkpoint) => checkpoint.merged(&self.options, &self.given),
            None => Ok(self.options.clone()),
        }
    }

    /// Checks everything that does not need an open engine.
    fn check(&self, options: &Options) -> Result<()> {
        options.check()?;
        if self.weights.is_some() && self.resume.is_some() {
            return Err(Error::option("weights", "given", "not together with a checkpoint, which has its own"));
        }
        self.keep.check()?;
        if let Some(weights) = self.weights.as_ref().filter(|weights| weights.features() != options.features) {
            let allowed = format!("{}, those of the given weights", weights.features());
            return Err(Error::option("features", options.features, allowed));
        }
        let parents = |shards: &[&Shard]| shards.iter().map(|shard| shard.n_parents()).sum::<usize>();
        if parents(&self.train) == 0 {
            return Err(Error::shape("positions to learn from", "1 or more", 0));
        }
        if options.early_stopping.is_some() && parents(&self.held_out) == 0 {
            return Err(Error::option("early_stopping", "given", "only with held-out positions"));
        }
        for (number, shard) in self.train.iter().enumerate() {
            shard.expect_sound(format!("shard {number} to learn from"))?;
        }
        for (number, shard) in self.held_out.iter().enumerate() {
            shard.expect_sound(format!("held-out shard {number}"))?;
        }
        Ok(())
    }

    /// The rest of [`build`](Self::build), on an engine that is open.
    fn build_on(self, options: Options, opened: Opened, device: &Device) -> Result<Learner<'a>> {
        let Opened { mut engine, which, memory } = opened;
        let Self { train, held_out, ranks, weights, resume, keep, .. } = self;
        let fingerprint = |shards: &[&Shard]| shards.iter().map(|shard| shard.fingerprint()).fold(0, u64::wrapping_add);
        let fingerprint = fingerprint(&train).rotate_left(1) ^ fingerprint(&held_out);
        let data = format!("{fingerprint:016x}");
        expect_same(ranks, "fingerprint of data", &data)?;
        // Plain data, which always has a JSON form. Engine, threads and memory may differ between ranks.
        let alike = Options { engine: Engine::Auto, threads: None, device_bytes: None, ..options.clone() };
        let text = serde_json::to_string(&alike).unwrap_or_default();
        let start = match (&weights, &resume) {
            (Some(weights), _) => format!("weights {:016x}", sum_of(weights.values())),
            (_, Some(checkpoint)) => format!("iteration {}, weights {:016x}", checkpoint.iteration(), checkpoint.sum()),
            _ => "new".into(),
        };
        // Rank 0 writes, but all wait until it has.
        let writes = if keep.is_wanted() { "checkpoints" } else { "no checkpoints" };
        expect_same(ranks, "set of options", &format!("{text} from {start}, {writes}"))?;
        let status = match resume {
            Some(crate::Checkpoint(state)) => {
                agree(ranks, state.expect_data(fingerprint))?;
                let set = engine.set_weights(&state.weights).and_then(|()| engine.set_memory(&state.memory));
                agree(ranks, set)?;
                Status::from(state)
            }
            None => {
                let first = match weights {
                    Some(weights) => weights.values().to_vec(),
                    None => options.features.weights_of(&options.init),
                };
                agree(ranks, engine.set_weights(&first))?;
                let scale = agree(ranks, engine.values())?.iter().take(13).map(|&weight| f64::from(weight)).sum();
                Status { scale, ..Status::default() }
            }
        };
        if let Some(path) = keep.path.as_ref().filter(|_| ranks.rank() == 0) {
            tracing::debug!("checkpoints go to {}", path.display());
        }
        let share_of_train = share(&train, ranks.rank(), ranks.size())?;
        let batches = match options.batch {
            0 => None,
            size => {
                let own: usize = share_of_train.iter().map(|shard| shard.n_parents()).sum();
                let lengths = ranks.gather_bytes(&(own as u64).to_le_bytes())?;
                let length =
                    |bytes: &Vec<u8>| bytes.first_chunk().map_or(0, |&bytes| u64::from_le_bytes(bytes) as usize);
                let first = lengths.iter().take(ranks.rank()).map(length).sum();
                Some(Batches::new(train, options.seed, size, first))
            }
        };
        if ranks.size() > 1 {
            engine.reserve(dispatch::bytes_of_rows(options.features));
        }
        let exchange = Exchange { sharing: sharing(ranks, &mut *engine)?, ..Exchange::default() };
        Ok(Learner::new(Course {
            engine,
            which,
            memory,
            device: device.clone(),
            has_held_out: held_out.iter().any(|shard| shard.n_parents() > 0),
            train: share_of_train,
            batches,
            exchange,
            held_out: share(&held_out, ranks.rank(), ranks.size())?,
            options,
            ranks,
            fingerprint,
            keep,
            status,
        }))
    }
}

impl fmt::Debug for LearnerBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LearnerBuilder")
            .field("options", &self.options)
            .field("ranks", &self.ranks.size())
            .finish_non_exhaustive()
    }
}
