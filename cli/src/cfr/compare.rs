//! `compare`: algorithms and ways of sampling side by side, by exploitability against time.

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use warpplay::cfr::{Algorithm, Options, Point, Problem, Sampling, Solver};
use warpplay::journal::{self, Header, Journal, Piece};
use warpplay::{Device, Error, Fnv, input_file};

use crate::cfr::args::CompareArgs;
use crate::cfr::{check, games, solve};
use crate::common::plot::{self, Axis, Line, Panel};
use crate::common::table::{Table, significant, thousands};
use crate::common::{self, OutputFile};

/// The plot's name in a folder.
const PLOT: &str = "compare.svg";

/// Units of the progress bar of a combination.
const BAR_UNITS: u64 = 1000;

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    game: String,
    runs: &'a [Run],
    device: String,
    device_name: String,
}

/// One combination.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    algorithm: Algorithm,
    sampling: Sampling,
    batch: u32,
    engine: String,
    trajectory: Vec<Point>,
    /// Why there is no exploitability, where the engine cannot find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

/// The key of a combination.
fn key(algorithm: Algorithm, sampling: Sampling) -> String {
    format!("{algorithm}, sampling {sampling}")
}

/// The options of a combination: a batch is of samples.
fn options_of(asked: &Options, algorithm: Algorithm, sampling: Sampling) -> Options {
    let batch = if sampling == Sampling::None { 1 } else { asked.batch };
    Options { algorithm, sampling, batch, iterations: 1, ..*asked }
}

/// What decides a combination's run besides its key.
fn facts(args: &CompareArgs, asked: &Options) -> Result<Value> {
    let mut facts = journal::options(asked, &["algorithm", "sampling", "iterations", "threads"]);
    facts["game"] = match args.game.is_file() {
        true => json!(format!("definition {:016x}", Fnv::of(&input_file::read(&args.game)?))),
        false => json!(args.game.display().to_string()),
    };
    facts["seconds"] = json!(args.seconds);
    Ok(facts)
}

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<()> {
    args.output.start_log();
    if !(args.seconds.is_finite() && args.seconds > 0.0) {
        return Err(warpplay::Error::option("seconds", args.seconds, "a finite number above 0").into());
    }
    let asked = args.solve.options();
    // Where nothing is sampled it would be passed over.
    if asked.batch == 0 {
        return Err(Error::option("batch", 0, "at least 1").into());
    }
    let problem = games::read(&args.game, &args.output)?;
    let plot = args.plots.path(PLOT);
    let [resume, checkpoint] = args.journal.paths();
    let written = [
        ("--json", args.output.json.as_deref()),
        ("--plots", args.plots.plots.as_deref()),
        ("--plots", plot.as_deref()),
        checkpoint,
    ];
    common::expect_apart(&[("FILE.game", Some(&args.game)), resume], &written, &[])?;
    let json = args.output.json_file()?;
    let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;
    let device = args.device.open()?;
    let combinations: Vec<(Algorithm, Sampling)> = args
        .samplings
        .iter()
        .flat_map(|&sampling| args.algorithms.iter().map(move |&algorithm| (algorithm, sampling)))
        .collect();
    // What cannot be run is found before any combination runs, and before there is a journal. One layout of the game at a time: together they may not fit.
    for &(algorithm, sampling) in &combinations {
        let options = options_of(&asked, algorithm, sampling);
        let plan = common::without_results(|| Solver::builder(problem.clone()).options(options).plan(&device));
        let plan = plan.and_then(|plan| device.expect_memory(plan.memory_needed()));
        plan.with_context(|| format!("{}: {}", args.game.display(), key(algorithm, sampling)))?;
    }
    let facts = facts(args, &asked)?;
    let header = || Header::new("cfr compare", facts, std::slice::from_ref(&device));
    let (mut journal, mut finished) = Journal::open::<Piece<Run>>(args.journal.target().as_ref(), header)?;
    for (name, Piece { result: run, .. }) in &finished {
        if *name != key(run.algorithm, run.sampling) || !combinations.contains(&(run.algorithm, run.sampling)) {
            return Err(journal.not_asked(name).into());
        }
    }
    let mut runs = Vec::new();
    let bar = args.output.bar(BAR_UNITS * combinations.len() as u64);
    for &(algorithm, sampling) in &combinations {
        bar.set_position(BAR_UNITS * runs.len() as u64);
        let name = key(algorithm, sampling);
        if let Some(piece) = finished.get(&name) {
            runs.push(piece.result.clone());
            continue;
        }
        if common::interrupted() {
            break;
        }
        let options = options_of(&asked, algorithm, sampling);
        bar.set_message(name.clone());
        let run = one(args, &problem, &device, options, &bar)?;
        if journal.is_kept() && !common::interrupted() {
            let seconds = run.trajectory.last().map_or(0.0, |point| point.seconds);
            let piece = [(name, Piece { result: run.clone(), seconds })];
            journal.append(&piece)?;
            // It may be asked for twice.
            finished.extend(piece);
        }
        runs.push(run);
    }
    bar.finish_and_clear();
    let name = args.game.display().to_string();
    if let Some(plot) = plot {
        let points = |run: &Run| run.trajectory.iter().map(|point| [point.seconds, point.nash_conv]).collect();
        let line = |run: &Run| {
            let sampling = if run.sampling == Sampling::None { "" } else { &format!(", sampling {}", run.sampling) };
            Line::new(format!("{}{sampling}", run.algorithm), points(run))
        };
        let title = format!("{}: NashConv by time, {}", games::title(&args.game), device.name());
        let (x, y) = (Axis::log("time, s"), Axis::log("NashConv, chips"));
        plot.write(&plot::svg(&[Panel::lines(title, x, y, runs.iter().map(line).collect())]))?;
    }
    if let Some(json) = json {
        let facts = Facts { game: name, runs: &runs, device: device.backend().to_string(), device_name: device.name() };
        json.write_json(&common::Record::new("cfr compare", facts))?;
    }
    args.output.print(text(&runs))?;
    if common::interrupted() {
        let (n, of, go_on) = (runs.len(), combinations.len(), args.journal.go_on());
        args.output.print(format!("ended early: {n} of {of} combinations, the last perhaps in part{go_on}\n"))?;
    }
    Ok(())
}

/// One combination until its time is over; exploitability is found after 1, 2, 4, … iterations.
fn one(args: &CompareArgs, problem: &Problem, device: &Device, options: Options, bar: &ProgressBar) -> Result<Run> {
    let builder = Solver::builder(problem.clone()).options(options);
    let done = bar.position();
    let build = || bar.suspend(|| solve::build(builder, device, args.output.quiet));
    let mut solver = if done == 0 { common::without_results(build) } else { build() }?;
    loop {
        let before = solver.report().seconds;
        let report = solver.run(|progress| {
            let share = (before + progress.elapsed.as_secs_f64()) / args.seconds;
            bar.set_position(done + (BAR_UNITS as f64 * share.min(1.0)) as u64);
            common::until_interrupted()
        })?;
        let limit = report.options.iterations;
        if common::interrupted() || report.seconds >= args.seconds || report.iterations < limit || limit > u64::MAX / 2
        {
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
    let mut left_out = String::new();
    let mut row = |run: &Run| {
        let mut cells = vec![run.algorithm.to_string(), run.sampling.to_string(), run.engine.clone()];
        match run.trajectory.last() {
            Some(last) => {
                cells.extend([thousands(last.iteration), significant(last.seconds), significant(last.nash_conv)])
            }
            None => {
                let reason = run.left_out.as_deref().unwrap_or("stopped before its first measurement");
                left_out += &format!("  left out: {}: {reason}\n", key(run.algorithm, run.sampling));
                cells.extend(["-"; 3].map(String::from));
            }
        }
        cells
    };
    let rows: Vec<Vec<String>> = runs.iter().map(&mut row).collect();
    let heads = ["algorithm", "sampling", "engine", "iterations", "time, s", "NashConv, chips"];
    Table::new(&heads).words(3).rows(&rows) + &left_out
}
