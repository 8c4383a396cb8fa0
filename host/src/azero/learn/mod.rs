//! Learning by self-play: the best network plays itself, a new one learns from the games, and replaces the best if it beats it.
//!
//! [`Learner`] repeats these three steps in a folder, which holds all that they made. It can be stopped, or killed, at any time; started again in the same folder it goes on.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::azero::NetworkShape;
//! use warpplay::azero::learn::{LearnOptions, Learner};
//! use warpplay::azero::player::MatchOptions;
//! use warpplay::azero::train;
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("run");
//! // As small as can be: one iteration of two games, a step of training, and a gate of two games.
//! let options = LearnOptions {
//!     iterations: 1,
//!     games: 2,
//!     shape: NetworkShape { width: 4, depth: 1, value_hidden: 4, ..NetworkShape::default() },
//!     train: train::Options { batch: 16, steps: Some(1), ..train::Options::default() },
//!     gate: MatchOptions { games: 2, ..MatchOptions::default() },
//!     ..LearnOptions::default()
//! };
//! let mut learner = Learner::builder(&folder).options(options).simulations(2).build(&Device::cpu())?;
//! let report = learner.run(|_| ControlFlow::Continue(()))?;
//! assert_eq!((report.iterations.len(), report.iterations[0].self_play.games), (1, 2));
//! assert!(folder.join("network-0001.safetensors").is_file());
//! let best = learner.best()?; // the initial network, unless the new one won the gate
//! assert_eq!(best.shape().width, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Learner`], [`LearnerBuilder`] | the run in its folder |
//! | [`LearnOptions`] | iterations, and the options of self-play, training and match |
//! | [`LearnReport`], [`IterationReport`] | what was done, as `learn.json` holds it |
//! | [`LearnEvent`] | what `watch` gets while it runs |
//! | [`is_run_file`] | whether a name is that of a file of such a folder |
//!
//! # The folder
//!
//! ```text
//! iteration   self-play of the best network -> training on the games of the last iterations -> match of the new network against the best
//! folder      .warpplay-lock                locked by the process that uses the folder
//!             learn.json                    options, reports of the iterations done, and which network is the best
//!             initial.safetensors           the network of the beginning
//!             games-0001.jsonl              the games of each iteration
//!             training-0001.safetensors     the checkpoint of its training
//!             network-0001.safetensors      its network, accepted or not; the next iteration goes on from it
//! ```
//!
//! Every file is written whole or not at all, and a step whose file is there is not done again: a run that was stopped, or killed, resumes
//! when it is started again in the same folder. Only self-play starts its iteration's games again.
//!
//! # Paper
//! Silver et al., "Mastering the game of Go without human knowledge", 2017 (with the gate); OpenSpiel's `alpha_zero_torch` has none.

mod folder;
mod options;
mod report;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use folder::is_run_file;
use folder::{GAMES, INITIAL, NETWORK, TRAINING, of_iteration};
pub use options::LearnOptions;
pub use report::{IterationReport, LearnReport};

use super::player::{
    Contestant, Estimator, GamesPlayed, Match, MatchOptions, MatchReport, SearchOptions, SelfPlay, SelfPlayBuilder,
    SelfPlayReport,
};
use super::train::{self, Checkpoint, Samples, StoppedBy, TrainEvent, Trainer, initial};
use super::{Engine, Evaluator, EvaluatorOptions, Network, NetworkShape, ObservationLayout, ValueOf, write_records};
use crate::runtime::setters::setters;
use crate::{Backend, Device, Error, Memory, Precision, Progress, Result};

/// Events that a learner reports while it runs: [`Progress::latest`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LearnEvent {
    /// A game of self-play is over.
    Game {
        /// The iteration, from 1.
        iteration: u32,
        /// Games done in the iteration.
        games: u64,
        /// Games of the iteration.
        of: u64,
    },
    /// Self-play is done.
    SelfPlay(SelfPlayReport),
    /// An event of the training.
    Train(TrainEvent),
    /// The match of the new network against the best is done.
    Gate(MatchReport),
    /// An iteration is done.
    Iteration(IterationReport),
}

/// Options of a [`Learner`]; made by [`Learner::builder`].
#[derive(Clone, Debug)]
pub struct LearnerBuilder {
    folder: PathBuf,
    options: LearnOptions,
    network: Option<Network>,
}

impl LearnerBuilder {
    /// Sets all options at once.
    pub fn options(mut self, options: LearnOptions) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// Total number of iterations. Default 10.
        iterations: u32,
        /// Games of self-play in an iteration. Default 512.
        games: u64,
        /// Games of self-play played at the same time. Default 512.
        parallel: u32,
        /// Number of latest iterations whose games are used for training. Default 5.
        window: u32,
        /// Searches of self-play. Default [`SearchOptions::self_play`] with 8 leaves at once.
        search: SearchOptions,
        /// Training in an iteration. Default 2 epochs.
        train: train::Options,
        /// The gate match, and the one against the initial network. Default 200 games.
        gate: MatchOptions,
        /// Searches of matches. Default without noise and temperature, 8 leaves at once.
        gate_search: SearchOptions,
        /// Share of points in the gate match above which the new network replaces the old one. Default 0.55.
        threshold: f64,
        /// Arithmetic of self-play and matches. Default bf16 on a GPU with tensor cores, else f32.
        precision: Precision = Some(precision),
        /// The network's size. Default OpenSpiel's for checkers.
        shape: NetworkShape,
        /// Layout of observations. Default egocentric.
        observation: ObservationLayout,
        /// The player whose result is the value. Default the player to move.
        value_of: ValueOf,
        /// Seed of the initial network, also added to all other seeds. Default 1.
        seed: u64,
    }

    /// Simulations per move, in self-play and in matches. Default 100.
    pub fn simulations(mut self, n: u32) -> Self {
        self.options.search.simulations = n;
        self.options.gate_search.simulations = n;
        self
    }

    /// The initial network, whose size and meaning must agree with the options. Default [`initial`] with the seed.
    pub fn network(mut self, network: &Network) -> Self {
        self.network = Some(network.clone());
        self
    }

    /// Memory of the largest of the three parts of an iteration, which run in sequence: self-play, training, match. It does not include the positions of a training, about
    /// 200 bytes each.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed; [`Error::Shape`] for a network or a batch that the training's kernels do not take; errors of the driver.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        self.options.check()?;
        memory(device, &self.options)
    }

    /// Begins a run in an empty or new folder, or continues the run of an existing one. No other process can use the folder until the learner is dropped. If the call fails,
    /// it removes everything that it made.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed or differs from the folder's (only the number of iterations may differ and, before the first training, the
    /// options of training and gate); [`Error::File`] for a folder that cannot be made, that another process uses, or that holds a damaged report; [`Error::Shape`] for a
    /// network of another size or meaning, or for another game; [`Error::OutOfMemory`] if a part of an iteration does not fit.
    pub fn build(self, device: &Device) -> Result<Learner> {
        let Self { folder, options, network } = self;
        options.check()?;
        let network = match network {
            Some(network) => network,
            None => initial(options.shape, options.seed)?.with_meaning(options.observation, options.value_of),
        };
        let meaning = (network.shape(), network.observation(), network.value_of());
        let expected = (options.shape, options.observation, options.value_of);
        if meaning != expected {
            return Err(Error::shape("initial network", format!("{expected:?}"), format!("{meaning:?}")));
        }
        let (engines, memory) = (engines(device, &options)?, memory(device, &options)?);
        expect_parts(device, &options, &network)?;
        let (lock, mut made) = folder::open(&folder)?;
        let mut report = match LearnReport::read(&folder)? {
            Some(report) => {
                let is_trained = !report.iterations.is_empty() || folder.join(of_iteration(TRAINING, 1)).exists();
                let old = report.options.clone();
                let report = report.continued(&folder, &options, is_trained)?;
                if report.options != old {
                    report.write(&folder)?;
                }
                report
            }
            None => {
                let initial = folder.join(INITIAL);
                made.note(&initial);
                network.save(initial)?;
                let report = LearnReport::new(options);
                report.write(&folder)?;
                report
            }
        };
        made.keep();
        report.device = device.to_string();
        report.seed = report.options.seed;
        (report.engine, report.training_engine) = engines;
        Ok(Learner { device: device.clone(), folder, report, memory, _lock: lock })
    }
}

/// Builds the parts of an iteration once, so that a refusal by the device is found before anything is written.
fn expect_parts(device: &Device, options: &LearnOptions, network: &Network) -> Result<()> {
    let evaluation = EvaluatorOptions { precision: precision(device, options)?, ..EvaluatorOptions::default() };
    let estimator = Estimator::from(network).with_options(evaluation);
    drop(self_play(options, estimator.clone()).games(options.games).build(device)?);
    let contestant = Contestant::Search(options.gate_search, estimator);
    drop(Match::builder([contestant.clone(), contestant]).options(options.gate).build(device)?);
    let samples = Arc::new(Samples::new(options.shape, options.observation, options.value_of)?);
    let training = Trainer::builder(network, &samples).options(options.train.clone()).memory_needed(device)?;
    device.expect_memory(&training)
}

/// Memory of the largest part of an iteration.
fn memory(device: &Device, options: &LearnOptions) -> Result<Memory> {
    let network = Network::zeros(options.shape)?.with_meaning(options.observation, options.value_of);
    let evaluation = EvaluatorOptions { precision: precision(device, options)?, ..EvaluatorOptions::default() };
    let estimator = Estimator::from(&network).with_options(evaluation);
    let contestant = Contestant::Search(options.gate_search, estimator.clone());
    let samples = Arc::new(Samples::new(options.shape, options.observation, options.value_of)?);
    let parts = [
        self_play(options, estimator).memory_needed(device)?,
        Trainer::builder(&network, &samples).options(options.train.clone()).memory_needed(device)?,
        Match::builder([contestant.clone(), contestant]).options(options.gate).memory_needed(device)?,
    ];
    Ok(parts.into_iter().max_by_key(|memory| (memory.device(), memory.host())).unwrap_or_default())
}

/// The engines of self-play and matches, and of training.
fn engines(device: &Device, options: &LearnOptions) -> Result<(Engine, train::Engine)> {
    let network = Network::zeros(options.shape)?.with_meaning(options.observation, options.value_of);
    let evaluator = Evaluator::builder(&network).precision(precision(device, options)?);
    Ok((evaluator.engine_on(device)?, train::engine_on(device, &options.train)?))
}

/// The arithmetic of self-play and matches.
fn precision(device: &Device, options: &LearnOptions) -> Result<Precision> {
    let has_tensor_cores = || Ok::<_, Error>(device.info()?.compute_capability.is_some_and(|(major, _)| major >= 8));
    match options.precision {
        Some(precision) => Ok(precision),
        None if device.backend() == Backend::Cuda && has_tensor_cores()? => Ok(Precision::Bf16),
        None => Ok(Precision::F32),
    }
}

/// Self-play with the given options, except for seed and games.
fn self_play(options: &LearnOptions, estimator: Estimator) -> SelfPlayBuilder {
    let parallel = u64::from(options.parallel).min(options.games) as u32;
    SelfPlay::builder(estimator).search(options.search).parallel(parallel)
}

/// A run of learning in a folder.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::azero::learn::Learner;
///
/// let mut learner = Learner::builder("learned").iterations(5).build(&Device::auto())?;
/// println!("{}", learner.run(|_| ControlFlow::Continue(()))?);
/// let versus_initial = learner.match_with_initial(|_| ControlFlow::Continue(()))?;
/// assert!(versus_initial.results().score() > 0.5);
/// learner.best()?.save("best.safetensors")?;
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Learner {
    device: Device,
    folder: PathBuf,
    report: LearnReport,
    memory: Memory,
    /// Keeps other processes from using the folder.
    _lock: File,
}

/// Observer of a run, called with an event, or with `None` between steps; returns `true` to continue.
type Tell<'a> = dyn FnMut(Option<LearnEvent>) -> bool + 'a;

/// Converts a Boolean to the result of a `watch`.
fn flow(goes_on: bool) -> ControlFlow<()> {
    if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

impl Learner {
    /// Makes a builder of a run in a folder, with the default options.
    pub fn builder(folder: impl Into<PathBuf>) -> LearnerBuilder {
        LearnerBuilder { folder: folder.into(), options: LearnOptions::default(), network: None }
    }

    /// The options.
    pub fn options(&self) -> &LearnOptions {
        &self.report.options
    }

    /// Raises the total number of iterations.
    ///
    /// # Errors
    /// [`Error::Option`] for a number that is not allowed.
    pub fn set_limit(&mut self, iterations: u32) -> Result<()> {
        let options = LearnOptions { iterations, ..self.report.options.clone() };
        options.check()?;
        self.report.options = options;
        Ok(())
    }

    /// Memory of the largest part of an iteration, as [`LearnerBuilder::memory_needed`].
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// The report so far.
    pub fn report(&self) -> &LearnReport {
        &self.report
    }

    /// The best network so far.
    ///
    /// # Errors
    /// As [`Network::load`].
    pub fn best(&self) -> Result<Network> {
        self.network(self.report.best())
    }

    /// The network that an iteration learned; for iteration 0, the initial one.
    ///
    /// # Errors
    /// As [`Network::load`].
    pub fn network(&self, iteration: u32) -> Result<Network> {
        Network::load(self.network_path(iteration))
    }

    fn network_path(&self, iteration: u32) -> PathBuf {
        match iteration {
            0 => self.folder.join(INITIAL),
            _ => self.path(NETWORK, iteration),
        }
    }

    fn path(&self, what: [&str; 2], iteration: u32) -> PathBuf {
        self.folder.join(of_iteration(what, iteration))
    }

    /// Learns until the last iteration is done, or `watch` returns `Break`, which takes effect between two steps of a search or of the training. `watch` is also called
    /// between such steps without an event. After a stop, another call of `run` continues; self-play and match then restart the games of their iteration.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the training diverges; errors of files and of the device.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<LearnEvent>) -> ControlFlow<()>) -> Result<LearnReport> {
        let (start, before) = (Instant::now(), self.report.seconds);
        let n_steps = Some(u64::from(self.report.options.iterations));
        while self.report.iterations.len() < self.report.options.iterations as usize {
            let steps = self.report.iterations.len() as u64;
            let mut tell = |latest| {
                let elapsed = start.elapsed();
                watch(&Progress { steps, n_steps, elapsed, time_limit: None, latest }).is_continue()
            };
            let done = self.iteration(&mut tell)?;
            self.report.seconds = before + start.elapsed().as_secs_f64();
            if !done {
                break;
            }
        }
        Ok(self.report.clone())
    }

    /// Runs the next iteration, or the rest of it; returns whether the run continues.
    fn iteration(&mut self, tell: &mut Tell<'_>) -> Result<bool> {
        let iteration = self.report.iterations.len() as u32 + 1;
        let start = Instant::now();
        let Some(self_play) = self.self_play(iteration, tell)? else { return Ok(false) };
        if !self.train(iteration, tell)? {
            return Ok(false);
        }
        let gate = self.play_match([iteration, self.report.best()], |_| flow(tell(None)))?;
        if gate.results().games() < gate.options.games {
            return Ok(false);
        }
        let goes_on = tell(Some(LearnEvent::Gate(gate.clone())));
        let training = Checkpoint::load(self.path(TRAINING, iteration))?;
        let report = IterationReport {
            iteration,
            self_play,
            training: training.epochs().to_vec(),
            accepted: gate.results().score() >= self.report.options.threshold,
            gate,
            seconds: start.elapsed().as_secs_f64(),
        };
        self.report.iterations.push(report.clone());
        self.report.write(&self.folder)?;
        Ok(tell(Some(LearnEvent::Iteration(report))) && goes_on)
    }

    fn estimator(&self, iteration: u32) -> Result<Estimator> {
        let name = self.network_path(iteration).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let options = EvaluatorOptions {
            precision: precision(&self.device, &self.report.options)?,
            ..EvaluatorOptions::default()
        };
        Ok(Estimator::network(self.network(iteration)?, name).with_options(options))
    }

    /// Plays the iteration's games, unless they exist; `None` if the caller stopped.
    fn self_play(&self, iteration: u32, tell: &mut Tell<'_>) -> Result<Option<GamesPlayed>> {
        let path = self.path(GAMES, iteration);
        if path.exists() {
            return Ok(Some(GamesPlayed::default()));
        }
        let options = &self.report.options;
        let seed = options.search.seed.wrapping_add(options.seed).wrapping_add(iteration.into());
        let builder = self_play(options, self.estimator(self.report.best())?).seed(seed);
        let first = u64::from(iteration - 1) * options.games;
        let mut games = builder.first(first).games(options.games).build(&self.device)?;
        let mut records = Vec::new();
        let report = games.run(|progress| {
            let Some(record) = &progress.latest else { return flow(tell(None)) };
            records.push(record.clone());
            flow(tell(Some(LearnEvent::Game { iteration, games: records.len() as u64, of: options.games })))
        })?;
        if (records.len() as u64) < options.games {
            return Ok(None);
        }
        write_records(&path, &records)?;
        let played = report.played;
        Ok(tell(Some(LearnEvent::SelfPlay(report))).then_some(played))
    }

    /// Runs the iteration's training, unless it is done; returns whether it is done now.
    fn train(&self, iteration: u32, tell: &mut Tell<'_>) -> Result<bool> {
        let (path, network) = (self.path(TRAINING, iteration), self.network_path(iteration));
        if network.exists() {
            return Ok(true);
        }
        let options = &self.report.options;
        let first = iteration.saturating_sub(options.window - 1).max(1);
        let files: Vec<PathBuf> = (first..=iteration).map(|iteration| self.path(GAMES, iteration)).collect();
        let samples = Arc::new(Samples::read(&files, options.observation, options.value_of)?);
        let mut train = options.train.clone();
        train.seed = train.seed.wrapping_add(options.seed).wrapping_add(iteration.into());
        let builder = match path.exists() {
            true => {
                let checkpoint = Checkpoint::load(&path)?;
                Trainer::builder(checkpoint.network(), &samples).resume(checkpoint.clone())
            }
            false => Trainer::builder(&self.network(iteration - 1)?, &samples),
        };
        let mut trainer = builder.options(train).checkpoint(&path).build(&self.device)?;
        let report = trainer.run(|progress| flow(tell(progress.latest.clone().map(LearnEvent::Train))))?;
        let stopped = report.stopped_by == StoppedBy::Request;
        if stopped && report.epochs.len() < report.options.epochs as usize {
            return Ok(false);
        }
        trainer.network()?.save(&network)?;
        Ok(!stopped)
    }

    /// Plays the networks of two iterations against each other; results are from the view of the first. `watch` is as in [`Match::run`].
    ///
    /// # Errors
    /// As [`Match::run`].
    pub fn play_match(
        &self,
        iterations: [u32; 2],
        watch: impl FnMut(&Progress<MatchReport>) -> ControlFlow<()>,
    ) -> Result<MatchReport> {
        let options = &self.report.options;
        let mut gate = options.gate;
        gate.seed = gate.seed.wrapping_add(options.seed).wrapping_add(iterations[0].into());
        let contestant =
            |iteration| Ok::<_, Error>(Contestant::Search(options.gate_search, self.estimator(iteration)?));
        let builder = Match::builder([contestant(iterations[0])?, contestant(iterations[1])?]).options(gate);
        builder.build(&self.device)?.run(watch)
    }

    /// Plays the best network against the initial one, which measures the gain of the whole run. `watch` is as in [`Match::run`].
    ///
    /// # Errors
    /// As [`Match::run`].
    pub fn match_with_initial(
        &self,
        watch: impl FnMut(&Progress<MatchReport>) -> ControlFlow<()>,
    ) -> Result<MatchReport> {
        self.play_match([self.report.best(), 0], watch)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Learner").field("device", &self.device).field("folder", &self.folder).finish_non_exhaustive()
    }
}
