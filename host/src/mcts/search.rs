//! One search after another with the same trees.

use std::ops::ControlFlow;

use warpplay_gpu::mcts::KernelSet;

use super::clock::Clock;
use super::dispatch::Runner;
use super::engines::Found;
use super::options::{Engine, Options};
use super::position::check_playable;
use super::report::{ActionReport, Performance, Report, SCHEMA, StageTimes, StoppedBy};
use crate::{Device, Error, Memory, Progress, Result};

/// A Monte Carlo tree search for positions of `G`.
///
/// It allocates its device memory when it is built and reuses it for every search.
pub struct Search<G: KernelSet> {
    options: Options,
    device: Device,
    engine: Engine,
    memory: Memory,
    profile_steps: Option<u32>,
    action_name: fn(u32) -> String,
    runner: Runner<G>,
}

impl<G: KernelSet> Search<G> {
    pub(super) fn new(
        options: Options,
        device: &Device,
        engine: Engine,
        memory: Memory,
        profile_steps: Option<u32>,
        action_name: fn(u32) -> String,
        runner: Runner<G>,
    ) -> Self {
        Self { options, device: device.clone(), engine, memory, profile_steps, action_name, runner }
    }

    /// The options it was built with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The engine that runs it, never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Memory that the search has taken. On the CPU back end trees grow as they fill; there it is the most that they can take on the host.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Sets the seed of the next searches.
    pub fn set_seed(&mut self, seed: u64) {
        self.options.seed = seed;
        self.runner.set_seed(seed);
    }

    /// Sets the limits of the next searches. The trees keep the size with which they were built: if that followed from a step limit, more steps may fill them, which
    /// [`TreesReport::full`](super::TreesReport::full) shows.
    ///
    /// # Errors
    /// [`Error::Option`] for a limit that is not allowed; the old limits then remain.
    pub fn set_limits(&mut self, steps: Option<u64>, seconds: Option<f64>) -> Result<()> {
        let options = Options { steps, seconds, ..self.options.clone() };
        options.check()?;
        self.options = options;
        Ok(())
    }

    /// The device that runs it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Searches a position until a limit is reached, calling `watch` with the progress after every batch of steps; when it returns `Break`, the report holds the results so
    /// far. The search makes at least one step. [`Progress::go_on`] never stops it.
    ///
    /// # Errors
    /// [`Error::Finished`] for a position without a move; [`Error::Driver`], [`Error::Simt`] if a kernel fails.
    pub fn run(&mut self, position: &G, mut watch: impl FnMut(&Progress) -> ControlFlow<()> + Send) -> Result<Report> {
        check_playable(position)?;
        let mut clock = Clock::new(&self.options, &mut watch);
        let found = self.runner.search(position, &self.options, self.profile_steps, &mut clock)?;
        let stopped_by = clock.stopped_by;
        let report = self.report(found, stopped_by)?;
        tracing::info!("{report}");
        Ok(report)
    }

    /// Mean device times of the stages over `steps` steps from `position`, measured stage by stage with events between them.
    ///
    /// # Errors
    /// [`Error::Finished`] for a position without a move; [`Error::Unsupported`] on the CPU back end, which has no events.
    pub fn profile(&mut self, position: &G, steps: u32) -> Result<StageTimes> {
        check_playable(position)?;
        self.runner.profile(position, &self.options, steps)
    }

    fn report(&self, found: Found, stopped_by: StoppedBy) -> Result<Report> {
        let options = &self.options;
        let actions: Vec<ActionReport> = found
            .actions
            .iter()
            .map(|&[index, n, wins, draws, win_flag]| {
                let name = (self.action_name)(index as u32);
                ActionReport::new(options, index as u32, name, found.n_root, n, wins, draws, win_flag == 1)
            })
            .collect();
        let best = actions.iter().find(|action| action.index == found.best).cloned().ok_or_else(|| Error::Order {
            what: "search",
            reason: format!(
                "the best action {} is not among the legal ones: a game's rules contradict themselves",
                found.best
            ),
        })?;
        let seconds = found.ms.total / 1e3;
        let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        Ok(Report {
            schema: SCHEMA,
            game: G::NAME.to_string(),
            moves: String::new(),
            options: options.clone(),
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            engine: self.engine,
            seed: options.seed,
            seconds,
            stopped_by,
            best,
            actions,
            performance: Performance {
                steps: found.steps,
                steps_per_second: per_second(found.steps),
                playouts: found.n_root,
                playouts_per_second: per_second(found.n_root),
                ms: found.ms,
                stage_times_from: found.stage_times_from,
                trees: found.trees,
            },
        })
    }
}
