//! Best setting of each parameter, and what the parameter does to time and accuracy.

use super::lab::{Run, Way};
use super::record::{Setting, Table, percent};

/// The table; `None` where no parameter was varied.
pub(super) fn table(tables: &[Table]) -> Option<Table> {
    let mut summary = Table::new(
        "summary",
        "Best setting of each parameter, and its effect",
        &["parameter", "way", "fastest", "effect on time", "most accurate", "effect on accuracy"],
    );
    for table in tables {
        let Some(parameter) = table.parameter else { continue };
        for (way, name) in [(Way::Cpu, "CPU 1 thread"), (Way::Paper, "paper's kernels"), (Way::Fast, "ours")] {
            let runs: Vec<&Setting> = table.runs.iter().filter(|setting| setting.run.way == way).collect();
            if let Some(row) = row(parameter, name, &runs) {
                summary.rows.push(row);
            }
        }
    }
    (!summary.rows.is_empty()).then_some(summary)
}

/// A row from the trainings of one way; `None` for fewer than two.
fn row(parameter: &str, way: &str, runs: &[&Setting]) -> Option<Vec<String>> {
    let pairs = |value: fn(&Run) -> Option<f64>| {
        let mut pairs: Vec<(f64, f64)> =
            runs.iter().filter_map(|setting| Some((setting.value?, value(&setting.run)?))).collect();
        pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
        pairs
    };
    let (times, accuracies) = (pairs(Run::whole_seconds), pairs(Run::accuracy));
    if times.len() < 2 || accuracies.len() < 2 {
        return None;
    }
    let ((fastest, least), (_, most)) = (times[0], times[times.len() - 1]);
    let ((_, worst), (best_setting, best)) = (accuracies[0], accuracies[accuracies.len() - 1]);
    Some(vec![
        parameter.to_string(),
        way.to_string(),
        fastest.to_string(),
        format!("{:.2}x", most / least),
        format!("{best_setting} ({})", percent(Some(best))),
        format!("{:.2} points", 100.0 * (best - worst)),
    ])
}
