//! `train`: trains a network.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use indicatif::ProgressBar;
use serde::Serialize;
use warpplay::mlp::{
    Checkpoint, Dataset, Evaluation, Network, Options, StoppedBy, TrainEvent, TrainReport, Trainer, WeightLayout,
};
use warpplay::{Device, Error};

use crate::common::{self, OutputFile};
use crate::mlp::args::TrainArgs;
use crate::mlp::{chart, check, table};

/// Where the state goes that nobody gave a place for.
const CHECKPOINT: &str = "mlp_mnist.checkpoint";

/// Share of the live loss that a further step leaves.
const SMOOTHING: f64 = 0.98;

/// What is written: the library's report, and how the network does on the test set at the end.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    report: &'a TrainReport,
    test: &'a Evaluation,
    program: &'static str,
}

/// Runs the command.
pub fn run(args: &TrainArgs) -> Result<()> {
    args.output.start_log();
    // Everything that can be wrong is found before any work is done.
    let checkpoint = args.resume.as_ref().map(Checkpoint::load).transpose()?;
    let base = checkpoint.as_ref().map_or_else(Options::default, |checkpoint| checkpoint.options().clone());
    let options = args.training.options(base)?;
    let network = args.start.as_ref().map(Network::load).transpose()?;
    let json = OutputFile::prepare_option(args.output.json.as_deref())?;
    let plot = OutputFile::prepare_option(args.plot.as_deref())?;
    for path in [&args.weights, &args.checkpoint].into_iter().flatten() {
        OutputFile::prepare(path)?;
        // They are read back, and written beside their name first.
        let is_file = fs::metadata(path).map_or(true, |found| found.is_file());
        ensure!(is_file, "{}: cannot be written: it is a device or a pipe, expected a file", path.display());
    }
    expect_apart(args)?;
    let (train, test) = args.data.load()?;
    args.data.say_if_drawn(args.output.quiet)?;
    let device = Device::parse(&args.device.device)?;
    let mut builder = Trainer::builder().options(options).test(&test);
    if let Some(threads) = args.threads {
        builder = builder.threads(threads);
    }
    if let Some(network) = network {
        builder = builder.network(network);
    }
    if let Some(checkpoint) = checkpoint {
        builder = builder.resume(checkpoint);
    }
    let trainer = builder.build(&device, &train)?;
    let mut training = Training { args, trainer, checkpoint: args.checkpoint.clone() };
    let report = training.run(&train)?;
    let found = training.trainer.evaluate(&test)?;
    check::training(&report)?;
    check::evaluation(&found)?;
    if let Some(place) = check::lost(&report) {
        bail!("{place}: use a smaller learning rate");
    }
    let stopped = training.finish(&report)?;
    if let Some(json) = json {
        let record = Record { report: &report, test: &found, program: "warpplay mlp_mnist" };
        json.write(&common::to_json_text(&record)?)?;
    }
    if let Some(plot) = plot {
        plot.write(&chart::training(&report)?)?;
    }
    if !args.output.quiet {
        common::print(table::end_of_training(&report, &found))?;
        if let Some(path) = stopped {
            common::print(format!(
                "checkpoint  go on with --resume {} and the same --data or --drawn\n",
                path.display()
            ))?;
        }
    }
    Ok(())
}

/// A checkpoint may be written over the one that is resumed, and weights over those of the start.
fn expect_apart(args: &TrainArgs) -> Result<()> {
    common::expect_apart(
        &[("--resume", args.resume.as_deref()), ("--start", args.start.as_deref())],
        &[
            ("--json", args.output.json.as_deref()),
            ("--plot", args.plot.as_deref()),
            ("--weights", args.weights.as_deref()),
            ("--checkpoint", args.checkpoint.as_deref()),
        ],
        &[("--checkpoint", "--resume"), ("--weights", "--start")],
    )
}

/// A training and the files that it writes on its way.
struct Training<'a> {
    args: &'a TrainArgs,
    trainer: Trainer,
    checkpoint: Option<PathBuf>,
}

impl Training<'_> {
    /// Trains to the end, with a checkpoint every so many epochs.
    fn run(&mut self, train: &Arc<Dataset>) -> Result<TrainReport> {
        let quiet = self.args.output.quiet;
        let (steps, epochs) = (self.trainer.steps_per_epoch(), self.trainer.options().epochs);
        if !quiet {
            common::print(table::start_of_training(&self.trainer, train))?;
        }
        let bar = self.args.output.bar(u64::from(steps) * u64::from(epochs));
        let report = loop {
            let mut live = Live { bar: &bar, loss: None, epochs, steps };
            // A reader of stdout that goes away does not end a training.
            let mut shown = Ok(());
            let every = self.args.checkpoint_every;
            let result = self.trainer.run(|event| {
                live.show(&event);
                let mut pause = common::interrupted();
                if let TrainEvent::Epoch(report) = event {
                    if !quiet && shown.is_ok() {
                        shown = bar.suspend(|| common::print(table::epoch(report)));
                    }
                    pause |= every.is_some_and(|every| report.epoch.is_multiple_of(every));
                }
                if pause { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            match result {
                Ok(report) if report.stopped_by == StoppedBy::Request && !common::interrupted() => self.save()?,
                Ok(report) => break report,
                Err(error @ Error::Diverged { .. }) => {
                    bar.finish_and_clear();
                    return Err(self.keep_last_good(error));
                }
                Err(error) => return Err(error.into()),
            }
        };
        bar.finish_and_clear();
        Ok(report)
    }

    /// What is left to be written when the training has ended; where the checkpoint is, if Ctrl-C ended it.
    fn finish(&mut self, report: &TrainReport) -> Result<Option<PathBuf>> {
        let stopped = report.stopped_by == StoppedBy::Request;
        if stopped && self.checkpoint.is_none() {
            self.checkpoint = Some(free_checkpoint());
        }
        self.save()?;
        if let Some(path) = &self.args.weights {
            let layout = if self.args.pytorch { WeightLayout::PyTorch } else { WeightLayout::InOut };
            self.trainer.network()?.save(path, layout)?;
        }
        Ok(self.checkpoint.clone().filter(|_| stopped))
    }

    /// Writes the checkpoint, where there is a place for it.
    fn save(&mut self) -> Result<()> {
        match &self.checkpoint {
            Some(path) => Ok(self.trainer.checkpoint()?.save(path)?),
            None => Ok(()),
        }
    }

    /// The state before the epoch whose loss was not finite goes to the checkpoint; the error says where.
    fn keep_last_good(&mut self, error: Error) -> anyhow::Error {
        if self.checkpoint.is_none() && self.trainer.epochs().is_empty() {
            // Nothing was trained yet, and nobody asked for a file.
            return anyhow::Error::new(error);
        }
        let path = self.checkpoint.get_or_insert_with(free_checkpoint).clone();
        let kept = self.save().with_context(|| format!("{error}, and the state before that epoch could not be kept"));
        match kept {
            Ok(()) => anyhow::Error::new(error).context(format!(
                "the last good state is in {0} (--start {0} with a smaller --lr goes on from its weights)",
                path.display()
            )),
            Err(second) => second,
        }
    }
}

/// A name for a checkpoint that nobody named, which overwrites no other.
fn free_checkpoint() -> PathBuf {
    let numbered = (2u32..).map(|number| PathBuf::from(format!("{number}-{CHECKPOINT}")));
    let mut names = std::iter::once(PathBuf::from(CHECKPOINT)).chain(numbered);
    names.find(|name| !name.exists()).unwrap_or_else(|| PathBuf::from(CHECKPOINT))
}

/// The progress bar with the loss.
struct Live<'a> {
    bar: &'a ProgressBar,
    /// Smoothed loss of the last steps.
    loss: Option<f64>,
    epochs: u32,
    steps: u32,
}

impl Live<'_> {
    fn show(&mut self, event: &TrainEvent<'_>) {
        let (epoch, step, loss) = match *event {
            TrainEvent::Step { epoch, step, loss, .. } => {
                let smooth = self.loss.map_or(loss, |old| SMOOTHING * old + (1.0 - SMOOTHING) * loss);
                self.loss = Some(smooth);
                (epoch, step, smooth)
            }
            TrainEvent::Epoch(report) => (report.epoch, self.steps, report.loss),
            _ => return,
        };
        self.bar.set_position(u64::from(epoch - 1) * u64::from(self.steps) + u64::from(step));
        self.bar.set_message(format!("epoch {epoch}/{}, loss {loss:.4}", self.epochs));
    }
}
