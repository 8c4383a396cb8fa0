//! Where the gap between 93.9 and 97.9 % comes from: the gradient averaged over the batch, or summed.

use warpplay::Result;
use warpplay::mlp::Reduction;

use super::lab::{Lab, Run, Way};
use super::published::Figures;
use super::record::{Setting, Table, or_dash, percent};
use crate::mnist_mlp::Options;

/// Batch and learning rate of the settings: the paper's, and those at which its CPU program collapses.
const SETTINGS: [(u32, f64); 2] = [(64, 0.01), (256, 0.1)];

/// Accuracies nearer than this are alike: as far as seeds move them.
const ALIKE: f64 = 0.005;

/// The table.
pub(super) fn table(lab: &mut Lab<'_>) -> Result<Table> {
    let mut table = Table::new(
        "gap",
        "The accuracy gap: gradient averaged over the batch or summed, the same program otherwise",
        &["setting", "way", "loss", "accuracy", "dead units"],
    );
    for (batch, learning_rate) in SETTINGS {
        for reduction in [Reduction::Mean, Reduction::Sum] {
            let options = Options { batch, learning_rate, reduction, ..lab.base() };
            let label = format!("batch {batch}, lr {learning_rate}, {reduction}");
            for (way, name) in [(Way::CpuAll, "CPU"), (Way::Paper, "paper's kernels")] {
                let Some(run) = lab.run(way, &options)? else { continue };
                table.rows.push(row(&label, name, &run));
                table.runs.push(Setting { label: label.clone(), value: None, run });
            }
        }
    }
    table.notes = notes(&table, lab.epochs);
    Ok(table)
}

fn row(label: &str, way: &str, run: &Run) -> Vec<String> {
    let units: u32 = run.options.hidden.iter().sum();
    vec![
        label.to_string(),
        way.to_string(),
        run.diverged.clone().unwrap_or_else(|| or_dash(run.loss(), |loss| format!("{loss:.6}"))),
        percent(run.accuracy()),
        format!("{} of {units}", run.dead_units),
    ]
}

/// What the runs say, and whether it is what the paper reports.
fn notes(table: &Table, epochs: u32) -> Vec<String> {
    let figures = Figures::default();
    let find = |setting: usize, reduction: Reduction| {
        let (batch, rate) = SETTINGS[setting];
        table.runs.iter().map(|setting| &setting.run).find(|run| {
            let options = &run.options;
            matches!(run.way, Way::Cpu | Way::CpuAll)
                && (options.batch, options.learning_rate, options.reduction) == (batch, rate, reduction)
        })
    };
    let mut notes = Vec::new();
    if let (Some(mean), Some(sum)) = (find(0, Reduction::Mean), find(0, Reduction::Sum)) {
        let alike = |run: &Run, figure: f64| run.accuracy().is_some_and(|found| (found - figure).abs() < ALIKE);
        let verdict =
            match (epochs == figures.epochs, alike(mean, figures.gpu_accuracy), alike(sum, figures.cpu_accuracy)) {
                (false, ..) => "not comparable with the published ones: other epochs".to_string(),
                (true, true, true) => {
                    "both of the published figures come from one program by this one switch".to_string()
                }
                (true, ..) => "the published figures are not met on this data".to_string(),
            };
        notes.push(format!(
            "averaged {} (published, GPU: {:.2} %), summed {} (published, CPU: {:.2} %): {verdict}",
            percent(mean.accuracy()),
            100.0 * figures.gpu_accuracy,
            percent(sum.accuracy()),
            100.0 * figures.cpu_accuracy
        ));
    }
    if let (Some(mean), Some(sum)) = (find(1, Reduction::Mean), find(1, Reduction::Sum)) {
        notes.push(format!(
            "summing 256 gradients at 0.1 is a rate of 25.6: {} dead units and {}; averaged {} and {}",
            sum.dead_units,
            sum.diverged.clone().unwrap_or_else(|| percent(sum.accuracy())),
            mean.dead_units,
            percent(mean.accuracy())
        ));
    }
    notes
}
