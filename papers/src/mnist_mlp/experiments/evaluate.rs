//! Time of evaluation against the samples evaluated at once.

use serde::{Deserialize, Serialize};
use warpplay::{Device, Error};

use super::lab::Lab;
use super::training::{Trained, Way, evaluations, network};
use crate::experiment::{Axis, Cell, Chart, Figure, Line, Sheet, Stop, Table};
use crate::mnist_mlp::Options;
use crate::mnist_mlp::checks::speed;
use crate::mnist_mlp::published::{self, BATCH, EvaluateRow};

/// Evaluations of which the fastest counts.
const REPEATS: usize = 5;

#[derive(Serialize, Deserialize)]
struct Right {
    correct: u64,
    total: u64,
}

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let rows = published::EVALUATE;
    lab.run.expect(4 * rows.len() as u64);
    let ways: &[Way] = match lab.has_kernels("evaluation by kernels") {
        true => &[Way::Cpu, Way::Published, Way::Fast],
        false => &[Way::Cpu],
    };
    let mut table = Table::new(format!("Training with batch {BATCH}, evaluation with another"))
        .column("evaluated at once")
        .column("batches of 10,000")
        .digits("published training, s", 2)
        .digits("published accuracy, %", 2)
        .digits("published µs a sample", 1)
        .column("paper's kernels, training, s")
        .digits("paper's kernels, accuracy, %", 2);
    for way in ways {
        if *way == Way::Fast {
            table = table.column("ours, engine");
        }
        table = table.digits(format!("{}, µs a sample", way.name()), 3);
    }
    let mut lines = vec![Line {
        name: "published GPU".into(),
        points: rows.iter().map(|row| [f64::from(row.batch), row.micros]).collect(),
        published: true,
        ..Line::default()
    }];
    lines.extend(ways.iter().map(|way| Line { name: way.name().into(), ..Line::default() }));
    for EvaluateRow { batch, train_s, accuracy, micros } in rows {
        let options = Options { evaluate_batch: batch, ..lab.base() };
        let trained = lab.train(Way::Published, &options)?;
        let mut cells: Vec<Cell> = vec![
            batch.into(),
            published::TEST_SAMPLES.div_ceil(batch).into(),
            train_s.into(),
            accuracy.into(),
            micros.into(),
            trained.as_ref().and_then(Trained::seconds).into(),
            trained.as_ref().and_then(|run| run.outcome.accuracy()).into(),
        ];
        for (way, line) in ways.iter().zip(&mut lines[1..]) {
            let (micros, engine) = measure(lab, *way, batch)?;
            if *way == Way::Fast {
                cells.push(engine.into());
            }
            line.points.push([f64::from(batch), micros]);
            cells.push(micros.into());
        }
        table.row(cells);
    }
    let figure = Figure {
        file: "evaluate".into(),
        title: "Time of evaluation by samples evaluated at once".into(),
        x: Axis::log("samples evaluated at once"),
        y: Axis::log("µs a sample"),
        chart: Chart::Lines(lines),
    };
    let step = 1e6 * speed::step_s() / f64::from(BATCH);
    let (least, _) = published::EVALUATE_MICROS;
    Ok(sheet.table(table).figure(figure).note(format!(
        "a published training step takes {step:.2} µs a sample, forward, backward and update: its evaluation, forward alone, cannot be bound by its kernels at {least} µs and more"
    )))
}

/// Microseconds a sample of the fastest evaluation of a network of one epoch, and the engine of ours that made it.
fn measure(lab: &mut Lab<'_, '_>, way: Way, batch: u32) -> Result<(f64, Option<String>), Stop> {
    let (train, test, options) = (lab.train.clone(), lab.test.clone(), lab.base());
    let key = format!("evaluation: {}, {batch} at once", way.name());
    let (right, (seconds, engine)) = lab.run.both(&key, |now| {
        let trainer = now.device.clone();
        let network = network(&trainer, &options, &train)?;
        let device = if way == Way::Cpu { Device::cpu() } else { trainer };
        let found = evaluations(way, &device, &network, batch, &test, REPEATS)?;
        let same = found.iter().all(|one| one.confusion == found[0].confusion);
        let least = found.iter().min_by(|one, other| one.seconds.total_cmp(&other.seconds));
        match least {
            Some(least) if same => {
                let engine = least.engine.map(|engine| engine.to_string());
                Ok((Right { correct: least.correct, total: least.total }, (least.seconds, engine)))
            }
            _ => Err(Error::shape("confusion matrix of another evaluation", "that of the first", "another").into()),
        }
    })?;
    Ok((1e6 * seconds / right.total as f64, engine))
}
