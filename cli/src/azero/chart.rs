//! Plots of a training.

use warpplay::azero::train::{EpochReport, Report};

use crate::common::plot::{Axis, Line, Panel};

/// Losses of policy and value by epoch.
pub fn losses(report: &Report) -> Panel {
    let line = |name: &str, of: fn(&EpochReport) -> Option<f64>| {
        let points = report.epochs.iter().filter_map(|epoch| Some([f64::from(epoch.epoch), of(epoch)?]));
        Line::new(name, points.collect())
    };
    Panel::lines(
        "Losses of policy and value by epoch",
        Axis::even("epoch"),
        Axis::even("loss"),
        vec![
            line("policy", |epoch| Some(epoch.train.policy_loss)),
            line("policy, held out", |epoch| epoch.validation.map(|losses| losses.policy_loss)),
            line("value", |epoch| Some(epoch.train.value_loss)),
            line("value, held out", |epoch| epoch.validation.map(|losses| losses.value_loss)),
        ],
    )
}
