//! How weights move.

use crate::runtime::named::named;
use crate::{Error, Result};

/// Weights stay below this, so that no sum of a position's weights is rounded in `f64`.
pub(in crate::shogi) const MOST: f32 = 1024.0;

named! {
    /// How weights move along the gradient `g` (with penalties added).
    Optimizer, "optimizer":
        /// `w −= rate · sign(g)`; a gradient of 0 moves nothing.
        Sign = "sign",
        /// `w −= rate · g`: gradient descent, over all positions or those of a batch.
        Gd = "gd" | "sgd",
        /// `m = β₁ m + g`, `w −= rate · m`.
        Momentum = "momentum",
        /// `s += g²`, `w −= rate · g / (√s + ε)`.
        AdaGrad = "adagrad",
        /// Kingma and Ba, 2015, with bias correction.
        Adam = "adam",
        /// Limited-memory BFGS with a line search, on the host (Nocedal and Wright, algorithm 7.5).
        Lbfgs = "lbfgs",
}

impl Optimizer {
    /// Number of arrays of the weights' shape in its memory.
    pub(in crate::shogi) const fn n_memory(self) -> u32 {
        match self {
            Self::Sign | Self::Gd | Self::Lbfgs => 0,
            Self::Momentum | Self::AdaGrad => 1,
            Self::Adam => 2,
        }
    }
}

/// One step of an optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// Step from 1, for Adam's bias correction.
    pub step: u32,
    /// Learning rate.
    pub learning_rate: f32,
    /// Weight of Σ|w|.
    pub l1: f32,
    /// Weight of Σw²/2.
    pub l2: f32,
    /// β₁ of momentum and Adam.
    pub beta1: f32,
    /// β₂ of Adam.
    pub beta2: f32,
    /// ε of AdaGrad and Adam.
    pub epsilon: f32,
}

impl Update {
    /// Checks that the numbers are meaningful.
    ///
    /// # Errors
    /// [`Error::Option`] names the number.
    pub fn check(&self) -> Result<()> {
        let number = |name, value: f32, allowed: &str, good: bool| {
            if value.is_finite() && good { Ok(()) } else { Err(Error::option(name, value, allowed)) }
        };
        number("learning_rate", self.learning_rate, "0 or more", self.learning_rate >= 0.0)?;
        number("l1", self.l1, "0 or more", self.l1 >= 0.0)?;
        number("l2", self.l2, "0 or more", self.l2 >= 0.0)?;
        number("beta1", self.beta1, "0 or more, below 1", (0.0..1.0).contains(&self.beta1))?;
        number("beta2", self.beta2, "0 or more, below 1", (0.0..1.0).contains(&self.beta2))?;
        number("epsilon", self.epsilon, "above 0", self.epsilon > 0.0)?;
        if self.step == 0 {
            return Err(Error::option("step", self.step, "from 1"));
        }
        Ok(())
    }
}
