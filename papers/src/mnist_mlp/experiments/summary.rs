//! Best setting of each parameter, and what the parameter does to time and accuracy: the table of section 2.8.

use super::lab::Lab;
use super::training::Trained;
use super::vary::{Ours, PARAMETERS, by_engine, measure};
use crate::experiment::{Cell, Sheet, Stop, Table};
use crate::mnist_mlp::published;

/// Seconds and accuracy of a setting, where it was measured.
type Found = Option<(f64, f64)>;

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let mut table = Table::new("Best settings")
        .column("parameter")
        .column("whose")
        .column("fastest")
        .digits("slowest over fastest", 2)
        .column("most accurate")
        .digits("accuracy, %", 2)
        .digits("range, points", 2)
        .column("published best")
        .column("published effect on time")
        .column("published accuracy");
    let (mut of_kernels, mut engines_differ) = (Vec::new(), Vec::new());
    for parameter in &PARAMETERS {
        let found = measure(lab, parameter)?;
        if parameter.is_of_kernels {
            of_kernels.push(parameter.name);
        }
        let ours = by_engine(&found);
        if ours.len() > 1 {
            engines_differ.push(parameter.name);
        }
        let of = |run: Option<&Trained>| -> Found {
            let run = run?;
            Some((run.seconds()?, run.outcome.accuracy()?))
        };
        let published = |ours: &Ours| Some((ours.published.gpu_s, ours.published.accuracy));
        let mut all: Vec<(String, Vec<Found>)> = vec![
            ("published GPU".into(), found.iter().map(published).collect()),
            ("paper's kernels".into(), found.iter().map(|ours| of(ours.paper.as_ref())).collect()),
        ];
        // One measurement in all rows has no best setting.
        if !parameter.is_of_kernels {
            all.insert(1, ("CPU program".into(), found.iter().map(|ours| of(ours.cpu.as_ref())).collect()));
            all.extend(ours.into_iter().map(|(name, runs)| (name, runs.into_iter().map(of).collect::<Vec<Found>>())));
        }
        for (name, values) in all {
            let rows: Vec<(f64, f64, f64)> = found
                .iter()
                .zip(values)
                .filter_map(|(ours, value)| value.map(|(seconds, right)| (ours.published.value, seconds, right)))
                .collect();
            if let Some(mut cells) = row(parameter.name, &name, &rows) {
                if name == "published GPU" {
                    cells.extend(said(parameter.name).map(Cell::from));
                }
                table.row(cells);
            }
        }
    }
    let name = "evaluate";
    let mut cells: Vec<Cell> = vec![name.into(), "published GPU".into()];
    let least = published::EVALUATE.iter().min_by(|a, b| a.micros.total_cmp(&b.micros)).map(|row| row.batch);
    let most = published::EVALUATE.iter().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
    let micros = published::EVALUATE.map(|row| row.micros);
    let ratio = micros.iter().copied().fold(0.0, f64::max) / micros.iter().copied().fold(f64::INFINITY, f64::min);
    cells.extend([
        least.into(),
        ratio.into(),
        most.map(|row| row.batch.to_string()).into(),
        most.map(|row| row.accuracy).into(),
        Cell::Empty,
    ]);
    cells.extend(said(name).map(Cell::from));
    table.row(cells);
    let mut sheet = sheet.table(table).note(format!(
        "{} are parameters of the paper's kernels alone: the CPU program and ours are measured once, and have no best setting; nor is one named where all accuracies are equal. Of equal most accurate settings all are named",
        of_kernels.join(" and ")
    ));
    sheet = sheet.note(
        "rates: the work is the same at every rate; slowest over fastest is how far times of the same work differ",
    );
    if !engines_differ.is_empty() {
        sheet = sheet.note(format!(
            "ours: two engines, whose times are not comparable, train the settings of {}: a row for each, over its settings alone",
            engines_differ.join(" and ")
        ));
    }
    Ok(sheet)
}

/// Best configuration of a parameter, its effect on time and on accuracy, as section 2.8 has them; the batch is of section 2.6.
fn said(parameter: &str) -> [String; 3] {
    let [threads, sides, hidden, evaluate] = published::ACCURACIES.map(|[_, rounded]| rounded.range);
    let percent = |(low, high): (f64, f64)| format!("{low}-{high} %");
    let [small, .., large] = published::BATCHES;
    let [_, _, of_512, _] = published::QUOTED_SPEED_UPS;
    let (least, most) = published::EVALUATE_MICROS;
    let (latency, throughput) = published::EVALUATE_BEST;
    match parameter {
        "batch" => {
            let (from, to) = published::BALANCED_BATCHES;
            let accuracy = format!("{:.2} to {:.2} %", small.accuracy, large.accuracy);
            [format!("{from}-{to} (2.6)"), String::new(), accuracy]
        }
        "threads1d" => [
            format!("{} threads (default)", published::BLOCK_1D),
            format!("±{} %", published::THREADS_1D_VARIANCE),
            percent(threads),
        ],
        "threads2d" => [
            format!("{side} x {side} blocks", side = published::SIDE),
            format!("+{} % over 32 x 32", published::SIDE_GAIN),
            percent(sides),
        ],
        "hidden" => {
            let from = published::COMPUTE_BOUND_HIDDEN;
            [format!("{from} and more"), format!("{of_512}x at {from}"), percent(hidden)]
        }
        "rates" => [
            format!("{} (default)", published::LEARNING_RATE),
            String::new(),
            format!("{} % at the best", published::BEST_RATE_ACCURACY),
        ],
        _ => [
            format!("{latency} for latency, {throughput} and more for throughput"),
            format!("{least}-{most} µs a sample"),
            percent(evaluate),
        ],
    }
}

/// A row from value, seconds and accuracy of each setting; `None` for fewer than two.
fn row(parameter: &str, whose: &str, rows: &[(f64, f64, f64)]) -> Option<Vec<Cell>> {
    if rows.len() < 2 {
        return None;
    }
    let fastest = rows.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let slowest = rows.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let best = rows.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let all_best: Vec<String> = rows.iter().filter(|row| row.2 == best.2).map(|row| row.0.to_string()).collect();
    let worst = rows.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
    Some(vec![
        parameter.into(),
        whose.into(),
        fastest.0.to_string().into(),
        (slowest.1 / fastest.1).into(),
        (best.2 > worst.2).then(|| all_best.join(", ")).into(),
        best.2.into(),
        (best.2 - worst.2).into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_equal_most_accurate_settings_are_named() {
        let best = |accuracies: [f64; 3]| {
            let rows: Vec<_> = [128.0, 256.0, 0.01].into_iter().zip(accuracies).map(|(at, of)| (at, 1.0, of)).collect();
            row("threads", "ours", &rows).expect("three rows")[4].clone()
        };
        assert_eq!(best([92.5, 92.4, 92.5]), Cell::from("128, 0.01"));
        assert_eq!(best([92.4, 92.5, 92.4]), Cell::from("256"));
        assert_eq!(best([92.5; 3]), Cell::Empty);
    }
}
