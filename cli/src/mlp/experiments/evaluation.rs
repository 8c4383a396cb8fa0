//! Time of evaluation against the samples evaluated at once.

use anyhow::{Result, ensure};
use serde_json::json;
use warpplay::Device;
use warpplay::mlp::{Classifier, Evaluation, Execution, Options};

use super::lab::{Lab, Way};
use super::record::Table;
use crate::mlp::check;
use crate::mlp::table::percent;

/// Evaluations of which the fastest counts.
const REPEATS: usize = 5;

/// The source's values.
const BATCHES: [u32; 3] = [64, 256, 512];

/// The table.
pub fn table(lab: &mut Lab<'_>) -> Result<Option<Table>> {
    // Any trained network will do; the fastest way to one is taken.
    let way = if lab.kernels.is_some() { Way::Fast } else { Way::CpuAll };
    let Some(trained) = lab.run(way, &lab.base())? else { return Ok(None) };
    let mut ways = vec![(Way::Cpu, "CPU 1 thread", Device::cpu(), Execution::Auto)];
    if let Some(device) = lab.kernels_for("evaluation by kernels") {
        ways.push((Way::Paper, "source's kernels", device.clone(), Execution::Paper));
        ways.push((Way::Fast, "ours", device, Execution::Auto));
    }
    let mut table = Table::new(
        "evaluate",
        "Samples evaluated at once",
        &["evaluate_batch", "way", "seconds", "µs a sample", "accuracy", "right"],
    );
    table.parameter = Some("evaluate_batch");
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for batch in BATCHES {
        for (way, name, device, execution) in &ways {
            let options = Options { evaluate_batch: batch, execution: *execution, ..Options::default() };
            let mut classifier = Classifier::with_options(device, &trained.network, &options)?;
            let mut best: Option<Evaluation> = None;
            for _ in 0..REPEATS {
                let found = one_thread.install(|| classifier.evaluate(&lab.test))?;
                check::evaluation(&found)?;
                if let Some(before) = &best {
                    ensure!(found.confusion == before.confusion, "check failed: two evaluations differ");
                }
                if best.as_ref().is_none_or(|best| found.seconds < best.seconds) {
                    best = Some(found);
                }
            }
            let Some(found) = best else { continue };
            let micros = 1e6 * found.seconds / found.total as f64;
            table.rows.push(vec![
                batch.to_string(),
                (*name).to_string(),
                format!("{:.5}", found.seconds),
                format!("{micros:.4}"),
                percent(Some(found.accuracy)),
                found.correct.to_string(),
            ]);
            table.values.push(json!({
                "evaluate_batch": batch,
                "way": way,
                "seconds": found.seconds,
                "microseconds_a_sample": micros,
                "accuracy": found.accuracy,
                "correct": found.correct,
            }));
        }
    }
    Ok(Some(table))
}
