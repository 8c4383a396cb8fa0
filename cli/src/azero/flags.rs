//! Flags of the commands `bench`, `train` and `learn`.

use std::path::PathBuf;

use anyhow::Result;
use warpplay::Precision;
use warpplay::azero::learn::LearnOptions;
use warpplay::azero::player::{MatchOptions, SearchOptions};
use warpplay::azero::train::{self, Options};
use warpplay::azero::{Engine, EvaluatorOptions, NetworkShape, ObservationLayout};

use crate::common::flags::{HeldOut, SeedFlag, ThreadsFlag};

#[derive(clap::Args, Clone, Debug)]
pub struct BenchFlags {
    /// Positions in each call, separated by commas [default: 1,128,8192 on cuda, 1,32 on cpu, 1 on simt]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', allow_negative_numbers = true)]
    pub batch: Vec<usize>,

    /// Precisions, separated by commas [default: f32,tf32,bf16,f16 on cuda, f32,f64 on cpu, f32 on simt]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub precision: Vec<Precision>,

    /// Implementations, separated by commas: auto, fused, layers, cpu
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "auto", alias = "execution")]
    pub engine: Vec<Engine>,

    /// Time for each row in seconds, after a warm-up
    #[arg(long, value_name = "S", default_value_t = 1.0, allow_negative_numbers = true, value_parser = time)]
    pub seconds: f64,

    #[command(flatten)]
    pub threads: ThreadsFlag,
}

fn time(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a time in seconds, 0 to 3600".into()),
    }
}

#[derive(clap::Args, Clone, Debug)]
pub struct TrainFlags {
    /// Files of games written by selfplay, separated by commas; a resumed training needs the same files
    #[arg(long, value_name = "FILES", value_delimiter = ',', required = true, alias = "games")]
    pub records: Vec<PathBuf>,

    /// Write the network to this file; with --gate, only if it wins the gate match
    #[arg(long, value_name = "OUT.safetensors", alias = "out")]
    pub save_weights: PathBuf,

    /// Positions in each step [default: 1024]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch: Option<u32>,

    /// Passes over all positions [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub epochs: Option<u32>,

    /// Maximum number of steps in all
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub steps: Option<u64>,

    /// Adam's learning rate [default: 0.001]
    #[arg(long, value_name = "R", allow_negative_numbers = true, aliases = ["lr", "rate"])]
    pub learning_rate: Option<f64>,

    /// Factor of the L2 term [default: 0.0001]
    #[arg(long, value_name = "F", allow_negative_numbers = true, alias = "weight-decay")]
    pub l2: Option<f64>,

    /// Factor of the loss of the value [default: 1]
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub value_weight: Option<f64>,

    /// Games held out for validation: a share (0.1) or a number (20) of those of --records [default: 0]
    #[arg(long, value_name = "SHARE or N", allow_negative_numbers = true, alias = "validation")]
    pub held_out: Option<HeldOut>,

    /// Seed of the order of positions, and of the games held out: the same seed gives the same results [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, alias = "order-seed")]
    pub seed: Option<u64>,

    /// Arithmetic of the convolutions in training: f32, or tf32 or bf16 on GPUs of compute capability 9.0 [default: f32]
    #[arg(long, value_name = "PRECISION")]
    pub training_precision: Option<Precision>,

    /// Implementation of the training: auto, device, cpu [default: auto]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<train::Engine>,

    #[command(flatten)]
    pub threads: ThreadsFlag,
}

/// The match between the new and the old network; how its players search, the flags of a search say.
#[derive(clap::Args, Clone, Debug)]
pub struct GateFlags {
    /// Games of the gate match between the new and the old network; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, conflicts_with = "resume")]
    pub gate: u32,

    /// Share of the points needed to win the gate match; a draw is half a point
    #[arg(long, value_name = "S", default_value_t = LearnOptions::default().threshold, allow_negative_numbers = true, value_parser = share)]
    pub gate_score: f64,

    /// Seed of the openings and searches of the gate match
    #[arg(long, value_name = "N", default_value_t = SearchOptions::default().seed, allow_negative_numbers = true)]
    pub gate_seed: u64,

    /// Implementation of the network in the gate match: auto, fused, layers, cpu
    #[arg(long, value_name = "ENGINE", default_value_t = EvaluatorOptions::default().engine, alias = "execution")]
    pub gate_engine: Engine,

    /// Arithmetic of the gate match
    #[arg(long, value_name = "PRECISION", default_value_t = EvaluatorOptions::default().precision, alias = "precision")]
    pub gate_precision: Precision,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share, 0 to 1".into()),
    }
}

impl TrainFlags {
    /// The options, with `base` for what was not given.
    ///
    /// # Errors
    /// A value that is not allowed; a form of `--held-out` that the library does not take.
    pub fn options(&self, base: Options) -> Result<Options> {
        let options = Options {
            batch: self.batch.unwrap_or(base.batch),
            epochs: self.epochs.unwrap_or(base.epochs),
            steps: self.steps.or(base.steps),
            learning_rate: self.learning_rate.unwrap_or(base.learning_rate),
            weight_decay: self.l2.unwrap_or(base.weight_decay),
            value_weight: self.value_weight.unwrap_or(base.value_weight),
            seed: self.seed.unwrap_or(base.seed),
            precision: self.training_precision.unwrap_or(base.precision),
            engine: self.engine.unwrap_or(base.engine),
            ..base
        };
        if let Some(part) = self.held_out.as_ref().filter(|part| part.path().is_some()) {
            return Err(part.refused("a share above 0 and below 1, or a number of the games of --records").into());
        }
        options.check()?;
        Ok(options)
    }

    /// Sets what of `n_games` games is held out.
    ///
    /// # Errors
    /// [`Usage`](crate::common::Usage) for a number that leaves no game to learn from.
    pub fn hold_out(&self, options: &mut Options, n_games: u64) -> Result<()> {
        match &self.held_out {
            Some(HeldOut::Share(share)) => options.validation = *share,
            Some(HeldOut::Number(0)) => options.validation = 0.0,
            // The library rounds to games.
            Some(HeldOut::Number(n)) if *n < n_games => options.validation = *n as f64 / n_games as f64,
            Some(part @ HeldOut::Number(_)) => {
                return Err(part.refused(format!("0 to {} of {n_games} games", n_games.saturating_sub(1))).into());
            }
            Some(HeldOut::Path(_)) | None => {}
        }
        Ok(())
    }
}

#[derive(clap::Args, Clone, Debug)]
pub struct LearnFlags {
    /// Folder of the run with its games, checkpoints and networks; if it already contains a run, this run continues
    #[arg(long, value_name = "DIR")]
    pub folder: PathBuf,

    /// Write the best network to this file at the end
    #[arg(long, value_name = "OUT.safetensors", alias = "out")]
    pub save_weights: Option<PathBuf>,

    /// Iterations of self-play, training and a gate match
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().iterations, allow_negative_numbers = true)]
    pub iterations: u32,

    /// Games of self-play in each iteration
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().games, allow_negative_numbers = true)]
    pub games: u64,

    /// Games played at the same time
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().parallel, allow_negative_numbers = true)]
    pub parallel: u32,

    /// Train on the games of the last N iterations
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().window, allow_negative_numbers = true)]
    pub window: u32,

    /// Simulations for each move
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().search.simulations, allow_negative_numbers = true)]
    pub simulations: u32,

    /// Games of the gate match, and of the final match against the initial network
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().gate.games, allow_negative_numbers = true)]
    pub gate: u32,

    /// Share of the points above which the new network replaces the best
    #[arg(long, value_name = "S", default_value_t = LearnOptions::default().threshold, allow_negative_numbers = true)]
    pub gate_score: f64,

    /// Positions in each step of training
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().train.batch, allow_negative_numbers = true)]
    pub batch: u32,

    /// Passes over all positions in each iteration
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().train.epochs, allow_negative_numbers = true)]
    pub epochs: u32,

    /// Adam's learning rate
    #[arg(long, value_name = "R", default_value_t = LearnOptions::default().train.learning_rate, allow_negative_numbers = true, aliases = ["lr", "rate"])]
    pub learning_rate: f64,

    /// Channels of the network's blocks
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().shape.width, allow_negative_numbers = true)]
    pub width: u32,

    /// Residual blocks
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().shape.depth, allow_negative_numbers = true)]
    pub depth: u32,

    /// Layout of observations: default, egocentric, legacy; the default layout does not show who is to move
    #[arg(long, value_name = "LAYOUT", default_value_t = LearnOptions::default().observation)]
    pub observation: ObservationLayout,

    /// Arithmetic of self-play and matches [default: bf16 on a GPU with tensor cores, else f32]
    #[arg(long, value_name = "P")]
    pub precision: Option<Precision>,

    /// Arithmetic of the convolutions in training: f32, or tf32 or bf16 on GPUs of compute capability 9.0
    #[arg(long, value_name = "P", default_value_t = LearnOptions::default().train.precision)]
    pub training_precision: Precision,

    #[command(flatten)]
    pub seed: SeedFlag,
}

impl LearnFlags {
    /// The options.
    pub fn options(&self) -> LearnOptions {
        let base = LearnOptions::default();
        LearnOptions {
            iterations: self.iterations,
            games: self.games,
            parallel: self.parallel,
            window: self.window,
            search: SearchOptions { simulations: self.simulations, ..base.search },
            train: Options {
                batch: self.batch,
                epochs: self.epochs,
                learning_rate: self.learning_rate,
                precision: self.training_precision,
                ..base.train
            },
            gate: MatchOptions { games: self.gate, ..base.gate },
            gate_search: SearchOptions { simulations: self.simulations, ..base.gate_search },
            threshold: self.gate_score,
            precision: self.precision,
            shape: NetworkShape { width: self.width, depth: self.depth, ..base.shape },
            observation: self.observation,
            seed: self.seed.seed.unwrap_or(base.seed),
            ..base
        }
    }
}
