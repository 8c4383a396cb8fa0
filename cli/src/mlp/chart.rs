//! Plots of a training.

use warpplay::mlp::{EpochReport, Loss};

use crate::common::plot::{Axis, Line, Panel};

/// Loss of a training, and accuracy where there is one.
pub fn training(epochs: &[EpochReport], loss: Loss) -> Vec<Panel> {
    let line = |name: &str, value: &dyn Fn(&EpochReport) -> Option<f64>| {
        let points = epochs.iter().filter_map(|epoch| Some([f64::from(epoch.epoch), value(epoch)?]));
        Line::new(name, points.collect())
    };
    let losses = vec![
        line("training", &|epoch| Some(epoch.loss)),
        line("test", &|epoch| epoch.test_loss),
        line("validation", &|epoch| epoch.validation_loss),
    ];
    let percent = |share: f64| 100.0 * share;
    // Nothing of the training is classified again, so its place in the order of colours is kept free.
    let right = vec![
        line("training", &|_| None),
        line("test", &|epoch| epoch.test_accuracy.map(percent)),
        line("validation", &|epoch| epoch.validation_accuracy.map(percent)),
    ];
    let mut panels =
        vec![Panel::lines("Loss by epoch", Axis::even("epoch"), Axis::even("mean loss of a sample"), losses)];
    if !loss.is_regression() {
        let title = "Samples classified right by epoch";
        panels.push(Panel::lines(title, Axis::even("epoch"), Axis::even("samples, %"), right));
    }
    panels
}
