//! Charts of learning, as SVG.

use anyhow::Result;
use warpplay::shogi::Row;
use warpplay::shogi::learner::LearnRow;

use crate::common::chart::{Line, Panel, panels};
use crate::shogi::table::NAMES;

/// The paper's figure of convergence: the twelve values against iterations.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn convergence(title: &str, rows: &[Row]) -> Result<String> {
    let lines = NAMES.iter().enumerate().map(|(at, name)| Line {
        name: (*name).to_string(),
        points: rows.iter().map(|row| (f64::from(row.iteration), row.values[at])).collect(),
    });
    panels(&[Panel { title, x: "iteration", y: "value, pawns", lines: lines.collect() }])
}

/// Objective, agreement and values against iterations.
///
/// # Errors
/// As [`convergence`].
pub fn learning(rows: &[LearnRow]) -> Result<String> {
    let of_rows = |name: &str, value: &dyn Fn(&LearnRow) -> Option<f64>| Line {
        name: name.to_string(),
        points: rows.iter().filter_map(|row| Some((f64::from(row.iteration), value(row)?))).collect(),
    };
    let percent = |share: f64| 100.0 * share;
    let values = NAMES.iter().enumerate().map(|(at, name)| of_rows(name, &|row| Some(row.values[at])));
    panels(&[
        Panel {
            title: "objective",
            x: "iteration",
            y: "J",
            lines: vec![
                of_rows("learnt from", &|row| Some(row.train.j)),
                of_rows("held out", &|row| row.held_out.as_ref().map(|found| found.j)),
            ],
        },
        Panel {
            title: "played move among the first",
            x: "iteration",
            y: "positions, %",
            lines: vec![
                of_rows("first", &|row| Some(percent(row.train.agreement))),
                of_rows("of three", &|row| Some(percent(row.train.agreement_of_three))),
                of_rows("held out, first", &|row| row.held_out.as_ref().map(|found| percent(found.agreement))),
                of_rows("held out, of three", &|row| {
                    row.held_out.as_ref().map(|found| percent(found.agreement_of_three))
                }),
            ],
        },
        Panel { title: "values", x: "iteration", y: "value, pawns", lines: values.collect() },
    ])
}
