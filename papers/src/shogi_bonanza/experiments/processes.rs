//! Table 2: processes that share the changed values.

use std::sync::{Mutex, PoisonError};

use super::super::job::Options;
use super::super::published::{
    self, CEILING_OF_FOUR, EVALUATIONS, LEARNT, MILLION_EVALUATIONS_A_SECOND, TABLE2, conditions,
};
use super::super::{PaperEngine, ideal_speed_up};
use super::group::Order;
use super::{Repetition, spread};
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

/// Evaluations of a learning: the state after the last update is evaluated too.
pub(super) fn evaluations(children: u64, iterations: u32) -> f64 {
    children as f64 * 13.0 * f64::from(iterations + 1)
}

pub(super) fn sheet(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let alone = paper.group.size() == 1;
    let most = if alone { RANKS } else { paper.group.size() as u32 };
    let times = if run.quick() { QUICK } else { TIMES };
    let iterations = paper.settings.table_iterations;
    let parents = if run.quick() { QUICK_PARENTS } else { 0 };
    let children: u64 = paper.first(parents)?.iter().map(|shard| shard.n_children() as u64).sum();
    let children = children * u64::from(paper.settings.repeat);
    run.expect(u64::from(most * times));
    let mut seconds = Vec::new();
    let mut learnt: Option<Values> = None;
    let mut same = true;
    for ranks in 1..=most {
        let mut of_ranks = Vec::new();
        for time in 1..=times {
            let (values, took) = run.both(&format!("table2: {ranks} ranks, time {time}"), |now| {
                now.check()?;
                // Ranks that are threads ask one after the other.
                let now = Mutex::new(now);
                let stop = || now.lock().unwrap_or_else(PoisonError::into_inner).go_on().is_break();
                paper.learnt_by(Order { ranks, iterations, parents }, &stop)?.ok_or(Stop::Interrupted)
            })?;
            same &= *learnt.get_or_insert(values) == values;
            of_ranks.push(took);
        }
        seconds.push(spread(&of_ranks));
    }
    let one = seconds.first().map_or(f64::NAN, |of_one| of_one[0]);
    let evaluations = evaluations(children, iterations);
    let mut table = Table::new(format!("{iterations} updates of {children} positions, the mean of {times} times"))
        .column("processes")
        .digits("published, s", 1)
        .digits("published speed-up", 2)
        .digits("(L+1)/(L/P+1)", 2)
        .digits("(L+1)/(⌈L/P⌉+1)", 2)
        .digits("ours, s", 3)
        .digits("least", 3)
        .digits("most", 3)
        .digits("our speed-up", 2)
        .digits("million evaluations/s", 2)
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
    let what = if alone { "threads of one process, a core each" } else { "processes under MPI" };
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
