//! What must hold of every result, whatever was trained.

use std::path::Path;

use anyhow::{Result, ensure};
use warpplay::mlp::{Dataset, EpochReport, Evaluation, Report};

/// Checks a training.
///
/// # Errors
/// The first thing that does not hold: a fault of the program, not of its user.
pub fn training(report: &Report) -> Result<()> {
    epochs(&report.epochs)?;
    let dead: u64 = report.dead_units_by_layer.iter().sum();
    ensure!(
        report.dead_units == dead,
        "check failed: {} dead units, but {dead} in the hidden layers",
        report.dead_units
    );
    for (dead, &units) in report.dead_units_by_layer.iter().zip(&report.options.hidden) {
        ensure!(*dead <= u64::from(units), "check failed: {dead} dead units of {units}");
    }
    Ok(())
}

/// Checks the epochs of a training.
///
/// # Errors
/// As [`training`].
pub fn epochs(epochs: &[EpochReport]) -> Result<()> {
    for (epoch, number) in epochs.iter().zip(1..) {
        ensure!(epoch.epoch == number, "check failed: epoch {} stands at index {number}", epoch.epoch);
        ensure!(epoch.loss.is_finite(), "check failed: epoch {number} has a loss of {}", epoch.loss);
        for loss in losses(epoch) {
            ensure!(loss.is_nan() || loss >= 0.0, "check failed: epoch {number} has a loss of {loss}");
        }
        for accuracy in [epoch.test_accuracy, epoch.validation_accuracy].into_iter().flatten() {
            ensure!((0.0..=1.0).contains(&accuracy), "check failed: epoch {number} has an accuracy of {accuracy}");
        }
        ensure!(epoch.seconds >= 0.0, "check failed: epoch {number} took {} s", epoch.seconds);
    }
    Ok(())
}

/// The first epoch after which the weights are no longer good for anything: a training's last step can do this, and no further loss shows it.
pub fn lost(epochs: &[EpochReport]) -> Option<String> {
    let lost = epochs.iter().find(|epoch| losses(epoch).any(|loss| !loss.is_finite()))?;
    Some(format!("test or validation loss not finite after epoch {}", lost.epoch))
}

fn losses(epoch: &EpochReport) -> impl Iterator<Item = f64> {
    [Some(epoch.loss), epoch.test_loss, epoch.validation_loss].into_iter().flatten()
}

/// Checks that a network says something about a set.
///
/// # Errors
/// Its loss is not finite: a fault of the weights.
pub fn finite(found: &Evaluation, weights: &Path, set: &Dataset) -> Result<()> {
    let loss = found.loss;
    ensure!(loss.is_finite(), "{}: the network's loss for {} is {loss}, not finite", weights.display(), set.source());
    Ok(())
}

/// Checks an evaluation.
///
/// # Errors
/// As [`training`].
pub fn evaluation(found: &Evaluation) -> Result<()> {
    let sum: u64 = found.confusion.iter().flatten().sum();
    let n_rated = found.share().map_or(0, |_| found.total);
    ensure!(sum == n_rated, "check failed: the confusion matrix counts {sum} of {} samples", found.total);
    let diagonal: u64 = found.confusion.iter().enumerate().map(|(class, row)| row[class]).sum();
    ensure!(diagonal == found.correct, "check failed: {} are right, the diagonal says {diagonal}", found.correct);
    let accuracy = found.correct as f64 / found.total as f64;
    ensure!(accuracy == found.accuracy, "check failed: the accuracy is {accuracy}, not {}", found.accuracy);
    ensure!(found.loss.is_nan() || found.loss >= 0.0, "check failed: the loss is {}", found.loss);
    Ok(())
}
