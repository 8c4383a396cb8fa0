//! The engine: one search after another with the same trees.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use warpplay_cpu_ref::mcts as reference;
use warpplay_gpu::mcts::KernelSet;
use warpplay_gpu::mcts::tree::MAX_DEPTH;

use super::blocks::BlockSizes;
use super::config::{SearchBuilder, check_options};
use super::cpu::CpuSearch;
use super::gpu::DeviceSearch;
use super::position::check_playable;
use super::report::{
    ActionReport, Options, Performance, SCHEMA, SearchReport, StageMs, StageTimes, StoppedBy, TreesReport,
};
use crate::runtime::threads::MAX_THREADS;
use crate::{Backend, Device, Error, Progress, Result};

/// A Monte Carlo tree search for positions of `G`.
///
/// Takes its device memory when it is built and uses it for every search.
pub struct Search<G: KernelSet> {
    options: Options,
    device: Device,
    profile_steps: Option<u32>,
    action_name: fn(u32) -> String,
    engine: Engine<G>,
}

enum Engine<G: KernelSet> {
    Device(Box<DeviceSearch<G>>),
    Cpu(CpuSearch),
}

/// Decides when a search ends and tells the caller how far it is.
struct Clock<'a> {
    start: Instant,
    options: &'a Options,
    progress: &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
    stopped_by: StoppedBy,
}

impl Clock<'_> {
    fn goes_on(&mut self, steps: u64) -> bool {
        // More seconds than a `Duration` holds are no limit that anybody reaches.
        let time_limit = self.options.seconds.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX));
        let elapsed = self.start.elapsed();
        let progress = Progress { steps, n_steps: self.options.steps, elapsed, time_limit, latest: None };
        let asked = (self.progress)(&progress).is_break();
        // The first step is always made: without it there is nothing to report.
        if steps == 0 {
            return true;
        }
        if self.options.steps.is_some_and(|limit| steps >= limit) {
            self.stopped_by = StoppedBy::Steps;
            return false;
        }
        if time_limit.is_some_and(|limit| elapsed >= limit) {
            self.stopped_by = StoppedBy::Seconds;
            return false;
        }
        if asked {
            self.stopped_by = StoppedBy::Request;
        }
        !asked
    }
}

impl<G: KernelSet> Search<G> {
    /// Options, all with their defaults.
    pub fn builder() -> SearchBuilder<G> {
        SearchBuilder::new()
    }

    pub(super) fn new(builder: SearchBuilder<G>, device: &Device) -> Result<Self> {
        let capacity = builder.capacity()?;
        let memory_bytes = builder.memory_bytes()?;
        let SearchBuilder { options, execution, blocks, threads, profile_steps, action_name, .. } = builder;
        check_options::<G>(&options)?;
        let blocks = blocks.unwrap_or_else(|| BlockSizes::listing_1::<G>(options.n_trees));
        blocks.check::<G>(options.n_trees)?;
        tracing::info!(game = G::NAME, device = %device.backend(), memory_bytes, tree_capacity = capacity, ?options);
        let engine = if device.backend() == Backend::Cpu {
            Engine::Cpu(cpu_search(&options, capacity, threads)?)
        } else {
            let memory = device.memory()?;
            if memory_bytes > memory.free {
                return Err(Error::OutOfMemory { device: device.to_string(), needed: memory_bytes, free: memory.free });
            }
            Engine::Device(Box::new(DeviceSearch::new(device, &options, capacity, blocks, execution)?))
        };
        Ok(Self {
            options,
            device: device.clone(),
            profile_steps,
            action_name: action_name.unwrap_or(|action| action.to_string()),
            engine,
        })
    }

    /// The options it was built with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Gives the next searches another seed.
    pub fn set_seed(&mut self, seed: u64) {
        self.options.seed = seed;
        if let Engine::Cpu(search) = &mut self.engine {
            search.params.seed = seed;
        }
    }

    /// The device it runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Searches a position until a limit is reached.
    ///
    /// # Errors
    /// [`Error::Finished`] for a position without a move; [`Error::Driver`], [`Error::Simt`] if a kernel fails.
    pub fn run(&mut self, position: &G) -> Result<SearchReport> {
        self.run_with(position, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, telling `progress` how far it is after every batch of steps; when it answers `Break`, the report holds what was found so far.
    /// At least one step is made.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(
        &mut self,
        position: &G,
        progress: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
    ) -> Result<SearchReport> {
        check_playable(position)?;
        let start = Instant::now();
        let mut clock = Clock { start, options: &self.options, progress, stopped_by: StoppedBy::Steps };
        let found = match &mut self.engine {
            Engine::Device(search) => {
                search.begin(position, &self.options)?;
                clock.start = Instant::now();
                let steps = search.run(&self.options, |steps| clock.goes_on(steps))?;
                let loop_ms = clock.start.elapsed().as_secs_f64() * 1e3;
                let outcome = search.finish(&self.options)?;
                let total_ms = start.elapsed().as_secs_f64() * 1e3;
                let profile_steps = self.profile_steps.unwrap_or(search.default_profile_steps());
                let stages = match profile_steps {
                    0 => None,
                    n => Some(search.profile(&self.options, n)?),
                };
                Found::of_device(&outcome, steps, loop_ms, total_ms, stages)
            }
            Engine::Cpu(search) => {
                let (statistics, stages, reduce_ms) = search.run(position, |steps| clock.goes_on(steps));
                let total_ms = start.elapsed().as_secs_f64() * 1e3;
                Found::of_cpu(&statistics, stages, reduce_ms, total_ms, total_ms - reduce_ms)
            }
        };
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
        match &mut self.engine {
            Engine::Device(search) => {
                search.begin(position, &self.options)?;
                search.profile(&self.options, steps)
            }
            Engine::Cpu(_) => Err(Error::Unsupported {
                what: "a profile by events".to_string(),
                backend: Backend::Cpu.to_string(),
                remedy: "read the stage times of a report".to_string(),
            }),
        }
    }

    fn report(&self, found: Found, stopped_by: StoppedBy) -> Result<SearchReport> {
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
        Ok(SearchReport {
            schema: SCHEMA,
            game: G::NAME.to_string(),
            moves: String::new(),
            options: options.clone(),
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            seed: options.seed,
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

fn cpu_search(options: &Options, capacity: u32, threads: Option<usize>) -> Result<CpuSearch> {
    match threads {
        Some(0) => return Err(Error::option("threads", 0, "at least 1")),
        Some(n) if n > MAX_THREADS => return Err(Error::option("threads", n, format!("at most {MAX_THREADS}"))),
        _ => {}
    }
    let pool = match threads {
        Some(n) if n > 1 => Some(crate::runtime::threads::pool(n)?),
        _ => None,
    };
    Ok(CpuSearch {
        pool,
        sequential: threads == Some(1),
        params: reference::Params {
            variant: if options.variant.plays_all_children() {
                reference::Variant::Acp
            } else {
                reference::Variant::Ocp
            },
            n_trees: options.n_trees as usize,
            n_playouts: options.n_playouts as usize,
            max_tree_nodes: capacity as usize,
            ucb_c: options.ucb_c,
            draw_value: options.draw_value,
            seed: options.seed,
            max_depth: MAX_DEPTH as usize,
        },
    })
}

/// What a search found, whatever ran it.
struct Found {
    steps: u64,
    n_root: u64,
    /// Index, n, wins, draws, win flag; ascending by index.
    actions: Vec<[u64; 5]>,
    best: u32,
    ms: StageMs,
    stage_times_from: String,
    trees: TreesReport,
}

impl Found {
    fn of_device(
        outcome: &super::gpu::Outcome,
        steps: u64,
        loop_ms: f64,
        total_ms: f64,
        stages: Option<StageTimes>,
    ) -> Self {
        let count = outcome.heads.len();
        let nodes: u64 = outcome.heads.iter().map(|head| u64::from(head.size)).sum();
        let depths: u64 = outcome.heads.iter().map(|head| head.depth_sum).sum();
        Self {
            steps,
            n_root: outcome.best.n_root,
            actions: outcome
                .totals
                .iter()
                .map(|total| [u64::from(total.action), total.n, total.wins, total.draws, u64::from(total.win_flag)])
                .collect(),
            best: outcome.best.action,
            ms: StageMs {
                total: total_ms,
                loop_: loop_ms,
                mean_select: stages.map(|stages| stages.select_ms),
                mean_expand: stages.map(|stages| stages.expand_ms),
                mean_playout: stages.map(|stages| stages.playout_ms),
                mean_backup: stages.map(|stages| stages.backup_ms),
                reduce_over_trees: outcome.reduce_over_trees_ms,
                reduce_over_actions: outcome.reduce_over_actions_ms,
            },
            stage_times_from: match stages {
                Some(stages) => format!("a profiling run of {} steps after the search, by events", stages.steps),
                None => "not measured".to_string(),
            },
            trees: TreesReport {
                count: count as u32,
                mean_depth: depths as f64 / nodes as f64,
                max_depth: outcome.heads.iter().map(|head| head.max_depth).max().unwrap_or(0),
                mean_size: nodes as f64 / count as f64,
                max_size: outcome.heads.iter().map(|head| u64::from(head.size)).max().unwrap_or(0),
            },
        }
    }

    fn of_cpu(
        statistics: &reference::Statistics,
        stages: reference::StageTimes,
        reduce_ms: f64,
        total_ms: f64,
        loop_ms: f64,
    ) -> Self {
        let mean = |stage: Duration| Some(stage.as_secs_f64() * 1e3 / statistics.steps.max(1) as f64);
        Self {
            steps: statistics.steps,
            n_root: statistics.n_root,
            actions: statistics
                .actions
                .iter()
                .map(|action| [action.action as u64, action.n, action.wins, action.draws, u64::from(action.win_flag)])
                .collect(),
            best: statistics.best as u32,
            ms: StageMs {
                total: total_ms,
                loop_: loop_ms,
                mean_select: mean(stages.select),
                mean_expand: mean(stages.expand),
                mean_playout: mean(stages.playout),
                mean_backup: mean(stages.backup),
                // The reference sums up and chooses in one pass.
                reduce_over_trees: reduce_ms,
                reduce_over_actions: 0.0,
            },
            stage_times_from: "the search itself, by the clock".to_string(),
            trees: TreesReport {
                count: statistics.trees.count as u32,
                mean_depth: statistics.trees.mean_depth,
                max_depth: statistics.trees.max_depth,
                mean_size: statistics.trees.mean_size,
                max_size: statistics.trees.max_size,
            },
        }
    }
}
