//! What a learner can be told.

use serde::{Deserialize, Serialize};

use crate::runtime::named::named;
use crate::shogi::features::FeatureSet;
use crate::shogi::loss::Loss;
use crate::shogi::objective::{FIRST_VALUES, Values};
use crate::shogi::options::SparseOptions;
use crate::shogi::quiescence::{self, DEEPEST};
use crate::shogi::update::{MOST, Optimizer};
use crate::{Error, Result};

/// Stops when the objective on held-out games no longer decreases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyStopping {
    /// Iterations without a new best after which to stop. With mini-batches, held-out games are measured at the beginning of an epoch, and learning can stop only there.
    pub patience: u32,
    /// Minimum decrease that counts as a new best. Default 0.
    #[serde(default)]
    pub min_delta: f64,
}

/// Children are the last positions of quiet lines, searched with the present weights. These positions stay in memory, in addition to the original ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quiet {
    /// Iterations from one search of all lines to the next. The first search precedes iteration 0.
    pub every: u32,
    /// Most half-moves of a line. Default [`Quiet::DEPTH`].
    #[serde(default = "Quiet::depth")]
    pub depth: u32,
}

named! {
    /// The implementation that learns. The result does not depend on it.
    Engine, "engine":
        /// The engine of the device: [`Engine::Cpu`] on the CPU back end, else [`Engine::Sparse`].
        Auto = "auto",
        /// No kernels: the plain implementation, on the CPU back end only.
        Cpu = "cpu",
        /// Kernels over the slots in which a child differs from its parent.
        Sparse = "sparse",
}

impl Quiet {
    /// Default number of half-moves of a line: that of [`quiescence::Options`](crate::shogi::quiescence::Options).
    pub const DEPTH: u32 = quiescence::Options::DEPTH;

    const fn depth() -> u32 {
        Self::DEPTH
    }
}

/// Options of a [`Learner`](super::Learner).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The implementation. Default: auto.
    pub engine: Engine,
    /// The features of the evaluation. Default: material.
    pub features: FeatureSet,
    /// The optimiser. Default: Adam.
    pub optimizer: Optimizer,
    /// Learning rate, in pawns if the optimiser sets the size of steps itself; with L-BFGS the largest change of a weight in the first step. Default (`None`):
    /// [`default_rate`](Self::default_rate).
    #[serde(alias = "rate")]
    pub learning_rate: Option<f64>,
    /// The rate is multiplied by this after each iteration. Default: 1.
    pub rate_factor: f64,
    /// Weight of Σ|w|. Default: 0.
    pub l1: f64,
    /// Weight of Σw²/2. Default: 0.
    pub l2: f64,
    /// β₁ of momentum and Adam. Default: 0.9.
    pub beta1: f64,
    /// β₂ of Adam. Default: 0.999.
    pub beta2: f64,
    /// ε of AdaGrad and Adam. Default: 10⁻⁸.
    pub epsilon: f64,
    /// Number of steps that L-BFGS remembers, 16 bytes per weight each. Default: 6.
    pub history: u32,
    /// Slope of the sigmoid. Default: 3.
    pub a: f64,
    /// Siblings whose evaluation differs from the played child's by more pawns than this do not count; `None` to count all. Default: `None`.
    pub window: Option<f64>,
    /// Maximum number of siblings of a parent that count; with mini-batches, different ones in each epoch ([`siblings_seed`](super::siblings_seed)); 0 for all. Default: 0.
    pub siblings: u32,
    /// Seed of the choice of siblings and of the order of mini-batches. Default: 0.
    pub seed: u64,
    /// Keeps the sum of the 13 values of pieces on the board constant: after each step all weights except the pawn's are scaled. Default: no.
    pub keep_scale: bool,
    /// Initial values of L N S G B R +P +L +N +S +B +R; a piece in hand has the value of its kind, everything else 0. Default: 3, as in the paper.
    pub init: Values,
    /// When to stop early. Default: none.
    pub early_stopping: Option<EarlyStopping>,
    /// Quiescence search of children. Default: none; children are compared as they are.
    pub quiet: Option<Quiet>,
    /// Number of positions of a step, with all of their moves, drawn anew in each epoch ([`epoch_order`](super::epoch_order)); the last step of an epoch takes the rest. 0
    /// for all positions. Default: 0.
    pub batch: u32,
    /// Total number of steps, including those before a checkpoint. Default: 50.
    pub iterations: u32,
    /// Threads of the work on the CPU; 1 selects the plain program, `None` all cores. The result does not depend on the number. Default: `None`.
    pub threads: Option<usize>,
    /// Maximum number of bytes of positions kept on the device; the rest is copied in every pass. `None`: all free memory. The result does not depend on it. Default: `None`.
    pub device_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        let loss = Loss::default();
        Self {
            engine: Engine::Auto,
            features: FeatureSet::Material,
            optimizer: Optimizer::Adam,
            learning_rate: None,
            rate_factor: 1.0,
            l1: 0.0,
            l2: 0.0,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            history: 6,
            a: loss.a,
            window: None,
            siblings: loss.siblings,
            seed: loss.seed,
            keep_scale: false,
            init: FIRST_VALUES,
            early_stopping: None,
            quiet: None,
            batch: 0,
            iterations: 50,
            threads: None,
            device_bytes: None,
        }
    }
}

impl Options {
    /// The default rate: smaller for AdaGrad and Adam if a position has many weights that move together.
    pub const fn default_rate(optimizer: Optimizer, features: FeatureSet) -> f64 {
        let [adagrad, adam] = match features {
            FeatureSet::Material | FeatureSet::MaterialHand => [0.3, 0.05],
            FeatureSet::PieceSquare | FeatureSet::KingPiece => [0.1, 0.03],
            FeatureSet::KingKingPiece | FeatureSet::KingPiecePiece => [0.01, 0.003],
        };
        match optimizer {
            Optimizer::Gd => 100.0,
            Optimizer::Momentum => 10.0,
            Optimizer::AdaGrad => adagrad,
            Optimizer::Adam => adam,
            Optimizer::Lbfgs => 0.3,
            Optimizer::Sign => 0.05,
        }
    }

    /// The rate of the step after `iteration` steps; on overflow, the largest finite number.
    pub fn rate_at(&self, iteration: u32) -> f64 {
        let first = self.learning_rate.unwrap_or(Self::default_rate(self.optimizer, self.features));
        let rate = first * self.rate_factor.powf(iteration.into());
        if first.is_finite() { rate.min(f64::MAX) } else { rate }
    }

    /// Which children count.
    pub fn loss(&self) -> Loss {
        Loss { a: self.a, window: self.window.unwrap_or(f64::INFINITY), siblings: self.siblings, seed: self.seed }
    }

    /// Options of the engine.
    pub(in crate::shogi) fn sparse(&self) -> SparseOptions {
        SparseOptions { device_bytes: self.device_bytes, threads: self.threads }
    }

    /// Checks that the options are in range and consistent.
    ///
    /// # Errors
    /// [`Error::Option`] names the option.
    pub fn check(&self) -> Result<()> {
        let positive = |name, value: f64| match value {
            value if value.is_finite() && value > 0.0 => Ok(()),
            _ => Err(Error::option(name, value, "a finite number above 0")),
        };
        let not_negative = |name, value: f64| match value {
            value if (value as f32).is_finite() && value >= 0.0 => Ok(()),
            _ => Err(Error::option(name, value, "a finite number, 0 or more")),
        };
        let share = |name, value: f64| match value as f32 {
            rounded if value >= 0.0 && rounded < 1.0 => Ok(()),
            _ => Err(Error::option(name, value, "0 or more, below 1 in single precision")),
        };
        // Steps are computed in single precision: what becomes 0, 1 or infinite there is refused too.
        let single = |name, value: f64| match value as f32 {
            value if value.is_finite() && value > 0.0 => Ok(()),
            _ => Err(Error::option(name, value, "a number above 0 in single precision")),
        };
        single("learning_rate", self.rate_at(0))?;
        positive("rate_factor", self.rate_factor)?;
        not_negative("l1", self.l1)?;
        not_negative("l2", self.l2)?;
        share("beta1", self.beta1)?;
        share("beta2", self.beta2)?;
        single("epsilon", self.epsilon)?;
        if let Some(window) = self.window {
            not_negative("window", window)?;
        }
        self.loss().check()?;
        if !(1..=100).contains(&self.history) {
            return Err(Error::option("history", self.history, "1 to 100"));
        }
        if let Some(value) = self.init.iter().find(|value| value.is_nan() || value.abs() >= f64::from(MOST)) {
            return Err(Error::option("init", value, format!("numbers below {MOST} in size")));
        }
        if self.optimizer == Optimizer::Lbfgs {
            // Σ|w| has no gradient at 0, and a weight that is scaled after a step leaves the line that was searched.
            if self.l1 > 0.0 {
                return Err(Error::option("l1", self.l1, "0 with lbfgs, which needs a smooth objective"));
            }
            if self.keep_scale {
                return Err(Error::option("keep_scale", true, "false with lbfgs, whose line search it would disturb"));
            }
        }
        if let Some(EarlyStopping { patience, min_delta }) = self.early_stopping {
            not_negative("min_delta", min_delta)?;
            if patience == 0 {
                return Err(Error::option("patience", patience, "1 or more"));
            }
        }
        if let Some(Quiet { every, depth }) = self.quiet {
            if every == 0 {
                return Err(Error::option("quiet.every", every, "1 or more"));
            }
            if !(1..=DEEPEST).contains(&depth) {
                return Err(Error::option("quiet.depth", depth, format!("1 to {DEEPEST}")));
            }
        }
        self.sparse().check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_a_file_leaves_out_have_their_defaults() {
        let read: Options =
            serde_json::from_str(r#"{"quiet": {"every": 2}, "early_stopping": {"patience": 3}}"#).unwrap();
        assert_eq!(read.quiet, Some(Quiet { every: 2, depth: Quiet::DEPTH }));
        assert_eq!(read.early_stopping, Some(EarlyStopping { patience: 3, min_delta: 0.0 }));
    }

    #[test]
    fn bad_options_are_named() {
        let bad = |change: &dyn Fn(&mut Options), text: &str| {
            let mut options = Options::default();
            change(&mut options);
            let error = options.check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("option {text} is not allowed (")), "{error}");
        };
        Options::default().check().unwrap();
        bad(&|o| o.learning_rate = Some(f64::NAN), "learning_rate: NaN");
        bad(&|o| o.rate_factor = 0.0, "rate_factor: 0");
        bad(&|o| o.l1 = -1.0, "l1: -1");
        bad(&|o| o.l2 = f64::INFINITY, "l2: inf");
        bad(&|o| o.beta1 = 1.0, "beta1: 1");
        bad(&|o| o.beta1 = 0.99999999, "beta1: 0.99999999");
        bad(&|o| o.beta2 = -0.5, "beta2: -0.5");
        bad(&|o| o.learning_rate = Some(1e-46), "learning_rate: 1e-46");
        bad(&|o| o.learning_rate = Some(1e39), "learning_rate: 1e39");
        bad(&|o| o.epsilon = 0.0, "epsilon: 0");
        bad(&|o| o.window = Some(-1.0), "window: -1");
        bad(&|o| o.a = 0.0, "a: 0");
        bad(&|o| o.history = 0, "history: 0");
        bad(&|o| o.threads = Some(0), "threads: 0");
        bad(&|o| o.init[4] = f64::NAN, "init: NaN");
        bad(&|o| o.init[4] = 1024.0, "init: 1024");
        bad(&|o| o.early_stopping = Some(EarlyStopping { patience: 0, min_delta: 0.0 }), "patience: 0");
        bad(&|o| o.quiet = Some(Quiet { every: 0, depth: 4 }), "quiet.every: 0");
        bad(&|o| o.quiet = Some(Quiet { every: 1, depth: 99 }), "quiet.depth: 99");
        bad(&|o| (o.optimizer, o.l1) = (Optimizer::Lbfgs, 0.1), "l1: 0.1");
        bad(&|o| (o.optimizer, o.keep_scale) = (Optimizer::Lbfgs, true), "keep_scale: true");
    }
}
