//! How weights are learnt, as flags.

use std::path::PathBuf;

use warpplay::shogi::learner::{EarlyStopping, Options, Quiet};
use warpplay::shogi::{FeatureSet, Optimizer, SparseOptions, Values};

use crate::shogi::rule_flags::values;

#[derive(clap::Args, Clone, Debug)]
pub struct LearnFlags {
    /// What the evaluation counts: material, material_hand, piece_square, kp, kkp, kpp
    #[arg(long, value_name = "F", default_value_t = FeatureSet::Material)]
    pub features: FeatureSet,

    /// How weights move: sign, sgd, momentum, adagrad, adam, lbfgs
    #[arg(long, value_name = "O", default_value_t = Optimizer::Adam)]
    pub optimizer: Optimizer,

    /// Learning rate [default: sign 0.05, sgd 100, momentum 10, lbfgs 0.3; adagrad 0.3 and adam 0.05 for material, 0.1 and 0.03 for piece_square and kp, 0.01 and 0.003 for kkp and kpp]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub rate: Option<f64>,

    /// What an iteration leaves of the rate
    #[arg(long, value_name = "F", default_value_t = 1.0, allow_negative_numbers = true)]
    pub rate_factor: f64,

    /// Iterations in all, those of a resumed checkpoint counted; each is one pass over all positions
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    pub iterations: u32,

    /// First values of the pieces: one for all twelve, or L N S G B R +P +L +N +S +B +R with commas between; other weights begin with 0
    #[arg(long, value_name = "VALUES", value_parser = values, allow_hyphen_values = true, conflicts_with = "start")]
    pub init: Option<Values>,

    /// First weights: a file that --weights has written
    #[arg(long, value_name = "FILE")]
    pub start: Option<PathBuf>,

    /// Slope of the sigmoid
    #[arg(long, value_name = "A", default_value_t = 3.0, allow_negative_numbers = true)]
    pub a: f64,

    /// Leave out moves whose evaluation differs by more pawns from the played one's [default: none]
    #[arg(long, value_name = "PAWNS", allow_negative_numbers = true)]
    pub window: Option<f64>,

    /// Most other moves of a position, drawn once for all iterations; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub siblings: u32,

    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Weight of the sum of absolute weights
    #[arg(long, value_name = "W", default_value_t = 0.0, allow_negative_numbers = true)]
    pub l1: f64,

    /// Weight of half the sum of squares
    #[arg(long, value_name = "W", default_value_t = 0.0, allow_negative_numbers = true)]
    pub l2: f64,

    /// β₁ of momentum and adam [default: 0.9]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub beta1: Option<f64>,

    /// β₂ of adam [default: 0.999]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub beta2: Option<f64>,

    /// ε of adagrad and adam [default: 1e-8]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,

    /// Steps that lbfgs remembers
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub history: u32,

    /// Keep the sum of the 13 piece values as it is at the start
    #[arg(long)]
    pub keep_scale: bool,

    /// Stop after so many iterations without a better objective on the games held out [default: never]
    #[arg(long, value_name = "N", requires = "held_out")]
    pub patience: Option<u32>,

    /// What counts as a better objective on them
    #[arg(long, value_name = "D", default_value_t = 0.0, requires = "patience", allow_negative_numbers = true)]
    pub min_delta: f64,

    /// Search quiet positions behind every move anew after so many iterations; 0 for never
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub quiescence_every: u32,

    /// Deepest line of captures and promotions
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub quiescence_depth: u32,

    /// Bytes of the GPU's memory for positions; what is beyond is streamed [default: as much as there is]
    #[arg(long, value_name = "BYTES")]
    pub device_bytes: Option<u64>,

    /// Threads of the device cpu; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

impl LearnFlags {
    /// The options of a learner.
    ///
    /// # Errors
    /// An option that is not allowed.
    pub fn options(&self) -> warpplay::Result<Options> {
        let usual = Options::default();
        let options = Options {
            features: self.features,
            optimizer: self.optimizer,
            rate: self.rate,
            rate_factor: self.rate_factor,
            l1: self.l1,
            l2: self.l2,
            beta1: self.beta1.unwrap_or(usual.beta1),
            beta2: self.beta2.unwrap_or(usual.beta2),
            epsilon: self.epsilon.unwrap_or(usual.epsilon),
            history: self.history,
            a: self.a,
            window: self.window,
            siblings: self.siblings,
            seed: self.seed,
            keep_scale: self.keep_scale,
            init: self.init.unwrap_or(usual.init),
            early_stopping: self.early_stopping(),
            quiet: (self.quiescence_every > 0)
                .then_some(Quiet { every: self.quiescence_every, depth: self.quiescence_depth }),
        };
        options.check().map(|()| options)
    }

    /// When to stop early.
    pub fn early_stopping(&self) -> Option<EarlyStopping> {
        self.patience.map(|patience| EarlyStopping { patience, min_delta: self.min_delta })
    }

    /// How the back end works, which has no influence on what is learnt.
    pub fn engine(&self) -> SparseOptions {
        SparseOptions { device_bytes: self.device_bytes, threads: self.threads }
    }
}
