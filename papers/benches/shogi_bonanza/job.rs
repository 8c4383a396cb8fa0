//! The paper's job: 50 iterations of 13 evaluations over millions of children, by its own forms and by the engines of `warpplay`.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use warpplay::shogi::Row;
use warpplay::shogi::material::Engine;
use warpplay::{Backend, Device, Error, Result};
use warpplay_papers::shogi_bonanza::published::{CPU_SECONDS, EVALUATIONS as OF_THE_JOB, GPU_SECONDS};
use warpplay_papers::shogi_bonanza::{Form, Job, Options, Reproducible};

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
    "form",
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
fn bytes_each(form: Form) -> f64 {
    match form {
        Form::Paper => 96.0 * EVALUATIONS,
        Form::Paper95 => 95.0 * EVALUATIONS,
        Form::Engine(Engine::Persistent) => 96.0,
        Form::Engine(Engine::Plain | Engine::Fused) => 8.0,
        Form::Engine(_) => 0.0,
    }
}

/// What was measured of a form.
struct Timed {
    children: u64,
    build: f64,
    seconds: f64,
    last: Option<Row>,
}

/// Builds a form and runs the job. The CPU's is measured by its first iteration: all are alike.
fn time(bench: &Bench, device: &Device, form: Form, threads: Option<usize>) -> Result<Timed> {
    let start = std::time::Instant::now();
    let options = Options { form, init: INIT, iterations: ITERATIONS, threads, ..Options::default() };
    let mut job = Job::new(device, &bench.job(), &options)?;
    let build = start.elapsed().as_secs_f64();
    let children = job.children();
    if device.backend() == Backend::Cuda || form == Form::Engine(Engine::Histogram) {
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
    for form in [Form::Paper, Form::Engine(Engine::Plain), Form::Engine(Engine::Histogram)] {
        rows.extend([(cpu.clone(), form, Some(1)), (cpu.clone(), form, None)]);
    }
    if let Some(device) = bench.kernels() {
        rows.extend(Form::ALL.iter().map(|&form| (device.clone(), form, None)));
    }
    let mut one_core = None;
    let mut expected = None;
    for (device, form, threads) in rows {
        bench.output.progress(&format!("{form} on {device}"));
        let measured = time(bench, &device, form, threads).and_then(|timed| {
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
            let bandwidth = bytes_each(form) * passes / timed.seconds;
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
        let (form, device) = (form.to_string(), device.to_string());
        let threads = match (device.as_str(), threads) {
            ("cpu", Some(1)) => "one",
            ("cpu", _) => "all",
            _ => "-",
        };
        bench.row(&mut table, "job", &[("form", &form), ("device", &device), ("threads", threads)], measured)?;
    }
    table.note("the CPU's forms of children: one iteration timed, times 51 (the last state is evaluated too)".into());
    table.note(
        "paper: 13 passes an iteration, each a launch of 96 threads a position; bound by the instructions".into(),
    );
    table.note("of its reductions, not by memory".into());
    table.print(&bench.output)
}
