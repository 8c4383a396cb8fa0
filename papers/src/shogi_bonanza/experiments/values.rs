//! Table 7 and Figures 1 and 2: the values from two first ones.

use super::super::published::{KINDS, TABLE7, conditions, step_at};
use super::{Repetition, quiet};
use crate::experiment::{Axis, Chart, Figure, Item, Line, Measurement, Run, Sheet, Stop, Table};
use warpplay::Device;
use warpplay::shogi::material::Material;
use warpplay::shogi::{Objective, Row, StoppedBy, Values};

/// Updates at which the values of Figures 1 and 2 are told as numbers.
const FIGURE_STOPS: [usize; 5] = [10, 20, 50, 75, 100];

/// All rows of a fit, which the run's watcher may end.
pub(super) fn rows<E>(material: &mut Material, now: &mut Measurement<'_, E>) -> Result<Vec<Row>, Stop> {
    let report = material.run(|_| now.go_on())?;
    if report.stopped_by == StoppedBy::Request { Err(Stop::Interrupted) } else { Ok(report.rows) }
}

/// The course from one first value for all twelve; the same on every device.
pub(super) fn course(paper: &Repetition<'_>, run: &mut Run<'_>, first: f64) -> Result<Vec<Row>, Stop> {
    let iterations = paper.settings.iterations;
    run.exact(&format!("table7: {iterations} updates from {first}"), |now| {
        let builder = Material::builder(paper.shards.as_slice()).objective(paper.settings.objective);
        rows(&mut builder.init([first; 12]).iterations(iterations).build(&Device::cpu())?, now)
    })
}

fn last(rows: &[Row]) -> Values {
    rows.last().map_or([f64::NAN; 12], |row| row.values)
}

/// A value in hundredths of a pawn, the pawn's first.
fn hundredths(values: &Values, kind: usize) -> f64 {
    kind.checked_sub(1).map_or(100.0, |at| 100.0 * values[at])
}

pub(super) fn table(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    run.expect(2);
    let [low, high] = conditions::FIRST_VALUES;
    let rows = [course(paper, run, low)?, course(paper, run, high)?];
    let courses = [last(&rows[0]), last(&rows[1])];
    let quiet = match paper.settings.quiescence_every {
        Some(every) => {
            run.expect(1);
            let iterations = paper.settings.iterations;
            Some(run.exact(&format!("table7: {iterations} updates from {low}, quiet leaves"), |now| {
                let options = super::super::Options { init: [low; 12], ..paper.job(iterations) };
                quiet::learn(&paper.shards, &options, every, || now.go_on())?.ok_or(Stop::Interrupted)
            })?)
        }
        None => None,
    };
    let mut table = Table::new(format!("values after {} updates, a pawn is 100", paper.settings.iterations))
        .column("piece")
        .digits("published, from 300", 0)
        .digits("ours, from 300", 0)
        .digits("published, from 500", 0)
        .digits("ours, from 500", 0);
    if quiet.is_some() {
        table = table.digits("ours with quiet leaves, from 300", 0);
    }
    for (kind, name) in KINDS.iter().enumerate() {
        let mut row = vec![(*name).into()];
        for (published, ours) in TABLE7.iter().zip(&courses) {
            row.extend([published[kind].into(), hundredths(ours, kind).into()]);
        }
        row.extend(quiet.map(|quiet| hundredths(&quiet.values, kind).into()));
        table.row(row);
    }
    let published = largest(|kind| (f64::from(TABLE7[0][kind]), f64::from(TABLE7[1][kind])));
    let ours = largest(|kind| (hundredths(&courses[0], kind), hundredths(&courses[1], kind)));
    let distance = |first: usize| {
        let square = |kind: usize| (hundredths(&courses[first], kind) / f64::from(TABLE7[first][kind])).ln().powi(2);
        100.0 * ((1..13).map(square).sum::<f64>() / 12.0).sqrt()
    };
    let sheet = Sheet::new(item).table(table).note(rule(paper));
    let sheet = match quiet {
        Some(quiet) => {
            let left_out = match quiet.left_out {
                0 => "every difference of material fits into a word, so no search left one out".to_string(),
                n => format!(
                    "a search left out at most {n} of them, where a difference of material does not fit into a word"
                ),
            };
            sheet.note(format!("Quiet leaves are those of {} parents; {left_out}.", paper.parents()))
        }
        None => sheet,
    };
    let sheet = still_moving(&rows).into_iter().fold(sheet, Sheet::note);
    Ok(sheet
        .note(format!("Ours lie {:.0} % from the published ones from 300, and {:.0} % from 500 (root of the mean square of the logarithms).", distance(0), distance(1)))
        .note(format!("The two first values end at most {:.0} % apart where published ({}), ours {:.0} % ({}).", published.1, KINDS[published.0], ours.1, KINDS[ours.0])))
}

/// How far values still move in the last quarter of the updates, by which the text's word on bad first values can be judged.
fn still_moving(courses: &[Vec<Row>; 2]) -> Option<String> {
    let end = courses.iter().map(|rows| rows.len().saturating_sub(1)).min().filter(|&end| end >= 4)?;
    let start = end - end / 4;
    let [(one, first), (other, second)] = [0, 1].map(|course: usize| {
        let moved = |kind: usize| {
            let [from, to] = [start, end].map(|at| hundredths(&courses[course][at].values, kind));
            (kind, (to - from).abs())
        };
        (1..13).map(moved).fold((1, 0.0), |most, found| if found.1 > most.1 { found } else { most })
    });
    let [low, high] = conditions::FIRST_VALUES;
    let steps: f64 = courses[0][start..end].iter().map(|row| 100.0 * row.h).sum();
    Some(format!(
        "A bad first value needs more updates, the text says, without naming one. Ours from update {start} to {end}: from {low} \
         the values still move by up to {first:.1} hundredths of a pawn ({}), from {high} by up to {second:.1} ({}). The steps of these \
         updates are {steps:.1} hundredths together.",
        KINDS[one], KINDS[other]
    ))
}

/// By what it was learnt, and what the paper learnt by where that is something else.
fn rule(paper: &Repetition<'_>) -> String {
    let of = |Objective { a, delta, h, factor }: Objective, (first, end): (u32, u32)| {
        let last = end.saturating_sub(1);
        format!("a = {a}, h = {h} · {factor}ᵏ, Δ = {delta}, half-moves {first} to {last}")
    };
    let plies = || paper.shards.iter().flat_map(|shard| shard.plies.iter()).map(|&ply| u32::from(ply));
    let ours = of(paper.settings.objective, (plies().min().unwrap_or(0), plies().max().map_or(0, |last| last + 1)));
    let published =
        Objective { a: conditions::A, delta: conditions::DELTA, h: conditions::H, factor: conditions::FACTOR };
    let published = of(published, conditions::PLIES);
    let against = if ours == published { "as published".into() } else { format!("published {published}") };
    format!("Learnt with {ours}, {against}; the games are others, so that values differ.")
}

/// The kind whose two values differ most, and by how many per cent of the first.
pub(super) fn largest(values: impl Fn(usize) -> (f64, f64)) -> (usize, f64) {
    let of_kind = |kind| {
        let (one, other) = values(kind);
        (kind, 100.0 * (other / one - 1.0).abs())
    };
    (1..13).map(of_kind).fold((0, 0.0), |most, found| if found.1 > most.1 { found } else { most })
}

pub(super) fn figure(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>, number: usize) -> Result<Sheet, Stop> {
    run.expect(1);
    let first = conditions::FIRST_VALUES[number];
    let rows = course(paper, run, first)?;
    let line = |kind: usize| Line {
        name: KINDS[kind].into(),
        points: rows.iter().map(|row| [f64::from(row.iteration), hundredths(&row.values, kind)]).collect(),
        ..Line::default()
    };
    let figure = Figure {
        file: item.name.into(),
        title: format!("values from {first}"),
        x: Axis::linear("updates"),
        y: Axis::linear("value, hundredths of a pawn"),
        chart: Chart::Lines((1..13).map(line).collect()),
    };
    let stops: Vec<&Row> = FIGURE_STOPS.iter().filter_map(|&at| rows.get(at)).collect();
    let mut table = Table::new("ours on the way, and what the paper's end at (Table 7)").column("piece");
    for row in &stops {
        table = table.digits(format!("after {}", row.iteration), 0);
    }
    table = table.digits("published, after 100", 0);
    for (kind, name) in KINDS.iter().enumerate().skip(1) {
        let ours = stops.iter().map(|row| hundredths(&row.values, kind).into());
        let cells: Vec<_> = std::iter::once((*name).into()).chain(ours).chain([TABLE7[number][kind].into()]).collect();
        table.row(cells);
    }
    let left = conditions::FACTOR.powi(conditions::FIGURE_ITERATIONS as i32);
    Ok(Sheet::new(item).table(table).figure(figure).note(format!(
        "0.97¹⁰⁰ = {left:.5}; {} is printed. The last of {} steps is {:.4} pawns, and all together {:.2}.",
        conditions::FACTOR_AFTER_FIGURE,
        conditions::FIGURE_ITERATIONS,
        step_at(conditions::FIGURE_ITERATIONS - 1),
        conditions::H * (1.0 - left) / (1.0 - conditions::FACTOR)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_still_moves_is_the_last_quarter() {
        let course = |from: f64, per_update: f64| {
            let row = |iteration: u32| {
                let mut values = [from; 12];
                values[5] += per_update * f64::from(iteration);
                Row { iteration, j: 0.3, values, h: 0.25, differences: [0.0; 12] }
            };
            (0..=8).map(row).collect::<Vec<_>>()
        };
        let said = still_moving(&[course(3.0, 0.125), course(5.0, -0.25)]).expect("eight updates");
        assert!(said.contains("from update 6 to 8: from 3 the values still move by up to 25.0 hundredths"), "{said}");
        assert!(said.contains("from 5 by up to 50.0 (飛)") && said.contains("are 50.0 hundredths together"), "{said}");
        assert_eq!(still_moving(&[Vec::new(), course(5.0, 0.1)]), None);
    }
}
