//! What the sections share: the device, warmed-up searches, and statistics of repeats.

use std::ops::ControlFlow;
use std::time::Duration;

use warpplay::mcts::{
    BlockSizes, Connect4, Engine, Gomoku, KernelSet, Notation, Performance, Report, Search, SearchBuilder, Variant,
};
use warpplay::{Backend, Device, Progress, Result};

use crate::output::Output;
use crate::published::GameId;

/// GiB for the trees of one search on a GPU: 2 s at the best speed of any row fit.
const GPU_MEMORY_GB: f64 = 16.0;

/// What all sections use.
pub struct Bench {
    pub device: Device,
    pub quick: bool,
    pub seconds: f64,
    pub output: Output,
    memory_gb: f64,
}

/// One search to be timed.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub game: GameId,
    pub variant: Variant,
    pub n_trees: u32,
    pub n_playouts: u32,
    pub engine: Engine,
    /// The smallest block sizes instead of those of Listing 1.
    pub smallest_blocks: bool,
    pub seconds: f64,
    /// Steps of the profiling run after the search.
    pub profile_steps: u32,
    /// How often the search is repeated.
    pub repeats: usize,
    /// Threads of the CPU back end; none: all.
    pub threads: Option<usize>,
}

/// What a search gave.
pub struct Measured {
    /// One of each repeat, at least one.
    pub reports: Vec<Report>,
    /// Device memory taken, in bytes.
    pub memory_bytes: u64,
    /// Nodes that a tree can hold.
    pub capacity: u32,
}

impl Measured {
    /// The first search.
    pub fn performance(&self) -> &Performance {
        &self.reports[0].performance
    }

    pub fn steps_per_second(&self) -> f64 {
        self.performance().steps_per_second
    }

    pub fn playouts_per_second(&self) -> f64 {
        self.performance().playouts_per_second
    }
}

impl Config {
    pub fn new(game: GameId, variant: Variant, n_trees: u32, n_playouts: u32, seconds: f64) -> Self {
        Self {
            game,
            variant,
            n_trees,
            n_playouts,
            engine: Engine::Auto,
            smallest_blocks: false,
            seconds,
            profile_steps: 0,
            repeats: 1,
            threads: None,
        }
    }

    /// Playouts of the first step, which is the least that a search makes.
    pub fn first_step(&self) -> u64 {
        let children = if self.variant.plays_all_children() { self.game.n_actions() } else { 1 };
        children * u64::from(self.n_trees) * u64::from(self.n_playouts)
    }

    /// `8, 256`.
    pub fn trees_playouts(&self) -> String {
        format!("{}, {}", self.n_trees, self.n_playouts)
    }
}

impl Bench {
    pub fn new(device: Device, quick: bool, seconds: f64, output: Output) -> Result<Self> {
        let memory_gb = match device.backend() {
            // A part of what is free, so that a search of ours that is just being dropped does no harm.
            Backend::Cuda => (device.memory()?.free as f64 / f64::from(1 << 30) * 0.7).min(GPU_MEMORY_GB),
            // Trees of the CPU grow as they are needed; buffers of simt are all written at the start.
            Backend::Cpu => 2.0,
            Backend::Simt => 0.25,
        };
        Ok(Self { device, quick, seconds, output, memory_gb })
    }

    pub fn backend(&self) -> Backend {
        self.device.backend()
    }

    /// Whether there are kernels whose speed means something.
    pub fn has_gpu(&self) -> bool {
        self.backend() == Backend::Cuda
    }

    /// Why a search is not for this device, if so: its first step alone would take long.
    pub fn too_long(&self, config: &Config, device: &Device) -> Option<String> {
        let most = match (device.backend(), self.quick) {
            (Backend::Cuda, _) | (Backend::Cpu, false) => return None,
            (Backend::Cpu, true) => 100_000,
            (Backend::Simt, true) => 15_000,
            (Backend::Simt, false) => 100_000,
        };
        let n = config.first_step();
        (n > most).then(|| {
            let quick = if self.quick { " with --quick" } else { "" };
            format!("left out on {}{quick}: a step has {n} playouts", device.backend())
        })
    }

    /// Times one search of the empty board on this device.
    pub fn search(&self, config: &Config) -> Result<Measured> {
        self.search_on(&self.device, config)
    }

    /// Times one search of the empty board, after a short one to warm up.
    pub fn search_on(&self, device: &Device, config: &Config) -> Result<Measured> {
        self.output.progress(&format!(
            "{} {} {} on {device}",
            config.game.name(),
            config.variant,
            config.trees_playouts()
        ));
        match config.game {
            GameId::Connect4 => self.search_of::<Connect4>(device, config),
            GameId::Gomoku => self.search_of::<Gomoku>(device, config),
        }
    }

    fn search_of<G: KernelSet + Notation>(&self, device: &Device, config: &Config) -> Result<Measured> {
        let builder = self.builder::<G>(config);
        let (memory_bytes, capacity) = (builder.memory_needed(device)?.device(), builder.capacity()?);
        let mut search = builder.build(device)?;
        // The first search captures the graph, brings up the clocks, and starts the pool of threads. Where a step takes a second there is nothing to gain.
        if device.backend() == Backend::Cuda || config.first_step() < 20_000 {
            let enough = Duration::from_secs_f64(0.15 * config.seconds);
            search.run(&G::start(), |progress| match progress.elapsed >= enough {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })?;
        }
        let reports: Result<Vec<Report>> =
            (0..config.repeats.max(1)).map(|_| search.run(&G::start(), Progress::go_on)).collect();
        Ok(Measured { reports: reports?, memory_bytes, capacity })
    }

    /// The options of a search.
    pub fn builder<G: KernelSet>(&self, config: &Config) -> SearchBuilder<G> {
        let mut builder = Search::<G>::builder()
            .variant(config.variant)
            .n_trees(config.n_trees)
            .n_playouts(config.n_playouts)
            .seconds(config.seconds)
            .device_memory_gb(self.memory_gb)
            .engine(config.engine)
            .profile_steps(config.profile_steps);
        if config.smallest_blocks {
            builder = builder.block_sizes(BlockSizes::smallest::<G>(config.n_trees));
        }
        match config.threads {
            Some(threads) => builder.threads(threads),
            None => builder,
        }
    }
}

/// Smallest and median of a figure over repeats.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Repeats {
    pub min: f64,
    pub median: f64,
    pub n: usize,
}

impl Repeats {
    /// `None` without values.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let median = (values.get(n.checked_sub(1)? / 2)? + values.get(n / 2)?) / 2.0;
        Some(Self { min: values[0], median, n })
    }

    /// Both, divided by `unit`.
    pub fn text(&self, unit: f64) -> String {
        format!("{} {}", crate::output::number(self.min / unit), crate::output::number(self.median / unit))
    }
}
