//! What is printed.

use std::fmt::Write;

use warpplay::mlp::{Dataset, Engine, EpochReport, Evaluation, Optimizer, Report, StoppedBy, Trainer};

use crate::common::table::thousands;

/// What is about to be trained, and the head of the table of epochs.
pub fn start_of_training(trainer: &Trainer, train: &Dataset) -> String {
    let options = trainer.options();
    let sizes = options.sizes(train.n_inputs(), train.n_classes());
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let optimizer = match &options.optimizer {
        Optimizer::Momentum { momentum } | Optimizer::Nesterov { momentum } => {
            format!("{} {momentum}", options.optimizer.name())
        }
        other => other.name().to_string(),
    };
    format!(
        "data      {}, {} samples\nnetwork   {}\ntraining  {} epochs of {} steps, batch {}, {optimizer}, learning rate {}, {} of the gradients, {}, seed {}\n\
         engine    {}\n\n{:>5} {:>10} {:>10} {:>10} {:>10} {:>14}\n",
        train.source(),
        thousands(train.len() as u64),
        sizes.join("-"),
        options.epochs,
        trainer.steps_per_epoch(),
        options.batch,
        options.learning_rate,
        options.reduction,
        options.precision,
        options.seed,
        trainer.engine(),
        "epoch",
        "loss",
        "test",
        "validation",
        "seconds",
        "samples/s"
    )
}

/// One line of an epoch.
pub fn epoch(report: &EpochReport) -> String {
    format!(
        "{:>5} {:>10.5} {:>10} {:>10} {:>10.4} {:>14}{}\n",
        report.epoch,
        report.loss,
        percent(report.test_accuracy),
        percent(report.validation_accuracy),
        report.seconds,
        thousands(report.samples_per_second.round() as u64),
        report.transfer_share.map_or(String::new(), |share| format!("   copies {:.2} %", 100.0 * share)),
    )
}

/// What there is to say at the end.
pub fn end_of_training(report: &Report, found: &Evaluation) -> String {
    let ended = match report.stopped_by {
        StoppedBy::Epochs => "all epochs done",
        StoppedBy::EarlyStopping => "early: the validation loss no longer fell",
        StoppedBy::Request => "early, on request: the network trained so far",
    };
    let repeated = match report.repeated_epochs {
        0 => String::new(),
        n => format!("repeated    {n} of {} epochs, in plain f32 by engine {}\n", report.epochs.len(), Engine::Layers),
    };
    let n_units: u32 = report.options.hidden.iter().sum();
    let seconds: f64 = report.epochs.iter().map(|epoch| epoch.seconds).sum();
    format!(
        "\nended       {ended}\ntest        {} of {} right ({:.2} %), loss {:.4}\n{repeated}dead units  {} of {n_units}\n\
         time        {seconds:.3} s of training\ndevice      {} ({}), engine {}\n\
         check       losses are finite, the confusion matrix sums up\n",
        thousands(found.correct),
        thousands(found.total),
        100.0 * found.accuracy,
        found.loss,
        report.dead_units,
        report.device,
        report.device_name,
        report.engine,
    )
}

/// An evaluation with its confusion matrix.
pub fn evaluation(found: &Evaluation, source: &str) -> String {
    let mut text = String::new();
    let widest = found.confusion.iter().flatten().copied().max().unwrap_or(0).max(found.confusion.len() as u64);
    let width = widest.to_string().len().max(4) + 1;
    // Writing to a string cannot fail.
    let _ = write!(text, "{source}\n\n{:>9}", "predicted");
    for class in 0..found.confusion.len() {
        let _ = write!(text, "{class:>width$}");
    }
    text += "    right\n";
    for (class, row) in found.confusion.iter().enumerate() {
        let _ = write!(text, "{:>9}", format!("true {class}"));
        for count in row {
            let _ = write!(text, "{count:>width$}");
        }
        let n: u64 = row.iter().sum();
        let share = if n == 0 { None } else { Some(row[class] as f64 / n as f64) };
        let _ = writeln!(text, "{:>9}", percent(share));
    }
    let micros = 1e6 * found.seconds / found.total as f64;
    let _ = writeln!(
        text,
        "\nright {} of {} ({:.2} %), loss {:.4}, {:.4} s ({micros:.3} µs a sample) on {}",
        found.correct,
        found.total,
        100.0 * found.accuracy,
        found.loss,
        found.seconds,
        found.device
    );
    text
}

/// A share in per cent; `-` where there is none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_string(), |share| format!("{:.2} %", 100.0 * share))
}
