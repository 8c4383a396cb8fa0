//! Optimisers as the kernels have them: which kernel, what it remembers, and its numbers of each step.

use warpplay_gpu::mlp::epoch::{BATCH, Rule};

use crate::mlp::options::{Optimizer, Options};

/// A training's optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::mlp) struct Form {
    /// The kernel.
    pub kind: Kind,
    /// Its constants.
    pub rule: Rule,
    /// Arrays of the network's shape that the optimiser has, the last of those that the kernel remembers.
    pub n_kept: u32,
}

/// A kernel that trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mlp) enum Kind {
    /// Plain SGD in batches of one part.
    Sgd,
    /// SGD, with decay or without.
    Decay,
    /// In batches of one part, or of several.
    Momentum { parts: bool },
    /// In batches of one part, or of several.
    Adam { parts: bool },
}

impl Form {
    /// That of no training.
    pub const NONE: Self = Self {
        kind: Kind::Sgd,
        rule: Rule { a: 0.0, rest_a: 0.0, b: 0.0, rest_b: 0.0, epsilon: 0.0, decay: 0.0, nesterov: 0 },
        n_kept: 0,
    };

    /// The form of the options' optimiser.
    pub fn of(options: &Options) -> Self {
        let (decay, parts) = (options.weight_decay, options.batch > BATCH);
        let (kind, rule) = match options.optimizer {
            Optimizer::Sgd if decay == 0.0 && !parts => return Self::NONE,
            Optimizer::Sgd => (Kind::Decay, Rule { decay, ..Rule::default() }),
            Optimizer::Momentum { momentum } => {
                (Kind::Momentum { parts }, Rule { a: momentum, decay, ..Rule::default() })
            }
            Optimizer::Nesterov { momentum } => {
                (Kind::Momentum { parts }, Rule { a: momentum, decay, nesterov: 1, ..Rule::default() })
            }
            Optimizer::Adam { beta1, beta2, epsilon } | Optimizer::AdamW { beta1, beta2, epsilon } => {
                let decoupled = matches!(options.optimizer, Optimizer::AdamW { .. });
                let decay = if decoupled { 0.0 } else { decay };
                (Kind::Adam { parts }, adam(beta1, beta2, epsilon, decay))
            }
            // Adam that keeps nothing of the mean, without corrections.
            Optimizer::RmsProp { alpha, epsilon } => (Kind::Adam { parts }, adam(0.0, alpha, epsilon, decay)),
        };
        Self { kind, rule, n_kept: options.optimizer.n_moments() as u32 }
    }

    /// Arrays of the network's shape that the kernel remembers.
    pub const fn n_moments(&self) -> u32 {
        match self.kind {
            Kind::Sgd | Kind::Decay => 0,
            Kind::Momentum { .. } => 1,
            Kind::Adam { .. } => 2,
        }
    }

    /// Numbers of a step.
    pub const fn n_rates(&self) -> u32 {
        if matches!(self.kind, Kind::Adam { .. }) { 4 } else { 1 }
    }
}

fn adam(beta1: f32, beta2: f32, epsilon: f32, decay: f32) -> Rule {
    let rest = |beta: f32| (1.0 - f64::from(beta)) as f32;
    Rule { a: beta1, rest_a: rest(beta1), b: beta2, rest_b: rest(beta2), epsilon, decay, nesterov: 0 }
}

/// The kernel's numbers of steps with these learning rates, `[n_steps, n_rates]`; the first of them is the update number `updates` (from 0).
pub(super) fn rates(options: &Options, learning_rates: &[f64], updates: u64) -> Vec<f32> {
    let corrections = match options.optimizer {
        Optimizer::Adam { beta1, beta2, .. } | Optimizer::AdamW { beta1, beta2, .. } => Some((beta1, beta2)),
        Optimizer::RmsProp { .. } => None,
        _ => return learning_rates.iter().map(|&rate| rate as f32).collect(),
    };
    let decoupled = matches!(options.optimizer, Optimizer::AdamW { .. });
    let decay = if decoupled { f64::from(options.weight_decay) } else { 0.0 };
    let of_step = |(rate, number): (&f64, u64)| {
        let left = |beta: f32| 1.0 - f64::from(beta).powf(number as f64);
        let (mean, square) = corrections.map_or((1.0, 1.0), |(beta1, beta2)| (left(beta1), left(beta2)));
        [rate / mean, 1.0 / square.sqrt(), 1.0 - rate * decay, 0.0].map(|number| number as f32)
    };
    learning_rates.iter().zip(updates + 1..).flat_map(of_step).collect()
}
