//! Optimisers: how weights follow gradients.

use serde::{Deserialize, Serialize};
use warpplay_gpu::tile::update::{Rate, Rule, kind};

use crate::{Error, Result};

/// Fields of optimisers that a file leaves out.
mod defaults {
    pub const fn momentum() -> f32 {
        0.9
    }

    pub const fn beta1() -> f32 {
        0.9
    }

    pub const fn beta2() -> f32 {
        0.999
    }

    pub const fn alpha() -> f32 {
        0.99
    }

    pub const fn epsilon() -> f32 {
        1e-8
    }
}

/// How weights are updated from gradients `g`, as defined by PyTorch. In a file, fields may be left out; they are then those of [`Optimizer::from_name`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Optimizer {
    /// `w -= lr g`.
    Sgd,
    /// `v = momentum v + g; w -= lr v`.
    Momentum {
        /// Decay of the velocity, [0, 1).
        #[serde(default = "defaults::momentum")]
        momentum: f32,
    },
    /// `v = momentum v + g; w -= lr (g + momentum v)`.
    Nesterov {
        /// Decay of the velocity, [0, 1).
        #[serde(default = "defaults::momentum")]
        momentum: f32,
    },
    /// Kingma and Ba 2015, with bias correction; epsilon is added outside the root.
    Adam {
        /// Decay of the mean, [0, 1).
        #[serde(default = "defaults::beta1")]
        beta1: f32,
        /// Decay of the mean square, [0, 1).
        #[serde(default = "defaults::beta2")]
        beta2: f32,
        /// Added to the root, > 0.
        #[serde(default = "defaults::epsilon")]
        epsilon: f32,
    },
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019): `w -= lr weight_decay w` first. Files name it `adam_w`; the form of [`name`](Self::name) is read too.
    #[serde(alias = "adamw")]
    AdamW {
        /// Decay of the mean, [0, 1).
        #[serde(default = "defaults::beta1")]
        beta1: f32,
        /// Decay of the mean square, [0, 1).
        #[serde(default = "defaults::beta2")]
        beta2: f32,
        /// Added to the root, > 0.
        #[serde(default = "defaults::epsilon")]
        epsilon: f32,
    },
    /// `s = alpha s + (1 - alpha) g²; w -= lr g / (√s + epsilon)`.
    #[serde(rename = "rmsprop")]
    RmsProp {
        /// Decay of the mean square, [0, 1).
        #[serde(default = "defaults::alpha")]
        alpha: f32,
        /// Added to the root, > 0.
        #[serde(default = "defaults::epsilon")]
        epsilon: f32,
    },
}

impl Optimizer {
    /// The names that [`Optimizer::from_name`] reads.
    pub const NAMES: [&'static str; 6] = ["sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop"];

    /// The optimiser with PyTorch's default constants: momentum 0.9, betas 0.9 and 0.999, alpha 0.99, epsilon 1e-8. Learning rate (0.001 for PyTorch's Adam) and
    /// weight decay (0.01 for its AdamW) are given beside it.
    ///
    /// # Errors
    /// [`Error::Option`] for another name.
    pub fn from_name(name: &str) -> Result<Self> {
        let [momentum, beta1, beta2] = [defaults::momentum(), defaults::beta1(), defaults::beta2()];
        let [alpha, epsilon] = [defaults::alpha(), defaults::epsilon()];
        Ok(match name {
            "sgd" => Self::Sgd,
            "momentum" => Self::Momentum { momentum },
            "nesterov" => Self::Nesterov { momentum },
            "adam" => Self::Adam { beta1, beta2, epsilon },
            "adamw" => Self::AdamW { beta1, beta2, epsilon },
            "rmsprop" => Self::RmsProp { alpha, epsilon },
            _ => return Err(Error::option("optimizer", name, Self::NAMES.join(", "))),
        })
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sgd => "sgd",
            Self::Momentum { .. } => "momentum",
            Self::Nesterov { .. } => "nesterov",
            Self::Adam { .. } => "adam",
            Self::AdamW { .. } => "adamw",
            Self::RmsProp { .. } => "rmsprop",
        }
    }

    /// Number of arrays of the weights' shape in its state: 0 to 2.
    pub const fn n_moments(&self) -> usize {
        match self {
            Self::Sgd => 0,
            Self::Momentum { .. } | Self::Nesterov { .. } | Self::RmsProp { .. } => 1,
            Self::Adam { .. } | Self::AdamW { .. } => 2,
        }
    }

    /// # Errors
    /// [`Error::Option`] for a constant that is not allowed.
    pub(crate) fn check(&self) -> Result<()> {
        let share = |name, value: f32| {
            if (0.0..1.0).contains(&value) { Ok(()) } else { Err(Error::option(name, value, "at least 0 and below 1")) }
        };
        let positive = |value: f32| {
            if value > 0.0 && value.is_finite() { Ok(()) } else { Err(Error::option("epsilon", value, "above 0")) }
        };
        match *self {
            Self::Sgd => Ok(()),
            Self::Momentum { momentum } | Self::Nesterov { momentum } => share("momentum", momentum),
            Self::Adam { beta1, beta2, epsilon } | Self::AdamW { beta1, beta2, epsilon } => {
                share("beta1", beta1).and(share("beta2", beta2)).and(positive(epsilon))
            }
            Self::RmsProp { alpha, epsilon } => share("alpha", alpha).and(positive(epsilon)),
        }
    }

    /// The kernels' form of it, with a weight decay.
    pub(crate) fn rule(&self, weight_decay: f32) -> Rule {
        let rule = Rule { kind: kind::SGD, a: 0.0, b: 0.0, epsilon: 0.0, decay: weight_decay };
        match *self {
            Self::Sgd => rule,
            Self::Momentum { momentum } => Rule { kind: kind::MOMENTUM, a: momentum, ..rule },
            Self::Nesterov { momentum } => Rule { kind: kind::NESTEROV, a: momentum, ..rule },
            Self::Adam { beta1, beta2, epsilon } => Rule { kind: kind::ADAM, a: beta1, b: beta2, epsilon, ..rule },
            Self::AdamW { beta1, beta2, epsilon } => Rule { kind: kind::ADAM_W, a: beta1, b: beta2, epsilon, ..rule },
            Self::RmsProp { alpha, epsilon } => Rule { kind: kind::RMSPROP, a: alpha, epsilon, ..rule },
        }
    }

    /// What update number `number` is made with on the device, at a learning rate: computed in double precision, Adam's corrections too. The first has number 1, and so has 0.
    pub fn rate(&self, learning_rate: f64, number: u64) -> Rate {
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(number.max(1) as f64);
        let (step_size, root) = match *self {
            Self::Adam { beta1, beta2, .. } | Self::AdamW { beta1, beta2, .. } => {
                ((learning_rate / correction(beta1)) as f32, correction(beta2).sqrt() as f32)
            }
            _ => (0.0, 1.0),
        };
        Rate { rate: learning_rate as f32, step_size, root, reserved: 0.0 }
    }
}
