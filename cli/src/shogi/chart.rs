//! Plots of learning.

use warpplay::shogi::Row;
use warpplay::shogi::learner::LearnRow;

use crate::common::plot::{Axis, Line, Panel};
use crate::shogi::table::NAMES;

/// The paper's figure of convergence: the twelve values by iteration.
pub fn convergence(title: impl Into<String>, rows: &[Row]) -> Panel {
    let values = |at: usize| rows.iter().map(move |row| [f64::from(row.iteration), row.values[at]]).collect();
    of_values(title, values)
}

/// The twelve values by iteration.
fn of_values(title: impl Into<String>, values: impl Fn(usize) -> Vec<[f64; 2]>) -> Panel {
    let lines = NAMES.iter().enumerate().map(|(at, name)| Line::new(*name, values(at)));
    Panel::lines(title, Axis::even("iteration"), Axis::even("value, pawns"), lines.collect())
}

/// Objective, agreement and values by iteration.
pub fn learning(rows: &[LearnRow]) -> [Panel; 3] {
    let line = |name: &str, value: &dyn Fn(&LearnRow) -> Option<f64>| {
        let points = rows.iter().filter_map(|row| Some([f64::from(row.iteration), value(row)?]));
        Line::new(name, points.collect())
    };
    let percent = |share: f64| 100.0 * share;
    let objective = vec![
        line("learnt from", &|row| Some(row.train.j)),
        line("held out", &|row| row.held_out.as_ref().map(|found| found.j)),
    ];
    let agreement = vec![
        line("first", &|row| Some(percent(row.train.agreement))),
        line("held out, first", &|row| row.held_out.as_ref().map(|found| percent(found.agreement))),
        line("of the first three", &|row| Some(percent(row.train.agreement_of_three))),
        line("held out, of the first three", &|row| {
            row.held_out.as_ref().map(|found| percent(found.agreement_of_three))
        }),
    ];
    let values = |at: usize| rows.iter().map(move |row| [f64::from(row.iteration), row.values[at]]).collect();
    let x = || Axis::even("iteration");
    [
        Panel::lines("Objective by iteration", x(), Axis::even("objective J"), objective),
        Panel::lines("Positions whose played move comes first", x(), Axis::even("positions, %"), agreement),
        of_values("Values of the pieces by iteration", values),
    ]
}
