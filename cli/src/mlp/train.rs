//! `train`: trains a network.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use serde::Serialize;
use warpplay::mlp::{
    Checkpoint, Dataset, EpochReport, Evaluation, Network, Options, Report, StoppedBy, Trainer, WeightLayout,
};
use warpplay::{Error, Progress};

use crate::common::{self, OutputFile, plot};
use crate::mlp::args::TrainArgs;
use crate::mlp::data::DataFlags;
use crate::mlp::{chart, check, table};

/// Where the state goes that nobody named a file for.
const CHECKPOINT: &str = "mlp.checkpoint";

/// The plot's name in a folder.
const PLOT: &str = "training.svg";

/// What is written: the library's report, and how the network does on the test set at the end.
#[derive(Serialize)]
struct Facts<'a> {
    test: &'a Evaluation,
    report: &'a Report,
}

/// Runs the command.
pub fn run(args: &TrainArgs) -> Result<()> {
    args.output.start_log();
    // Everything that can be wrong is found before any work is done.
    let checkpoint = args.checkpoint.resume.as_ref().map(Checkpoint::load).transpose()?;
    let network = args.weights.start.as_ref().map(Network::load).transpose()?;
    let before = match &checkpoint {
        Some(checkpoint) => Some(checkpoint.network()?),
        None => network.clone(),
    };
    // What goes on from a network has its shape.
    let first = || {
        let Some(network) = &network else { return Options::default() };
        let sizes = network.sizes();
        Options {
            hidden: sizes[1..sizes.len() - 1].to_vec(),
            activation: network.activation(),
            layer_norm: !network.layer_norms().is_empty(),
            batch_norm: !network.batch_norms().is_empty(),
            loss: network.loss(),
            ..Options::default()
        }
    };
    let base = checkpoint.as_ref().map_or_else(first, |checkpoint| checkpoint.options().clone());
    let mut options = args.training.options(base)?;
    options.threads = args.threads.threads.or(options.threads);
    expect_apart(args)?;
    args.checkpoint.expect_replaceable(|path| Checkpoint::load(path).is_ok())?;
    let json = args.output.json_file()?;
    for path in [&args.weights.save_weights, &args.checkpoint.checkpoint].into_iter().flatten() {
        // They are read back, and written beside their name first.
        OutputFile::prepare_file(path)?;
    }
    // The folder of the plot is made last: until then no other file can be in one that was missing, where it was not compared with the plot.
    let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;
    let data = args.data.data();
    // What goes on from a network takes what it took.
    let data = before.iter().fold(data, DataFlags::of_network);
    let scaling = before.as_ref().and_then(Network::scaling);
    let (train, test) = data.load(options.loss, scaling)?;
    data.say_if_drawn(args.output.quiet)?;
    let device = args.device.open()?;
    let validation = args.training.hold_out(&mut options, &train)?;
    let mut builder = Trainer::builder(&train).options(options).test(&test);
    if let Some(validation) = &validation {
        builder = builder.validation(validation);
    }
    if let Some(network) = network {
        builder = builder.network(network);
    }
    if let Some(checkpoint) = checkpoint {
        builder = builder.resume(checkpoint);
    }
    if let Some(path) = &args.checkpoint.checkpoint {
        builder = builder.checkpoint(path);
    }
    if let Some(every) = args.checkpoint.checkpoint_every {
        builder = builder.checkpoint_every(every);
    }
    let trainer = builder.build(&device)?;
    let mut training = Training { args, trainer };
    let report = training.run(&train)?;
    let found = training.trainer.evaluate(&test)?;
    check::training(&report)?;
    check::evaluation(&found)?;
    if let Some(when) = check::lost(&report.epochs) {
        bail!("{when}: use a smaller learning rate");
    }
    let stopped = training.finish(&report)?;
    if let Some(json) = json {
        json.write_json(&common::Record::new("mlp train", Facts { test: &found, report: &report }))?;
    }
    if let Some(plot) = plot {
        plot.write(&plot::svg(&chart::training(&report.epochs, report.options.loss)))?;
    }
    if !args.output.quiet {
        common::print(table::end_of_training(&report, &found))?;
        if let Some(path) = stopped {
            common::print(format!("checkpoint  continue with --resume {} and the same data\n", path.display()))?;
        }
    }
    Ok(())
}

/// A checkpoint may be written over the one that is resumed, and weights over those of the start.
fn expect_apart(args: &TrainArgs) -> Result<()> {
    let plot = args.plots.path(PLOT);
    let data = args.data.data();
    let mut read = data.paths().to_vec();
    read.push(("--resume", args.checkpoint.resume.as_deref()));
    read.push(("--start", args.weights.start.as_deref()));
    common::expect_apart(
        &read,
        &[
            ("--json", args.output.json.as_deref()),
            ("--plots", args.plots.plots.as_deref()),
            ("--plots", plot.as_deref()),
            ("--save-weights", args.weights.save_weights.as_deref()),
            ("--checkpoint", args.checkpoint.checkpoint.as_deref()),
        ],
        &[("--checkpoint", "--resume"), ("--save-weights", "--start")],
    )
}

/// A training and the files that it writes on its way.
struct Training<'a> {
    args: &'a TrainArgs,
    trainer: Trainer,
}

impl Training<'_> {
    /// Trains to the end.
    fn run(&mut self, train: &Arc<Dataset>) -> Result<Report> {
        let quiet = self.args.output.quiet;
        let (steps, epochs) = (self.trainer.steps_per_epoch(), self.trainer.options().epochs);
        if !quiet {
            common::print(table::start_of_training(&self.trainer, train))?;
        }
        let loss = self.trainer.options().loss;
        let bar = self.args.output.bar(u64::from(steps) * u64::from(epochs));
        // A reader of stdout that goes away does not end a training.
        let mut shown = Ok(());
        let result = self.trainer.run(|progress| {
            show(&bar, progress);
            if let Some(report) = &progress.latest
                && !quiet
                && shown.is_ok()
            {
                shown = bar.suspend(|| common::print(table::epoch(report, loss)));
            }
            common::until_interrupted()
        });
        bar.finish_and_clear();
        match result {
            Err(error @ Error::Diverged { .. }) => Err(self.keep_last_good(error)),
            other => Ok(other?),
        }
    }

    /// What is left to be written when the training has ended; where the checkpoint is, if Ctrl-C ended it.
    fn finish(&mut self, report: &Report) -> Result<Option<PathBuf>> {
        if let Some(path) = &self.args.weights.save_weights {
            let layout = if self.args.pytorch { WeightLayout::PyTorch } else { WeightLayout::InOut };
            self.trainer.network()?.save(path, layout)?;
        }
        if report.stopped_by != StoppedBy::Request {
            return Ok(None);
        }
        match &self.args.checkpoint.checkpoint {
            // The library has written it.
            Some(path) => Ok(Some(path.clone())),
            None => {
                let path = free_checkpoint();
                self.trainer.checkpoint()?.save(&path)?;
                Ok(Some(path))
            }
        }
    }

    /// The state before the epoch whose loss was not finite is in the checkpoint, or goes to one; the error says where.
    fn keep_last_good(&mut self, error: Error) -> anyhow::Error {
        let path = match &self.args.checkpoint.checkpoint {
            Some(path) => path.clone(),
            // Nothing was trained yet, and nobody asked for a file.
            None if self.trainer.epochs().is_empty() => return anyhow::Error::new(error),
            None => {
                let path = free_checkpoint();
                if let Err(second) = self.trainer.checkpoint().and_then(|checkpoint| checkpoint.save(&path)) {
                    let text = format!("{error}, and the state before that epoch could not be kept");
                    return anyhow::Error::new(second).context(text);
                }
                path
            }
        };
        anyhow::Error::new(error).context(format!(
            "the last good state is in {0} (--start {0} with a smaller --learning-rate continues from its weights)",
            path.display()
        ))
    }
}

/// A name for a checkpoint that nobody named, which overwrites no other.
fn free_checkpoint() -> PathBuf {
    let numbered = (2u32..).map(|number| PathBuf::from(format!("{number}-{CHECKPOINT}")));
    let mut names = std::iter::once(PathBuf::from(CHECKPOINT)).chain(numbered);
    names.find(|name| !name.exists()).unwrap_or_else(|| PathBuf::from(CHECKPOINT))
}

/// The progress bar, with the loss of the last epoch.
pub fn show(bar: &ProgressBar, progress: &Progress<EpochReport>) {
    bar.set_position(progress.steps);
    if let Some(report) = &progress.latest {
        bar.set_message(format!("epoch {}, loss {:.4}", report.epoch, report.loss));
    }
}
