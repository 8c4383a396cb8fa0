//! Both settings at which the published CPU program answers one class, and what they have in common.

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
        .column("dead units")
        .column("most frequent answer")
        .digits("its share of the answers, %", 2)
        .column("diverged");
    let (mut trainings, mut all_dead, mut one_class) = (0, 0, 0);
    for collapse in &published::COLLAPSES {
        for (reduction, way, seed) in settings() {
            let options =
                Options { batch: collapse.batch, learning_rate: collapse.rate, reduction, seed, ..lab.base() };
            lab.run.expect(1);
            let Some(run) = lab.train(way, &options)? else { continue };
            if reduction == Reduction::Sum {
                trainings += 1;
                all_dead += u32::from(run.outcome.dead_units == run.outcome.units);
                one_class += u32::from(run.outcome.favourite().is_some_and(|(_, share)| share == 100.0));
            }
            table.row(row(collapse, &options, way, &run));
        }
    }
    let sheet =
        sheet.table(table).note(format!("summed: of {trainings} trainings {all_dead} end with every hidden unit dead, and {one_class} with one class for every image"));
    onset(sheet, lab)
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
        format!("{} of {}", outcome.dead_units, outcome.units).into(),
        favourite.map(|(class, _)| class).into(),
        favourite.map(|(_, share)| share).into(),
        outcome.diverged.clone().into(),
    ]
}

/// What a program scores that answers one class always.
fn classes(lab: &Lab<'_, '_>) -> Table {
    let counts = class_counts(&lab.test);
    let mut table = Table::new("What the answer of one class scores")
        .column("class")
        .column("images of MNIST's test set")
        .digits("accuracy, %", 2)
        .column("published")
        .column("images of this test set")
        .digits("accuracy, %", 2);
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
        .column("dead units")
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
            format!("{} of {}", outcome.dead_units, outcome.units).into(),
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
