//! `matrix`: regret matching on a game of one move each.

use anyhow::{Result, bail};
use serde::Serialize;
use warpplay::cfr::{Answer, MatrixGame, Report, Solver, Tree};

use crate::cfr::args::MatrixArgs;
use crate::cfr::{check, solve};
use crate::common::plot::{self, Axis, Line, Panel};
use crate::common::table::Table;
use crate::common::{self, OutputFile, Usage};

/// The plot's name in a folder.
const PLOT: &str = "matrix.svg";

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    game: &'a str,
    /// What each seat plays on average.
    strategy: &'a [Answer],
    trajectory: &'a [warpplay::cfr::Point],
    seconds: f64,
    device: String,
    device_name: String,
    report: &'a Report,
}

/// Runs the command.
pub fn run(args: &MatrixArgs) -> Result<()> {
    args.output.start_log();
    let stops = args.report.stops(args.report.iterations())?;
    let tree = Tree::build(&game(&args.game)?)?;
    let plots = &args.report.plots;
    let plot = plots.path(PLOT);
    let written =
        [("--json", args.output.json.as_deref()), ("--plots", plots.plots.as_deref()), ("--plots", plot.as_deref())];
    common::expect_apart(&[], &written, &[])?;
    let json = args.output.json_file()?;
    let plot = OutputFile::prepare_option(plots.file(PLOT)?.as_deref())?;
    let device = args.device.open()?;
    let builder = args.solve.ask(Solver::builder(tree)).iterations(args.report.iterations()).measure_at(stops);
    let mut solver = solve::build(builder, &device, args.output.quiet)?;
    solve::iterate(&mut solver, &args.output)?;
    if !args.report.is_never() {
        solver.measure()?;
    }
    let report = solver.report();
    check::trajectory(&report.trajectory, solve::slack(&report))?;
    let utility = solver.average_utility()?;
    let mut strategy = Vec::new();
    solver.strategy()?.each(|answer| -> Result<()> {
        strategy.push(answer);
        Ok(())
    })?;
    if let Some(plot) = plot {
        let points = report.trajectory.iter().map(|point| [point.iteration as f64, point.nash_conv]).collect();
        let lines = vec![Line::new(report.options.algorithm.to_string(), points)];
        let title = format!("{}: NashConv by iteration", args.game);
        let panel = Panel::lines(title, Axis::log("iteration"), Axis::log("NashConv"), lines);
        plot.write(&plot::svg(&[panel]))?;
    }
    if let Some(json) = json {
        let facts = Facts {
            game: &args.game,
            strategy: &strategy,
            trajectory: &report.trajectory,
            seconds: report.seconds,
            device: device.backend().to_string(),
            device_name: device.name(),
            report: &report,
        };
        json.write_json(&common::Record::new("cfr matrix", facts))?;
    }
    if !args.output.quiet {
        common::print(solve::text(&report, &utility) + "\n" + &choices(&strategy))?;
    }
    Ok(())
}

/// What each seat plays, a row an action.
fn choices(strategy: &[Answer]) -> String {
    let rows = strategy.iter().flat_map(|answer| {
        let seat = format!("seat {}", answer.seat);
        let row = move |(action, probability): (&String, f64)| {
            vec![seat.clone(), action.clone(), format!("{probability:.4}")]
        };
        answer.choices.iter().map(|choice| (&choice.action, choice.probability)).map(row)
    });
    Table::new(&["seat", "action", "probability"]).words(2).rows(&rows.collect::<Vec<_>>())
}

/// The game of a name, or of the row player's payoffs: rows divided by `;`.
fn game(text: &str) -> Result<MatrixGame> {
    match text {
        "rock-paper-scissors" => return Ok(MatrixGame::rock_paper_scissors()),
        "prisoners-dilemma" => return Ok(MatrixGame::prisoners_dilemma()),
        _ => {}
    }
    let payoff = |text: &str| text.trim().parse::<f64>().ok().filter(|payoff| payoff.is_finite());
    let rows = text.split(';').map(|row| row.split(',').map(payoff).collect());
    let Some(rows) = rows.collect::<Option<Vec<Vec<f64>>>>() else {
        let allowed = "rock-paper-scissors, prisoners-dilemma, or finite payoffs as \"0,-1,1; 1,0,-1; -1,1,0\"";
        return Err(Usage(format!("game: '{text}' is not allowed ({allowed})")).into());
    };
    let columns = rows[0].len();
    if rows.iter().any(|row| row.len() != columns) {
        bail!(Usage(format!("game: rows of '{text}' have different lengths")));
    }
    let names = |n: usize, what: &str| (1..=n).map(|at| format!("{what} {at}")).collect::<Vec<_>>();
    let (row_names, column_names) = (names(rows.len(), "row"), names(columns, "column"));
    let payoffs: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let rows: Vec<&str> = row_names.iter().map(String::as_str).collect();
    let columns: Vec<&str> = column_names.iter().map(String::as_str).collect();
    Ok(MatrixGame::zero_sum("matrix", &rows, &columns, &payoffs)?)
}
