//! One parameter varied, the others the paper's: batch, threads, hidden units; and the first table of the learning rates.

use super::lab::{Lab, epochs};
use super::training::{Trained, Way};
use crate::experiment::statistics::{least, most};
use crate::experiment::{Axis, Cell, Chart, Figure, Line, Sheet, Stop, Table};
use crate::mnist_mlp::Options;
use crate::mnist_mlp::published::{self, Row};

/// A table of sections 2.6 and 2.7.
pub(super) struct Parameter {
    /// Item.
    pub name: &'static str,
    /// Head of the column.
    pub head: &'static str,
    /// What was published.
    pub rows: &'static [Row],
    /// Only the paper's kernels have it.
    pub is_of_kernels: bool,
    set: fn(&Lab<'_, '_>, &mut Options, f64),
}

/// All of them.
pub(super) static PARAMETERS: [Parameter; 5] = [
    Parameter {
        name: "batch",
        head: "batch",
        rows: &published::BATCHES,
        is_of_kernels: false,
        set: |_, to, x| to.batch = x as u32,
    },
    Parameter {
        name: "threads1d",
        head: "threads, 1D",
        rows: &published::THREADS_1D,
        is_of_kernels: true,
        set: |_, to, x| to.forms.block = x as u32,
    },
    Parameter {
        name: "threads2d",
        head: "side, 2D",
        rows: &published::THREADS_2D,
        is_of_kernels: true,
        set: |_, to, x| to.forms.tile = x as u32,
    },
    Parameter {
        name: "hidden",
        head: "hidden units",
        rows: &published::HIDDEN,
        is_of_kernels: false,
        set: |lab, to, x| to.hidden = vec![lab.hidden(x as u32)],
    },
    Parameter {
        name: "rates",
        head: "learning rate",
        rows: &published::RATES,
        is_of_kernels: false,
        set: |_, to, x| to.learning_rate = x,
    },
];

/// The trainings beside a published row; `None` where there are no kernels.
pub(super) struct Ours {
    pub published: Row,
    /// The CPU program: one thread, summed.
    pub cpu: Option<Trained>,
    /// The averaged training on the CPU.
    pub averaged: Option<Trained>,
    pub paper: Option<Trained>,
    pub fast: Option<Trained>,
}

/// Trains all that a parameter needs.
pub(super) fn measure(lab: &mut Lab<'_, '_>, parameter: &Parameter) -> Result<Vec<Ours>, Stop> {
    lab.run.expect(4 * parameter.rows.len() as u64);
    let mut found = Vec::new();
    for &published in parameter.rows {
        let mut options = lab.base();
        let base = options.clone();
        (parameter.set)(lab, &mut options, published.value);
        // What only the kernels have makes no other training elsewhere.
        let elsewhere = if parameter.is_of_kernels { &base } else { &options };
        found.push(Ours {
            published,
            cpu: lab.cpu_program(elsewhere)?,
            averaged: lab.train(Way::CpuAll, elsewhere)?,
            paper: lab.train(Way::Published, &options)?,
            fast: lab.train(Way::Fast, elsewhere)?,
        });
    }
    Ok(found)
}

/// The sheet of an item whose name is a parameter's.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == sheet.item) else { return Ok(sheet) };
    let (mut sheet, found) = compared(sheet, lab, parameter)?;
    if parameter.name == "hidden" {
        let times = |run: fn(&Ours) -> &Option<Trained>| growth(&found, run);
        for (name, exponent) in
            [("CPU program", times(|ours| &ours.cpu)), ("paper's kernels", times(|ours| &ours.paper))]
        {
            let Some(exponent) = exponent else { continue };
            sheet = sheet.note(format!(
                "{name}: the time grows with the power {exponent:.2} of the hidden units; the work is linear in them"
            ));
        }
    }
    if parameter.name == "batch" { batches(sheet, lab, &found) } else { Ok(sheet) }
}

/// The table of a parameter, published beside ours, and its figures.
pub(super) fn compared(sheet: Sheet, lab: &mut Lab<'_, '_>, parameter: &Parameter) -> Result<(Sheet, Vec<Ours>), Stop> {
    let found = measure(lab, parameter)?;
    let mut table = Table::new(format!("{}, {}", parameter.head, epochs(lab.base().epochs)))
        .column(parameter.head)
        .digits("published CPU, s", 2)
        .digits("published GPU, s", 2)
        .digits("published speed-up", 1)
        .digits("published GPU accuracy, %", 2)
        .column("CPU program, s")
        .digits("CPU program, accuracy, summed, %", 2)
        .column("paper's kernels, s")
        .digits("paper's kernels, speed-up", 1)
        .digits("paper's kernels, accuracy, %", 2)
        .column("ours, engine")
        .column("ours, s")
        .digits("ours, speed-up", 1)
        .digits("ours, accuracy, %", 2)
        .digits("averaged on the CPU, accuracy, %", 2);
    for ours in &found {
        let Row { value, cpu_s, gpu_s, speed_up, accuracy } = ours.published;
        let seconds = |run: &Option<Trained>| run.as_ref().and_then(Trained::seconds);
        let faster = |run: &Option<Trained>| Some(seconds(&ours.cpu)? / seconds(run)?);
        let right = |run: &Option<Trained>| run.as_ref().and_then(|run| run.outcome.accuracy());
        let cells: [Cell; 15] = [
            value.into(),
            cpu_s.into(),
            gpu_s.into(),
            speed_up.into(),
            accuracy.into(),
            seconds(&ours.cpu).into(),
            right(&ours.cpu).into(),
            seconds(&ours.paper).into(),
            faster(&ours.paper).into(),
            right(&ours.paper).into(),
            ours.fast.as_ref().map(|run| run.times.engine.clone()).into(),
            seconds(&ours.fast).into(),
            faster(&ours.fast).into(),
            right(&ours.fast).into(),
            right(&ours.averaged).into(),
        ];
        table.row(cells);
    }
    let sheet = sheet.table(table).figure(accuracy_figure(parameter, &found)).figure(time_figure(parameter, &found));
    let notes = [two_engines(&found), repeated(parameter), same_work(parameter, &found)];
    Ok((notes.into_iter().flatten().fold(sheet, Sheet::note), found))
}

/// Our trainings by the engine that made them, each with a place for every row: times of two engines are not comparable. Named `ours`, with the engine where there are several.
pub(super) fn by_engine(found: &[Ours]) -> Vec<(String, Vec<Option<&Trained>>)> {
    let mut engines: Vec<&str> = Vec::new();
    for run in found.iter().filter_map(|ours| ours.fast.as_ref()) {
        if !engines.contains(&run.times.engine.as_str()) {
            engines.push(&run.times.engine);
        }
    }
    let several = engines.len() > 1;
    let mut all = Vec::new();
    for engine in engines {
        let name = if several { format!("ours, engine {engine}") } else { "ours".into() };
        let runs = found.iter().map(|ours| ours.fast.as_ref().filter(|run| run.times.engine == engine));
        all.push((name, runs.collect()));
    }
    all
}

/// Which engine of ours trained which rows, where there are several: a time jumps from one to the other.
fn two_engines(found: &[Ours]) -> Option<String> {
    let engines = by_engine(found);
    let rows = |runs: &[Option<&Trained>]| -> Vec<String> {
        let pairs = found.iter().zip(runs);
        pairs.filter(|(_, run)| run.is_some()).map(|(ours, _)| ours.published.value.to_string()).collect()
    };
    let names: Vec<String> =
        engines.iter().map(|(name, runs)| format!("{name}, at {}", rows(runs).join(", "))).collect();
    (names.len() > 1).then(|| {
        format!(
            "{}: times and speed-ups of two engines are not comparable, and do not show what the parameter does",
            names.join("; ")
        )
    })
}

/// What is one training in all rows.
fn repeated(parameter: &Parameter) -> Option<String> {
    parameter.is_of_kernels.then(|| {
        "only the paper's kernels have this parameter: the CPU program, the averaged training on the CPU and ours are one measurement each, repeated in every row".into()
    })
}

/// How far the times of the CPU program are apart where its work is the same in all rows.
fn same_work(parameter: &Parameter, found: &[Ours]) -> Option<String> {
    if parameter.name != "rates" {
        return None;
    }
    let times: Vec<f64> = found.iter().filter_map(|ours| ours.cpu.as_ref()?.seconds()).collect();
    (times.len() > 1).then(|| {
        let (least, most) = (least(&times), most(&times));
        format!(
            "CPU program: it does the same operations at every rate, in {least:.3} to {most:.3} s: times of the same work differ by a factor of {:.2} on one machine",
            most / least
        )
    })
}

/// The exponent of a way's time from the first row to the last.
fn growth(found: &[Ours], run: fn(&Ours) -> &Option<Trained>) -> Option<f64> {
    let (first, last) = (found.first()?, found.last()?);
    let seconds = |ours| run(ours).as_ref().and_then(Trained::seconds);
    Some((seconds(last)? / seconds(first)?).ln() / (last.published.value / first.published.value).ln())
}

fn line(name: &str, found: &[Ours], published: bool, value: impl Fn(&Ours) -> Option<f64>) -> Line {
    let points = found.iter().filter_map(|ours| Some([ours.published.value, value(ours)?])).collect();
    Line { name: name.into(), points, published, band: Vec::new() }
}

fn accuracy_figure(parameter: &Parameter, found: &[Ours]) -> Figure {
    let of = |run: &Option<Trained>| run.as_ref().and_then(|run| run.outcome.accuracy());
    let lines = vec![
        line("published GPU", found, true, |ours| Some(ours.published.accuracy)),
        line("paper's kernels", found, false, |ours| of(&ours.paper)),
        line("ours", found, false, |ours| of(&ours.fast)),
        line("averaged on the CPU", found, false, |ours| of(&ours.averaged)),
    ];
    figure(parameter, "accuracy", "accuracy, %", false, lines)
}

fn time_figure(parameter: &Parameter, found: &[Ours]) -> Figure {
    let of = |run: &Option<Trained>| run.as_ref().and_then(Trained::seconds);
    let mut lines = vec![
        line("published CPU", found, true, |ours| Some(ours.published.cpu_s)),
        line("published GPU", found, true, |ours| Some(ours.published.gpu_s)),
        line("CPU program", found, false, |ours| of(&ours.cpu)),
        line("paper's kernels", found, false, |ours| of(&ours.paper)),
    ];
    lines.extend(by_engine(found).into_iter().map(|(name, runs)| {
        let seconds = runs.into_iter().map(|run| run.and_then(Trained::seconds));
        let points = found.iter().zip(seconds).filter_map(|(ours, seconds)| Some([ours.published.value, seconds?]));
        Line { name, points: points.collect(), ..Line::default() }
    }));
    figure(parameter, "time", "training, s", true, lines)
}

fn figure(parameter: &Parameter, what: &str, label: &str, log: bool, lines: Vec<Line>) -> Figure {
    Figure {
        file: format!("{}-{what}", parameter.name),
        title: format!("{what} by {}", parameter.head),
        x: Axis::log(parameter.head),
        y: if log { Axis::log(label) } else { Axis::linear(label) },
        chart: Chart::Lines(lines.into_iter().filter(|line| !line.points.is_empty()).collect()),
    }
}

/// The training of a row of the batch table, and one with as many updates as the smallest batch has.
pub(super) fn of_batch(base: &Options, row: &Row) -> [Options; 2] {
    let options = Options { batch: row.value as u32, ..base.clone() };
    let longer = (row.value / published::BATCHES[0].value).round() as u32;
    [options.clone(), Options { epochs: base.epochs * longer, ..options }]
}

/// What the accuracies of the batch table come from: neither rounding, nor anything but fewer updates.
fn batches(sheet: Sheet, lab: &mut Lab<'_, '_>, found: &[Ours]) -> Result<Sheet, Stop> {
    lab.run.expect(2 * found.len() as u64);
    let base = lab.base();
    let mut table = Table::new("Averaged: in double precision, and with as many updates as the smallest batch")
        .column("batch")
        .digits("published GPU accuracy, %", 2)
        .column("updates")
        .digits("f32, %", 2)
        .digits("f64, %", 2)
        .column("epochs for as many updates")
        .digits("accuracy then, %", 2);
    let n = lab.train.len();
    for ours in found {
        let [options, longer] = of_batch(&base, &ours.published);
        let (batch, epochs) = (options.batch, longer.epochs);
        let double = lab.train(Way::CpuDouble, &options)?;
        let way = if lab.has_kernels("our kernels for longer trainings") { Way::Fast } else { Way::CpuAll };
        let longer = lab.train(way, &longer)?;
        let right = |run: &Option<Trained>| run.as_ref().and_then(|run| run.outcome.accuracy());
        let updates = n.div_ceil(batch.max(1) as usize) * base.epochs as usize;
        let cells: [Cell; 7] = [
            batch.into(),
            ours.published.accuracy.into(),
            updates.into(),
            right(&ours.averaged).into(),
            right(&double).into(),
            epochs.into(),
            right(&longer).into(),
        ];
        table.row(cells);
    }
    Ok(sheet.table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of the table of batches that one of our engines trained in so many seconds.
    fn ours(row: usize, engine: &str, seconds: f64) -> Ours {
        let mut run = Trained::default();
        (run.times.engine, run.times.seconds) = (engine.into(), seconds);
        Ours { published: published::BATCHES[row], cpu: None, averaged: None, paper: None, fast: Some(run) }
    }

    #[test]
    fn times_of_two_engines_are_told_apart() {
        let found = [ours(0, "epoch", 1.0), ours(1, "epoch", 2.0), ours(2, "layers", 9.0)];
        let times = |found: &[Ours]| -> Vec<(String, Vec<Option<f64>>)> {
            let mut times = Vec::new();
            for (name, runs) in by_engine(found) {
                times.push((name, runs.into_iter().map(|run| run?.seconds()).collect()));
            }
            times
        };
        let expected = [
            ("ours, engine epoch".to_string(), vec![Some(1.0), Some(2.0), None]),
            ("ours, engine layers".to_string(), vec![None, None, Some(9.0)]),
        ];
        assert_eq!(times(&found), expected);
        let note = two_engines(&found).expect("two engines");
        assert!(note.starts_with("ours, engine epoch, at 32, 64; ours, engine layers, at 128: "), "{note}");
        let figure = time_figure(&PARAMETERS[0], &found);
        let Chart::Lines(lines) = &figure.chart else { panic!("{figure:?}") };
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["published CPU", "published GPU", "ours, engine epoch", "ours, engine layers"]);
        // One engine needs no name.
        assert_eq!(times(&found[..2]), [("ours".to_string(), vec![Some(1.0), Some(2.0)])]);
        assert_eq!(two_engines(&found[..2]), None);
    }
}
