//! What is printed.

use warpplay::mlp::{Dataset, Engine, EpochReport, Evaluation, Loss, Optimizer, Report, StoppedBy, Trainer};

use crate::common::table::{self, Table, fixed, significant, thousands};

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
         engine    {}\n\n{}",
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
        epochs(options.loss).head()
    )
}

/// The table of epochs, whose lines are printed one by one.
pub fn epochs(loss: Loss) -> Table {
    let [test, validation] =
        if loss.is_regression() { ["test loss", "validation loss"] } else { ["test, %", "validation, %"] };
    let heads = ["epoch", "loss", test, validation, "time, s", "samples/s", "copies, %"];
    Table::new(&heads).words(0).widths(&[5, 8, test.len().max(7), validation.len(), 8, 12, 9])
}

/// One line of an epoch.
pub fn epoch(report: &EpochReport, loss: Loss) -> String {
    let percent = |share: Option<f64>| fixed(share.map(|share| 100.0 * share), 2);
    let [test, validation] = match loss.is_regression() {
        true => [report.test_loss, report.validation_loss].map(|loss| fixed(loss, 5)),
        false => [report.test_accuracy, report.validation_accuracy].map(percent),
    };
    epochs(loss).line(&[
        report.epoch.to_string(),
        fixed(report.loss, 5),
        test,
        validation,
        significant(report.seconds),
        thousands(report.samples_per_second.round() as u64),
        percent(report.transfer_share),
    ])
}

/// How a training ended.
pub fn ended(by: StoppedBy) -> &'static str {
    match by {
        StoppedBy::Epochs => "all epochs done",
        StoppedBy::EarlyStopping => "early: the validation loss no longer fell",
        StoppedBy::Request => "early, on request: the network trained so far",
    }
}

/// What there is to say at the end.
pub fn end_of_training(report: &Report, found: &Evaluation) -> String {
    let ended = ended(report.stopped_by);
    let repeated = match report.repeated_epochs {
        0 => String::new(),
        n => format!("repeated    {n} of {} epochs by engine {}\n", report.epochs.len(), Engine::Layers),
    };
    let n_units: u32 = report.options.hidden.iter().sum();
    let seconds: f64 = report.epochs.iter().map(|epoch| epoch.seconds).sum();
    format!(
        "\nended       {ended}\ntest        {}, loss {:.4}\n{repeated}dead units  {} of {n_units}\n\
         time        {seconds:.3} s of training\ndevice      {} ({}), engine {}\n\
         check       {}\n",
        match found.share() {
            Some(share) =>
                format!("{} of {} right ({:.2} %)", thousands(found.correct), thousands(found.total), 100.0 * share),
            None => format!("{} samples", thousands(found.total)),
        },
        found.loss,
        report.dead_units,
        report.device,
        report.device_name,
        report.engine,
        if found.share().is_some() { "losses are finite, the confusion matrix sums up" } else { "losses are finite" },
    )
}

/// How many samples are right; `None` in a regression.
pub fn right(found: &Evaluation) -> Option<String> {
    let share = 100.0 * found.share()?;
    Some(format!("{} of {} ({share:.2} %)", thousands(found.correct), thousands(found.total)))
}

/// An evaluation with its confusion matrix, if it has one.
pub fn evaluation(found: &Evaluation, source: &str) -> String {
    if found.share().is_none() {
        return format!(
            "{source}\n\n{}",
            table::facts([("samples", thousands(found.total)), loss(found), time(found)])
        );
    }
    let classes: Vec<String> = (0..found.confusion.len()).map(|class| class.to_string()).collect();
    let heads = ["predicted"].into_iter().chain(classes.iter().map(String::as_str)).chain(["right, %"]);
    let row = |(class, row): (usize, &Vec<u64>)| {
        let n: u64 = row.iter().sum();
        let share = if n == 0 { None } else { Some(100.0 * row[class] as f64 / n as f64) };
        let counts = row.iter().map(|&n| thousands(n));
        std::iter::once(format!("true {class}")).chain(counts).chain([fixed(share, 2)]).collect()
    };
    let rows: Vec<Vec<String>> = found.confusion.iter().enumerate().map(row).collect();
    let table = Table::new(&heads.collect::<Vec<_>>()).rows(&rows);
    let facts = table::facts([("right", right(found).unwrap_or_default()), loss(found), time(found)]);
    format!("{source}\n\n{table}\n{facts}")
}

fn loss(found: &Evaluation) -> (&'static str, String) {
    ("loss", format!("{:.4}", found.loss))
}

fn time(found: &Evaluation) -> (&'static str, String) {
    let per_sample = table::seconds(found.seconds / found.total.max(1) as f64);
    ("time", format!("{}, {per_sample} a sample, on {}", table::seconds(found.seconds), found.device))
}

/// A share in per cent; `-` where there is none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_string(), |share| format!("{:.2} %", 100.0 * share))
}
