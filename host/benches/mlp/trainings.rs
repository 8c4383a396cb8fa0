//! Whole epochs: engines side by side, large batches, and data from the host.

use serde_json::json;
use warpplay::mlp::{Engine, Optimizer, Options, Precision, Residence};
use warpplay::{Backend, Device};

use crate::measure::{Bench, Trained};
use crate::output::{Table, maybe, percent};
use crate::published::{EXCHANGE, FLOPS};

const HEADERS: [&str; 9] =
    ["what", "device", "ms min", "median", "epochs", "of FLOP floor", "of exchange floor", "transfers", "samples/s"];

/// One training of a table.
struct Row {
    name: String,
    device: Device,
    options: Options,
    threads: Option<usize>,
    test: bool,
}

pub fn epoch(bench: &mut Bench) -> anyhow::Result<()> {
    let (base, device) = (bench.options(64), bench.device.clone());
    let row = |name: &str, options: Options| Row {
        name: name.into(),
        device: device.clone(),
        options,
        threads: None,
        test: false,
    };
    let with = |engine| Options { engine, ..base.clone() };
    let mut rows = Vec::new();
    if device.backend() != Backend::Cpu {
        let by = |name, engine| -> anyhow::Result<Options> {
            Ok(Options { optimizer: Optimizer::from_name(name)?, learning_rate: 0.001, ..with(engine) })
        };
        rows.push(row("epoch, SGD", with(Engine::Epoch)));
        rows.push(Row { test: true, ..row("epoch, SGD, test set each epoch", with(Engine::Epoch)) });
        rows.push(row("layers, SGD", with(Engine::Layers)));
        rows.push(Row { test: true, ..row("layers, SGD, test set each epoch", with(Engine::Layers)) });
        for (name, optimizer) in [("momentum", "momentum"), ("Adam", "adam")] {
            for engine in [Engine::Epoch, Engine::Layers] {
                rows.push(row(&format!("{engine}, {name}"), by(optimizer, engine)?));
            }
        }
        let precision = Precision::Bf16;
        for engine in [Engine::Epoch, Engine::Layers] {
            rows.push(row(&format!("{engine}, SGD, bf16"), Options { precision, ..with(engine) }));
            rows.push(row(&format!("{engine}, Adam, bf16"), Options { precision, ..by("adam", engine)? }));
        }
        for engine in [Engine::Epoch, Engine::Layers] {
            rows.push(row(&format!("{engine}, SGD with decay"), Options { weight_decay: 1e-4, ..with(engine) }));
        }
        for batch in [128, 256].map(|batch| bench.options(batch).batch) {
            for engine in [Engine::Epoch, Engine::Layers] {
                rows.push(row(&format!("{engine}, SGD, batch {batch}"), Options { batch, ..with(engine) }));
                rows.push(row(&format!("{engine}, Adam, batch {batch}"), Options { batch, ..by("adam", engine)? }));
                let what = format!("{engine}, Adam, bf16, batch {batch}");
                rows.push(row(&what, Options { batch, precision, ..by("adam", engine)? }));
            }
        }
    }
    if device.backend() == Backend::Cuda {
        rows.extend(both_engines(
            bench,
            &device,
            &[
                (&[512], [&[64, 256], &[64, 192, 256]]),
                (&[256, 256], [&[64, 128, 192], &[64, 128, 192]]),
                (&[512, 512], [&[64, 128, 192], &[64, 128, 192]]),
            ],
        )?);
    }
    for (name, threads) in [("cpu-ref, 1 thread", Some(1)), ("cpu-ref, all cores", None)] {
        rows.push(Row { device: Device::cpu(), threads, ..row(name, with(Engine::Cpu)) });
    }
    table(bench, "epoch", "EPOCH, batch 64 unless the row says otherwise (wall time)", rows)
}

/// Hidden units, and batches in f32 and in bf16.
type Setting = (&'static [u32], [&'static [u32]; 2]);

/// Rows of both engines by SGD and Adam.
fn both_engines(bench: &Bench, device: &Device, settings: &[Setting]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &(hidden, [single, short]) in settings {
        let units = hidden.iter().map(u32::to_string).collect::<Vec<_>>().join("-");
        let batches = single.iter().map(|&batch| (batch, Precision::F32));
        for (batch, precision) in batches.chain(short.iter().map(|&batch| (batch, Precision::Bf16))) {
            for (name, optimizer, learning_rate) in [("SGD", "sgd", 0.01), ("Adam", "adam", 0.001)] {
                let optimizer = Optimizer::from_name(optimizer)?;
                for engine in [Engine::Epoch, Engine::Layers] {
                    let hidden = hidden.to_vec();
                    rows.push(Row {
                        name: format!("{engine}, {units} units, {name}, {precision}, batch {batch}"),
                        device: device.clone(),
                        options: Options {
                            hidden,
                            precision,
                            optimizer,
                            learning_rate,
                            engine,
                            ..bench.options(batch)
                        },
                        threads: None,
                        test: false,
                    });
                }
            }
        }
    }
    Ok(rows)
}

/// Both engines as GPUs of compute capability 8.0 train: no clusters, no instructions of a warpgroup.
pub fn epoch80(bench: &mut Bench) -> anyhow::Result<()> {
    if bench.device.backend() != Backend::Cuda {
        return bench.output.text("\nEPOCH80 is left out: no GPU runs the kernels.\n");
    }
    let rows = both_engines(
        bench,
        &bench.device.with_capability(8, 0)?,
        &[
            (&[256], [&[64, 128, 256], &[64, 128, 256]]),
            (&[512], [&[64, 192], &[64, 192]]),
            (&[256, 256], [&[64, 192], &[64, 192]]),
            (&[512, 512], [&[64, 192], &[64, 192]]),
        ],
    )?;
    table(bench, "epoch80", "EPOCH80, both engines as GPUs of compute capability 8.0 train (wall time)", rows)
}

pub fn batch8192(bench: &mut Bench) -> anyhow::Result<()> {
    let device = bench.device.clone();
    if device.backend() == Backend::Cpu {
        return bench.output.text("\nBATCH 8192 is left out: no kernels are run.\n");
    }
    let rows = [Precision::F32, Precision::Tf32, Precision::Bf16, Precision::F16].map(|precision| Row {
        name: format!("layers, {precision}"),
        device: device.clone(),
        options: Options { precision, engine: Engine::Layers, ..bench.options(8192) },
        threads: None,
        test: false,
    });
    let title = format!("BATCH {} (wall time)", bench.options(8192).batch);
    table(bench, "batch8192", &title, rows.into())
}

pub fn stream(bench: &mut Bench) -> anyhow::Result<()> {
    let device = bench.device.clone();
    if device.backend() == Backend::Cpu {
        return bench.output.text("\nSTREAM is left out: nothing is copied to a CPU.\n");
    }
    let mut rows = Vec::new();
    for stream in [Residence::Device, Residence::Host] {
        let options = Options { engine: Engine::Layers, stream, ..bench.options(64) };
        rows.push(Row {
            name: format!("layers, {stream}"),
            device: device.clone(),
            options,
            threads: None,
            test: false,
        });
    }
    table(bench, "stream", "STREAM, batch 64, data on the device or in host memory (wall time)", rows)
}

fn table(bench: &mut Bench, section: &str, title: &str, rows: Vec<Row>) -> anyhow::Result<()> {
    let mut table = Table::new(title, 2, &HEADERS);
    for row in rows {
        let name = [row.name.clone(), row.device.to_string()];
        match bench.train(&row.device, &row.options, row.threads, row.test) {
            Ok(trained) => {
                let cells = figures(bench, section, &row, &trained)?;
                table.row(name.into_iter().chain(cells).collect());
            }
            Err(error) => {
                let cell = bench.refused(&error);
                table.row(name.into_iter().chain([cell]).collect());
            }
        }
    }
    table.note("Floors hold for an H200: operations over the measured 51 TFLOP/s (f32) or 794 TFLOP/s (16 bits), and 1.15 us an exchange a step.".into());
    table.print(&mut bench.output)
}

fn figures(bench: &mut Bench, section: &str, row: &Row, trained: &Trained) -> anyhow::Result<Vec<String>> {
    let times = if row.test { trained.with_test } else { trained.epochs };
    let (n, sizes) = (bench.train.len() as f64, row.options.sizes(bench.train.n_inputs(), bench.train.n_classes()));
    // Forward and dW of every layer, dX of all but the first: two operations a weight each.
    let per_sample: f64 = sizes
        .windows(2)
        .enumerate()
        .map(|(layer, pair)| f64::from(pair[0]) * f64::from(pair[1]) * if layer == 0 { 4.0 } else { 6.0 })
        .sum();
    let on_gpu = row.device.backend() == Backend::Cuda;
    let ceiling = match row.options.precision {
        Precision::F32 => Some(FLOPS.0),
        Precision::Bf16 | Precision::F16 => Some(FLOPS.1),
        Precision::Tf32 | Precision::F64 | Precision::E4m3 | Precision::I16 => None,
    };
    let of_flops = ceiling.filter(|_| on_gpu).map(|ceiling| n * per_sample / ceiling / times.min);
    let steps = (n / f64::from(row.options.batch)).ceil();
    // 64 samples are multiplied at once, and exchanged.
    let parts = f64::from(row.options.batch.div_ceil(64));
    // Of more units, or two hidden layers, the blocks are no cluster, and their exchange has no such floor.
    let is_cluster = matches!(row.options.hidden[..], [n_hidden] if n_hidden <= 256);
    let of_exchange =
        (on_gpu && is_cluster && trained.engine == Engine::Epoch).then(|| steps * parts * EXCHANGE / times.min);
    bench.output.json(&json!({
        "section": section, "what": row.name, "device": row.device.to_string(), "device_name": row.device.name(),
        "engine": trained.engine, "precision": row.options.precision, "batch": row.options.batch, "hidden": row.options.hidden,
        "optimizer": row.options.optimizer, "threads": row.threads, "test_each_epoch": row.test, "samples": bench.train.len(),
        "seconds": times, "of_flop_floor": of_flops, "of_exchange_floor": of_exchange, "transfer_share": trained.transfer_share,
    }))?;
    let share = |x: Option<f64>| x.map_or_else(|| "-".to_string(), percent);
    let shares = [share(of_flops), share(of_exchange), share(trained.transfer_share), maybe(Some(n / times.median))];
    Ok(times.cells(1e-3).into_iter().chain(shares).collect())
}
