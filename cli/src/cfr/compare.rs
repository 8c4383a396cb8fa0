//! `compare`: algorithms and ways of sampling side by side, by exploitability against time.

use std::ops::ControlFlow;

use anyhow::Result;
use serde::Serialize;
use warpplay::cfr::{Algorithm, Options, Point, Problem, Sampling, Solver};
use warpplay::{Device, Error};

use crate::cfr::args::CompareArgs;
use crate::cfr::{check, games, solve};
use crate::common::chart::Line;
use crate::common::logarithmic;
use crate::common::table::{seconds, thousands};
use crate::common::{self, OutputFile, Usage};

/// The plot's name in a folder.
const PLOT: &str = "compare.svg";

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    game: String,
    runs: &'a [Run],
    device: String,
    device_name: String,
}

/// One combination.
#[derive(Serialize)]
struct Run {
    algorithm: Algorithm,
    sampling: Sampling,
    batch: u32,
    engine: String,
    trajectory: Vec<Point>,
    /// Why there is no exploitability, where the engine cannot find it.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<()> {
    args.output.start_log();
    if !(args.seconds.is_finite() && args.seconds > 0.0) {
        return Err(Usage(format!("option seconds: {} is not allowed (a finite number above 0)", args.seconds)).into());
    }
    let asked = args.solve.options();
    // Where nothing is sampled it would be passed over.
    if asked.batch == 0 {
        return Err(Error::option("batch", 0, "at least 1").into());
    }
    let problem = games::read(&args.game)?;
    let plot = args.plots.path(PLOT);
    let written = [
        ("--json", args.output.json.as_deref()),
        ("--plots", args.plots.plots.as_deref()),
        ("--plots", plot.as_deref()),
    ];
    common::expect_apart(&[("FILE.game", Some(&args.game))], &written, &[])?;
    let json = args.output.json_file()?;
    let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;
    let device = args.device.open()?;
    let mut runs = Vec::new();
    for &sampling in &args.samplings {
        for &algorithm in &args.algorithms {
            if common::interrupted() {
                break;
            }
            let batch = if sampling == Sampling::None { 1 } else { asked.batch };
            let options = Options { algorithm, sampling, batch, ..asked };
            let is_first = runs.is_empty();
            runs.push(one(args, &problem, &device, options, is_first)?);
        }
    }
    let name = args.game.display().to_string();
    if let Some(plot) = plot {
        let points = |run: &Run| run.trajectory.iter().map(|point| (point.seconds, point.nash_conv)).collect();
        let lines: Vec<Line> = runs
            .iter()
            .map(|run| Line { name: format!("{}, sampling {}", run.algorithm, run.sampling), points: points(run) })
            .collect();
        let title = format!("{name} on {}", device.name());
        plot.write(&logarithmic::logarithmic(&title, "seconds", "NashConv, chips", &lines)?)?;
    }
    if let Some(json) = json {
        let facts = Facts { game: name, runs: &runs, device: device.backend().to_string(), device_name: device.name() };
        json.write_json(&common::Record::new("cfr compare", facts))?;
    }
    args.output.print(text(&runs))?;
    Ok(())
}

/// One combination until its time is over; exploitability is found after 1, 2, 4, … iterations.
fn one(args: &CompareArgs, problem: &Problem, device: &Device, options: Options, is_first: bool) -> Result<Run> {
    let builder = Solver::builder(problem.clone()).options(Options { iterations: 1, ..options });
    let build = |builder| match is_first {
        true => common::without_results(|| solve::build(builder, device, args.output.quiet)),
        false => solve::build(builder, device, args.output.quiet),
    };
    let mut solver = build(builder)?;
    loop {
        let report = solver.run(|_| match common::interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })?;
        let limit = report.options.iterations;
        if report.seconds >= args.seconds || report.iterations < limit || limit > u64::MAX / 2 {
            break;
        }
        solver.set_limit(2 * limit)?;
    }
    let report = solver.report();
    check::trajectory(&report.trajectory, solve::slack(&report))?;
    let Options { algorithm, sampling, batch, .. } = options;
    Ok(Run {
        algorithm,
        sampling,
        batch,
        engine: report.engine.to_string(),
        trajectory: report.trajectory,
        left_out: report.unmeasured,
    })
}

/// The end of each run in a line.
fn text(runs: &[Run]) -> String {
    let mut text = format!(
        "{:<10} {:<16} {:<9} {:>12} {:>10} {:>12}\n",
        "algorithm", "sampling", "engine", "iterations", "time", "NashConv"
    );
    for Run { algorithm, sampling, engine, trajectory, left_out, .. } in runs {
        let Some(last) = trajectory.last() else {
            let reason = left_out.as_deref().unwrap_or("stopped before its first measurement");
            text += &format!("{algorithm:<10} {sampling:<16} {engine:<9} left out: {reason}\n");
            continue;
        };
        text += &format!(
            "{algorithm:<10} {sampling:<16} {engine:<9} {:>12} {:>10} {:>12.3e}\n",
            thousands(last.iteration),
            seconds(last.seconds),
            last.nash_conv
        );
    }
    text
}
