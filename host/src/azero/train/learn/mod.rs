//! Learning without a teacher: the network plays itself, learns from the games, and takes the place of the one before if it beats it.
//!
//! ```text
//! iteration   self-play of the best network -> training on the games of the last iterations -> match of the new network against the best
//! folder      learn.json                    options, reports of the iterations done, and which network is the best
//!             initial.safetensors           the network of the beginning
//!             games-0001.jsonl              the games of each iteration
//!             training-0001.safetensors     the checkpoint of its training
//!             network-0001.safetensors      its network, accepted or not; the next iteration goes on from it
//! ```
//!
//! Every file is written whole or not at all, and a step whose file is there is not done again: a run that was stopped, or ended by force, goes on where it
//! was when it is begun again in the same folder. Self-play is the one step that begins its iteration's games anew.
//!
//! # Source
//! Silver et al., "Mastering the game of Go without human knowledge", 2017 (with the gate); OpenSpiel's `alpha_zero_torch` has none.

mod options;
mod state;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use options::LearnOptions;
pub use state::{IterationReport, LearnReport};

use super::{Checkpoint, Samples, StoppedBy, TrainEvent, Trainer, initial};
use crate::azero::player::{Contestant, Estimator, Match, MatchReport, SelfPlay, SelfPlayReport};
use crate::azero::{Evaluator, Network, write_records};
use crate::{Backend, Device, Error, Precision, Result};

/// What a learner's caller is told while it runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LearnEvent<'a> {
    /// A game of self-play is over.
    Game {
        /// The iteration, from 1.
        iteration: u32,
        /// Games done of it.
        games: u64,
        /// Games of it.
        of: u64,
    },
    /// Self-play is done.
    SelfPlay(&'a SelfPlayReport),
    /// The training goes on.
    Train(TrainEvent<'a>),
    /// The match of the new network against the best is done.
    Gate(&'a MatchReport),
    /// An iteration is done.
    Iteration(&'a IterationReport),
}

/// A run of learning in a folder.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::azero::train::learn::{LearnOptions, Learner};
///
/// let options = LearnOptions { iterations: 5, ..LearnOptions::default() };
/// let mut learner = Learner::open(&Device::auto(), "learned", options)?;
/// learner.run(|_| ControlFlow::Continue(()))?;
/// let versus_initial = learner.match_with_initial()?;
/// assert!(versus_initial.results().score() > 0.5);
/// learner.best()?.save("best.safetensors")?;
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Learner {
    device: Device,
    folder: PathBuf,
    report: LearnReport,
}

impl Learner {
    /// Begins in an empty or new folder, or goes on in one where a learner was.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, or that differs from the folder's (all but the iterations must be the same); [`Error::File`] for a
    /// folder that cannot be made, or holds a damaged report.
    pub fn open(device: &Device, folder: impl Into<PathBuf>, options: LearnOptions) -> Result<Self> {
        options.check()?;
        let network = initial(options.shape, options.seed)?.with_meaning(options.observation, options.value_of);
        Self::open_with(device, folder, options, network)
    }

    /// The same, beginning with a network of the caller's; what its observations and values mean must be as in the options.
    ///
    /// # Errors
    /// As [`Learner::open`]; [`Error::Shape`] for a network of another size or meaning.
    pub fn open_with(
        device: &Device,
        folder: impl Into<PathBuf>,
        options: LearnOptions,
        network: Network,
    ) -> Result<Self> {
        options.check()?;
        let folder = folder.into();
        let meaning = (network.shape(), network.observation(), network.value_of());
        let expected = (options.shape, options.observation, options.value_of);
        if meaning != expected {
            return Err(Error::shape("initial network", format!("{expected:?}"), format!("{meaning:?}")));
        }
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::file(&folder, None, format!("cannot be made: {error}")))?;
        let report = match LearnReport::read(&folder)? {
            Some(report) => report.continued(&folder, &options)?,
            None => {
                network.save(folder.join(INITIAL))?;
                let report = LearnReport::new(options);
                report.write(&folder)?;
                report
            }
        };
        Ok(Self { device: device.clone(), folder, report })
    }

    /// What was done so far.
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

    /// The network that an iteration learned; of iteration 0 the initial one.
    ///
    /// # Errors
    /// As [`Network::load`].
    pub fn network(&self, iteration: u32) -> Result<Network> {
        Network::load(self.network_path(iteration))
    }

    fn network_path(&self, iteration: u32) -> PathBuf {
        match iteration {
            0 => self.folder.join(INITIAL),
            _ => self.path("network", iteration, "safetensors"),
        }
    }

    fn path(&self, what: &str, iteration: u32, ending: &str) -> PathBuf {
        self.folder.join(format!("{what}-{iteration:04}.{ending}"))
    }

    /// Learns until the last iteration is done, or `watch` answers `Break`, which is heeded between two games, steps, or parts of an iteration. A run that it
    /// stopped goes on when `run` is called again.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the training does; errors of files and of the device.
    pub fn run(&mut self, mut watch: impl FnMut(LearnEvent<'_>) -> ControlFlow<()>) -> Result<StoppedBy> {
        while self.report.iterations.len() < self.report.options.iterations as usize {
            let iteration = self.report.iterations.len() as u32 + 1;
            let start = Instant::now();
            let Some(self_play) = self.self_play(iteration, &mut watch)? else { return Ok(StoppedBy::Request) };
            if !self.train(iteration, &mut watch)? {
                return Ok(StoppedBy::Request);
            }
            let gate = self.play_match([iteration, self.report.best()])?;
            let goes_on = watch(LearnEvent::Gate(&gate)).is_continue();
            let training = Checkpoint::load(self.path("training", iteration, "safetensors"))?;
            let report = IterationReport {
                iteration,
                self_play,
                training: training.epochs().to_vec(),
                accepted: gate.results().score() >= self.report.options.threshold,
                gate,
                seconds: start.elapsed().as_secs_f64(),
            };
            self.report.iterations.push(report);
            self.report.write(&self.folder)?;
            if let Some(report) = self.report.iterations.last()
                && (watch(LearnEvent::Iteration(report)).is_break() || !goes_on)
            {
                return Ok(StoppedBy::Request);
            }
        }
        Ok(StoppedBy::Epochs)
    }

    /// The arithmetic of self-play and matches.
    fn precision(&self) -> Result<Precision> {
        let has_tensor_cores =
            || Ok::<_, Error>(self.device.info()?.compute_capability.is_some_and(|(major, _)| major >= 8));
        match self.report.options.precision {
            Some(precision) => Ok(precision),
            None if self.device.backend() == Backend::Cuda && has_tensor_cores()? => Ok(Precision::Bf16),
            None => Ok(Precision::F32),
        }
    }

    fn estimator(&self, iteration: u32) -> Result<Estimator> {
        let name = self.network_path(iteration).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Estimator::Network {
            network: Arc::new(self.network(iteration)?),
            evaluator: Evaluator::builder().precision(self.precision()?),
            name,
        })
    }

    /// The iteration's games, if they are not there yet; `None` if the caller stopped.
    fn self_play(
        &self,
        iteration: u32,
        watch: &mut impl FnMut(LearnEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Option<SelfPlayReport>> {
        let path = self.path("games", iteration, "jsonl");
        if path.exists() {
            return Ok(Some(SelfPlayReport::default()));
        }
        let options = &self.report.options;
        let mut search = options.search;
        search.seed = search.seed.wrapping_add(options.seed).wrapping_add(iteration.into());
        let parallel = u64::from(options.parallel).min(options.games) as u32;
        let builder = SelfPlay::builder().options(search).parallel(parallel);
        let mut games = builder.estimator(self.estimator(self.report.best())?).build(&self.device)?;
        let mut records = Vec::new();
        let first = u64::from(iteration - 1) * options.games;
        let report = games.play_with(first, options.games, |record| {
            records.push(record);
            Ok(watch(LearnEvent::Game { iteration, games: records.len() as u64, of: options.games }))
        })?;
        if (records.len() as u64) < options.games {
            return Ok(None);
        }
        write_records(&path, &records)?;
        Ok(watch(LearnEvent::SelfPlay(&report)).is_continue().then_some(report))
    }

    /// The iteration's training, if it is not done yet; whether it is done now.
    fn train(&self, iteration: u32, watch: &mut impl FnMut(LearnEvent<'_>) -> ControlFlow<()>) -> Result<bool> {
        let (path, network) = (self.path("training", iteration, "safetensors"), self.network_path(iteration));
        if network.exists() {
            return Ok(true);
        }
        let options = &self.report.options;
        let first = iteration.saturating_sub(options.window - 1).max(1);
        let files: Vec<PathBuf> = (first..=iteration).map(|iteration| self.path("games", iteration, "jsonl")).collect();
        let samples = Arc::new(Samples::read(&files, options.observation, options.value_of)?);
        let mut train = options.train.clone();
        train.seed = train.seed.wrapping_add(options.seed).wrapping_add(iteration.into());
        let builder = Trainer::builder().options(train);
        let builder = match path.exists() {
            true => builder.resume(Checkpoint::load(&path)?),
            false => builder.network(self.network(iteration - 1)?),
        };
        let mut trainer = builder.build(&self.device, &samples)?;
        let stopped_by = trainer.run(|event| watch(LearnEvent::Train(event)))?;
        trainer.checkpoint()?.save(&path)?;
        if stopped_by == StoppedBy::Request && trainer.epochs().len() < trainer.options().epochs as usize {
            return Ok(false);
        }
        trainer.network()?.save(&network)?;
        Ok(stopped_by != StoppedBy::Request)
    }

    /// The networks of two iterations against each other, as the first one sees it.
    ///
    /// # Errors
    /// As [`Match::run`].
    pub fn play_match(&self, iterations: [u32; 2]) -> Result<MatchReport> {
        let options = &self.report.options;
        let mut gate = options.gate;
        gate.seed = gate.seed.wrapping_add(options.seed).wrapping_add(iterations[0].into());
        let contestant =
            |iteration| Ok::<_, Error>(Contestant::Search(options.gate_search, self.estimator(iteration)?));
        Match::new(&self.device, [contestant(iterations[0])?, contestant(iterations[1])?], gate)?.run()
    }

    /// The best network against the initial one: what the whole run was worth.
    ///
    /// # Errors
    /// As [`Match::run`].
    pub fn match_with_initial(&self) -> Result<MatchReport> {
        self.play_match([self.report.best(), 0])
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// File of the initial network.
const INITIAL: &str = "initial.safetensors";

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Learner").field("device", &self.device).field("folder", &self.folder).finish_non_exhaustive()
    }
}
