//! `learn`: self-play, training and gate in turn, in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use warpplay::azero::learn::{IterationReport, LearnEvent, Learner, is_run_file};
use warpplay::azero::train::TrainEvent;

use crate::azero::args::LearnArgs;
use crate::azero::print::say;
use crate::azero::selfplay;
use crate::azero::train::{epoch_text, epochs};
use crate::common::{self, OutputFile, Record, Reported};

/// Runs the command.
pub fn run(args: &LearnArgs) -> Result<()> {
    args.output.start_log();
    let (flags, quiet) = (&args.learning, args.output.quiet);
    let options = flags.options();
    options.check()?;
    let (out, json) = (flags.save_weights.as_deref(), args.output.json.as_deref());
    expect_apart(&flags.folder, &[("--save-weights", out), ("--json", json)])?;
    out.map(OutputFile::prepare).transpose()?;
    let json = OutputFile::prepare_option(json)?;
    let device = args.device.open()?;
    let mut learner = Learner::builder(&flags.folder).options(options).build(&device)?;
    let done = learner.report().iterations.len();
    if done > 0 {
        say(quiet, format!("{}: {done} iterations are done already\n", flags.folder.display()))?;
    }
    let bar = args.output.bar(flags.games);
    // A reader of stdout that goes away does not end a run.
    let mut shown = Ok(());
    // Whether the next epoch's row is the first below other text; a training that is resumed does not begin with epoch 1.
    let mut needs_head = true;
    let ended = learner.run(|progress| {
        let text = match &progress.latest {
            Some(LearnEvent::Game { games, .. }) => {
                bar.set_position(*games);
                None
            }
            Some(LearnEvent::SelfPlay(report)) => Some(selfplay::text(&report.played, &device)),
            Some(LearnEvent::Train(TrainEvent::Epoch(report))) => {
                let head = if std::mem::take(&mut needs_head) {
                    epochs(report.validation.is_some()).head()
                } else {
                    String::new()
                };
                Some(head + &epoch_text(report))
            }
            Some(LearnEvent::Gate(report)) => {
                needs_head = true;
                Some(format!("gate, {:.1} %: {report}\n", 100.0 * report.results().score()))
            }
            Some(LearnEvent::Iteration(report)) => Some(iteration_text(report, flags.iterations)),
            _ => None,
        };
        if let (Some(text), Ok(())) = (text, &shown) {
            shown = bar.suspend(|| say(quiet, text));
        }
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    if let Some(json) = json {
        json.write_json(&Record::new("azero learn", Reported { report: learner.report() }))?;
    }
    if let Some(out) = out {
        learner.best()?.save(out)?;
        say(quiet, format!("the best network, of iteration {}, is in {}\n", learner.report().best(), out.display()))?;
    }
    if !ended.is_done() {
        return say(quiet, format!("stopped early: the same command continues in {}\n", flags.folder.display()));
    }
    if learner.report().best() > 0 {
        let report = learner.match_with_initial(|_| common::until_interrupted())?;
        if report.results().games() < report.options.games {
            return say(quiet, "the match against the initial network was stopped early\n".to_string());
        }
        let score = 100.0 * report.results().score();
        say(quiet, format!("against the initial network, {score:.1} %: {report}\n"))?;
    }
    Ok(())
}

/// That no result is written over another, or over a file of the run.
fn expect_apart(folder: &Path, written: &[(&str, Option<&Path>)]) -> Result<()> {
    let own: Vec<PathBuf> = written
        .iter()
        .filter_map(|&(_, path)| {
            let path = path?;
            // Behind a link there may be one.
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
            path.file_name().filter(|name| is_run_file(name)).map(|name| folder.join(name))
        })
        .collect();
    let read: Vec<_> = own.iter().map(|path| ("--folder", Some(path.as_path()))).collect();
    common::expect_apart(&read, written, &[])
}

fn iteration_text(report: &IterationReport, of: u32) -> String {
    let verdict = if report.accepted { "the best so far" } else { "not accepted" };
    format!("iteration {} of {of} in {:.1} s: {verdict}\n", report.iteration, report.seconds)
}
