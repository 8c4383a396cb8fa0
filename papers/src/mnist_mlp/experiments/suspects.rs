//! What the accuracy gap does not come from: order and type of the sums, form of the softmax, single precision.

use serde_json::json;
use warpplay::Result;

use super::lab::{Lab, Run, Way};
use super::published::Figures;
use super::record::{Setting, Table, or_dash, percent};
use crate::mnist_mlp::{Accumulate, ColumnSums, Forms, Matmul, Options, SoftmaxForm};

/// The table.
pub(super) fn table(lab: &mut Lab<'_>) -> Result<Table> {
    let mut table = Table::new(
        "suspects",
        "The suspects: each form of the paper's kernels, several times",
        &["form", "trainings", "loss", "spread", "accuracy", "spread", "against the first row"],
    );
    let form = |forms: Forms| Options { forms, ..lab.base() };
    let of = Forms::default();
    let mut forms = vec![
        ("tree sums, fused softmax, f32", Way::Paper, form(of)),
        ("atomic column sums", Way::Paper, form(Forms { column_sums: ColumnSums::Atomic, ..of })),
        ("column sums by warp shuffles", Way::Paper, form(Forms { column_sums: ColumnSums::Warp, ..of })),
        ("softmax and gradient apart", Way::Paper, form(Forms { softmax: SoftmaxForm::Separate, ..of })),
        ("plain product", Way::Paper, form(Forms { matmul: Matmul::Plain, ..of })),
        ("sums in f64", Way::Paper, form(Forms { accumulate: Accumulate::F64, ..of })),
    ];
    forms.push(("CPU, f32 throughout", Way::CpuAll, lab.base()));
    forms.push(("CPU, f64 throughout", Way::CpuDouble, lab.base()));
    let mut first: Option<f64> = None;
    for (name, way, options) in forms {
        // The CPU's result is the same each time by construction.
        let repeats = if way == Way::Paper { lab.plan.repeats } else { 1 };
        let mut runs = Vec::new();
        for number in 0..repeats {
            runs.extend(lab.run_number(way, &options, number)?);
        }
        if runs.is_empty() {
            continue;
        }
        let losses: Vec<f64> = runs.iter().filter_map(Run::loss).collect();
        let accuracies: Vec<f64> = runs.iter().filter_map(Run::accuracy).collect();
        let (loss, accuracy) = (mean(&losses), mean(&accuracies));
        let against = accuracy.zip(first).map(|(accuracy, first)| accuracy - first);
        first = first.or(accuracy);
        table.rows.push(vec![
            name.to_string(),
            runs.len().to_string(),
            or_dash(loss, |loss| format!("{loss:.8}")),
            or_dash(spread(&losses), |spread| format!("{spread:.1e}")),
            percent(accuracy),
            or_dash(spread(&accuracies), |spread| format!("{:.3} points", 100.0 * spread)),
            or_dash(against, |against| format!("{:+.3} points", 100.0 * against)),
        ]);
        table.values.push(json!({
            "form": name,
            "trainings": runs.len(),
            "loss": loss,
            "loss_spread": spread(&losses),
            "accuracy": accuracy,
            "accuracy_spread": spread(&accuracies),
            "accuracy_against_first": against,
        }));
        table.runs.extend(runs.into_iter().map(|run| Setting { label: name.to_string(), value: None, run }));
    }
    let largest = table.values.iter().filter_map(|value| value["accuracy_against_first"].as_f64()).map(f64::abs);
    if let Some(largest) = largest.reduce(f64::max) {
        let figures = Figures::default();
        let gap = figures.cpu_accuracy - figures.gpu_accuracy;
        table.notes.push(format!(
            "the largest difference is {:.3} points; the published gap is {:.2} points",
            100.0 * largest,
            100.0 * gap
        ));
    }
    Ok(table)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Largest less smallest, of at least two.
fn spread(values: &[f64]) -> Option<f64> {
    let largest = values.iter().copied().reduce(f64::max)?;
    let least = values.iter().copied().reduce(f64::min)?;
    (values.len() > 1).then_some(largest - least)
}
