//! `train-conv`: trains a network of convolutions.

use anyhow::{Result, bail};
use serde::Serialize;
use warpplay::mlp::conv::{ConvNetwork, ConvOptions, ConvReport, ConvTrainer};
use warpplay::mlp::{Dataset, Evaluation, Loss};

use super::TrainConvArgs;
use crate::common::table::thousands;
use crate::common::{self, OutputFile, Usage, plot};
use crate::mlp::train::show;
use crate::mlp::{chart, check, table};

/// The plot's name in a folder.
const PLOT: &str = "training.svg";

/// What is written: the library's report, and how the network does on the test set at the end.
#[derive(Serialize)]
struct Facts<'a> {
    test: &'a Evaluation,
    report: &'a ConvReport,
}

/// Runs the command.
pub fn run(args: &TrainConvArgs) -> Result<()> {
    args.output.start_log();
    // Everything that can be wrong is found before any work is done.
    let network = args.start.as_ref().map(ConvNetwork::load).transpose()?;
    let mut base = ConvOptions::default();
    if let Some(network) = &network {
        base.blocks = network.blocks().to_vec();
    }
    let options = args.training.options(base)?;
    expect_apart(args)?;
    let json = args.output.json_file()?;
    if let Some(path) = &args.save_weights {
        // It is written beside its name first.
        OutputFile::prepare_file(path)?;
    }
    let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;
    let mut data = args.data.clone();
    data.image_size = args.image_size;
    if data.image_size.is_some() && !data.has_csv() {
        return Err(Usage("--image-size is only for CSV files: other files of images say their size".into()).into());
    }
    let (train, test) = data.load(Loss::CrossEntropy, None)?;
    data.say_if_drawn(args.output.quiet)?;
    let device = args.device.open()?;
    let mut builder = ConvTrainer::builder(&train).options(options).test(&test);
    if let Some(network) = network {
        builder = builder.network(network);
    }
    let mut trainer = builder.build(&device)?;
    let report = epochs(args, &mut trainer, &train)?;
    let found = trainer.evaluate(&test)?;
    check::epochs(&report.epochs)?;
    check::evaluation(&found)?;
    if let Some(when) = check::lost(&report.epochs) {
        bail!("{when}: use a smaller learning rate");
    }
    if let Some(path) = &args.save_weights {
        trainer.network()?.save(path)?;
    }
    if let Some(json) = json {
        json.write_json(&common::Record::new("mlp train-conv", Facts { test: &found, report: &report }))?;
    }
    if let Some(plot) = plot {
        plot.write(&plot::svg(&chart::training(&report.epochs, Loss::CrossEntropy)))?;
    }
    args.output.print(end(&report, &found))
}

/// Weights may be written over those of the start.
fn expect_apart(args: &TrainConvArgs) -> Result<()> {
    let plot = args.plots.path(PLOT);
    let mut read = args.data.paths().to_vec();
    read.push(("--start", args.start.as_deref()));
    common::expect_apart(
        &read,
        &[
            ("--json", args.output.json.as_deref()),
            ("--plots", args.plots.plots.as_deref()),
            ("--plots", plot.as_deref()),
            ("--save-weights", args.save_weights.as_deref()),
        ],
        &[("--save-weights", "--start")],
    )
}

/// Trains to the end.
fn epochs(args: &TrainConvArgs, trainer: &mut ConvTrainer, train: &Dataset) -> Result<ConvReport> {
    let quiet = args.output.quiet;
    if !quiet {
        common::print(start(trainer, train))?;
    }
    let bar = args.output.bar(u64::from(trainer.steps_per_epoch()) * u64::from(trainer.options().epochs));
    // A reader of stdout that goes away does not end a training.
    let mut shown = Ok(());
    let result = trainer.run(|progress| {
        show(&bar, progress);
        if let Some(report) = &progress.latest
            && !quiet
            && shown.is_ok()
        {
            shown = bar.suspend(|| common::print(table::epoch(report, Loss::CrossEntropy)));
        }
        common::until_interrupted()
    });
    bar.finish_and_clear();
    Ok(result?)
}

/// What is about to be trained, and the head of the table of epochs.
fn start(trainer: &ConvTrainer, train: &Dataset) -> String {
    let options = trainer.options();
    let blocks = options.blocks.iter().map(|block| block.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    let (rows, cols) = train.image_size();
    format!(
        "data      {}, {} samples\nnetwork   {rows}x{cols} pixels, convolutions {}, {} classes\ntraining  {} epochs of {} steps, batch {}, momentum {}, learning rate {}, seed {}\n\n{}",
        train.source(),
        thousands(train.len() as u64),
        blocks.collect::<Vec<_>>().join("/"),
        train.n_classes(),
        options.epochs,
        trainer.steps_per_epoch(),
        options.batch,
        options.momentum,
        options.learning_rate,
        options.seed,
        table::epochs(Loss::CrossEntropy).head()
    )
}

/// What there is to say at the end.
fn end(report: &ConvReport, found: &Evaluation) -> String {
    format!(
        "\nended       {}\ntest        {}, loss {:.4}\nparameters  {}\ntime        {:.3} s of training\ndevice      {} ({})\n\
         check       losses are finite, the confusion matrix sums up\n",
        table::ended(report.stopped_by),
        table::right(found).unwrap_or_default(),
        found.loss,
        thousands(report.n_parameters),
        report.seconds,
        report.device,
        report.device_name,
    )
}
