//! Time of evaluation against the samples evaluated at once.

use std::sync::Arc;

use serde_json::json;
use warpplay::mlp::{Classifier, Dataset, Evaluation, Network};
use warpplay::{Device, Error, Result};

use super::lab::{Lab, Way};
use super::record::{Table, percent};
use crate::mnist_mlp::{Options, Program};

/// Evaluations of which the fastest counts.
const REPEATS: usize = 5;

/// The source's values.
const BATCHES: [u32; 3] = [64, 256, 512];

/// The table.
pub(super) fn table(lab: &mut Lab<'_>) -> Result<Option<Table>> {
    // Any trained network will do; the fastest way to one is taken.
    let way = if lab.kernels.is_some() { Way::Fast } else { Way::CpuAll };
    let Some(trained) = lab.run(way, &lab.base())? else { return Ok(None) };
    let mut ways = vec![(Way::Cpu, Device::cpu())];
    if let Some(device) = lab.kernels_for("evaluation by kernels") {
        ways.extend([(Way::Paper, device.clone()), (Way::Fast, device)]);
    }
    let mut table = Table::new(
        "evaluate",
        "Samples evaluated at once",
        &["evaluate_batch", "way", "seconds", "µs a sample", "accuracy", "right"],
    );
    table.parameter = Some("evaluate_batch");
    for batch in BATCHES {
        for (way, device) in &ways {
            let mut best: Option<Evaluation> = None;
            for found in evaluations(*way, device, &trained.network, batch, &lab.test)? {
                if best.as_ref().is_some_and(|before| found.confusion != before.confusion) {
                    return Err(Error::shape(
                        "confusion matrix of a second evaluation",
                        "that of the first",
                        "another",
                    ));
                }
                if best.as_ref().is_none_or(|best| found.seconds < best.seconds) {
                    best = Some(found);
                }
            }
            let Some(found) = best else { continue };
            let micros = 1e6 * found.seconds / found.total as f64;
            table.rows.push(vec![
                batch.to_string(),
                way.name().to_string(),
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

/// The same evaluation several times.
fn evaluations(
    way: Way,
    device: &Device,
    network: &Network,
    batch: u32,
    test: &Arc<Dataset>,
) -> Result<Vec<Evaluation>> {
    if way == Way::Paper {
        let options = Options { evaluate_batch: batch, ..Options::default() };
        let mut program = Program::classifier(device, network, &options)?;
        return (0..REPEATS).map(|_| program.evaluate(test)).collect();
    }
    let threads = (way == Way::Cpu).then_some(1);
    let mut classifier = Classifier::builder(network).evaluate_batch(batch).threads(threads).build(device)?;
    (0..REPEATS).map(|_| classifier.evaluate(test)).collect()
}
