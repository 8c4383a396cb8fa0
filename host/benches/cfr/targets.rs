//! The ten standard spots: time until the exploitability, half of NashConv, is 0.5 % and 0.1 % of the pot.
//!
//! A target's time is that of the set-up (tree, tables, upload) and of the iterations up to the first measurement at or below it. Measured is after 10 iterations and then each time after a
//! tenth more, so a target is found at most that late; measuring itself is not counted. (A measurement of a flop takes the CPU as long as several iterations: there at least 10 lie between
//! two.) Device and kernels are there already: a small river is solved before by each engine. A row ends at the lower target, after [`ITERATIONS`], or when everything in it, measurements too, took [`TIMES`] as
//! long as `--seconds`.
//!
//! Every spot is solved on the device and on the CPU with its default schedule, [`Options::SPOT`], and with three others; flops on the CPU with the default alone. Rivers are solved on one
//! thread of the CPU too, which may be faster than all.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use warpplay::cfr::{Algorithm, Engine, Options, Spot};
use warpplay::{Backend, Device, Error};

use crate::approach::{Approach, Limits};
use crate::measure::Bench;
use crate::output::{Table, maybe, number};

/// Exploitability in per cent of the pot.
const TARGETS: [f64; 2] = [0.5, 0.1];
/// Most iterations of a row.
const ITERATIONS: u64 = 1000;
/// Most time of a row, in units of `--seconds`.
const TIMES: f64 = 100.0;
/// The stack, in pots, of the spots that are drawn: one a street.
const DRAWN: f64 = 6.0;

const STREETS: [&str; 3] = ["flop", "turn", "river"];

const HEADERS: [&str; 11] = [
    "spot",
    "where",
    "engine",
    "infoset-actions",
    "set-up, s",
    "ms an iteration",
    "iterations to 0.5 %",
    "s to 0.5 %",
    "iterations to 0.1 %",
    "s to 0.1 %",
    "ms a measurement",
];

/// A river with three kinds of hands.
const SMALL: &str = r#"{"pot": 100, "effective_stack": 600, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s",
    "ranges": ["AA,65s", "QQ"]}"#;

/// Has the driver translate the kernels of both engines, which it does at their first use.
pub fn translate(device: &Device) -> anyhow::Result<()> {
    if device.backend() == Backend::Cuda {
        let limits = Limits { percent: TARGETS[0], iterations: 1, seconds: f64::INFINITY, apart: 1 };
        for engine in [Engine::Small, Engine::Street] {
            Approach::of(device, &Spot::parse(SMALL)?, Options { engine, ..Options::SPOT }, limits)?;
        }
    }
    Ok(())
}

/// The file of the ten spots.
#[derive(serde::Deserialize)]
struct Spots {
    spots: BTreeMap<String, Spot>,
}

/// The spots with their names, by street; a small one for a quick run.
pub fn spots(quick: bool) -> anyhow::Result<Vec<(String, Spot)>> {
    if quick {
        return Ok(vec![("river, small".to_string(), Spot::parse(SMALL)?)]);
    }
    let Spots { spots } = serde_json::from_str(include_str!("ten_spots.json"))?;
    let mut spots: Vec<(String, Spot)> = spots.into_iter().collect();
    spots.sort_by_key(|(_, spot)| street(spot));
    Ok(spots)
}

/// The street on which a spot begins, 0 for the flop.
fn street(spot: &Spot) -> usize {
    usize::from(spot.turn.is_some()) + usize::from(spot.river.is_some())
}

/// The default first, then those that were published.
fn schedules() -> [Options; 4] {
    let of = |algorithm| Options { algorithm, ..Options::SPOT };
    [
        Options::SPOT,
        Options { discounts: [1.5, 0.0, 2.0], ..of(Algorithm::Dcfr) },
        of(Algorithm::CfrPlus),
        of(Algorithm::PcfrPlus),
    ]
}

fn label(schedule: &Options) -> String {
    match (schedule.algorithm, schedule.discounts) {
        (Algorithm::Dcfr, [alpha, beta, gamma]) => format!("dcfr {alpha}, {beta}, {gamma}"),
        (other, _) => other.to_string(),
    }
}

/// What solves a spot: a device, and the CPU's threads.
struct Runner {
    device: Device,
    /// Threads of the CPU, if not all.
    threads: Option<usize>,
    name: String,
}

impl Runner {
    fn is_cpu(&self) -> bool {
        self.device.backend() == Backend::Cpu
    }

    /// How many of the schedules are tried there: flops take minutes on the CPU, and one thread is for its time alone.
    fn n_schedules(&self, spot: &Spot) -> usize {
        if self.is_cpu() && (street(spot) == 0 || self.threads.is_some()) { 1 } else { usize::MAX }
    }
}

fn runners(bench: &Bench, spot: &Spot) -> Vec<Runner> {
    let (device, cpu) = (&bench.device, Device::cpu());
    let mut runners = Vec::new();
    if device.backend() != Backend::Cpu {
        runners.push(Runner { device: device.clone(), threads: None, name: device.to_string() });
    }
    if street(spot) == 2 {
        runners.push(Runner { device: cpu.clone(), threads: Some(1), name: "cpu, 1 thread".to_string() });
    }
    runners.push(Runner { device: cpu, threads: None, name: all_threads() });
    runners
}

/// The CPU's name in tables.
pub fn all_threads() -> String {
    format!("cpu, {} threads", rayon::current_num_threads())
}

/// What was found, for the line of JSON.
fn facts(spot: &Spot, found: &Approach) -> Value {
    let targets = TARGETS.map(|percent| {
        let step = found.reached(percent);
        json!({"percent": percent, "iterations": step.map(|step| step.iterations), "seconds": step.map(|step| step.seconds)})
    });
    let series = found.steps.iter().map(|step| json!([step.iterations, step.seconds, step.percent]));
    json!({
        "street": STREETS[street(spot)], "pots_behind": spot.effective_stack / spot.pot, "engine": found.engine, "infoset_actions": found.infoset_actions,
        "bytes": found.bytes, "set_up_seconds": found.set_up, "seconds_per_iteration": found.seconds_per_iteration(), "measuring_seconds": found.measuring,
        "targets": targets, "series": series.collect::<Vec<_>>(),
    })
}

/// Iterations to the targets.
fn iterations(found: &Approach) -> String {
    TARGETS.map(|percent| found.reached(percent).map_or("-".to_string(), |step| step.iterations.to_string())).join(", ")
}

/// The row of the default schedule.
fn row(spot: &str, runner: &str, found: &Result<Approach, String>) -> Vec<String> {
    let mut cells = vec![spot.to_string(), runner.to_string()];
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            cells.push(error.clone());
            return cells;
        }
    };
    cells.extend([found.engine.clone(), found.infoset_actions.to_string()]);
    cells.extend([number(found.set_up), number(1e3 * found.seconds_per_iteration())]);
    for percent in TARGETS {
        let step = found.reached(percent);
        cells.push(step.map_or("-".to_string(), |step| step.iterations.to_string()));
        cells.push(maybe(step.map(|step| step.seconds)));
    }
    cells.push(number(1e3 * found.measuring / found.steps.len() as f64));
    cells
}

/// An axis system of the figure, as `warpplay papers page --plots` draws it.
fn figure(spot: &str, lines: &[Value]) -> Value {
    json!({"section": "figure", "table": "targets", "figure": {
        "file": "cfr-targets", "title": spot, "x": {"label": "seconds, set-up included", "log": true},
        "y": {"label": "exploitability, % of the pot", "log": true}, "chart": {"lines": lines},
    }})
}

/// Solves a spot on a runner and writes the line of JSON. Without a result: why there is none.
fn solve(
    bench: &mut Bench,
    (name, spot): (&str, &Spot),
    runner: &Runner,
    schedule: &Options,
) -> anyhow::Result<Result<Approach, String>> {
    bench.output.progress(&format!("{name}, {}, {}", runner.name, label(schedule)));
    let apart = if runner.is_cpu() && street(spot) == 0 { 10 } else { 1 };
    let limits = Limits { percent: TARGETS[1], iterations: ITERATIONS, seconds: TIMES * bench.seconds, apart };
    let options = Options { threads: runner.threads, ..*schedule };
    let found = Approach::of(&runner.device, spot, options, limits).map_err(|error| match &error {
        Error::Option { .. } | Error::Unsupported { .. } | Error::OutOfMemory { .. } => format!("not offered: {error}"),
        _ => bench.output.failed(&error),
    });
    let mut line = match &found {
        Ok(found) => facts(spot, found),
        Err(error) => json!({"error": error}),
    };
    let threads = runner.is_cpu().then(|| runner.threads.unwrap_or_else(rayon::current_num_threads));
    line["section"] = json!("targets");
    line["spot"] = json!(name);
    line["device"] = json!(runner.device.to_string());
    line["threads"] = json!(threads);
    line["precision"] = json!(options.precision);
    line["schedule"] = json!(label(schedule));
    bench.output.json(&line)?;
    Ok(found)
}

pub fn targets(bench: &mut Bench) -> anyhow::Result<()> {
    let schedules = schedules();
    let title = "TARGETS, time until the exploitability is 0.5 % and 0.1 % of the pot, default schedule, f32";
    let mut table = Table::new(title, 3, &HEADERS);
    let labels = schedules.each_ref().map(label);
    let headers = [["spot", "where"].as_slice(), &labels.each_ref().map(String::as_str)].concat();
    let mut others = Table::new("SCHEDULES, iterations to 0.5 % and to 0.1 % of the pot, f32", 2, &headers);
    table.note(format!(
        "-: not reached in {ITERATIONS} iterations, or in {} s with the measurements",
        TIMES * bench.seconds
    ));
    translate(&bench.device)?;
    for (name, spot) in &spots(bench.quick)? {
        let mut lines = Vec::new();
        for runner in runners(bench, spot) {
            let mut cells = vec![name.clone(), runner.name.clone()];
            for (number, schedule) in schedules.iter().enumerate().take(runner.n_schedules(spot)) {
                let found = solve(bench, (name, spot), &runner, schedule)?;
                cells.push(found.as_ref().map_or("-".to_string(), iterations));
                if number > 0 {
                    continue;
                }
                table.row(row(name, &runner.name, &found));
                if let Ok(found) = found {
                    let points: Vec<[f64; 2]> = found.steps.iter().map(|step| [step.seconds, step.percent]).collect();
                    lines.push(json!({"name": runner.name, "points": points, "band": [], "published": false}));
                }
            }
            if runner.threads.is_none() {
                others.row(cells);
            }
        }
        if bench.quick || spot.effective_stack == DRAWN * spot.pot {
            bench.output.json(&figure(name, &lines))?;
        }
    }
    table.print(&mut bench.output)?;
    others.print(&mut bench.output)
}
