//! A program like the published one that deviates from its text on purpose: one hidden layer, plain SGD, in single precision on the CPU.
//!
//! It is `784-256-10` of the text by [`Rules::default`], and then the same training as the plain program's. Each other value of a rule is a mistake, or a choice
//! that the text leaves open, that a program may have made. Pixels that are 0 are skipped, which changes no sum of finite terms and takes four fifths of the work away.

use serde::{Deserialize, Serialize};
use warpplay_cpu_ref::mlp::epoch_order;

use super::rules::{Rules, Short, Visits};
use super::samples::Samples;
use super::step::{State, byte_values};

/// The options of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Hidden units.
    pub hidden: usize,
    /// Samples of a batch, at least 1.
    pub batch: usize,
    /// Epochs.
    pub epochs: u32,
    /// Learning rate.
    pub rate: f64,
    /// Seed of weights and orders.
    pub seed: u32,
}

/// What an epoch left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Mean loss of the samples that it was trained on, before their batch's update; not a number once a training has diverged.
    pub loss: f64,
    /// Share of the test set.
    pub accuracy: f64,
}

/// Trains, and tells of each epoch. `stop` is asked after each; the epochs end where it answers yes or where a loss is not finite.
pub fn train(
    rules: &Rules,
    settings: &Settings,
    train: &Samples<'_>,
    test: &Samples<'_>,
    stop: &mut dyn FnMut() -> bool,
) -> Vec<Epoch> {
    let Settings { hidden, batch, epochs, rate, seed } = *settings;
    let batch = batch.max(1);
    let n = train.labels.len();
    let mut state = State::new(rules, train, hidden, seed);
    let values = byte_values(rules.standardised);
    let mut found = Vec::new();
    for epoch in 0..epochs {
        let order = match rules.visits {
            Visits::Shuffled => epoch_order(seed, epoch, n),
            Visits::Once => epoch_order(seed, 0, n),
            Visits::File => (0..n).collect(),
        };
        let (mut loss, mut counted) = (0.0, 0);
        for samples in order.chunks(batch) {
            let missing = batch - samples.len();
            if missing > 0 && rules.short == Short::Dropped {
                continue;
            }
            // Rows behind a short batch's still hold the batch before.
            let stale = rules.short == Short::Stale && state.rows() == batch;
            let rows = if stale { batch } else { samples.len() };
            state.load(samples, rows, train, &values);
            loss += state.step(rate as f32, samples.len());
            counted += samples.len();
        }
        let accuracy = state.accuracy(test, &values);
        found.push(Epoch { loss: loss / counted.max(1) as f64, accuracy });
        if !loss.is_finite() || stop() {
            break;
        }
    }
    found
}
