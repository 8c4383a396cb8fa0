//! `solve`: a game of a definition file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::cfr::{
    Abstraction, Checkpoint, Counts, Options, Point, Problem, Recipe, Report, Solver, SolverBuilder, Strategy, Subgame,
    Updates,
};
use warpplay::{AtomicFile, Device};

use crate::cfr::args::{AbstractionFlags, SolveArgs, SubgameFlags};
use crate::cfr::kinds::{self, Kind};
use crate::cfr::{check, games, saved};
use crate::common::plot::{self, Axis, Line, Panel};
use crate::common::table::{self, Table, by_seat, count, seconds, significant, thousands};
use crate::common::{self, OutputFile, OutputFlags};

/// The plot's name in a folder.
const PLOT: &str = "solve.svg";

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    game: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    /// How the buckets of cards were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    abstraction: Option<Recipe>,
    trajectory: &'a [Point],
    /// Mean winnings under the strategies used, in chips an iteration, by seat; empty for a subgame.
    average_utility: Vec<f64>,
    /// What was asked for and cannot be had, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// `false` in the file that stands there while the exploitability is found.
    complete: bool,
    iterations: u64,
    seconds: f64,
    exploitability_seconds: f64,
    iterations_per_second: f64,
    device: String,
    device_name: String,
    report: &'a Report,
}

/// Runs the command.
pub fn run(args: &SolveArgs) -> Result<()> {
    args.output.start_log();
    args.subgame.check()?;
    let load = |path: &std::path::PathBuf| -> Result<Checkpoint> {
        kinds::expect(path, &[Kind::Checkpoint])?;
        Ok(common::without_results(|| Checkpoint::load(path))?)
    };
    let checkpoint = args.checkpoint.resume.as_ref().map(load).transpose()?;
    let kept = checkpoint.as_ref().map(|checkpoint| checkpoint.options().iterations);
    let iterations = args.report.iterations.or(kept).unwrap_or(Options::default().iterations);
    let mut stops = args.report.stops(iterations)?;
    // The last is found when everything else is written.
    let measures_end = stops.pop().is_some();
    let read = match (&args.game, &checkpoint, &args.subgame.from) {
        (Some(game), Some(checkpoint), _) => resumed(games::read(game, &args.output)?, checkpoint, args)?,
        (Some(game), None, _) => games::read(game, &args.output)?,
        (None, Some(checkpoint), _) => checkpoint
            .problem()
            .context("the checkpoint is of a tree that is not liars_dice or goofspiel, or that does not fit")?,
        (None, None, Some(file)) => common::without_results(|| subgame(file, &args.subgame))?,
        (None, None, None) => return Err(common::Usage("a game, --resume or --from is needed".into()).into()),
    };
    let plots = &args.report.plots;
    if plots.plots.is_some() && stops.is_empty() && !measures_end {
        return Err(common::Usage("--plots: nothing is measured, since --report is none".into()).into());
    }
    let plot = plots.path(PLOT);
    common::expect_apart(
        &[
            ("FILE.game", args.game.as_deref()),
            ("--from", args.subgame.from.as_deref()),
            ("--resume", args.checkpoint.resume.as_deref()),
            ("--abstraction", args.abstraction.file()),
        ],
        &[
            ("--json", args.output.json.as_deref()),
            ("--plots", plots.plots.as_deref()),
            ("--plots", plot.as_deref()),
            ("--strategy", args.strategy.as_deref()),
            ("--checkpoint", args.checkpoint.checkpoint.as_deref()),
            ("--save-abstraction", args.abstraction.save_abstraction.as_deref()),
        ],
        &[("--checkpoint", "--resume"), ("--save-abstraction", "--abstraction")],
    )?;
    let json = args.output.json_file()?;
    for (path, kind) in [
        (&args.strategy, Kind::Strategy),
        (&args.checkpoint.checkpoint, Kind::Checkpoint),
        (&args.abstraction.save_abstraction, Kind::Abstraction),
    ] {
        let Some(path) = path else { continue };
        common::expect_replaceable(path, |path| kinds::of(path) == Some(kind))?;
        // No devices or pipes: their writers need files.
        AtomicFile::create(path)?;
    }
    // The plot's folder is created last, so that a file asked for in a folder that does not exist is refused before the folder is made.
    let files = Files { json, plot: OutputFile::prepare_option(plots.file(PLOT)?.as_deref())? };
    let device = args.device.open()?;
    let ask = |problem: Problem| {
        let mut builder = args.solve.ask(Solver::builder(problem)).iterations(iterations).measure_at(stops.clone());
        if let Some(checkpoint) = &checkpoint {
            builder = builder.resume(checkpoint.clone());
        }
        if let Some(path) = &args.checkpoint.checkpoint {
            builder = builder.checkpoint(path);
        }
        match args.checkpoint.checkpoint_every {
            Some(time) => builder.checkpoint_every(time),
            None => builder,
        }
    };
    // What can be refused before the buckets are found is.
    let expect = |problem: &Problem, recipe: &Recipe| {
        Ok(device.expect_memory(&ask(problem.clone()).memory_in_buckets(&device, recipe)?)?)
    };
    let problem = common::without_results(|| with_buckets(read, &args.abstraction, &device, &args.output, expect))?;
    let builder = ask(problem);
    // What is refused, such as a game that is too large, is refused of this file.
    let named = || {
        let game = args.game.as_ref().map(|path| path.display().to_string());
        let from = args.subgame.from.as_ref().map(|path| format!("--from {}", path.display()));
        let resume = args.checkpoint.resume.as_ref().map(|path| format!("--resume {}", path.display()));
        game.into_iter().chain(from).chain(resume).collect::<Vec<_>>().join(" with ")
    };
    let solver = common::without_results(|| build(builder, &device, args.output.quiet));
    let mut solver = solver.with_context(named)?;
    iterate(&mut solver, &args.output)?;
    if let Some(path) = &args.strategy {
        let strategy = solver.strategy()?;
        if args.compact { strategy.save_compact(path)? } else { strategy.save(path)? }
    }
    let game = args.game.as_ref().map_or_else(|| solver.report().game, |game| game.display().to_string());
    // A pipe takes one object only: that of the end.
    if let Some(json) = files.json.as_ref().filter(|json| measures_end && json.is_plain()) {
        write(json, &game, &device, &mut solver, false)?;
    }
    if measures_end {
        let written = "stopped in the last measurement: the earlier results are saved";
        common::with_results_written(written, || solver.measure())?;
    }
    if let Some(json) = &files.json {
        write(json, &game, &device, &mut solver, true)?;
    }
    let report = solver.report();
    check::trajectory(&report.trajectory, slack(&report))?;
    if let Some(plot) = files.plot {
        if report.trajectory.is_empty() {
            args.output.print("no plot: the exploitability was not computed\n")?;
        } else {
            plot.write(&draw(&games::title(Path::new(&game)), &report))?;
        }
    }
    let utility = average_utility(&mut solver)?;
    args.output.print(text(&report, &utility))?;
    Ok(())
}

/// The problem of a game beside a checkpoint: with the checkpoint's buckets, unless others are given.
fn resumed(game: Problem, checkpoint: &Checkpoint, args: &SolveArgs) -> Result<Problem> {
    // The fingerprint tells another tree.
    if matches!(game, Problem::Tree(_)) {
        return Ok(game);
    }
    let Some(kept) = checkpoint.problem() else { return Ok(game) };
    let file = args.checkpoint.resume.as_deref().unwrap_or(Path::new("")).display();
    if matches!(kept, Problem::Subgame(_)) {
        let what = kept.describe();
        return Err(common::Usage(format!("--resume {file}: the checkpoint of a {what}; leave FILE.game out")).into());
    }
    if let (Some(given), Some(of_file)) = (game.rules(), kept.rules())
        && given != of_file
    {
        return Err(common::Usage(format!("--resume {file}: the checkpoint of another game than FILE.game")).into());
    }
    let takes_buckets = matches!(kept, Problem::Abstracted(..)) && args.abstraction.abstraction.is_none();
    Ok(if takes_buckets { kept } else { game })
}

/// The rest of a hand that the flags ask for.
fn subgame(file: &Path, flags: &SubgameFlags) -> Result<Problem> {
    kinds::expect(file, &[Kind::Strategy])?;
    let blueprint = Strategy::load(file)?;
    let text = |flag: &Option<String>| flag.clone().unwrap_or_default();
    let (history, board, seat) = (text(&flags.history), text(&flags.board), flags.seat.unwrap_or_default());
    let subgame = saved::after("--history", Subgame::new(&blueprint, &history, &board, seat));
    Ok(Problem::from(subgame.with_context(|| file.display().to_string())?))
}

/// The problem with the buckets that the flags ask for; `expect` is called before they are found.
fn with_buckets(
    problem: Problem,
    flags: &AbstractionFlags,
    device: &Device,
    output: &OutputFlags,
    expect: impl FnOnce(&Problem, &Recipe) -> Result<()>,
) -> Result<Problem> {
    let Some(given) = &flags.abstraction else { return Ok(problem) };
    let Problem::Poker(game) = &problem else {
        return Err(common::Usage(format!("--abstraction: {} is not a game of poker", problem.describe())).into());
    };
    let abstraction = match flags.file() {
        Some(_) if flags.abstraction_runouts.is_some() => {
            return Err(
                common::Usage(format!("--abstraction-runouts: the buckets of {given} are found already")).into()
            );
        }
        Some(file) => {
            kinds::expect(file, &[Kind::Abstraction])?;
            Abstraction::load(file)?
        }
        None => {
            let recipe: Recipe = given.parse().with_context(|| format!("--abstraction {given}, which is no file"))?;
            let recipe = Recipe { runouts: flags.abstraction_runouts, ..recipe };
            expect(&problem, &recipe)?;
            output.print("finding the buckets\n")?;
            Abstraction::build(device, game, &recipe)?
        }
    };
    if let Some(path) = &flags.save_abstraction {
        abstraction.save(path)?;
    }
    Ok(Problem::abstracted(Arc::clone(game), abstraction)?)
}

/// Writes what is known so far.
fn write(json: &OutputFile, game: &str, device: &Device, solver: &mut Solver, complete: bool) -> Result<()> {
    let report = solver.report();
    let counts = solver.problem().rules().map(|game| Counts::of(game)).transpose()?;
    let abstraction = match solver.problem() {
        Problem::Abstracted(_, abstraction) => Some(abstraction.recipe().clone()),
        _ => None,
    };
    let facts = Facts {
        game,
        counts,
        abstraction,
        trajectory: &report.trajectory,
        average_utility: average_utility(solver)?,
        left_out: report.unmeasured.iter().map(|reason| format!("exploitability: {reason}")).collect(),
        complete,
        iterations: report.iterations,
        seconds: report.seconds,
        exploitability_seconds: report.exploitability_seconds,
        iterations_per_second: report.iterations as f64 / report.seconds.max(1e-9),
        device: device.backend().to_string(),
        device_name: device.name(),
        report: &report,
    };
    json.write_json(&common::Record::new("cfr solve", facts))
}

/// The mean winnings by seat. None in a subgame: they leave out the opponent's choice to end.
fn average_utility(solver: &mut Solver) -> Result<Vec<f64>> {
    let is_subgame = matches!(solver.problem(), Problem::Subgame(_));
    Ok(if is_subgame { Vec::new() } else { solver.average_utility()? })
}

/// Results to be written at the end.
struct Files {
    json: Option<OutputFile>,
    plot: Option<OutputFile>,
}

/// Says what will be taken, and takes it.
pub fn build(builder: SolverBuilder, device: &Device, quiet: bool) -> Result<Solver> {
    let plan = builder.plan(device)?;
    if !quiet {
        common::print(format!("{plan}; {device}, {}\n", device.name()))?;
    }
    Ok(builder.build_plan(device, plan)?)
}

/// Runs to the limit; Ctrl-C ends it at the next chance.
pub fn iterate(solver: &mut Solver, output: &OutputFlags) -> Result<()> {
    let bar = output.bar(solver.options().iterations);
    solver.run(|progress| {
        bar.set_position(progress.steps);
        if let Some(point) = &progress.latest {
            bar.set_message(format!("NashConv {:.3e}", point.nash_conv));
        }
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    Ok(())
}

/// Chips by which rounding may make a best response worth less than the strategy: single precision, on the scale of what is won.
pub fn slack(report: &Report) -> f64 {
    let largest =
        report.trajectory.iter().flat_map(|point| &point.best_response).fold(1.0, |most: f64, v| most.max(v.abs()));
    1e-3 * largest
}

/// Exploitability by iteration: the same on every device.
pub fn draw(game: &str, report: &Report) -> String {
    let points = report.trajectory.iter().map(|point| [point.iteration as f64, point.nash_conv]).collect();
    let lines = vec![Line::new(report.options.algorithm.to_string(), points)];
    let title = format!("{game}: NashConv by iteration");
    plot::svg(&[Panel::lines(title, Axis::log("iteration"), Axis::log("NashConv, chips"), lines)])
}

/// A solve as a table of its measurements and some lines; `utility` is the average one at the end, by seat; without it, as in a subgame, values are left out too: there they are those of ending.
pub fn text(report: &Report, utility: &[f64]) -> String {
    let mut text = String::new();
    if !report.trajectory.is_empty() {
        text.push('\n');
        let n_seats = utility.len();
        let seats: Vec<String> = (0..n_seats).map(|seat| format!("value of seat {seat}")).collect();
        let heads = ["iteration", "NashConv", "time, s"].into_iter().chain(seats.iter().map(String::as_str));
        let table = Table::new(&heads.collect::<Vec<_>>()).words(0);
        let row = |point: &Point| {
            let start = [thousands(point.iteration), significant(point.nash_conv), significant(point.seconds)];
            start.into_iter().chain(point.value.iter().take(n_seats).map(|value| format!("{value:+.6}"))).collect()
        };
        text += &table.rows(&report.trajectory.iter().map(row).collect::<Vec<_>>());
        text.push('\n');
    }
    let mut facts = Vec::new();
    if let Some(reason) = &report.unmeasured {
        facts.push(("left out", format!("exploitability: {reason}")));
    }
    let rate = report.iterations as f64 / report.seconds.max(1e-9);
    let (n, time) = (count(report.iterations, "iteration"), seconds(report.seconds));
    facts.push(("solved", format!("{n} in {time}, {} a second", significant(rate))));
    if report.exploitability_seconds > 0.0 {
        facts.push(("measured", format!("NashConv, in another {}", seconds(report.exploitability_seconds))));
    }
    let changes = match report.options.updates {
        Updates::Alternating => "; seats are updated in turn, so the sum need not be 0",
        Updates::Simultaneous => "",
    };
    if !utility.is_empty() {
        facts.push(("utility", format!("{} by seat, on average{changes}", by_seat(utility, 6))));
    }
    text + &table::facts(facts)
}
