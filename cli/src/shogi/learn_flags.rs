//! How weights are learnt, as flags. What is not given is as `Options::default()` says, or as in the checkpoint that is gone on from.

use warpplay::shogi::learner::{EarlyStopping, Engine, Options, Quiet};
use warpplay::shogi::{FeatureSet, Optimizer, Values};

use crate::common::flags::{EngineFlag, SeedFlag, ThreadsFlag, WeightFiles};
use crate::shogi::rule_flags::values;

#[derive(clap::Args, Clone, Debug)]
pub struct LearnFlags {
    /// Features of the evaluation: material, material_hand, piece_square, kp, kkp, kpp [default: material]
    #[arg(long, value_name = "F")]
    pub features: Option<FeatureSet>,

    /// Update rule of the weights: sign, gd, momentum, adagrad, adam, lbfgs [default: adam]
    #[arg(long, value_name = "O")]
    pub optimizer: Option<Optimizer>,

    /// Learning rate [default: sign 0.05, gd 100, momentum 10, lbfgs 0.3; adagrad 0.3 and adam 0.05 for material, 0.1 and 0.03 for piece_square and kp, 0.01 and 0.003 for kkp and kpp]
    #[arg(long, value_name = "RATE", aliases = ["rate", "lr"], allow_negative_numbers = true)]
    pub learning_rate: Option<f64>,

    /// Factor of the learning rate after each iteration [default: 1]
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub rate_factor: Option<f64>,

    /// Iterations in all, including those of a resumed checkpoint; each is one step, on all positions or on a mini-batch [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub iterations: Option<u32>,

    /// Positions in each step, shuffled in each epoch by the seed; 0 for all [default: 0]
    #[arg(long, value_name = "N", alias = "batch-size", allow_negative_numbers = true)]
    pub batch: Option<u32>,

    /// Initial values of the pieces: one for all twelve, or L N S G B R +P +L +N +S +B +R separated by commas; other weights begin at 0 [default: 3]
    #[arg(long, value_name = "VALUES", value_parser = values, allow_hyphen_values = true, conflicts_with = "start")]
    pub init: Option<Values>,

    #[command(flatten)]
    pub weights: WeightFiles,

    /// Slope of the sigmoid [default: 3]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub a: Option<f64>,

    /// Ignore moves whose evaluation differs from the played move's by more than this many pawns [default: none]
    #[arg(long, value_name = "PAWNS", allow_negative_numbers = true)]
    pub window: Option<f64>,

    /// Maximum number of other moves for each position, drawn once for all iterations, or with --batch in each epoch; 0 for all [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub siblings: Option<u32>,

    #[command(flatten)]
    pub seed: SeedFlag,

    /// Weight of the sum of absolute weights [default: 0]
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    pub l1: Option<f64>,

    /// Weight of half the sum of squares [default: 0]
    #[arg(long, value_name = "W", alias = "weight-decay", allow_negative_numbers = true)]
    pub l2: Option<f64>,

    /// β₁ of momentum and adam [default: 0.9]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub beta1: Option<f64>,

    /// β₂ of adam [default: 0.999]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub beta2: Option<f64>,

    /// ε of adagrad and adam [default: 1e-8]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,

    /// Length of the history of lbfgs in steps [default: 6]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub history: Option<u32>,

    /// Keep the sum of the 13 piece values constant
    #[arg(long)]
    pub keep_scale: bool,

    /// Stop after this many iterations without a better objective on the held-out games (with --batch it is measured once an epoch), and write the best weights [default: never]
    #[arg(long, value_name = "N", requires = "held_out", allow_negative_numbers = true)]
    pub patience: Option<u32>,

    /// Minimum improvement of this objective that --patience counts
    #[arg(long, value_name = "D", default_value_t = 0.0, requires = "patience", allow_negative_numbers = true)]
    pub min_delta: f64,

    /// Repeat the quiescence search behind every move after this many iterations; 0 for never [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub quiescence_every: Option<u32>,

    /// Maximum depth of a line of captures and promotions [default: 6]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub quiescence_depth: Option<u32>,

    /// GPU memory for positions in bytes; the rest is streamed [default: as much as there is]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    pub device_bytes: Option<u64>,

    #[command(flatten)]
    pub engine: EngineFlag<Engine>,

    #[command(flatten)]
    pub threads: ThreadsFlag,
}

impl LearnFlags {
    /// The options of a learner: what is given, on top of `options`.
    ///
    /// # Errors
    /// An option that is not allowed.
    pub fn options(&self, mut options: Options) -> warpplay::Result<Options> {
        macro_rules! set {
            ($($name:ident),+) => {$(
                if let Some($name) = self.$name {
                    options.$name = $name;
                }
            )+};
        }
        set!(
            features,
            optimizer,
            rate_factor,
            iterations,
            batch,
            init,
            a,
            siblings,
            l1,
            l2,
            beta1,
            beta2,
            epsilon,
            history
        );
        options.engine = self.engine.engine.unwrap_or(options.engine);
        options.seed = self.seed.seed.unwrap_or(options.seed);
        options.learning_rate = self.learning_rate.or(options.learning_rate);
        options.window = self.window.or(options.window);
        options.keep_scale |= self.keep_scale;
        if let Some(patience) = self.patience {
            options.early_stopping = Some(EarlyStopping { patience, min_delta: self.min_delta });
        }
        let before = options.quiet.unwrap_or(Quiet { every: 0, depth: Quiet::DEPTH });
        let every = self.quiescence_every.unwrap_or(before.every);
        options.quiet = (every > 0).then_some(Quiet { every, depth: self.quiescence_depth.unwrap_or(before.depth) });
        options.threads = self.threads.threads.or(options.threads);
        options.device_bytes = self.device_bytes.or(options.device_bytes);
        options.check().map(|()| options)
    }
}
