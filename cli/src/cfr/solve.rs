//! `solve`: a game of a definition file.

use std::ops::ControlFlow;

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::Device;
use warpplay::cfr::{Checkpoint, Counts, Point, Problem, Report, Solver, SolverBuilder};

use crate::cfr::args::SolveArgs;
use crate::cfr::chart;
use crate::cfr::{check, games};
use crate::common::chart::Line;
use crate::common::table::{count, seconds, thousands};
use crate::common::{self, OutputFile};

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 1;

/// What is written.
#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    kind: &'static str,
    game: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    trajectory: &'a [Point],
    iterations: u64,
    seconds: f64,
    exploitability_seconds: f64,
    iterations_per_second: f64,
    device: String,
    device_name: String,
    report: &'a Report,
    program: &'static str,
    version: &'static str,
}

/// Runs the command.
pub fn run(args: &SolveArgs) -> Result<()> {
    args.output.start_log();
    let stops = args.report.stops()?;
    let checkpoint = args.resume.as_ref().map(Checkpoint::load).transpose()?;
    let problem = match (&args.game, &checkpoint) {
        (Some(game), _) => games::read(game)?,
        (None, Some(checkpoint)) => {
            checkpoint.problem().context("the checkpoint is of a game that its program must build")?
        }
        (None, None) => return Err(common::Usage("a game, or --resume, is needed".into()).into()),
    };
    common::expect_apart(
        &[("FILE.game", args.game.as_deref()), ("--resume", args.resume.as_deref())],
        &[
            ("--json", args.output.json.as_deref()),
            ("--plot", args.report.plot.as_deref()),
            ("--strategy", args.strategy.as_deref()),
            ("--checkpoint", args.checkpoint.as_deref()),
        ],
        &[("--checkpoint", "--resume")],
    )?;
    let files = Files {
        json: OutputFile::prepare_option(args.output.json.as_deref())?,
        plot: OutputFile::prepare_option(args.report.plot.as_deref())?,
    };
    for path in [&args.strategy, &args.checkpoint].into_iter().flatten() {
        OutputFile::prepare(path)?;
    }
    let device = Device::parse(&args.device.device)?;
    let builder = match &checkpoint {
        Some(checkpoint) => Solver::builder(problem).options(*checkpoint.options()).threads(args.solve.threads),
        None => Solver::builder(problem).options(args.solve.options(&device)),
    };
    let mut solver = build(builder, &device, checkpoint.as_ref(), args.output.quiet)?;
    let points = iterate(&mut solver, &stops, args)?;
    let report = solver.report();
    check::trajectory(&points, slack(&report))?;
    if let Some(path) = &args.strategy {
        let strategy = solver.strategy()?;
        if args.compact { strategy.save_compact(path)? } else { strategy.save(path)? }
    }
    if let Some(path) = &args.checkpoint {
        solver.save_checkpoint(path)?;
    }
    let game = args.game.as_ref().map_or_else(|| report.game.clone(), |game| game.display().to_string());
    if let Some(plot) = files.plot {
        plot.write(&draw(&game, &report)?)?;
    }
    if let Some(json) = files.json {
        let counts = match solver.problem() {
            Problem::Poker(game) => Some(Counts::of(game)?),
            _ => None,
        };
        let record = Record {
            schema: SCHEMA,
            kind: "solve",
            game: &game,
            counts,
            trajectory: &report.trajectory,
            iterations: report.iterations,
            seconds: report.seconds,
            exploitability_seconds: report.exploitability_seconds,
            iterations_per_second: report.iterations as f64 / report.seconds.max(1e-9),
            device: device.backend().to_string(),
            device_name: device.name(),
            report: &report,
            program: "warpplay cfr_poker",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write(&common::to_json_text(&record)?)?;
    }
    if !args.output.quiet {
        common::print(text(&report))?;
    }
    Ok(())
}

/// Results to be written at the end.
struct Files {
    json: Option<OutputFile>,
    plot: Option<OutputFile>,
}

/// Says what will be taken, and takes it.
pub fn build(builder: SolverBuilder, device: &Device, checkpoint: Option<&Checkpoint>, quiet: bool) -> Result<Solver> {
    let plan = builder.plan(device)?;
    if !quiet {
        common::print(format!("{plan}; {device}, {}\n", device.name()))?;
    }
    Ok(match checkpoint {
        Some(checkpoint) => builder.resume(device, checkpoint)?,
        None => builder.build_plan(device, plan)?,
    })
}

/// Iterates from stop to stop; Ctrl-C ends it at the next chance.
fn iterate(solver: &mut Solver, stops: &[u32], args: &SolveArgs) -> Result<Vec<Point>> {
    let bar = args.output.bar(args.report.iterations.into());
    for &stop in stops {
        let before = solver.iterations();
        let missing = u64::from(stop).saturating_sub(before);
        if missing == 0 && stop > 0 {
            // A resumed solve has been there.
            if stop == args.report.iterations {
                solver.exploitability()?;
            }
            continue;
        }
        solver.run(missing as u32, |progress| {
            bar.set_position(before + progress.steps);
            if common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let point = solver.exploitability()?;
        bar.set_message(format!("NashConv {:.3e}", point.nash_conv));
        if common::interrupted() {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(solver.report().trajectory)
}

/// Chips by which rounding may make a best response worth less than the strategy: single precision, on the scale of what is won.
pub fn slack(report: &Report) -> f64 {
    let largest =
        report.trajectory.iter().flat_map(|point| &point.best_response).fold(1.0, |most: f64, v| most.max(v.abs()));
    1e-3 * largest
}

/// Exploitability against time.
fn draw(game: &str, report: &Report) -> Result<String> {
    let points = report.trajectory.iter().map(|point| (point.seconds, point.nash_conv)).collect();
    let title = format!("{game}: {} on {}", report.options.algorithm, report.device_name);
    chart::logarithmic(&title, "seconds", "NashConv, chips", &[Line { name: report.engine.clone(), points }])
}

/// A solve in some lines.
pub fn text(report: &Report) -> String {
    let mut text =
        format!("{:>10}  {:>12}  {:>10}  value by seat; average utility by seat\n", "iteration", "NashConv", "time");
    for point in &report.trajectory {
        let list = |values: &[f64]| values.iter().map(|value| format!("{value:+.6}")).collect::<Vec<_>>().join(" ");
        text += &format!(
            "{:>10}  {:>12.6}  {:>10}  {}; {}\n",
            thousands(point.iteration),
            point.nash_conv,
            seconds(point.seconds),
            list(&point.value),
            list(&point.average_utility)
        );
    }
    let rate = report.iterations as f64 / report.seconds.max(1e-9);
    text += &format!(
        "{} in {}, {rate:.1}/s; exploitability apart: {}\n",
        count(report.iterations, "iteration"),
        seconds(report.seconds),
        seconds(report.exploitability_seconds)
    );
    text
}
