//! `learn`: an evaluation of any features, with games held out.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use indicatif::ProgressBar;
use serde::Serialize;
use warpplay::Progress;
use warpplay::shogi::dataset::Facts;
use warpplay::shogi::learner::{self, Checkpoint, LearnReport, LearnRow, Learner, Measures, Options, Weights};
use warpplay::shogi::ranks::{self, Ranks};
use warpplay::shogi::{FeatureSet, Optimizer};

use crate::common::table::{Table, count, fixed, seconds, thousands};
use crate::common::{self, OutputFile, group, plot};
use crate::shogi::args::LearnArgs;
use crate::shogi::data::Data;
use crate::shogi::data_flags::SourceFlags;
use crate::shogi::{chart, check, table};

/// The plot's name in a folder.
const PLOT: &str = "learning.svg";

/// What is written.
#[derive(Serialize)]
struct Found<'a> {
    features: FeatureSet,
    optimizer: Optimizer,
    parameters: usize,
    iterations: u32,
    trajectory: &'a [LearnRow],
    train: &'a Facts,
    held_out: Option<&'a Facts>,
    device: &'a str,
    device_name: &'a str,
    report: &'a LearnReport,
}

/// Results to be written at the end.
struct Files {
    json: Option<OutputFile>,
    plot: Option<OutputFile>,
    table: Option<OutputFile>,
    rust: Option<OutputFile>,
}

/// Runs the command.
pub fn run(args: &LearnArgs) -> Result<()> {
    args.output.start_log();
    group::join("learn", |ranks| in_group(args, ranks))
}

fn in_group(args: &LearnArgs, ranks: &dyn Ranks) -> Result<()> {
    // Everything that can be wrong is found before any work is done.
    let checkpoint = args.checkpoint.resume.as_ref().map(Checkpoint::load).transpose()?;
    let base = checkpoint.as_ref().map_or_else(Options::default, |checkpoint| checkpoint.options().clone());
    let options = args.learn.options(base)?;
    let leads = ranks.rank() == 0;
    let prepare = |path: &Option<PathBuf>| OutputFile::prepare_option(path.as_deref().filter(|_| leads));
    let plot = args.plots.path(PLOT);
    let SourceFlags { records, data: set, .. } = &args.source;
    let held_out = args.held_out.path();
    common::expect_apart(
        &[
            ("--records", records.as_deref()),
            ("--data", set.as_deref()),
            ("--held-out", held_out),
            ("--resume", args.checkpoint.resume.as_deref()),
            ("--start", args.learn.weights.start.as_deref()),
        ],
        &[
            ("--json", args.output.json.as_deref()),
            ("--plots", args.plots.plots.as_deref().filter(|path| !path.is_dir())),
            ("--plots", plot.as_deref()),
            ("--table", args.table.as_deref()),
            ("--rust", args.rust.as_deref()),
            ("--save-weights", args.learn.weights.save_weights.as_deref()),
            ("--checkpoint", args.checkpoint.checkpoint.as_deref()),
        ],
        &[("--checkpoint", "--resume"), ("--save-weights", "--start")],
    )?;
    if leads {
        args.checkpoint.expect_replaceable(|path| Checkpoint::load(path).is_ok())?;
    }
    for path in [&args.learn.weights.save_weights, &args.checkpoint.checkpoint] {
        prepare(path)?;
    }
    let (json, table, rust) = (prepare(&args.output.json)?, prepare(&args.table)?, prepare(&args.rust)?);
    // The folder of the plot is made last: until then no other file can be in one that was missing, where it was not compared with the plot.
    let plot = args.plots.file(PLOT)?;
    let files = Files { json, plot: prepare(&plot)?, table, rust };
    let says = leads && !args.output.quiet;
    let start = args.learn.weights.start.as_ref().map(Weights::load).transpose()?;
    let (train, held_out) = Data::divided(&args.source, args.held_out.held_out.as_ref(), &args.output)?;
    let device = ranks::device(ranks, &args.device.device)?;
    if says {
        train.say_skipped();
        common::print(head(&train, held_out.as_ref()))?;
    }
    let mut builder = Learner::builder(&train.dataset).ranks(ranks).options(options);
    if let Some(held_out) = &held_out {
        builder = builder.held_out(&held_out.dataset);
    }
    if let Some(path) = &args.checkpoint.checkpoint {
        builder = builder.checkpoint(path);
    }
    if let Some(time) = args.checkpoint.checkpoint_every {
        builder = builder.checkpoint_every(time);
    }
    if let Some(weights) = start {
        builder = builder.weights(weights);
    }
    if let Some(checkpoint) = checkpoint {
        builder = builder.resume(checkpoint);
    }
    let mut learner = builder.build(&device)?;
    let Options { features, optimizer, batch, iterations: wanted, .. } = *learner.options();
    if says {
        let weights = thousands(features.len() as u64);
        let batch = match batch {
            0 => String::new(),
            batch => format!("; {} a step", count(batch.into(), "position")),
        };
        common::print(format!("features     {features}, {weights} weights; {optimizer}{batch}\n\n"))?;
    }
    let done = learner.iteration();
    if says && args.checkpoint.resume.is_some() && done >= wanted {
        common::print(format!("{done} iterations are done: --iterations {wanted} leaves nothing to do\n"))?;
    }
    let report = iterate(&mut learner, args, leads, held_out.is_some())?;
    for row in &report.rows {
        measures(row)?;
    }
    if let Some(whole) = &report.whole {
        let last = report.rows.last().map_or(0, |row| row.iteration);
        std::iter::once(&whole.train).chain(&whole.held_out).try_for_each(|found| shares(last, found))?;
    }
    if !leads {
        return Ok(());
    }
    // With --patience the best on the games held out, else the last.
    let weights = match learner.best_weights()? {
        Some(best) => best,
        None => learner.weights()?,
    };
    if let Some(path) = &args.learn.weights.save_weights {
        weights.save(path)?;
    }
    write(&files, &report, &weights, &train, held_out.as_ref())?;
    if says {
        common::print(end(&report, &weights))?;
    }
    Ok(())
}

/// Learns until the iterations are done, or until Ctrl-C.
fn iterate(learner: &mut Learner<'_>, args: &LearnArgs, leads: bool, has_held_out: bool) -> Result<LearnReport> {
    let says = leads && !args.output.quiet;
    let bar = if leads { args.output.bar(learner.options().iterations.into()) } else { ProgressBar::hidden() };
    if says {
        common::print(iterations(has_held_out).head())?;
    }
    let mut shown = Ok(());
    let report = learner.run(|progress: &Progress<LearnRow>| {
        let Some(row) = &progress.latest else { return ControlFlow::Continue(()) };
        bar.set_position(row.iteration.into());
        bar.set_message(format!("J {:.6}", row.train.j));
        if says && shown.is_ok() {
            shown = bar.suspend(|| common::print(line(row, has_held_out)));
        }
        let stops = common::interrupted() || shown.is_err();
        if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    bar.finish_and_clear();
    shown.map(|()| report)
}

/// What must hold of a row.
fn measures(row: &LearnRow) -> Result<()> {
    check::finite(row.iteration, row.values.iter().chain(row.hand.iter().flatten()))?;
    std::iter::once(&row.train).chain(&row.held_out).try_for_each(|found| shares(row.iteration, found))
}

fn shares(iteration: u32, found: &Measures) -> Result<()> {
    check::share("objective", iteration, found.j)?;
    check::share("agreement", iteration, found.agreement)?;
    check::share("agreement of three", iteration, found.agreement_of_three)
}

fn write(files: &Files, report: &LearnReport, weights: &Weights, train: &Data, held_out: Option<&Data>) -> Result<()> {
    let (values, hand) = (weights.material(), weights.hand());
    if let Some(file) = &files.table {
        file.write(&learner::table(&values, hand.as_ref()))?;
    }
    if let Some(file) = &files.rust {
        file.write(&learner::rust_constant(&values, hand.as_ref()))?;
    }
    if let Some(file) = &files.plot {
        file.write(&plot::svg(&chart::learning(&report.rows)))?;
    }
    let Some(file) = &files.json else { return Ok(()) };
    let found = Found {
        features: report.options.features,
        optimizer: report.options.optimizer,
        parameters: report.n_weights,
        iterations: report.rows.last().map_or(0, |row| row.iteration),
        trajectory: &report.rows,
        train: &train.facts,
        held_out: held_out.map(|data| &data.facts),
        device: &report.device,
        device_name: &report.device_name,
        report,
    };
    file.write_json(&common::Record::new("shogi learn", found))
}

fn head(train: &Data, held_out: Option<&Data>) -> String {
    let held_out = held_out.map(|held_out| held_out.held_out_text(train)).unwrap_or_default();
    train.text() + &held_out
}

/// The table of iterations, whose lines are printed one by one: objective, and positions whose played move is the first or among the first three; of games held out too.
fn iterations(has_held_out: bool) -> Table {
    let heads = ["iteration", "time, s", "J", "first, %", "of three, %"];
    let held_out = ["held out: J", "first, %", "of three, %"];
    let held_out = if has_held_out { held_out.as_slice() } else { &[] };
    Table::new(&[heads.as_slice(), held_out].concat()).words(0).widths(&[9, 8, 11, 8, 11])
}

/// A row of the table.
fn line(row: &LearnRow, has_held_out: bool) -> String {
    let measures = |found: &Measures| {
        [fixed(found.j, 9), fixed(100.0 * found.agreement, 2), fixed(100.0 * found.agreement_of_three, 2)]
    };
    let start = [row.iteration.to_string(), fixed(row.seconds, 2)];
    let all = start.into_iter().chain(measures(&row.train)).chain(row.held_out.iter().flat_map(measures));
    iterations(has_held_out).line(&all.collect::<Vec<_>>())
}

fn end(report: &LearnReport, weights: &Weights) -> String {
    let Some(row) = report.rows.last() else { return String::new() };
    let best = report.best_iteration.map_or(String::new(), |best| format!(", best on games held out after {best}"));
    let mut notes = String::new();
    if let (Some(whole), Some(steps)) = (&report.whole, report.steps_per_epoch) {
        notes += &format!("epoch        {}; on all positions J {:.9}", count(steps, "step"), whole.train.j);
        notes += &whole.held_out.map_or("\n".into(), |found| format!(", held out {:.9}\n", found.j));
    }
    if let Some(exchange) = report.exchange.filter(|exchange| exchange.sums > 0) {
        let bytes = exchange.bytes / exchange.sums;
        let location = match exchange.sharing {
            learner::Sharing::Threads | learner::Sharing::Processes => ", added up on the device",
            learner::Sharing::Refused => ", through the host: the processes cannot read each other's memory",
            learner::Sharing::Apart => "",
        };
        let rows = thousands(exchange.rows / exchange.sums);
        notes += &format!(
            "exchange     {} bytes a sum of gradients, {rows} rows of 16 weights{location}\n",
            thousands(bytes)
        );
    }
    format!(
        "\nended        {}, {} in {}{best}; {}\n{notes}\n{}",
        report.stopped_by,
        count(row.iteration.into(), "iteration"),
        seconds(row.seconds),
        report.device_name,
        table::learnt(&weights.material(), weights.hand().as_ref())
    )
}
