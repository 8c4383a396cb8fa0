//! Perceptrons: a training on drawn digits.

use std::sync::Arc;

use anyhow::Result;
use warpplay::mlp::{Dataset, Options, StoppedBy, Trainer};

use crate::common::table::thousands;
use crate::demo::part::{Part, Task};
use crate::mlp::{chart, check};

/// Drawn digits of the training set and of the test set.
const DIGITS: [usize; 2] = [4000, 1000];

/// Trains.
pub fn run(task: &Task<'_>) -> Result<Option<Part>> {
    let [train, test] = [(1, DIGITS[0]), (2, DIGITS[1])].map(|(seed, n)| Dataset::drawn_digits(seed, n));
    let (train, test) = (Arc::new(train?), Arc::new(test?));
    let options = Options { hidden: vec![128], epochs: 8, learning_rate: 0.1, ..Options::default() };
    let mut trainer = Trainer::builder(&train).options(options).test(&test).build(task.device)?;
    let report = trainer.run(|progress| task.watch(progress.fraction()))?;
    if report.epochs.is_empty() || report.stopped_by == StoppedBy::Request {
        return Ok(None);
    }
    check::training(&report)?;
    let curve: Vec<f64> =
        report.epochs.iter().filter_map(|epoch| epoch.test_accuracy.map(|share| 100.0 * share)).collect();
    let rate = report.epochs.iter().map(|epoch| epoch.samples_per_second).fold(0.0, f64::max);
    let loss = |epoch: Option<&warpplay::mlp::EpochReport>| epoch.map_or(0.0, |epoch| epoch.loss);
    Ok(Some(Part {
        family: "mlp",
        title: "Multilayer perceptrons",
        task: format!("a network 784-128-10 learns to read digits in {} epochs", report.epochs.len()),
        data: format!(
            "{} digits that the program draws, and {} others for the test; this is not MNIST, and its figures cannot be compared with those of MNIST",
            thousands(DIGITS[0] as u64),
            thousands(DIGITS[1] as u64)
        ),
        found: vec![
            ("test", format!("{:.1} % right", curve.last().copied().unwrap_or_default())),
            ("loss", format!("{:.3}, then {:.3}", loss(report.epochs.first()), loss(report.epochs.last()))),
            ("speed", format!("{} samples a second", thousands(rate as u64))),
        ],
        curve_of: "digits of the test set that are right, %",
        plots: chart::training(&report.epochs, report.options.loss).to_vec(),
        curve,
        more: "warpplay mlp train --data DIR --plots training.svg",
        engine: report.engine.to_string(),
        seconds: task.seconds(),
    }))
}
