//! Networks of convolutions: whole epochs, and the test set.

use serde_json::json;
use warpplay::Backend;
use warpplay::mlp::conv::{ConvOptions, ConvTrainer};

use crate::measure::{Bench, Times, stopwatch};
use crate::output::{Table, number};

/// Times of an epoch without its evaluation, and of an evaluation of the test set.
struct Timed {
    epoch: Times,
    test: Times,
}

pub fn conv(bench: &mut Bench) -> anyhow::Result<()> {
    if bench.device.backend() == Backend::Simt {
        return bench.output.text("\nCONV is left out: an epoch takes minutes where kernels are played on the CPU.\n");
    }
    let title = "CONV, networks of convolutions, an epoch and the test set (wall time)";
    let mut table =
        Table::new(title, 2, &["channels", "batch", "ms min", "median", "epochs", "samples/s", "test, ms min"]);
    let large = vec![vec![32, 32], vec![64, 64]];
    let networks = if bench.quick { vec![vec![vec![8], vec![8]]] } else { vec![vec![vec![16], vec![32]], large] };
    for blocks in networks {
        for batch in [128, 512] {
            let options = ConvOptions { blocks: blocks.clone(), batch, epochs: 1_000_000, ..ConvOptions::default() };
            let name = [format!("{blocks:?}"), batch.to_string()];
            bench.output.progress(&format!("convolutions {blocks:?} batch {batch} on {}", bench.device));
            match timed(bench, options) {
                Ok(Some(Timed { epoch, test })) => {
                    let rate = bench.train.len() as f64 / epoch.min;
                    bench.output.json(&json!({
                        "section": "conv", "blocks": blocks, "batch": batch, "samples": bench.train.len(), "seconds": epoch, "test_samples": bench.test.len(),
                        "test_seconds": test, "device": bench.device.to_string(), "device_name": bench.device.name(),
                    }))?;
                    let cells = epoch.cells(1e-3).into_iter().chain([number(rate), number(test.min / 1e-3)]);
                    table.row(name.into_iter().chain(cells).collect());
                }
                Ok(None) => {}
                Err(error) => {
                    let cell = bench.refused(&error);
                    table.row(name.into_iter().chain([cell]).collect());
                }
            }
        }
    }
    table.print(&mut bench.output)
}

/// Trains for the time of a row, at least two epochs, of which the first is not timed.
fn timed(bench: &Bench, options: ConvOptions) -> warpplay::Result<Option<Timed>> {
    let builder = ConvTrainer::builder(&bench.train).options(options).test(&bench.test);
    let mut trainer = builder.build(&bench.device)?;
    let mut watch = stopwatch(bench.seconds);
    let report = trainer.run(|progress| watch(progress.latest.is_some()))?;
    let of = |seconds: fn(&warpplay::mlp::EpochReport) -> f64| {
        Times::of(report.epochs.iter().skip(1).map(seconds).collect())
    };
    Ok(of(|epoch| epoch.seconds).zip(of(|epoch| epoch.evaluation_seconds)).map(|(epoch, test)| Timed { epoch, test }))
}
