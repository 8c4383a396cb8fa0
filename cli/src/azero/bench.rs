//! `bench`: how fast a network evaluates. The table beside PyTorch's and the figures of others is `cargo bench --bench azero`.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;
use warpplay::azero::checkers::Checkers;
use warpplay::azero::{Engine, Evaluator, EvaluatorOptions, Inputs, Network, Outputs, Positions};
use warpplay::mcts::Game;
use warpplay::{Backend, Device, Precision};
use warpplay_gpu::split_mix;

use crate::azero::args::BenchArgs;
use crate::azero::flags::BenchFlags;
use crate::azero::network;
use crate::azero::print::repeated;
use crate::common;
use crate::common::table::{Table, significant, thousands};

/// Most calls before the device is waited for, where data is resident.
const CALLS: usize = 32;

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    lines: &'a [Line],
    weights: Cow<'a, str>,
    device: String,
    device_name: String,
}

/// One measurement; times of a call in seconds.
#[derive(Serialize)]
struct Line {
    precision: Precision,
    engine: String,
    batch: usize,
    /// Positions and results in device memory, calls one after the other; none on the CPU back end.
    resident: Option<Times>,
    /// Positions and results in host memory.
    with_copies: Times,
    positions_per_second: f64,
    /// Calls with copies that took two engines: numbers were too large for the first. Resident calls take the first alone.
    repeated_batches: u64,
}

#[derive(Clone, Copy, Serialize)]
struct Times {
    min: f64,
    median: f64,
    samples: usize,
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(
        &[("--weights", args.weights.path().as_deref())],
        &[("--json", args.output.json.as_deref())],
        &[],
    )?;
    let json = args.output.json_file()?;
    let device = args.device.open()?;
    let (batches, precisions) = chosen(&args.bench, device.backend());
    batches.iter().try_for_each(|&batch| network::check_batch(batch))?;
    let network = args.weights.load(args.output.quiet)?;
    let most = batches.iter().copied().max().unwrap_or(1);
    let positions = Positions::of_checkers(&distinct_positions(most), network.observation());
    args.output.print(format!("{} ({})\n\n{}", device.backend(), device.name(), table().head()))?;
    let mut lines = Vec::new();
    for &engine in &args.bench.engine {
        for &precision in &precisions {
            for &batch in &batches {
                if common::interrupted() {
                    break;
                }
                let line = measure(&args.bench, &device, &network, &positions, (precision, engine, batch))?;
                args.output.print(text(&line))?;
                lines.push(line);
            }
        }
    }
    if let Some(json) = json {
        let facts = Facts {
            lines: &lines,
            weights: args.weights.name(),
            device: device.backend().to_string(),
            device_name: device.name(),
        };
        json.write_json(&common::Record::new("azero bench", facts))?;
    }
    Ok(())
}

/// Batches and precisions, with what is usual where none are given.
fn chosen(flags: &BenchFlags, backend: Backend) -> (Vec<usize>, Vec<Precision>) {
    use Precision::{Bf16, F16, F32, F64, Tf32};
    let (batches, precisions): (&[usize], &[Precision]) = match backend {
        Backend::Cuda => (&[1, 128, 8192], &[F32, Tf32, Bf16, F16]),
        Backend::Cpu => (&[1, 32], &[F32, F64]),
        _ => (&[1], &[F32]),
    };
    let or = |given: &Vec<usize>| if given.is_empty() { batches.to_vec() } else { given.clone() };
    (or(&flags.batch), if flags.precision.is_empty() { precisions.to_vec() } else { flags.precision.clone() })
}

/// Positions of random games, no two alike as far as they go.
fn distinct_positions(n: usize) -> Vec<Checkers> {
    let mut seen = std::collections::HashSet::new();
    let mut positions = Vec::with_capacity(n);
    let mut n_drawn = 0;
    let mut below = |n: u32| {
        let bits = split_mix::element(1, n_drawn);
        n_drawn += 1;
        // The upper bits choose.
        (((bits >> 32) * u64::from(n)) >> 32) as u32
    };
    while positions.len() < n {
        let mut position = Checkers::new();
        while positions.len() < n && !position.outcome().is_over() {
            if seen.insert(position) {
                positions.push(position);
            }
            position.apply(position.nth_playout_action(below(position.n_playout_actions())));
        }
    }
    positions
}

fn measure(
    flags: &BenchFlags,
    device: &Device,
    network: &Network,
    positions: &Positions,
    (precision, engine, batch): (Precision, Engine, usize),
) -> Result<Line> {
    let options = EvaluatorOptions { precision, engine, max_batch: batch, threads: flags.threads.threads };
    let mut evaluator = network::open(device, network, options)?;
    let (observations, masks) = positions.chunks(batch).next().unwrap_or_default();
    let mut into = evaluator.evaluate(observations, masks)?;
    anyhow::ensure!(into.values.len() == batch, "check failed: {} values of {batch}", into.values.len());
    let with_copies = timed(flags.seconds, 1, || Ok(evaluator.evaluate_into(observations, masks, &mut into)?))?;
    let resident = match device.backend() {
        Backend::Cpu => None,
        _ => Some(resident(flags.seconds, device, &mut evaluator, observations, masks, batch)?),
    };
    let best = resident.unwrap_or(with_copies);
    let engine = evaluator.engine().to_string();
    let (positions_per_second, repeated_batches) = (batch as f64 / best.median, evaluator.repeated_batches());
    Ok(Line { precision, engine, batch, resident, with_copies, positions_per_second, repeated_batches })
}

/// Calls whose positions and results stay on the device.
fn resident(
    seconds: f64,
    device: &Device,
    evaluator: &mut Evaluator,
    observations: &[f32],
    masks: &[u8],
    batch: usize,
) -> Result<Times> {
    let stream = device.stream()?;
    let mut inputs = Inputs::new(&stream, evaluator.shape(), batch)?;
    let mut outputs = Outputs::new(&stream, evaluator.shape(), batch)?;
    stream.write(&mut inputs.observations, 0, observations)?;
    stream.write(&mut inputs.masks, 0, masks)?;
    let calls = if device.backend() == Backend::Cuda { CALLS } else { 1 };
    timed(seconds, calls, || {
        for _ in 0..calls {
            evaluator.enqueue(&stream, &inputs, batch, &mut outputs)?;
        }
        Ok(stream.synchronize()?)
    })
}

/// Times of a call out of `calls`, for so many seconds and three samples at least, after a tenth of that for warming up.
fn timed(seconds: f64, calls: usize, mut work: impl FnMut() -> Result<()>) -> Result<Times> {
    let warm = Instant::now();
    work()?;
    while warm.elapsed() < Duration::from_secs_f64(0.1 * seconds) {
        work()?;
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while (times.len() < 3 || start.elapsed() < Duration::from_secs_f64(seconds)) && !common::interrupted() {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() / calls as f64);
    }
    anyhow::ensure!(!times.is_empty(), "interrupted before anything was measured");
    times.sort_by(f64::total_cmp);
    Ok(Times { min: times[0], median: times[times.len() / 2], samples: times.len() })
}

/// The table of batches, whose lines are printed one by one: the median time of a call whose data stay on the device, the least, and the median with copies.
fn table() -> Table {
    let heads = ["precision", "engine", "batch", "resident, µs", "least, µs", "with copies, µs", "positions/s"];
    Table::new(&heads).words(2).widths(&[9, 8, 7, 12, 10, 15, 13])
}

fn text(line: &Line) -> String {
    let time = |times: Option<f64>| times.map_or("-".to_string(), |seconds| significant(1e6 * seconds));
    let cells = [
        line.precision.to_string(),
        line.engine.to_string(),
        thousands(line.batch as u64),
        time(line.resident.map(|times| times.median)),
        time(line.resident.map(|times| times.min)),
        time(Some(line.with_copies.median)),
        thousands(line.positions_per_second as u64),
    ];
    table().line(&cells) + &repeated(line.repeated_batches)
}
