//! Table 2: processes that share the changed values.

use std::sync::{Mutex, PoisonError};

use super::super::job::Options;
use super::super::published::{
    self, CEILING_OF_FOUR, EVALUATIONS, LEARNT, MILLION_EVALUATIONS_A_SECOND, TABLE2, conditions,
};
use super::super::{PaperEngine, ideal_speed_up};
use super::group::Order;
use super::{Repetition, children, spread};
use crate::experiment::{Axis, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};
use warpplay::shogi::Values;

/// Ranks where the program was not started as several.
const RANKS: u32 = 4;
/// Times of each number of ranks.
const TIMES: u32 = 5;
/// The same with `--quick`, and the parents that are then taken.
const QUICK: u32 = 2;
const QUICK_PARENTS: u32 = 500;

impl Repetition<'_> {
    /// The paper's learning on one core: a position after the other, thirteen times an update.
    pub(super) fn job(&self, iterations: u32) -> Options {
        Options {
            engine: PaperEngine::Paper,
            objective: self.settings.objective,
            iterations,
            repeat: self.settings.repeat,
            threads: Some(1),
            ..Options::default()
        }
    }
}

/// Parents that Tables 2 and 6 are measured on; 0 for all.
pub(super) fn parents(run: &Run<'_>) -> u32 {
    if run.quick() { QUICK_PARENTS } else { 0 }
}

/// How often each number of ranks is timed.
pub(super) fn times(run: &Run<'_>) -> u32 {
    if run.quick() { QUICK } else { TIMES }
}

/// Every time of so many ranks, with the last values; from the journal where they are there.
pub(super) fn measured(paper: &Repetition<'_>, run: &mut Run<'_>, ranks: u32) -> Result<Vec<(Values, f64)>, Stop> {
    let order = Order { ranks, iterations: paper.settings.table_iterations, parents: parents(run) };
    let times = times(run);
    let once = |time| {
        run.both(&format!("table2: {ranks} ranks, time {time}"), |now| {
            now.check()?;
            // Ranks that are threads ask one after the other.
            let now = Mutex::new(now);
            let stop = || now.lock().unwrap_or_else(PoisonError::into_inner).go_on().is_break();
            paper.learnt_by(order, &stop)?.ok_or(Stop::Interrupted)
        })
    };
    (1..=times).map(once).collect()
}

/// Evaluations of a learning, as the paper counts them: thirteen of each position before every update. The state after the last update is evaluated too.
pub(super) fn evaluations(children: u64, iterations: u32) -> f64 {
    children as f64 * 13.0 * f64::from(iterations + 1)
}

pub(super) fn sheet(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let alone = paper.group.size() == 1;
    let most = if alone { RANKS } else { paper.group.size() as u32 };
    let (times, iterations) = (times(run), paper.settings.table_iterations);
    let children = children(&paper.first(parents(run))?) * u64::from(paper.settings.repeat);
    run.expect(u64::from(most * times));
    let mut seconds = Vec::new();
    let mut learnt: Option<Values> = None;
    let mut same = true;
    for ranks in 1..=most {
        let of_ranks = measured(paper, run, ranks)?;
        same &= of_ranks.iter().all(|(values, _)| *learnt.get_or_insert(*values) == *values);
        let of_ranks: Vec<f64> = of_ranks.iter().map(|&(_, took)| took).collect();
        seconds.push(spread(&of_ranks));
    }
    let one = seconds.first().map_or(f64::NAN, |of_one| of_one[0]);
    let evaluations = evaluations(children, iterations);
    let states = iterations + 1;
    let title = format!(
        "{iterations} updates and the last state ({states} passes of 13 sums) of {children} positions, the mean of {times} times"
    );
    let mut table = Table::new(title)
        .column("processes")
        .digits("published, s", 1)
        .digits("published speed-up", 2)
        .digits("(L+1)/(L/P+1)", 2)
        .digits("(L+1)/(⌈L/P⌉+1)", 2)
        .digits("ours, s", 3)
        .digits("least", 3)
        .digits("most", 3)
        .digits("our speed-up", 2)
        .digits("million evaluations/s, as the paper counts", 2)
        .digits("the paper's job, s", 1);
    for (ranks, &[mean, least, largest]) in (1..).zip(&seconds) {
        let published = TABLE2.iter().find(|row| row.processes == ranks);
        table.row([
            ranks.into(),
            published.map(|row| row.seconds).into(),
            published.map(|row| row.speed_up).into(),
            published::ideal(ranks).into(),
            ideal_speed_up(ranks as usize).into(),
            mean.into(),
            least.into(),
            largest.into(),
            (one / mean).into(),
            (evaluations / mean / 1e6).into(),
            (EVALUATIONS / evaluations * mean).into(),
        ]);
    }
    let cores = run.cpu_threads();
    let points = |of: &dyn Fn(u32) -> f64| (1..=most).map(|ranks| [f64::from(ranks), of(ranks)]).collect::<Vec<_>>();
    let ours = seconds.iter().zip(1..).map(|(&[mean, ..], ranks)| [f64::from(ranks), one / mean]).collect();
    let band = seconds.iter().map(|&[_, least, largest]| [one / largest, one / least]).collect();
    let figure = Figure {
        file: "table2".into(),
        title: "speed-up of processes that share the changed values".into(),
        x: Axis::linear("processes"),
        y: Axis::linear("speed-up"),
        chart: Chart::Lines(vec![
            Line {
                name: "published".into(),
                points: TABLE2.map(|row| [f64::from(row.processes), row.speed_up]).into(),
                published: true,
                ..Line::default()
            },
            Line { name: "ours".into(), points: ours, band, published: false },
            Line { name: "(L+1)/(L/P+1)".into(), points: points(&published::ideal), ..Line::default() },
        ]),
    };
    let what = if alone { "threads of one process" } else { "processes under MPI" };
    let (passes, rate) = (LEARNT + 1, EVALUATIONS / TABLE2[0].seconds / 1e6);
    let mut sheet = Sheet::new(item).table(table).figure(figure).note(format!(
        "Ours are {what}, the same program: every rank has all positions, and evaluates the present values and its share of the twelve changed ones."
    ));
    sheet = sheet.note(format!(
        "Published for four: the ceiling is {CEILING_OF_FOUR} ({passes}/4) and {} was reached. One process: {MILLION_EVALUATIONS_A_SECOND} million evaluations a second; {} · {} · {passes} / {} s = {rate:.3} million.",
        TABLE2[3].speed_up,
        conditions::CHILDREN,
        conditions::ITERATIONS,
        TABLE2[0].seconds
    ));
    // Sums that the largest share of the changed values comes to, with that of the present ones.
    let sums = |ranks: u32| f64::from(LEARNT.div_ceil(ranks) + 1);
    let of_each = |ranks: u32, mean: f64| children as f64 * f64::from(states) * sums(ranks) / mean / 1e6;
    if let (2.., Some(&[mean, ..])) = (most, seconds.last()) {
        sheet = sheet.note(format!(
            "Of {most} each evaluates {:.2} million positions a second, one alone {:.2} million, and so the speed-up is {:.2} · {:.2} / {:.2} = {:.2}.",
            of_each(most, mean),
            of_each(1, one),
            ideal_speed_up(most as usize),
            of_each(most, mean),
            of_each(1, one),
            one / mean
        ));
    }
    sheet = sheet.note(if same {
        "Any number of ranks learns the same values, to the bit."
    } else {
        "Ranks have learnt different values: a fault of this program."
    });
    if cores < most as usize {
        sheet =
            sheet.note(format!("{most} ranks share {cores} cores here: no speed-up above {cores} can be expected."));
    }
    Ok(sheet)
}
