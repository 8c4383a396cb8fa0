//! Every precision, engine and batch.

use std::time::Instant;

use serde_json::json;
use warpplay::azero::{Engine, Evaluation, Evaluator};
use warpplay::{Backend, Device, Precision, Result};

use crate::measure::{Bench, Times};
use crate::output::{Table, maybe, number};
use crate::published::{PYTORCH, PYTORCH_EAGER, of};

/// Largest batch that the CPU is timed at: beyond it a row would take minutes and say nothing new.
const CPU_BATCH: usize = 128;

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let headers = ["precision", "engine", "batch", "us min", "median", "positions/s", "from host us", "to PyTorch"];
    let mut table = Table::new("SPEED of the whole model", 2, &headers);
    let batches = bench.batches.clone();
    let engines: &[Engine] = match bench.has_kernels() {
        true => &[Engine::Fused, Engine::Layers],
        false => &[],
    };
    for precision in Bench::PRECISIONS {
        for &engine in engines {
            for &batch in &batches {
                bench.output.progress(&format!("{precision} {engine} batch {batch}"));
                let found = kernels(bench, precision, engine, batch);
                if row(bench, &mut table, precision, engine, batch, found)? {
                    // What is not offered at one batch is at none.
                    break;
                }
            }
        }
    }
    let cpu = Device::cpu();
    for precision in [Precision::F32, Precision::F64] {
        for threads in [Some(1), None] {
            for &batch in batches.iter().filter(|&&batch| batch <= CPU_BATCH) {
                bench.output.progress(&format!("cpu {precision} batch {batch}"));
                let builder = Evaluator::builder(&bench.network).precision(precision).max_batch(batch);
                let builder = if let Some(threads) = threads { builder.threads(threads) } else { builder };
                let found = builder.build(&cpu).and_then(|mut evaluator| {
                    let times = from_host(bench, &mut evaluator, batch)?;
                    Ok(Row { device: times, host: times })
                });
                let engine = Engine::Cpu;
                let name = if threads.is_some() { "cpu-ref, 1 thread" } else { "cpu-ref, all cores" };
                match found {
                    Ok(found) => print(bench, &mut table, precision, name, batch, &found)?,
                    Err(error) => {
                        row(bench, &mut table, precision, engine, batch, Err(error))?;
                    }
                }
            }
        }
    }
    let figures = PYTORCH.iter().map(|figure| ("PyTorch", figure)).chain([("PyTorch", &PYTORCH_EAGER)]);
    for (who, figure) in figures {
        for batch in [1, 128, 8192] {
            if let Some(seconds) = figure.seconds(batch) {
                let cells = [number(seconds * 1e6), number(batch as f64 / seconds)];
                let [us, rate] = cells;
                let name = format!("{who}: {}", figure.how);
                table.row(vec![
                    figure.precision.to_string(),
                    name,
                    batch.to_string(),
                    us.clone(),
                    us,
                    rate,
                    "-".into(),
                    "-".into(),
                ]);
            }
        }
    }
    table.note("us: device time of a call, calls back to back, positions on the device. From host: wall time of a call with both copies. To PyTorch: how many times faster than PyTorch's best on an H200.".into());
    table.print(&mut bench.output)
}

struct Row {
    device: Times,
    host: Times,
}

fn kernels(bench: &Bench, precision: Precision, engine: Engine, batch: usize) -> Result<Row> {
    let mut ready = bench.ready(&bench.network, precision, engine, batch)?;
    let device = ready.times(bench.seconds)?;
    let host = from_host(bench, &mut ready.evaluator, batch)?;
    Ok(Row { device, host })
}

/// Wall seconds of calls with positions in host memory.
fn from_host(bench: &Bench, evaluator: &mut Evaluator, batch: usize) -> Result<Times> {
    let (observations, masks) = bench.positions.first(batch);
    let (mut found, mut times) = (Evaluation::default(), Vec::new());
    evaluator.evaluate_into(&observations, &masks, &mut found)?;
    let begun = Instant::now();
    while times.is_empty() || begun.elapsed().as_secs_f64() < bench.seconds {
        let call = Instant::now();
        evaluator.evaluate_into(&observations, &masks, &mut found)?;
        times.push(call.elapsed().as_secs_f64());
    }
    Ok(Times::of(times).unwrap_or(Times { min: f64::NAN, median: f64::NAN, n: 0 }))
}

/// Adds a row; returns whether the choice is not offered.
fn row(
    bench: &mut Bench,
    table: &mut Table,
    precision: Precision,
    engine: Engine,
    batch: usize,
    found: Result<Row>,
) -> anyhow::Result<bool> {
    match found {
        Ok(found) => {
            print(bench, table, precision, &engine.to_string(), batch, &found)?;
            Ok(false)
        }
        Err(error) => {
            let cell = bench.refused(&error);
            table.row(vec![precision.to_string(), engine.to_string(), batch.to_string(), cell]);
            Ok(true)
        }
    }
}

fn print(
    bench: &mut Bench,
    table: &mut Table,
    precision: Precision,
    name: &str,
    batch: usize,
    row: &Row,
) -> anyhow::Result<()> {
    let seconds = row.device.median;
    let ratio = |figures| of(figures, precision).and_then(|figure| Some(figure.seconds(batch)? / seconds));
    let gpu = bench.device.backend() == Backend::Cuda && !name.starts_with("cpu");
    let pytorch = if gpu { ratio(&PYTORCH) } else { None };
    let rate = batch as f64 / seconds;
    bench.output.json(&json!({
        "section": "speed", "precision": precision, "engine": name, "batch": batch, "seconds": row.device, "from_host_seconds": row.host,
        "positions_per_second": rate, "to_pytorch": pytorch, "device": bench.device.to_string(),
    }))?;
    let us = |seconds: f64| number(seconds * 1e6);
    table.row(vec![
        precision.to_string(),
        name.to_string(),
        batch.to_string(),
        us(row.device.min),
        us(seconds),
        number(rate),
        us(row.host.median),
        maybe(pytorch),
    ]);
    Ok(())
}
