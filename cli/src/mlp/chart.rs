//! Charts of a training, as SVG.

use anyhow::Result;
use warpplay::mlp::Report;

use crate::common::chart::{Line, Panel, panels};

/// Loss and accuracy of a training.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn training(report: &Report) -> Result<String> {
    let of_epochs = |name: &str, value: &dyn Fn(&warpplay::mlp::EpochReport) -> Option<f64>| Line {
        name: name.to_string(),
        points: report.epochs.iter().filter_map(|epoch| Some((epoch.epoch.into(), value(epoch)?))).collect(),
    };
    panels(&[
        Panel {
            title: "loss",
            x: "epoch",
            y: "loss",
            lines: vec![
                of_epochs("training", &|epoch| Some(epoch.loss)),
                of_epochs("test", &|epoch| epoch.test_loss),
                of_epochs("validation", &|epoch| epoch.validation_loss),
            ],
        },
        Panel {
            title: "accuracy",
            x: "epoch",
            y: "right, %",
            lines: vec![
                of_epochs("test", &|epoch| epoch.test_accuracy.map(|share| 100.0 * share)),
                of_epochs("validation", &|epoch| epoch.validation_accuracy.map(|share| 100.0 * share)),
            ],
        },
    ])
}
