//! The paper's job: 50 iterations of 13 evaluations over millions of children, by the engines of the paper and those of `warpplay`.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use warpplay::shogi::Row;
use warpplay::shogi::material::Engine;
use warpplay::{Backend, Device, Error, Result};
use warpplay_papers::shogi_bonanza::published::{CPU_SECONDS, EVALUATIONS as OF_THE_JOB, GPU_SECONDS};
use warpplay_papers::shogi_bonanza::{Job, Options, PaperEngine, Reproducible};

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

const HEADERS: [&str; 10] = [
    "engine",
    "device",
    "threads",
    "children",
    "build s",
    "ms, 50 iterations",
    "evaluations/s",
    "times their GPU",
    "times one core",
    "of 4.27 TB/s",
];

/// Bytes of children that one evaluation of all thirteen values reads.
fn bytes_each(engine: PaperEngine) -> f64 {
    match engine {
        PaperEngine::Paper => 96.0 * EVALUATIONS,
        PaperEngine::Paper95 => 95.0 * EVALUATIONS,
        PaperEngine::Warpplay(Engine::Persistent) => 96.0,
        PaperEngine::Warpplay(Engine::Plain | Engine::Fused) => 8.0,
        PaperEngine::Warpplay(_) => 0.0,
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
fn time(bench: &Bench, device: &Device, engine: PaperEngine, threads: Option<usize>) -> Result<Timed> {
    let start = std::time::Instant::now();
    let options = Options { engine, init: INIT, iterations: ITERATIONS, threads, ..Options::default() };
    let mut job = Job::new(device, &bench.job(), &options)?;
    let build = start.elapsed().as_secs_f64();
    let children = job.children();
    if device.backend() == Backend::Cuda || engine == PaperEngine::Warpplay(Engine::Histogram) {
        let mut last = None;
        let seconds = bench.clock(true, || {
            last = job.run(&options, |_| ControlFlow::Continue(()))?.pop();
            Ok(())
        })?;
        return Ok(Timed { children, build, seconds, last });
    }
    let seconds = bench.clock(false, || job.sums(&INIT, 0..12).map(|_| ()))?;
    Ok(Timed { children, build, seconds: seconds * f64::from(ITERATIONS + 1), last: None })
}

pub fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("THE PAPER'S JOB, 50 iterations of 13 evaluations", 3, &HEADERS);
    let cpu = Device::cpu();
    let mut rows = Vec::new();
    for engine in [PaperEngine::Paper, PaperEngine::Warpplay(Engine::Plain), PaperEngine::Warpplay(Engine::Histogram)] {
        rows.extend([(cpu.clone(), engine, Some(1)), (cpu.clone(), engine, None)]);
    }
    if let Some(device) = bench.kernels() {
        rows.extend(PaperEngine::ALL.iter().map(|&engine| (device.clone(), engine, None)));
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
                number(evaluations * GPU_SECONDS / OF_THE_JOB),
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
                "ratio_to_their_gpu": evaluations * GPU_SECONDS / OF_THE_JOB, "ratio_to_their_cpu": evaluations * CPU_SECONDS / OF_THE_JOB,
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
        bench.row(&mut table, "job", &[("engine", &engine), ("device", &device), ("threads", threads)], measured)?;
    }
    table.note("on the CPU: one iteration timed, times 51 (the last state is evaluated too)".into());
    table.note(
        "paper: 13 passes an iteration, each a launch of 96 threads a position; bound by the instructions".into(),
    );
    table.note("of its reductions, not by memory".into());
    table.print(&mut bench.output)
}
