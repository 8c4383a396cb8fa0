//! Shogi: the values of pieces learnt from games.

use std::path::Path;

use anyhow::Result;
use warpplay::shogi::StoppedBy;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::Learner;
use warpplay::shogi::records::Records;

use crate::common::table::thousands;
use crate::demo::part::{Part, Task};
use crate::shogi::chart;

/// A hundred games that GPSShogi 0.7.0 and Fairy-Stockfish 11.1 played for this project.
const GAMES: &[u8] = include_bytes!("../../data/first_100.usi.txt.gz");
/// Steps of the learning.
const ITERATIONS: u32 = 30;
/// Share of the games that is not learnt from.
const HELD_OUT: f64 = 0.2;

/// Learns.
pub fn run(task: &Task<'_>) -> Result<Option<Part>> {
    let records = Records::from_bytes(Path::new("first_100.usi.txt.gz"), GAMES);
    let set = Dataset::builder().build(&records)?;
    let (train, held_out) = set.split(HELD_OUT)?;
    let mut learner = Learner::builder(&train).held_out(&held_out).iterations(ITERATIONS).build(task.device)?;
    let report = learner.run(|progress| task.watch(progress.fraction()))?;
    let (Some(first), Some(last)) = (report.rows.first(), report.rows.last()) else { return Ok(None) };
    if report.stopped_by == StoppedBy::Request {
        return Ok(None);
    }
    let share = |row: &warpplay::shogi::learner::LearnRow| {
        row.held_out.as_ref().map_or("-".to_string(), |found| format!("{:.1} %", 100.0 * found.agreement))
    };
    // Rook and bishop, gold and lance: places in L N S G B R.
    let [lance, gold, bishop, rook] = [0, 3, 4, 5].map(|at| last.values[at]);
    Ok(Some(Part {
        family: "shogi",
        title: "Shogi: an evaluation learnt from games",
        task: format!(
            "values of the pieces by Bonanza's method in {ITERATIONS} steps: played moves come to be worth more than the others"
        ),
        data: format!(
            "{} positions of a hundred games that two engines played for this project, part of the program; every fifth game is held out",
            thousands(train.n_parents() + held_out.n_parents())
        ),
        found: vec![
            ("objective", format!("{:.4}, then {:.4}", first.train.j, last.train.j)),
            ("played move first", format!("{}, then {}, in games held out", share(first), share(last))),
            ("values in pawns", format!("rook {rook:.1}, bishop {bishop:.1}, gold {gold:.1}, lance {lance:.1}")),
        ],
        curve_of: "objective after each step",
        plots: chart::learning(&report.rows).to_vec(),
        curve: report.rows.iter().map(|row| row.train.j).collect(),
        more: "warpplay shogi learn --records DIR --held-out 0.2 --features kp --plots learning.svg",
        engine: report.engine.to_string(),
        seconds: task.seconds(),
    }))
}
