//! `train`: learns from recorded games of self-play.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;
use warpplay::Error;
use warpplay::azero::player::MatchReport;
use warpplay::azero::train::{Checkpoint, EpochReport, Options, Samples, StoppedBy, TrainEvent, Trainer};

use crate::azero::args::TrainArgs;
use crate::azero::gate::Gate;
use crate::common::table;
use crate::common::{self, OutputFile, OutputFlags, Usage};

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 1;

#[derive(clap::Args, Clone, Debug)]
pub struct TrainFlags {
    /// Files of games that selfplay wrote, with commas between; a training that is resumed needs the same
    #[arg(long, value_name = "FILES", value_delimiter = ',', required = true, alias = "games")]
    pub records: Vec<PathBuf>,

    /// Write the network to this file; with a gate, only one that passed it
    #[arg(long, value_name = "OUT.safetensors", alias = "out")]
    pub save_weights: PathBuf,

    /// Games of the gate match between the new and the old network; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, conflicts_with = "resume")]
    pub gate: u32,

    /// Share of the points that passes the gate, a draw being half a point
    #[arg(long, value_name = "S", default_value_t = 0.55, value_parser = share)]
    pub gate_score: f64,

    /// Positions of a step [default: 1024]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch: Option<u32>,

    /// Times that all positions are learned from [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub epochs: Option<u32>,

    /// Most steps in all
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub steps: Option<u64>,

    /// Adam's learning rate [default: 0.001]
    #[arg(long, value_name = "R", allow_negative_numbers = true, aliases = ["lr", "rate"])]
    pub learning_rate: Option<f64>,

    /// Factor of the L2 term [default: 0.0001]
    #[arg(long, value_name = "F", allow_negative_numbers = true, alias = "weight-decay")]
    pub l2: Option<f64>,

    /// Factor of the value's loss [default: 1]
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub value_weight: Option<f64>,

    /// Share of the games that are held out for validation [default: 0]
    #[arg(long, value_name = "S", allow_negative_numbers = true, alias = "validation")]
    pub held_out: Option<f64>,

    /// Seed of the order of positions [default: 1]
    #[arg(long, value_name = "N")]
    pub order_seed: Option<u64>,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share, 0 to 1".into()),
    }
}

impl TrainFlags {
    /// The options, with `base` for what was not given.
    pub fn options(&self, base: Options) -> Result<Options, Error> {
        let options = Options {
            batch: self.batch.unwrap_or(base.batch),
            epochs: self.epochs.unwrap_or(base.epochs),
            steps: self.steps.or(base.steps),
            learning_rate: self.learning_rate.unwrap_or(base.learning_rate),
            weight_decay: self.l2.unwrap_or(base.weight_decay),
            value_weight: self.value_weight.unwrap_or(base.value_weight),
            validation: self.held_out.unwrap_or(base.validation),
            seed: self.order_seed.unwrap_or(base.seed),
            ..base
        };
        options.check()?;
        Ok(options)
    }
}

/// What is written.
#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    kind: &'static str,
    weights: &'a str,
    records: &'a [PathBuf],
    positions: usize,
    options: &'a Options,
    epochs: &'a [EpochReport],
    stopped_by: StoppedBy,
    gate: Option<MatchReport>,
    written: bool,
    device: String,
    device_name: String,
    program: &'static str,
    version: &'static str,
}

/// Runs the command.
pub fn run(args: &TrainArgs) -> Result<()> {
    args.output.start_log();
    let (flags, checkpoints, quiet) = (&args.training, &args.checkpoints, args.output.quiet);
    if checkpoints.resume.is_some() && args.weights.weights.is_some() {
        let text = "--resume cannot be used with --weights: the network is that of the checkpoint";
        return Err(Usage(text.into()).into());
    }
    // Everything that can be wrong is found before any work is done.
    expect_apart(args)?;
    let checkpoint = checkpoints.resume.as_ref().map(Checkpoint::load).transpose()?;
    let base = checkpoint.as_ref().map_or_else(Options::default, |checkpoint| checkpoint.options().clone());
    let options = flags.options(base)?;
    let gate = Gate::new(args)?;
    for path in [Some(&flags.save_weights), checkpoints.checkpoint.as_ref()].into_iter().flatten() {
        OutputFile::prepare(path)?;
    }
    let json = OutputFile::prepare_option(args.output.json.as_deref())?;
    let old = match &checkpoint {
        Some(checkpoint) => checkpoint.network().clone(),
        None => args.weights.load(quiet)?,
    };
    let samples = Arc::new(Samples::read(&flags.records, old.observation(), old.value_of())?);
    let device = args.device.open()?;
    let mut builder = Trainer::builder(&old, &samples).options(options.clone());
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
    say(quiet, format!("{} positions, {}\n", table::thousands(samples.len() as u64), device.name()))?;
    let stopped_by = learn(&mut trainer, &args.output)?;
    let new = trainer.network()?;
    let report = match (&gate, stopped_by) {
        (Some(gate), StoppedBy::Epochs | StoppedBy::Steps) => Some(gate.play(args, &device, &new, &old)?),
        _ => None,
    };
    let passed = gate.as_ref().zip(report.as_ref()).is_none_or(|(gate, report)| gate.passes(report));
    // A network that did not come to its gate has not passed it.
    let written = passed && (gate.is_none() || report.is_some());
    if written {
        new.save(&flags.save_weights)?;
    }
    say(quiet, ending(args, stopped_by, written))?;
    if let Some(json) = json {
        let record = Record {
            schema: SCHEMA,
            kind: "train",
            weights: args.weights.name(),
            records: &flags.records,
            positions: samples.len(),
            options: &options,
            epochs: trainer.epochs(),
            stopped_by,
            gate: report,
            written,
            device: device.backend().to_string(),
            device_name: device.name(),
            program: "warpplay azero",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write(&common::to_json_text(&record)?)?;
    }
    Ok(())
}

/// How it ended, and what there is now.
fn ending(args: &TrainArgs, stopped_by: StoppedBy, written: bool) -> String {
    let flags = &args.training;
    let mut text = String::new();
    if stopped_by == StoppedBy::Request {
        text += "stopped early";
        if let Some(path) = &args.checkpoints.checkpoint {
            text += &format!(": go on with --resume {} and the same --records", path.display());
        }
        text.push('\n');
    }
    text + &match (written, stopped_by) {
        (true, _) => format!("the network is in {}\n", flags.save_weights.display()),
        (false, StoppedBy::Request) => {
            format!("{} is not written: there was no gate match\n", flags.save_weights.display())
        }
        (false, _) => {
            format!("{} is not written: the new network did not pass the gate\n", flags.save_weights.display())
        }
    }
}

/// Runs a trainer to its end.
fn learn(trainer: &mut Trainer, output: &OutputFlags) -> Result<StoppedBy> {
    let per_epoch = u64::from(trainer.steps_per_epoch());
    let bar = output.bar(u64::from(trainer.options().epochs) * per_epoch);
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
        if common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    Ok(ended?.stopped_by)
}

/// Prints, unless told to be quiet.
pub fn say(quiet: bool, text: String) -> Result<()> {
    if quiet { Ok(()) } else { common::print(text) }
}

/// That no file is written over another that this command reads or writes, but a checkpoint over the one that is resumed, and weights over those of the
/// start.
fn expect_apart(args: &TrainArgs) -> Result<()> {
    let (flags, weights) = (&args.training, args.weights.path());
    let mut read: Vec<_> = flags.records.iter().map(|path| ("--records", Some(path.as_path()))).collect();
    read.extend([("--resume", args.checkpoints.resume.as_deref()), ("--weights", weights.as_deref())]);
    let written = [
        ("--save-weights", Some(flags.save_weights.as_path())),
        ("--checkpoint", args.checkpoints.checkpoint.as_deref()),
        ("--json", args.output.json.as_deref()),
    ];
    common::expect_apart(&read, &written, &[("--save-weights", "--weights"), ("--checkpoint", "--resume")])
}

/// An epoch in a line.
pub fn epoch_text(report: &EpochReport) -> String {
    let losses = report.train;
    let mut text = format!(
        "epoch {:>3}  policy {:.4}  value {:.4}  L2 {:.4}  best move {:>5.1} %",
        report.epoch,
        losses.policy_loss,
        losses.value_loss,
        report.l2_loss,
        100.0 * losses.accuracy
    );
    if let Some(losses) = report.validation {
        text += &format!("  validation: policy {:.4}  value {:.4}", losses.policy_loss, losses.value_loss);
    }
    text + &format!("  {} positions/s\n", table::thousands(report.positions_per_second as u64))
}
