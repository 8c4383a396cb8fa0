//! Twelve values by every engine: 50 iterations of 13 evaluations over millions of children.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use warpplay::shogi::Row;
use warpplay::shogi::material::{Engine, Material};
use warpplay::{Backend, Device, Error, Result};

use crate::measure::Bench;
use crate::output::{Table, number, percent};
use crate::published::COPY;

/// Iterations of the job.
const ITERATIONS: u32 = 50;
/// Evaluations an iteration.
const EVALUATIONS: f64 = 13.0;
/// First values.
const INIT: [f64; 12] = [3.0; 12];
/// How far J may be from the plain program's.
const PROMISED: f64 = 1e-9;

const HEADERS: [&str; 9] = [
    "engine",
    "device",
    "threads",
    "children",
    "build s",
    "ms, 50 iterations",
    "evaluations/s",
    "times one core",
    "of 4.27 TB/s",
];

/// Bytes of children that one evaluation of all thirteen values reads.
fn bytes_each(engine: Engine) -> f64 {
    match engine {
        Engine::Persistent => 96.0,
        Engine::Plain | Engine::Fused => 8.0,
        Engine::Histogram | Engine::Auto => 0.0,
    }
}

/// What was measured of an engine.
struct Timed {
    children: u64,
    build: f64,
    seconds: f64,
    last: Option<Row>,
}

/// Builds an engine and runs the job. The CPU's is measured by its first iteration: all are alike.
fn time(bench: &Bench, device: &Device, engine: Engine, threads: Option<usize>) -> Result<Timed> {
    let start = std::time::Instant::now();
    let builder = Material::builder(bench.job()).engine(engine).init(INIT).iterations(ITERATIONS).threads(threads);
    let mut material = builder.build(device)?;
    let build = start.elapsed().as_secs_f64();
    let children = material.children();
    if device.backend() == Backend::Cuda || engine == Engine::Histogram {
        let mut last = None;
        let seconds = bench.clock(true, || {
            material.restart();
            last = material.run(|_| ControlFlow::Continue(()))?.rows.pop();
            Ok(())
        })?;
        return Ok(Timed { children, build, seconds, last });
    }
    let seconds = bench.clock(false, || material.evaluate(&INIT).map(|_| ()))?;
    Ok(Timed { children, build, seconds: seconds * f64::from(ITERATIONS + 1), last: None })
}

pub fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("TWELVE VALUES, 50 iterations of 13 evaluations", 3, &HEADERS);
    let cpu = Device::cpu();
    let mut rows = Vec::new();
    for engine in [Engine::Plain, Engine::Histogram] {
        rows.extend([(cpu.clone(), engine, Some(1)), (cpu.clone(), engine, None)]);
    }
    if let Some(device) = bench.kernels() {
        let engines = [Engine::Persistent, Engine::Plain, Engine::Fused, Engine::Histogram];
        rows.extend(engines.map(|engine| (device.clone(), engine, None)));
    }
    let mut one_core = None;
    let mut expected = None;
    for (device, engine, threads) in rows {
        bench.output.progress(&format!("{engine} on {device}"));
        let measured = time(bench, &device, engine, threads).and_then(|timed| {
            let evaluations = f64::from(ITERATIONS + 1) * EVALUATIONS * timed.children as f64 / timed.seconds;
            let one_core = *one_core.get_or_insert(evaluations);
            if let Some(row) = &timed.last {
                let expected = *expected.get_or_insert(row.j);
                if (row.j - expected).abs() > PROMISED {
                    let allowed = format!("{expected}, as the plain program's");
                    return Err(Error::option("J after the job", row.j, allowed));
                }
            }
            let passes = f64::from(ITERATIONS + 1) * timed.children as f64;
            let bandwidth = bytes_each(engine) * passes / timed.seconds;
            let cells = vec![
                number(timed.children as f64),
                number(timed.build),
                number(timed.seconds * 1e3),
                number(evaluations),
                number(evaluations / one_core),
                if device.backend() == Backend::Cuda && bandwidth > 0.0 {
                    percent(bandwidth / COPY)
                } else {
                    "-".into()
                },
            ];
            let line: Value = json!({
                "children": timed.children, "build_s": timed.build, "run_s": timed.seconds,
                "whole_run_measured": timed.last.is_some(), "evaluations_per_s": evaluations,
                "ratio_to_one_core": evaluations / one_core, "bytes_per_s": bandwidth,
                "last_j": timed.last.map(|row| row.j),
            });
            Ok((cells, line))
        });
        let (engine, device) = (engine.to_string(), device.to_string());
        let threads = match (device.as_str(), threads) {
            ("cpu", Some(1)) => "one",
            ("cpu", _) => "all",
            _ => "-",
        };
        bench.row(&mut table, "fit", &[("engine", &engine), ("device", &device), ("threads", threads)], measured)?;
    }
    table.note("the CPU's engine plain: one iteration timed, times 51 (the last state is evaluated too)".into());
    table.print(&mut bench.output)
}
