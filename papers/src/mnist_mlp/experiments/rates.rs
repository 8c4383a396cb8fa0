//! Learning rates: the table, what the text gives instead, and what could explain it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use warpplay::Error;
use warpplay::mlp::Dataset;

use super::lab::{Lab, epochs as in_words};
use super::training::Way;
use super::vary::{Ours, PARAMETERS, compared};
use crate::experiment::{Axis, Cell, Chart, Figure, Line, Measurement, Sheet, Stop, Table};
use crate::mnist_mlp::Options;
use crate::mnist_mlp::hypotheses::{self, Epoch, Hypothesis, Rules, Samples, Scale, Settings, distance};
use crate::mnist_mlp::published::{self, Row, main_run};

/// Averaged trainings whose accuracies show which rate has which.
const OTHER_RATES: [f64; 10] = [0.001, 0.002, 0.003, 0.004, 0.006, 0.01, 0.03, 0.1, 1.0, 2.0];

/// Accuracies nearer than this come near, in points: more than seeds move one, which the table of other seeds shows, most at 0.001; rows of one setting in the paper's own tables
/// differ by 0.4.
const NEAR: f64 = 2.0;

/// Seeds of the programs that come near.
const SEEDS: [u32; 3] = [1, 2, 3];

/// Losses nearer than this share of the published one are alike: seeds and first weights move that of the first epoch by some per cent.
const ALIKE: f64 = 0.1;

/// What a hypothesis comes to.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct HypothesisResult {
    /// Per cent at the three rates.
    accuracies: [f64; 3],
    /// Losses of the first two epochs at rate 0.01, where they are finite.
    losses: [Option<f64>; 2],
}

impl HypothesisResult {
    /// The largest of the distances from the published accuracies, in points.
    fn distance(&self) -> f64 {
        distance(&self.accuracies, &published::RATES.map(|row| row.accuracy))
    }

    /// Accuracies, distance, losses.
    fn cells(&self) -> Vec<Cell> {
        let distance = [Cell::from(self.distance())];
        self.accuracies.map(Cell::from).into_iter().chain(distance).chain(self.losses.map(Cell::from)).collect()
    }

    /// Whether its losses at 0.01 are those of the main experiment, which has the same setting.
    fn has_losses_of_main(&self) -> bool {
        let published = [main_run::GPU_LOSSES[0].1, main_run::GPU_LOSSES[1].1];
        self.losses.iter().zip(published).all(|(loss, of)| loss.is_some_and(|loss| (loss / of - 1.0).abs() < ALIKE))
    }
}

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let (mut sheet, mut plain) = (sheet, Vec::new());
    if let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == "rates") {
        let (with_table, found) = compared(sheet, lab, parameter)?;
        sheet = with_table;
        if let Some(note) = against_the_text(&found) {
            sheet = sheet.note(note);
        }
        plain = found;
    }
    let sheet = other_rates(sheet, lab)?;
    explanations(sheet, lab, &plain)
}

/// The published accuracies beside those of an averaged gradient at the same rates; with the text's program they would be alike.
fn against_the_text(found: &[Ours]) -> Option<String> {
    let rates: Vec<String> = found
        .iter()
        .filter_map(|ours| {
            let Row { value, accuracy, .. } = ours.published;
            let averaged = ours.averaged.as_ref()?.outcome.accuracy()?;
            Some(format!("{value}: {accuracy:.2} % published, {averaged:.2} % averaged ({:+.2})", averaged - accuracy))
        })
        .collect();
    (!rates.is_empty()).then(|| format!("averaged as the text says, on the CPU: {}", rates.join("; ")))
}

/// Which rates of the text's program have the published accuracies.
fn other_rates(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    lab.run.expect(OTHER_RATES.len() as u64);
    let mut table = Table::new("Averaged as the text says, at other rates")
        .column("rate")
        .digits("accuracy, %", 2)
        .column("nearest published");
    let mut points = Vec::new();
    for learning_rate in OTHER_RATES {
        let options = Options { learning_rate, ..lab.base() };
        let Some(accuracy) = lab.train(Way::CpuAll, &options)?.and_then(|run| run.outcome.accuracy()) else { continue };
        points.push([learning_rate, accuracy]);
        let apart = |row: &Row| (row.accuracy - accuracy).abs();
        let nearest = published::RATES.iter().min_by(|one, other| apart(one).total_cmp(&apart(other)));
        let near = nearest
            .filter(|row| apart(row) < NEAR)
            .map(|row| format!("{:.2} %, printed at {}", row.accuracy, row.value));
        table.row([learning_rate.into(), accuracy.into(), near.into()]);
    }
    let of = |name: &str, points, published| Line { name: name.into(), points, published, band: Vec::new() };
    let figure = Figure {
        file: "rates-averaged".into(),
        title: format!("Accuracy after {} by the learning rate", in_words(lab.base().epochs)),
        x: Axis::log("learning rate"),
        y: Axis::linear("accuracy, %"),
        chart: Chart::Lines(vec![
            of("published GPU", published::RATES.map(|row| [row.value, row.accuracy]).into(), true),
            of("averaged, as the text says", points, false),
        ]),
    };
    Ok(sheet.table(table).figure(figure))
}

/// The hypotheses, less those of another number of epochs where the run has its own.
fn tried(lab: &mut Lab<'_, '_>) -> Vec<Hypothesis> {
    let mut list = hypotheses::list();
    if lab.base().epochs != published::EPOCHS {
        list.retain(|one| one.epochs.is_none());
        lab.leave_out("1, 3 and 10 epochs: the run has its own number");
    }
    list
}

/// Every hypothesis at the three rates.
fn explanations(sheet: Sheet, lab: &mut Lab<'_, '_>, plain: &[Ours]) -> Result<Sheet, Stop> {
    let (list, base_seed) = (tried(lab), lab.base().seed);
    lab.run.expect(list.len() as u64);
    let figures = published::RATES.map(|row| row.accuracy);
    let losses = [main_run::GPU_LOSSES[0].1, main_run::GPU_LOSSES[1].1];
    let table = Table::new("Programs that deviate from the text, on the CPU");
    let mut table = with_results(table.column("deviation").column("why it is tried"));
    let mut first: Vec<Cell> = vec!["published GPU; losses of the main experiment".into(), Cell::Empty];
    first.extend(figures.map(Cell::from));
    first.push(Cell::Empty);
    first.extend(losses.map(Cell::from));
    table.row(first);
    let (mut ahead, mut near, mut least) = (HashMap::new(), Vec::new(), None::<(&str, f64)>);
    let mut orders = Vec::new();
    for (at, hypothesis) in list.iter().enumerate() {
        let found = found(lab, hypothesis.name, &list, at, &mut ahead)?;
        let distance = found.distance();
        let undeviating = [Scale::Mean, Scale::Sum].map(|scale| Rules { scale: [scale; 4], ..Rules::default() });
        if hypothesis.epochs.is_none() && hypothesis.seed == base_seed && undeviating.contains(&hypothesis.rules) {
            orders.extend(order_of_sums(hypothesis, &found.accuracies, plain));
        }
        if distance < NEAR && hypothesis.seed == base_seed {
            near.push((*hypothesis, found));
        }
        if least.is_none_or(|(_, least)| distance < least) {
            least = Some((hypothesis.name, distance));
        }
        let mut cells: Vec<Cell> = vec![hypothesis.name.into(), hypothesis.reason.into()];
        cells.extend(found.cells());
        table.row(cells);
    }
    let mut sheet = sheet.table(table);
    if near.is_empty() {
        let least = least.map_or(String::new(), |(name, least)| format!("; the nearest is {name}, {least:.2} points"));
        sheet = sheet.note(format!("no deviation comes within {NEAR} points of all three published accuracies{least}"));
    }
    if !orders.is_empty() {
        sheet = sheet.note(format!(
            "the programs of the third table add up in another order than the plain program of the first: the losses of a small training agree within 1e-5 (test what_deviates_in_nothing_is_the_plain_training), and here the accuracies differ in their last digits, more where the gradient is summed: {}",
            orders.join("; ")
        ));
    }
    let sheet = other_seeds(sheet, lab, &near)?;
    Ok(sheet.note("what the program did is not known: to come near proves nothing"))
}

/// The programs that come near with the first seed, with others: the paper states none.
fn other_seeds(sheet: Sheet, lab: &mut Lab<'_, '_>, near: &[(Hypothesis, HypothesisResult)]) -> Result<Sheet, Stop> {
    if near.is_empty() {
        return Ok(sheet);
    }
    let of_seeds = |one: &Hypothesis| SEEDS.map(|seed| Hypothesis { seed, ..*one });
    let list: Vec<Hypothesis> = near.iter().flat_map(|(one, _)| of_seeds(one)).collect();
    lab.run.expect((list.len() - near.len()) as u64);
    let table = Table::new("Programs near all three accuracies, with other seeds");
    let mut table = with_results(table.column("deviation").column("seed"));
    let (mut ahead, mut notes) = (HashMap::new(), Vec::new());
    for (number, (one, first)) in near.iter().enumerate() {
        let (mut distances, mut alike) = (Vec::new(), 0);
        for (at, hypothesis) in list.iter().enumerate().skip(number * SEEDS.len()).take(SEEDS.len()) {
            let key = format!("{}, seed {}", one.name, hypothesis.seed);
            let found = if hypothesis == one { *first } else { found(lab, &key, &list, at, &mut ahead)? };
            distances.push(format!("{:.2}", found.distance()));
            alike += usize::from(found.has_losses_of_main());
            let mut cells: Vec<Cell> = vec![one.name.into(), hypothesis.seed.into()];
            cells.extend(found.cells());
            table.row(cells);
        }
        notes.push(format!(
            "near all three accuracies with seed {}: {}; with seeds {} the furthest is {} points away, and {alike} of {} have the losses of the main experiment",
            one.seed,
            one.name,
            SEEDS.map(|seed| seed.to_string()).join(", "),
            distances.join(", "),
            SEEDS.len()
        ));
    }
    Ok(notes.into_iter().fold(sheet.table(table), Sheet::note))
}

/// The columns of [`HypothesisResult::cells`].
fn with_results(table: Table) -> Table {
    table
        .digits("accuracy at 0.001, %", 2)
        .digits("accuracy at 0.01, %", 2)
        .digits("accuracy at 0.1, %", 2)
        .digits("furthest from published, points", 2)
        .digits("loss at 0.01, epoch 1", 4)
        .digits("loss at 0.01, epoch 2", 4)
}

/// Accuracies of a program that does what the plain program does, beside those of the plain program.
fn order_of_sums(hypothesis: &Hypothesis, found: &[f64; 3], plain: &[Ours]) -> Option<String> {
    let is_sum = hypothesis.rules.scale == [Scale::Sum; 4];
    let pairs: Vec<String> = plain
        .iter()
        .zip(found)
        .filter_map(|(ours, here)| {
            let run = if is_sum { &ours.cpu } else { &ours.averaged };
            let there = run.as_ref()?.outcome.accuracy()?;
            Some(format!("{here:.2} and {there:.2} % at {}", ours.published.value))
        })
        .collect();
    (!pairs.is_empty()).then(|| format!("{}: {}", hypothesis.name, pairs.join(", ")))
}

/// What a hypothesis comes to, kept under `name`. Trainings run side by side: those of the next hypotheses are made `ahead` with those of this one.
fn found(
    lab: &mut Lab<'_, '_>,
    name: &str,
    list: &[Hypothesis],
    at: usize,
    ahead: &mut HashMap<usize, HypothesisResult>,
) -> Result<HypothesisResult, Stop> {
    let base = lab.base();
    let (train, test) = (lab.train.clone(), lab.test.clone());
    lab.run.exact(&format!("hypothesis: {name}, {} epochs", base.epochs), |now| {
        if !ahead.contains_key(&at) {
            let jobs = rayon::current_num_threads().div_ceil(published::RATES.len());
            let range = at..list.len().min(at + jobs);
            ahead.extend(range.clone().zip(side_by_side(&list[range], &base, &train, &test, now)?));
        }
        ahead.get(&at).copied().ok_or_else(|| Error::shape("trainings", "one a rate", "none").into())
    })
}

/// Several hypotheses at the three rates.
fn side_by_side<E: Sync>(
    list: &[Hypothesis],
    base: &Options,
    train: &Dataset,
    test: &Dataset,
    now: &mut Measurement<'_, E>,
) -> Result<Vec<HypothesisResult>, Stop> {
    let stopped = AtomicBool::new(false);
    let watch = Mutex::new(now);
    // Asked by one training at a time; the answer is every training's.
    let stop = || {
        if let Ok(mut now) = watch.try_lock()
            && now.go_on().is_break()
        {
            stopped.store(true, Relaxed);
        }
        stopped.load(Relaxed)
    };
    let rates = published::RATES.map(|row| row.value);
    let jobs: Vec<(&Hypothesis, f64)> = list.iter().flat_map(|one| rates.map(|rate| (one, rate))).collect();
    let made: Vec<Vec<Epoch>> = jobs
        .into_par_iter()
        .map(|(Hypothesis { rules, epochs, seed, .. }, rate)| {
            let settings = Settings {
                hidden: base.hidden.iter().map(|&units| units as usize).sum(),
                batch: base.batch as usize,
                epochs: epochs.unwrap_or(base.epochs),
                rate,
                seed: *seed,
            };
            hypotheses::train(rules, &settings, &Samples::of(train), &Samples::of(test), &mut &stop)
        })
        .collect();
    if stopped.into_inner() {
        return Err(Stop::Interrupted);
    }
    let of = |epochs: &[Vec<Epoch>]| HypothesisResult {
        accuracies: std::array::from_fn(|rate| {
            epochs.get(rate).and_then(|epochs| epochs.last()).map_or(0.0, |epoch| 100.0 * epoch.accuracy)
        }),
        losses: std::array::from_fn(|epoch| {
            let loss = epochs.get(1).and_then(|epochs| epochs.get(epoch)).map(|epoch| epoch.loss);
            loss.filter(|loss| loss.is_finite())
        }),
    };
    Ok(made.chunks(rates.len()).map(of).collect())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use warpplay::Device;

    use super::*;
    use crate::experiment::{Item, Journal, Run, Step};

    /// Number of epochs of the run; deviations in the third table that are of another number, and what is left out.
    fn of_epochs(epochs: u32) -> Result<(Vec<String>, Vec<String>), Stop> {
        let sets = [Arc::new(Dataset::drawn_digits(1, 70)?), Arc::new(Dataset::drawn_digits(2, 20)?)];
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let mut lab = Lab::new(sets, Some(epochs), 1, &mut run)?;
        let sheet = explanations(Sheet::new(&Item::new("rates", "rates", "2.7")), &mut lab, &[])?;
        let sheet = lab.finish(sheet);
        let names = sheet.tables[0].rows.iter().filter_map(|row| match &row[0] {
            Cell::Text(name) if name.ends_with("epoch") || name.ends_with("epochs") => Some(name.clone()),
            _ => None,
        });
        Ok((names.collect(), sheet.left_out))
    }

    #[test]
    fn what_comes_near_is_trained_with_other_seeds() -> Result<(), Stop> {
        let sets = [Arc::new(Dataset::drawn_digits(1, 70)?), Arc::new(Dataset::drawn_digits(2, 20)?)];
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let mut lab = Lab::new(sets, Some(1), 1, &mut run)?;
        let (one, losses) = (hypotheses::list()[0], [main_run::GPU_LOSSES[0].1, main_run::GPU_LOSSES[1].1].map(Some));
        let first = HypothesisResult { accuracies: published::RATES.map(|row| row.accuracy - 0.5), losses };
        let empty = || Sheet::new(&Item::new("rates", "rates", "2.7"));
        assert_eq!(other_seeds(empty(), &mut lab, &[])?.tables, Vec::new());
        let sheet = other_seeds(empty(), &mut lab, &[(one, first)])?;
        let seeds: Vec<&Cell> = sheet.tables[0].rows.iter().map(|row| &row[1]).collect();
        assert_eq!(seeds, SEEDS.map(Cell::from).each_ref());
        assert_eq!(sheet.tables[0].rows[0][2..], first.cells());
        // The other two are trained: the same programs by hand.
        let (train, test) = (lab.train.clone(), lab.test.clone());
        let hidden = lab.base().hidden[0] as usize;
        for (row, seed) in sheet.tables[0].rows[1..].iter().zip([2, 3]) {
            let settings = Settings { hidden, batch: 64, epochs: 1, rate: published::RATES[1].value, seed };
            let made =
                hypotheses::train(&one.rules, &settings, &Samples::of(&train), &Samples::of(&test), &mut || false);
            assert_eq!((&row[3], &row[6]), (&Cell::from(100.0 * made[0].accuracy), &Cell::from(made[0].loss)));
        }
        let note = &sheet.notes[0];
        assert!(note.contains("with seeds 1, 2, 3 the furthest is 0.50, ") && note.contains("1 of 3 have"), "{note}");
        Ok(())
    }

    #[test]
    fn other_epochs_are_left_out_of_a_run_that_has_its_own() -> Result<(), Stop> {
        let (names, left_out) = of_epochs(2)?;
        assert_eq!(names, Vec::<String>::new());
        assert_eq!(left_out, ["1, 3 and 10 epochs: the run has its own number"]);
        let (names, left_out) = of_epochs(published::EPOCHS)?;
        assert_eq!(names, ["1 epoch", "3 epochs", "10 epochs"]);
        assert_eq!(left_out, Vec::<String>::new());
        Ok(())
    }
}
