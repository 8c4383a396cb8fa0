//! `replay`: repeats recorded searches by their recorded steps and compares what they find. A match is repeated by `replay_match`.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;
use warpplay::mcts::{
    ActionReport, Engine, KernelSet, Notation, Options, Report, SCHEMA, Search, check_playable, position_after,
};
use warpplay::{Device, Error, input_file};

use crate::common::{self, Record, Reported};
use crate::mcts::args::ReplayArgs;
use crate::mcts::games::{GameName, Visitor};
use crate::mcts::{check, replay_match};

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(&[("FILE", Some(&args.file))], &[("--json", args.output.json.as_deref())], &[])?;
    let text = input_file::read_text(&args.file)?;
    if replay_match::is_match(&text) {
        return replay_match::run(args, &text);
    }
    let recorded = read(&args.file, &text)?;
    let json = args.output.json_file()?;
    let bar = args.output.bar(recorded.len() as u64);
    let (mut written, mut different) = (String::new(), Vec::new());
    // A reader of stdout that goes away does not end the comparison: the exit code speaks of all of it.
    let mut shown = Ok(());
    for (index, old) in recorded.iter().enumerate() {
        let origin = origin(&args.file, index, recorded.len());
        let Some(game) = GameName::find(&old.game) else {
            bail!("{origin}: field game: {} is not a known game", old.game)
        };
        let new = game.visit(Repeat { args, old, origin: &origin })?;
        let Some(new) = new else {
            bar.abandon();
            // Only what was compared whole may end with 0.
            bail!(
                "{origin}: stopped before the search was repeated, {index} of {} were; nothing was written",
                recorded.len()
            );
        };
        let differences = differences(old, &new);
        if !args.output.quiet && shown.is_ok() {
            let verdict = if differences.is_empty() { "identical" } else { "DIFFERENT" };
            shown = bar.suspend(|| {
                common::print(format!(
                    "{verdict}: {origin}: {}, {} steps, best {}, recorded on {}, repeated on {}\n",
                    new.game, new.performance.steps, new.best.name, old.device, new.device
                ))
            });
        }
        if let Some(first) = differences.first() {
            let n = differences.len();
            let fields = if n == 1 { "field" } else { "fields" };
            different.push(format!("{origin}: the repeated search differs in {n} {fields}, first {first}"));
        }
        let record = Record::new("mcts replay", Reported { report: &new });
        written += &if recorded.len() == 1 { common::to_json_text(&record)? } else { common::to_json_line(&record)? };
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(json) = json {
        json.write(&written)?;
    }
    match different.first() {
        None => shown,
        Some(first) if different.len() == 1 => bail!("{first}"),
        Some(first) => bail!("{first} (and {} more searches)", different.len() - 1),
    }
}

/// Where a search stands, for messages.
fn origin(file: &Path, index: usize, n: usize) -> String {
    if n == 1 { file.display().to_string() } else { format!("{}, search {}", file.display(), index + 1) }
}

/// The searches of a file: one, or one after another.
fn read(file: &Path, text: &str) -> Result<Vec<Report>> {
    let recorded = parse(text).map_err(|error| {
        let what = if input_file::is_cut_off_json(text) { "the file is cut off" } else { "no recorded search" };
        Error::file(file, Some(error.line() as u64), format!("{what}: {}", input_file::json_reason_in(text, &error)))
    })?;
    if recorded.is_empty() {
        return Err(Error::file(file, Some(1), "the file is empty; it should hold what analyse --json wrote").into());
    }
    for (index, report) in recorded.iter().enumerate() {
        checked(report).with_context(|| origin(file, index, recorded.len()))?;
    }
    Ok(recorded)
}

/// A search as `--json` writes it.
#[derive(Deserialize)]
struct Framed {
    report: Report,
}

/// The searches of a text, each in its frame, or bare as version 0.1 wrote it. Errors have their place in the text.
fn parse(text: &str) -> serde_json::Result<Vec<Report>> {
    /// Whether there is a frame.
    #[derive(Deserialize)]
    struct Look {
        #[serde(default)]
        report: Option<IgnoredAny>,
    }
    // What is damaged is told by the second reading.
    let mut looks = serde_json::Deserializer::from_str(text).into_iter::<Look>().map_while(Result::ok);
    let mut source = serde_json::Deserializer::from_str(text);
    let mut reports = Vec::new();
    while source.end().is_err() {
        reports.push(match looks.next() {
            Some(Look { report: Some(_) }) => Framed::deserialize(&mut source)?.report,
            _ => Report::deserialize(&mut source)?,
        });
    }
    Ok(reports)
}

/// The fields that must agree before a search is repeated.
fn checked(report: &Report) -> Result<()> {
    ensure!(
        (1..=SCHEMA).contains(&report.schema),
        "field schema: {} is not known, this program reads 1 to {SCHEMA}",
        report.schema
    );
    ensure!(report.performance.steps > 0, "field performance.steps: 0 steps cannot be repeated");
    ensure!(
        report.seed == report.options.seed,
        "field seed: {} is not the seed of the options, {}",
        report.seed,
        report.options.seed
    );
    ensure!(!report.actions.is_empty(), "field actions: the list is empty");
    let (steps, options) = (report.performance.steps, &report.options);
    ensure!(
        options.steps.is_none_or(|limit| steps <= limit),
        "field performance.steps: {steps} steps are more than the limit of the options"
    );
    // Each tree counts at least m playouts a step: without this look, an absurd number would be repeated for ever.
    let least = u128::from(steps) * u128::from(options.n_trees) * u128::from(options.n_playouts);
    ensure!(
        least <= u128::from(report.performance.playouts),
        "field performance.steps: {steps} steps of {} trees and {} playouts make more playouts than the {} of field performance.playouts",
        options.n_trees,
        options.n_playouts,
        report.performance.playouts
    );
    Ok(())
}

struct Repeat<'a> {
    args: &'a ReplayArgs,
    old: &'a Report,
    origin: &'a str,
}

impl Visitor for Repeat<'_> {
    /// `None` if Ctrl-C ended it.
    type Output = Result<Option<Report>>;

    fn visit<G: KernelSet + Notation>(self) -> Self::Output {
        let Self { args, old, origin } = self;
        // What is wrong in the file is no wrong use of the command line, so its kind of error is not kept.
        let in_file = |error: Error| anyhow!("{origin}: {error}");
        let field = |name: &'static str| move |error: Error| anyhow!("{origin}: field {name}: {error}");
        let options = Options {
            steps: Some(old.performance.steps),
            seconds: None,
            // Every engine finds the same, and this device may lack the recorded one.
            engine: Engine::Auto,
            threads: args.threads.threads,
            ..old.options.clone()
        };
        let position: G = position_after(&old.moves).map_err(field("moves"))?;
        check_playable(&position).map_err(field("moves"))?;
        // The recorded limits, too, are those of a search that was made.
        Search::<G>::builder().options(old.options.clone()).capacity().map_err(field("options"))?;
        let builder = Search::<G>::builder().options(options).action_names(G::action_name).profile_steps(0);
        builder.capacity().map_err(field("options"))?;
        let device = match &args.device {
            Some(device) => Device::parse(device)?,
            None => Device::parse(&old.device).map_err(|error| match error {
                Error::Option { .. } => anyhow!("{origin}: field device: {error}"),
                _ => anyhow!("{origin}: recorded on {}; --device cpu repeats it without a GPU: {error}", old.device),
            })?,
        };
        let mut search = builder.build(&device).map_err(in_file)?;
        let mut new = search.run(&position, |_| common::until_interrupted())?;
        if new.performance.steps < old.performance.steps {
            return Ok(None);
        }
        new.moves.clone_from(&old.moves);
        // The limits as recorded, so that the new file can be compared with the old one.
        new.options = old.options.clone();
        check::report(&new)?;
        Ok(Some(new))
    }
}

/// Every field of `best`, `actions` and the counts that is not the same.
fn differences(old: &Report, new: &Report) -> Vec<String> {
    let of = |origin: String, old: &ActionReport, new: &ActionReport| {
        old.differences(new).into_iter().map(move |what| format!("{origin}.{what}"))
    };
    let mut found: Vec<String> = of("best".into(), &old.best, &new.best).collect();
    if old.actions.len() == new.actions.len() {
        for (index, (old, new)) in old.actions.iter().zip(&new.actions).enumerate() {
            found.extend(of(format!("actions[{index}]"), old, new));
        }
    } else {
        found.push(format!("actions: recorded {}, now {}", old.actions.len(), new.actions.len()));
    }
    let tells_full_trees = old.schema > 1;
    let mut count = |name: &str, old: u64, new: u64| {
        if old != new {
            found.push(format!("{name}: recorded {old}, now {new}"));
        }
    };
    let (old, new) = (&old.performance, &new.performance);
    count("performance.steps", old.steps, new.steps);
    count("performance.playouts", old.playouts, new.playouts);
    count("performance.trees.count", old.trees.count.into(), new.trees.count.into());
    count("performance.trees.max_depth", old.trees.max_depth.into(), new.trees.max_depth.into());
    count("performance.trees.max_size", old.trees.max_size, new.trees.max_size);
    if tells_full_trees {
        count("performance.trees.full", old.trees.full.into(), new.trees.full.into());
        count("performance.trees.refused", old.trees.refused, new.trees.refused);
    }
    found
}
