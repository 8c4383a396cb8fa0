//! `sweep`: many models side by side, each with its seed and learning rate.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Serialize;
use warpplay::mlp::{Dataset, Engine, MAX_MODELS, Options, Sweep, SweepModel, SweepReport, Trainer};
use warpplay::{Device, Error};

use crate::common::table::{Table, fixed};
use crate::common::{self, Usage};
use crate::mlp::args::SweepArgs;
use crate::mlp::table::percent;

/// What is written: the library's report, and the best model.
#[derive(Serialize)]
struct Facts<'a> {
    /// Index of the model with the most test images right, or the least test loss in a regression, the earliest of equals; none if all diverged.
    best: Option<usize>,
    /// Models a second, trained one at a time, where that was asked for.
    one_at_a_time: Option<f64>,
    report: &'a SweepReport,
}

/// Runs the command.
pub fn run(args: &SweepArgs) -> Result<()> {
    args.output.start_log();
    let options = args.training.options(Options::default())?;
    let models = models(args, &options)?;
    let [resume, checkpoint] = args.journal.paths();
    let data = args.data.data();
    let mut read = data.paths().to_vec();
    read.push(resume);
    common::expect_apart(&read, &[("--json", args.output.json.as_deref()), checkpoint], &[])?;
    let json = args.output.json_file()?;
    let (train, test) = data.load(options.loss, None)?;
    data.say_if_drawn(args.output.quiet)?;
    let device = args.device.open()?;
    if args.training.held_out.is_some() {
        return Err(Usage("--held-out: a sweep has no validation set".into()).into());
    }
    let threads = args.threads.threads;
    let mut builder = Sweep::builder(&train).options(options.clone()).test(&test).threads(threads);
    for &(seed, learning_rate) in &models {
        builder = builder.model(seed, learning_rate);
    }
    if let Some(path) = &args.journal.checkpoint {
        builder = builder.checkpoint(path);
    }
    if let Some(path) = &args.journal.resume {
        builder = builder.resume(path);
    }
    let bar = args.output.bar(u64::from(options.epochs) * models.len() as u64);
    let report = builder.build(&device)?.run(|progress| {
        bar.set_position(progress.steps);
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    let best = check(&report, models.len())?;
    // A model that diverged ends early: its time says nothing.
    let sound = models.iter().zip(&report.models).find(|(_, model)| model.diverged.is_none()).map(|(model, _)| *model);
    let one_at_a_time = match sound.filter(|_| args.compare && !common::interrupted()) {
        Some(model) => Some(alone(&options, model, &device, &train, threads)?),
        None => None,
    };
    if let Some(json) = json {
        json.write_json(&common::Record::new("mlp sweep", Facts { best, one_at_a_time, report: &report }))?;
    }
    args.output.print(text(&report, args.top.top, one_at_a_time))?;
    let is_whole = |model: &&SweepModel| model.diverged.is_some() || model.epochs.len() == options.epochs as usize;
    let n_whole = report.models.iter().filter(is_whole).count();
    if n_whole < models.len() {
        let go_on = args.journal.go_on();
        args.output.print(format!("ended early: {n_whole} of {} models{go_on}\n", models.len()))?;
    }
    Ok(())
}

/// Seeds and rates: every rate with every seed, the rates first.
pub fn models(args: &SweepArgs, options: &Options) -> Result<Vec<(u64, f64)>> {
    let rates = if args.learning_rates.is_empty() { vec![options.learning_rate] } else { args.learning_rates.clone() };
    let seeds = args.seeds.or(args.models.map(|models| models.div_ceil(rates.len() as u32))).unwrap_or(8);
    if args.models.is_none() && seeds as usize * rates.len() > MAX_MODELS {
        let allowed = format!("at most {MAX_MODELS} models, and there are {} learning rates", rates.len());
        return Err(Error::option("seeds", seeds, allowed).into());
    }
    let all = (0..seeds).flat_map(|at| rates.iter().map(move |&rate| (options.seed.checked_add(at.into()), rate)));
    let all = all.map(|(seed, rate)| Some((seed?, rate))).collect::<Option<Vec<_>>>();
    let mut all = all.ok_or_else(|| Usage(format!("{seeds} seeds from {} on do not fit 64 bits", options.seed)))?;
    all.truncate(args.models.map_or(usize::MAX, |models| models as usize));
    Ok(all)
}

/// Checks what must hold; the index of the best model, if there is one.
fn check(report: &SweepReport, n_models: usize) -> Result<Option<usize>> {
    ensure!(report.models.len() == n_models, "check failed: {} models of {n_models}", report.models.len());
    let mut best: Option<(usize, f64)> = None;
    for (at, model) in report.models.iter().enumerate() {
        if let Some(accuracy) = model.test_accuracy {
            ensure!((0.0..=1.0).contains(&accuracy), "check failed: model {at} has an accuracy of {accuracy}");
        }
        let Some(score) = score(model) else { continue };
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((at, score));
        }
    }
    Ok(best.map(|(at, _)| at))
}

/// How good a model is: the share of the test set that is right, or, in a regression, the test loss, of which less is better.
fn score(model: &SweepModel) -> Option<f64> {
    model.test_accuracy.or(model.test_loss.filter(|loss| loss.is_finite()).map(|loss| -loss))
}

/// Models a second if one is trained after the other: one is.
fn alone(
    options: &Options,
    (seed, learning_rate): (u64, f64),
    device: &Device,
    train: &Arc<Dataset>,
    threads: Option<usize>,
) -> Result<f64> {
    let options = Options { seed, learning_rate, ..options.clone() };
    let mut trainer = Trainer::builder(train).options(options).threads(threads).build(device)?;
    let start = Instant::now();
    trainer.run(|_| common::until_interrupted())?;
    Ok(1.0 / start.elapsed().as_secs_f64())
}

fn text(report: &SweepReport, rows: usize, one_at_a_time: Option<f64>) -> String {
    let mut ranked: Vec<_> = report.models.iter().collect();
    let of = |model: &SweepModel| score(model).unwrap_or(f64::NEG_INFINITY);
    ranked.sort_by(|a, b| of(b).total_cmp(&of(a)));
    let is_regression = report.options.loss.is_regression();
    let shown = if rows == 0 { ranked.len() } else { rows.min(ranked.len()) };
    let lines: Vec<Vec<String>> = ranked[..shown]
        .iter()
        .map(|model| {
            let loss = model.epochs.last().map_or("-".to_string(), |epoch| format!("{:.5}", epoch.loss));
            vec![
                model.seed.to_string(),
                model.learning_rate.to_string(),
                loss,
                match is_regression {
                    true => fixed(model.test_loss, 5),
                    false => fixed(model.test_accuracy.map(|share| 100.0 * share), 2),
                },
            ]
        })
        .collect();
    let test = if is_regression { "test loss" } else { "test, %" };
    let mut text = Table::new(&["seed", "learning rate", "loss", test]).words(0).rows(&lines);
    if shown < ranked.len() {
        text += &format!("  and {} more (--top 0 shows all)\n", ranked.len() - shown);
    }
    if ranked.iter().all(|model| score(model).is_none()) {
        text += "\nbest    none: no model was trained to a finite loss\n";
    } else if let Some(best) = ranked.first() {
        text += &format!(
            "\nbest    seed {}, learning rate {}: {}\n",
            best.seed,
            best.learning_rate,
            if is_regression { format!("test loss {}", fixed(best.test_loss, 5)) } else { percent(best.test_accuracy) }
        );
    }
    text += &format!(
        "models  {} in {:.3} s, {:.2} a second\n",
        report.models.len(),
        report.seconds,
        report.models_per_second
    );
    let repeated: u64 = report.models.iter().map(|model| model.repeated_epochs).sum();
    if repeated > 0 {
        text += &format!("again   {repeated} epochs by engine {}\n", Engine::Layers);
    }
    if let Some(alone) = one_at_a_time {
        text += &format!(
            "alone   {alone:.2} models a second: {:.1}x as many at the same time\n",
            report.models_per_second / alone
        );
    }
    text
}
