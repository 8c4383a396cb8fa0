//! Trained networks in use, and many models at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use warpplay::Backend;
use warpplay::mlp::{Classifier, Engine, Init, Network, Options, Precision, Sweep};

use crate::measure::{Bench, Times};
use crate::output::{Table, number};

pub fn inference(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new(
        "INFERENCE, batches of 64 (wall time, the set being on the device)",
        2,
        &["kernels", "images", "us a batch min", "median", "runs"],
    );
    let engines: &[Engine] = match bench.device.backend() {
        Backend::Cpu => &[Engine::Cpu],
        _ => &[Engine::Epoch, Engine::Layers],
    };
    let one_batch = if bench.test.len() > 64 { Arc::new(bench.test.split(64)?.1) } else { Arc::clone(&bench.test) };
    let seconds = bench.seconds;
    for &engine in engines {
        let options = Options { engine, evaluate_batch: 64, ..bench.options(64) };
        let sizes = options.sizes(bench.train.n_inputs(), bench.train.n_classes());
        let network = Network::initial(&sizes, Init::HeUniform, 1)?;
        for set in [Arc::clone(&bench.test), Arc::clone(&one_batch)] {
            let timed = || -> warpplay::Result<Vec<f64>> {
                let mut classifier = Classifier::builder(&network).options(options.clone()).build(&bench.device)?;
                classifier.evaluate(&set)?;
                let (start, mut times) = (Instant::now(), Vec::new());
                while times.is_empty() || start.elapsed().as_secs_f64() < seconds {
                    times.push(classifier.evaluate(&set)?.seconds / set.len().div_ceil(64) as f64);
                }
                Ok(times)
            };
            let name = [engine.to_string(), set.len().to_string()];
            match timed().map(Times::of) {
                Ok(Some(times)) => {
                    bench.output.json(&json!({
                        "section": "inference", "engine": engine, "images": set.len(), "batch": 64, "seconds_per_batch": times,
                        "device": bench.device.to_string(),
                    }))?;
                    table.row(name.into_iter().chain(times.cells(1e-6)).collect());
                }
                Ok(None) => {}
                Err(error) => {
                    let cell = bench.refused(&error);
                    table.row(name.into_iter().chain([cell]).collect());
                }
            }
        }
    }
    table.note("Time of a batch of 64 among the row's images, with the wait for the device and the copy of the answers; the row of 64 images is the latency of one batch.".into());
    table.print(&mut bench.output)
}

pub fn sweep(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new(
        "SWEEP, models of one epoch (wall time)",
        2,
        &["models", "precision", "side by side", "seconds", "models/s", "to one"],
    );
    let many = if bench.quick { 4 } else { 64 };
    let precisions: &[Precision] = match bench.device.backend() {
        Backend::Cpu => &[Precision::F32],
        _ => &[Precision::F32, Precision::Bf16],
    };
    let mut one = None;
    for (precision, n_models) in precisions.iter().flat_map(|&precision| [(precision, 1), (precision, many)]) {
        let options = Options { epochs: 1, precision, ..bench.options(64) };
        if n_models == 1 {
            one = None;
        }
        let measured = || {
            let mut report = None;
            // The first run warms up.
            for _ in 0..2 {
                let mut builder = Sweep::builder(&bench.train).options(options.clone());
                for seed in 1..=n_models {
                    builder = builder.model(seed, 0.01);
                }
                report = Some(builder.build(&bench.device)?.run(|_| ControlFlow::Continue(()))?);
            }
            Ok::<_, warpplay::Error>(report)
        };
        match measured() {
            Ok(Some(report)) => {
                let speed = report.models_per_second;
                let ratio = speed / *one.get_or_insert(speed);
                bench.output.json(&json!({
                    "section": "sweep", "models": n_models, "precision": precision, "side_by_side": report.side_by_side, "seconds": report.seconds,
                    "models_per_second": speed, "to_one": ratio, "device": bench.device.to_string(),
                }))?;
                let side = if report.side_by_side { "yes" } else { "no" };
                let cells =
                    [precision.to_string(), side.to_string(), number(report.seconds), number(speed), number(ratio)];
                table.row([n_models.to_string()].into_iter().chain(cells).collect());
            }
            Ok(None) => {}
            Err(error) => {
                let cell = bench.refused(&error);
                table.row(vec![n_models.to_string(), precision.to_string(), cell]);
            }
        }
    }
    table.print(&mut bench.output)
}
