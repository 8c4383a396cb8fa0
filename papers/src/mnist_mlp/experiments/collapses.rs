//! Both settings at which the published CPU program has the accuracy of one class, and what they have in common.

use warpplay::mlp::Reduction;

use super::lab::{Lab, class_counts};
use super::training::{Trained, Way};
use crate::experiment::{Axis, Cell, Chart, Figure, Line, Sheet, Stop, Table};
use crate::mnist_mlp::Options;
use crate::mnist_mlp::published::{self, Collapse};

/// Seeds of the summed trainings: which class is left depends on them.
pub(super) const SEEDS: u32 = 5;

/// Rates of an averaged training at batch 64, from the sum's at 0.01 to its at 0.1, and past it.
const RATES: [f64; 6] = [0.64, 1.28, 2.56, 4.0, 6.4, 12.8];

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let sheet = sheet.table(classes(lab));
    let mut table = Table::new("Both settings: summed as in the CPU program, and averaged")
        .column("batch")
        .column("rate")
        .column("gradient")
        .column("step of one sample's gradient")
        .column("what runs")
        .column("seed")
        .digits("published, %", 2)
        .digits("accuracy, %", 2)
        .digits("loss, epoch 1", 3)
        .column("units dead on the training set")
        .column("most frequent answer, test set")
        .digits("its share of the answers, %", 2)
        .column("different classes answered")
        .column("diverged");
    let (mut notes, mut averaged) = (Vec::new(), None::<u64>);
    for collapse in &published::COLLAPSES {
        let mut summed = Summed::default();
        for (reduction, way, seed) in settings() {
            let options =
                Options { batch: collapse.batch, learning_rate: collapse.rate, reduction, seed, ..lab.base() };
            lab.run.expect(1);
            let Some(run) = lab.train(way, &options)? else { continue };
            if reduction == Reduction::Sum {
                summed.add(way, seed, &run);
            } else {
                averaged = averaged.max(Some(run.outcome.dead_units));
            }
            table.row(row(collapse, &options, way, &run));
        }
        notes.extend(summed.note(collapse));
        notes.extend(summed.precisions(collapse));
    }
    notes.extend(averaged.map(|most| format!("averaged, both settings: at most {most} hidden units dead")));
    notes.push(
        "dead: 0 on every image of the training set; an image of the test set may still make such a unit active, so that a network of dead units need not have one class for every test image".into(),
    );
    let sheet = notes.into_iter().fold(sheet.table(table), Sheet::note);
    onset(sheet, lab)
}

/// How the summed trainings of a setting ended.
#[derive(Default)]
struct Summed {
    trainings: u32,
    /// With all hidden units dead on the training set.
    all_dead: u32,
    /// With one class for every test image.
    one_class: u32,
    /// With one class for at least 99.9 % of them.
    nearly: u32,
    /// How many different classes each of them answers.
    answered: Vec<usize>,
    /// How the plain program ends with the first seed, in each precision.
    by_precision: Vec<String>,
}

impl Summed {
    fn add(&mut self, way: Way, seed: u32, run: &Trained) {
        let (class, share) = run.outcome.favourite().unwrap_or_default();
        let precision = match way {
            Way::CpuAll => Some("f32"),
            Way::CpuDouble => Some("f64"),
            _ => None,
        };
        self.by_precision.extend(precision.filter(|_| seed == 1).map(|precision| {
            format!("{precision}: {} units dead, class {class} for {share:.2} % of the test images", dead(run))
        }));
        self.trainings += 1;
        self.all_dead += u32::from(run.outcome.dead_units == run.outcome.units);
        self.one_class += u32::from(share == 100.0);
        self.nearly += u32::from(share >= 99.9);
        self.answered.push(run.outcome.classes_answered());
    }

    fn note(&self, collapse: &Collapse) -> Option<String> {
        let Self { trainings, all_dead, one_class, nearly, answered, .. } = self;
        (*trainings > 0).then(|| {
            let answered: Vec<String> = answered.iter().map(usize::to_string).collect();
            format!(
                "summed, batch {}, rate {}: of {trainings} trainings {all_dead} end with every hidden unit dead on the training set, {nearly} with one class for at least 99.9 % of the test images, {one_class} with one class for all of them; different classes answered, in the order of the table: {}",
                collapse.batch,
                collapse.rate,
                answered.join(", ")
            )
        })
    }

    /// What precision changes, where both were trained.
    fn precisions(&self, collapse: &Collapse) -> Option<String> {
        (self.by_precision.len() > 1).then(|| {
            format!(
                "summed, batch {}, rate {}, seed 1, on the CPU: {}",
                collapse.batch,
                collapse.rate,
                self.by_precision.join("; ")
            )
        })
    }
}

/// Dead hidden units of all.
fn dead(run: &Trained) -> String {
    format!("{} of {}", run.outcome.dead_units, run.outcome.units)
}

/// Gradient, who trains, seed.
fn settings() -> Vec<(Reduction, Way, u32)> {
    let mut all: Vec<_> = (1..=SEEDS).map(|seed| (Reduction::Sum, Way::CpuAll, seed)).collect();
    all.extend([
        (Reduction::Sum, Way::CpuDouble, 1),
        (Reduction::Sum, Way::Published, 1),
        (Reduction::Mean, Way::CpuAll, 1),
        (Reduction::Mean, Way::CpuDouble, 1),
        (Reduction::Mean, Way::Published, 1),
    ]);
    all
}

fn row(collapse: &Collapse, options: &Options, way: Way, run: &Trained) -> Vec<Cell> {
    let outcome = &run.outcome;
    let is_sum = options.reduction == Reduction::Sum;
    let favourite = outcome.favourite();
    vec![
        collapse.batch.into(),
        collapse.rate.into(),
        options.reduction.to_string().into(),
        if is_sum { collapse.rate } else { collapse.rate / f64::from(collapse.batch) }.into(),
        way.name().into(),
        options.seed.into(),
        if is_sum { collapse.accuracy } else { collapse.gpu_accuracy }.into(),
        outcome.accuracy().into(),
        outcome.losses.first().copied().into(),
        dead(run).into(),
        favourite.map(|(class, _)| class).into(),
        favourite.map(|(_, share)| share).into(),
        outcome.classes_answered().into(),
        outcome.diverged.clone().into(),
    ]
}

/// What a program scores that answers one class always.
fn classes(lab: &Lab<'_, '_>) -> Table {
    let counts = class_counts(&lab.test);
    let mut table = Table::new("What the answer of one class scores")
        .column("class")
        .column("images of MNIST's test set")
        .digits("accuracy on MNIST's test set, %", 2)
        .column("published")
        .column("images of this test set")
        .digits("accuracy on this test set, %", 2);
    for (class, &images) in published::TEST_CLASSES.iter().enumerate() {
        let share = |n: u32, all: usize| 100.0 * f64::from(n) / all as f64;
        let accuracy = share(images, published::TEST_SAMPLES as usize);
        let found = published::COLLAPSES.iter().find(|collapse| (collapse.accuracy - accuracy).abs() < 0.005);
        let text = match found {
            Some(found) => format!("CPU at batch {}, rate {}", found.batch, found.rate),
            // Comparisons with NaN are false, so that a search for the largest stays where it began.
            None if class == 0 => "what NaN would answer: the class that an argmax begins with".to_string(),
            None => String::new(),
        };
        let ours = counts.get(class).copied();
        let cells: [Cell; 6] = [
            class.into(),
            images.into(),
            accuracy.into(),
            text.into(),
            ours.into(),
            ours.map(|n| share(n, lab.test.len())).into(),
        ];
        table.row(cells);
    }
    table
}

/// At which rate the units die, with the gradient averaged: a sum is no more than a larger rate.
fn onset(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    lab.run.expect(RATES.len() as u64);
    let mut table = Table::new("Averaged at batch 64: dead units by the learning rate")
        .column("rate")
        .column("the same step summed at batch 64")
        .column("units dead on the training set")
        .digits("accuracy, %", 2)
        .digits("loss, epoch 1", 3);
    let mut points = Vec::new();
    for learning_rate in RATES {
        let options = Options { learning_rate, ..lab.base() };
        let Some(run) = lab.train(Way::CpuAll, &options)? else { continue };
        let outcome = &run.outcome;
        points.push([learning_rate, outcome.dead_units as f64]);
        let cells: [Cell; 5] = [
            learning_rate.into(),
            (learning_rate / f64::from(options.batch)).into(),
            dead(&run).into(),
            outcome.accuracy().into(),
            outcome.losses.first().copied().into(),
        ];
        table.row(cells);
    }
    let line = Line { name: "averaged, batch 64".into(), points, ..Line::default() };
    Ok(sheet.table(table).figure(Figure {
        file: "collapses-dead".into(),
        title: "Dead hidden units by the learning rate".into(),
        x: Axis::log("learning rate"),
        y: Axis::linear("dead units"),
        chart: Chart::Lines(vec![line]),
    }))
}
