//! Regret minimisation: Leduc hold'em by two algorithms.

use anyhow::Result;
use warpplay::cfr::{Algorithm, GameDef, Report, Solver};

use crate::common::plot::{Axis, Line, Panel};
use crate::common::table::thousands;
use crate::demo::part::{Part, Task};

/// Iterations after which the exploitability is found.
const MEASURED: [u64; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Side by side.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::CfrPlus, Algorithm::Cfr];

/// Solves.
pub fn run(task: &Task<'_>) -> Result<Option<Part>> {
    let iterations = MEASURED[MEASURED.len() - 1];
    let mut reports: Vec<Report> = Vec::new();
    for algorithm in ALGORITHMS {
        let builder = Solver::builder(GameDef::leduc()).algorithm(algorithm).iterations(iterations);
        let mut solver = builder.measure_at(MEASURED).build(task.device)?;
        let before = reports.len() as f64;
        let report = solver.run(|progress| task.watch((before + progress.fraction()) / ALGORITHMS.len() as f64))?;
        if report.iterations < iterations {
            return Ok(None);
        }
        reports.push(report);
    }
    let lines: Vec<Line> = reports
        .iter()
        .map(|report| {
            let points = report.trajectory.iter().map(|point| [point.iteration as f64, point.nash_conv]);
            Line::new(report.options.algorithm.to_string(), points.collect())
        })
        .collect();
    let Some(end) = reports.first().and_then(|report| report.trajectory.last()) else { return Ok(None) };
    let plain = reports.last().and_then(|report| report.trajectory.last()).map_or(0.0, |point| point.nash_conv);
    let rate = reports.iter().map(|report| report.iterations as f64 / report.seconds.max(1e-9)).fold(0.0, f64::max);
    Ok(Some(Part {
        family: "cfr",
        title: "Poker by counterfactual regret minimisation",
        task: format!(
            "Leduc hold'em in {} iterations of {} and of {}",
            thousands(iterations),
            ALGORITHMS[0],
            ALGORITHMS[1]
        ),
        data: "none is needed: the definition of the game is part of the program".to_string(),
        found: vec![
            ("value", format!("{:+.4} chips for the first player (in equilibrium -0.0856)", end.value[0])),
            ("NashConv", format!("{:.4} chips by {}, {plain:.4} by {}", end.nash_conv, ALGORITHMS[0], ALGORITHMS[1])),
            ("speed", format!("{} iterations a second", thousands(rate as u64))),
        ],
        curve_of: "NashConv, powers of ten",
        curve: lines[0].points.iter().map(|[_, chips]| chips.max(1e-12).log10()).collect(),
        plots: vec![Panel::lines(
            "Leduc hold'em: NashConv by iteration",
            Axis::log("iteration"),
            Axis::log("NashConv, chips"),
            lines,
        )],
        more: "warpplay cfr compare liars_dice --algorithms cfr,cfr_plus,dcfr --plots compare.svg",
        engine: reports[0].engine.to_string(),
        seconds: task.seconds(),
    }))
}
