//! `train`: learns from recorded games of self-play.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;
use warpplay::azero::player::MatchReport;
use warpplay::azero::train::{Checkpoint, EpochReport, Options, Report, Samples, StoppedBy, TrainEvent, Trainer};
use warpplay::azero::{EvaluatorOptions, read_records};

use crate::azero::args::TrainArgs;
use crate::azero::chart;
use crate::azero::gate::Gate;
use crate::azero::print::say;
use crate::common::plot;
use crate::common::table::{self, Table, fixed};
use crate::common::{self, OutputFile, OutputFlags, Usage};

/// The plot's name in a folder.
const PLOT: &str = "training.svg";

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    weights: Cow<'a, str>,
    records: Vec<Cow<'a, str>>,
    positions: usize,
    gate: Option<MatchReport>,
    written: bool,
    device_name: String,
    report: &'a Report,
}

/// Runs the command.
pub fn run(args: &TrainArgs) -> Result<()> {
    args.output.start_log();
    let (flags, checkpoints, quiet) = (&args.training, &args.checkpoints, args.output.quiet);
    if checkpoints.resume.is_some() && args.weights.weights.is_some() {
        let text = "--resume cannot be used with --weights: the network is that of the checkpoint";
        return Err(Usage(text.into()).into());
    }
    if args.search.uniform || args.search.playouts.is_some() {
        let text = "--uniform and --playouts cannot be used with train: both players of the gate match are networks";
        return Err(Usage(text.into()).into());
    }
    // Everything that can be wrong is found before any work is done.
    expect_apart(args)?;
    let gate = Gate::new(args)?;
    start_threads(flags.threads.threads)?;
    let checkpoint = checkpoints.resume.as_ref().map(Checkpoint::load).transpose()?;
    let base = checkpoint.as_ref().map_or_else(Options::default, |checkpoint| checkpoint.options().clone());
    let mut options = flags.options(base)?;
    checkpoints.expect_replaceable(|path| Checkpoint::load(path).is_ok())?;
    for path in [Some(&flags.save_weights), checkpoints.checkpoint.as_ref()].into_iter().flatten() {
        OutputFile::prepare(path)?;
    }
    let json = args.output.json_file()?;
    let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;
    let old = match &checkpoint {
        Some(checkpoint) => checkpoint.network().clone(),
        None => args.weights.load(quiet)?,
    };
    let mut games = Vec::new();
    for file in &flags.records {
        games.extend(common::without_results(|| read_records(file))?);
    }
    flags.hold_out(&mut options, games.len() as u64)?;
    let samples = Arc::new(Samples::from_records(&games, old.observation(), old.value_of())?);
    drop(games);
    let device = args.device.open()?;
    let mut builder = Trainer::builder(&old, &samples).options(options);
    if let Some(checkpoint) = checkpoint {
        builder = builder.resume(checkpoint);
    }
    if let Some(path) = &checkpoints.checkpoint {
        builder = builder.checkpoint(path);
    }
    if let Some(time) = checkpoints.checkpoint_every {
        builder = builder.checkpoint_every(time);
    }
    let mut trainer = builder.build(&device)?;
    if let Some(gate) = &gate {
        gate.check(&device, &old)?;
    }
    say(quiet, format!("{} positions, {}\n", table::thousands(samples.len() as u64), device.name()))?;
    let report = learn(&mut trainer, &args.output)?;
    let new = trainer.network()?;
    let played = match (&gate, report.stopped_by) {
        (Some(gate), StoppedBy::Epochs | StoppedBy::Steps) => gate.play(quiet, &device, &new, &old)?,
        _ => None,
    };
    let passed = gate.as_ref().zip(played.as_ref()).is_none_or(|(gate, played)| gate.passes(played));
    // A network that did not come to its gate has not passed it.
    let written = passed && (gate.is_none() || played.is_some());
    if written {
        new.save(&flags.save_weights)?;
    }
    let is_stopped = report.stopped_by == StoppedBy::Request || gate.is_some() && played.is_none();
    say(quiet, ending(args, is_stopped, written))?;
    if let Some(plot) = plot {
        plot.write(&plot::svg(&[chart::losses(&report)]))?;
    }
    if let Some(json) = json {
        let facts = Facts {
            weights: args.weights.name(),
            records: flags.records.iter().map(|path| path.to_string_lossy()).collect(),
            positions: samples.len(),
            gate: played,
            written,
            device_name: device.name(),
            report: &report,
        };
        json.write_json(&common::Record::new("azero train", facts))?;
    }
    Ok(())
}

/// The threads of the training: its library takes those of the process.
fn start_threads(threads: Option<usize>) -> Result<()> {
    EvaluatorOptions { threads, ..EvaluatorOptions::default() }.check()?;
    common::start_threads(threads)
}

/// How it ended, and what there is now.
fn ending(args: &TrainArgs, is_stopped: bool, written: bool) -> String {
    let flags = &args.training;
    let mut text = String::new();
    if is_stopped {
        text += "stopped early";
        if let Some(path) = &args.checkpoints.checkpoint {
            text += &format!(": continue with --resume {} and the same --records", path.display());
        }
        text.push('\n');
    }
    let path = flags.save_weights.display();
    text + &match (written, is_stopped) {
        (true, _) => format!("the network is in {path}\n"),
        (false, true) => format!("{path} is not written: there was no complete gate match\n"),
        (false, false) => format!("{path} is not written: the new network did not pass the gate\n"),
    }
}

/// Runs a trainer to its end.
fn learn(trainer: &mut Trainer, output: &OutputFlags) -> Result<Report> {
    let per_epoch = u64::from(trainer.steps_per_epoch());
    let bar = output.bar(u64::from(trainer.options().epochs) * per_epoch);
    say(output.quiet, format!("\n{}", epochs(trainer.options().validation > 0.0).head()))?;
    // A reader of stdout that goes away does not end a training.
    let mut shown = Ok(());
    let ended = trainer.run(|progress| {
        match &progress.latest {
            Some(TrainEvent::Step { epoch, step, report, .. }) => {
                bar.set_position(u64::from(epoch - 1) * per_epoch + u64::from(*step));
                bar.set_message(format!("loss {:.4}", report.loss()));
            }
            Some(TrainEvent::Epoch(report)) if shown.is_ok() => {
                shown = bar.suspend(|| say(output.quiet, epoch_text(report)));
            }
            _ => {}
        }
        common::until_interrupted()
    });
    bar.finish_and_clear();
    Ok(ended?)
}

/// That no file is written over another that this command reads or writes, but a checkpoint over the one that is resumed, and weights over those of the
/// start.
fn expect_apart(args: &TrainArgs) -> Result<()> {
    let (flags, weights) = (&args.training, args.weights.path());
    let mut read: Vec<_> = flags.records.iter().map(|path| ("--records", Some(path.as_path()))).collect();
    let plot = args.plots.path(PLOT);
    read.extend([("--resume", args.checkpoints.resume.as_deref()), ("--weights", weights.as_deref())]);
    let written = [
        ("--save-weights", Some(flags.save_weights.as_path())),
        ("--checkpoint", args.checkpoints.checkpoint.as_deref()),
        ("--json", args.output.json.as_deref()),
        ("--plots", args.plots.plots.as_deref().filter(|path| !path.is_dir())),
        ("--plots", plot.as_deref()),
    ];
    common::expect_apart(&read, &written, &[("--save-weights", "--weights"), ("--checkpoint", "--resume")])
}

/// The table of epochs, whose lines are printed one by one: the losses, and how often the policy's likeliest move is the search's.
pub fn epochs(has_validation: bool) -> Table {
    let heads = ["epoch", "policy", "value", "L2", "best move, %", "positions/s"];
    let validation = ["held out: policy", "value"];
    let validation = if has_validation { validation.as_slice() } else { &[] };
    Table::new(&[heads.as_slice(), validation].concat()).words(0).widths(&[5, 7, 7, 7, 12, 11])
}

/// An epoch in a line.
pub fn epoch_text(report: &EpochReport) -> String {
    let losses = report.train;
    let held_out = report.validation.map(|losses| [losses.policy_loss, losses.value_loss].map(|loss| fixed(loss, 4)));
    let start = [
        report.epoch.to_string(),
        fixed(losses.policy_loss, 4),
        fixed(losses.value_loss, 4),
        fixed(report.l2_loss, 4),
        fixed(100.0 * losses.accuracy, 1),
        table::thousands(report.positions_per_second as u64),
    ];
    let cells = start.into_iter().chain(held_out.into_iter().flatten());
    epochs(report.validation.is_some()).line(&cells.collect::<Vec<_>>())
}
