//! Networks of more units than a cluster of blocks has, 257 to 512: a whole epoch in one cooperative launch does what the plain program does.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::{
    Classifier, Dataset, Engine, Optimizer, Options, Precision, Prediction, Reduction, Sweep, Trainer,
};
use warpplay::{Device, Progress, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::mlp::{Twin, images, resumed, train};
use warpplay_tests::tolerance::{Tolerance, close};

fn options(hidden: u32, batch: u32) -> Options {
    let engine = Engine::Epoch;
    Options { hidden: vec![hidden], batch, epochs: 2, learning_rate: 0.1, seed: 3, engine, ..Options::default() }
}

/// An optimiser for each kernel, with a rate that neither diverges nor stands still.
fn optimizers() -> [(Optimizer, f32, f64); 4] {
    [
        (Optimizer::Sgd, 0.0, 0.1),
        (Optimizer::Sgd, 0.03, 0.1),
        (Optimizer::Nesterov { momentum: 0.9 }, 0.0, 0.02),
        // With a tiny epsilon the first steps amplify rounding errors.
        (Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-4 }, 0.0, 0.001),
    ]
}

#[test]
fn epochs_equal_the_plain_programs() {
    // The least and the most units, blocks without any, a short last batch, several parts, one and many classes, mean and sum.
    for (n, side, n_classes, hidden, batch, reduction) in [
        (90, 8, 10, 257, 64, Reduction::Mean),
        (70, 4, 16, 512, 40, Reduction::Sum),
        (150, 4, 3, 300, 100, Reduction::Mean),
    ] {
        let set = images(n, side, side, n_classes);
        for (optimizer, weight_decay, rate) in optimizers() {
            let learning_rate = if reduction == Reduction::Sum { rate / 50.0 } else { rate };
            let base = Options { optimizer, weight_decay, learning_rate, reduction, ..options(hidden, batch) };
            let twin = Twin::of(&base, &set);
            for_each_device(|device| {
                let (found, weights) = train(device, &base, &set)?;
                let what = format!(
                    "{hidden} units, batch {batch}, {} with decay {weight_decay} on {device}",
                    optimizer.name()
                );
                twin.check(&what, &found, &weights);
                Ok(())
            });
        }
    }
}
