//! `analyse`: searches one position, or those of a file.

use std::path::Path;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use warpplay::input_file;
use warpplay::mcts::{KernelSet, Notation, Report, Search, StoppedBy, check_playable, picture, position_after};

use crate::common::{self, OutputFile, Record, Reported, Usage};
use crate::mcts::args::AnalyseArgs;
use crate::mcts::check;
use crate::mcts::games::Visitor;
use crate::mcts::table;

/// The picture's name in the folder of `--plots`.
const PLOT: &str = "search.svg";
/// Units of the progress bar of one search.
const BAR_UNITS: u64 = 1000;

/// What is written for a search.
fn recorded(report: &Report) -> Record<Reported<'_, Report>> {
    Record::new("mcts analyse", Reported { report })
}

/// Runs the command.
pub fn run(args: &AnalyseArgs) -> Result<()> {
    args.output.start_log();
    args.position.game.visit(Analyse(args))
}

struct Analyse<'a>(&'a AnalyseArgs);

impl Visitor for Analyse<'_> {
    type Output = Result<()>;

    fn visit<G: KernelSet + Notation>(self) -> Result<()> {
        let args = self.0;
        // Everything that can be wrong is found before the device is opened and any work is done.
        let options = args.search.options(&args.seed);
        let builder = Search::<G>::builder().options(options).action_names(G::action_name);
        builder.capacity()?;
        let positions = match &args.moves_file {
            Some(file) => read_positions::<G>(file)?,
            None => vec![playable::<G>(&args.position.moves)?],
        };
        let plot = args.plots.path(PLOT);
        if plot.is_some() && args.moves_file.is_some() {
            return Err(Usage("--plots draws one position, --moves-file has several".to_string()).into());
        }
        let read = [("--moves-file", args.moves_file.as_deref())];
        let written = [
            ("--json", args.output.json.as_deref()),
            ("--plots", args.plots.plots.as_deref()),
            ("--plots", plot.as_deref()),
        ];
        common::expect_apart(&read, &written, &[])?;
        let json = args.output.json_file()?;
        let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;
        let device = args.device.open()?;
        let mut search = builder.build(&device)?;
        if args.moves_file.is_some() {
            many(args, &mut search, &positions, json.as_ref())
        } else {
            one(args, &mut search, &positions[0], json.as_ref(), plot.as_ref())
        }
    }
}

/// A position with the moves that led to it.
struct Position<G> {
    moves: String,
    position: G,
}

/// The position after these moves, in which somebody can move.
fn playable<G: Notation>(moves: &str) -> Result<Position<G>> {
    let position = position_after(moves)?;
    check_playable(&position)?;
    Ok(Position { moves: moves.trim().to_string(), position })
}

/// The positions of a file, one in each line.
fn read_positions<G: Notation>(file: &Path) -> Result<Vec<Position<G>>> {
    let text = input_file::read_text(file)?;
    // Some editors begin a text with a mark that is none of it.
    let text = text.trim_start_matches('\u{feff}');
    let positions = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#'))
        .map(|(index, line)| playable(line).with_context(|| format!("{}, line {}", file.display(), index + 1)))
        .collect::<Result<Vec<_>>>()?;
    anyhow::ensure!(!positions.is_empty(), "{}: holds no position", file.display());
    Ok(positions)
}

fn one<G: KernelSet + Notation>(
    args: &AnalyseArgs,
    search: &mut Search<G>,
    position: &Position<G>,
    json: Option<&OutputFile>,
    plot: Option<&OutputFile>,
) -> Result<()> {
    let bar = args.output.bar(BAR_UNITS);
    let report = search_with_bar(search, position, &bar, 0)?;
    bar.finish_and_clear();
    if let Some(json) = json {
        json.write_json(&recorded(&report))?;
    }
    if let Some(plot) = plot {
        plot.write(&picture(&position.position.draw(), &report, args.top.top))?;
    }
    if !args.output.quiet {
        common::print(position.position.draw())?;
        common::print(table::report(&report, G::symbol(position.position.to_move()), args.top.top))?;
    }
    Ok(())
}

/// One line of JSON for each position. After Ctrl-C those that were searched, the last one as far as it came.
fn many<G: KernelSet + Notation>(
    args: &AnalyseArgs,
    search: &mut Search<G>,
    positions: &[Position<G>],
    json: Option<&OutputFile>,
) -> Result<()> {
    let bar = args.output.bar(BAR_UNITS * positions.len() as u64);
    let mut lines = String::new();
    // A reader of stdout that goes away ends the work only where stdout is all that is asked for.
    let mut shown = Ok(());
    for (position, done) in positions.iter().zip(0..) {
        let report = search_with_bar(search, position, &bar, BAR_UNITS * done)?;
        let line = common::to_json_line(&recorded(&report))?;
        match json {
            None => bar.suspend(|| common::print(&line))?,
            Some(_) if args.output.quiet => {}
            Some(_) if shown.is_ok() => shown = bar.suspend(|| common::print(table::one_line(&report))),
            Some(_) => {}
        }
        lines.push_str(&line);
        if common::interrupted() {
            break;
        }
    }
    bar.finish_and_clear();
    if let Some(json) = json {
        json.write(&lines)?;
    }
    shown
}

/// One search, with the progress shown from `base` on; Ctrl-C ends it early.
fn search_with_bar<G: KernelSet + Notation>(
    search: &mut Search<G>,
    position: &Position<G>,
    bar: &ProgressBar,
    base: u64,
) -> Result<Report> {
    let mut report = search.run(&position.position, |progress| {
        bar.set_position(base + (progress.fraction() * BAR_UNITS as f64) as u64);
        common::until_interrupted()
    })?;
    report.moves.clone_from(&position.moves);
    check::report(&report)?;
    if report.stopped_by == StoppedBy::Request {
        bar.abandon();
    }
    Ok(report)
}
