//! Heads-up hold'em with 20 big blinds in buckets, and subgames re-solved from that strategy.

use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::json;
use warpplay::cfr::{Abstraction, Algorithm, GameDef, Options, Problem, Sampling, Solver, Subgame};
use warpplay::{Backend, Device, Result};

use crate::games::{LEDUC, TWENTY_BLINDS};
use crate::measure::{Bench, whole};
use crate::output::{Table, maybe, number};

/// A game, the recipe of its buckets, and subgames of seat 0: what they are called, histories and boards.
struct Case {
    rules: &'static str,
    recipe: &'static str,
    subgames: &'static [(&'static str, &'static str, &'static str)],
}

/// The game of the guide.
const WHOLE: Case = Case {
    rules: TWENTY_BLINDS,
    recipe: "lossless,strength:200,strength:200,even:200",
    subgames: &[("subgame from a turn", "r4c/cc/", "QsJh2h/2d"), ("subgame from a flop", "r4c/", "QsJh2h")],
};
const SMALL: Case =
    Case { rules: LEDUC, recipe: "lossless,strength:3", subgames: &[("subgame from the second round", "cc/", "4c")] };

/// One row: seconds of the set-up and of an iteration, deals of an iteration, infoset-actions.
struct Row {
    what: String,
    set_up: f64,
    seconds: Option<f64>,
    units: f64,
    infoset_actions: Option<u64>,
}

/// Builds a solver and times it. An iteration of the blueprint is a batch of deals, one of a subgame is all of them.
fn solve(bench: &Bench, device: &Device, what: &str, problem: Problem, options: Options) -> Result<(Row, Solver)> {
    bench.output.progress(what);
    let began = Instant::now();
    let mut solver = Solver::builder(problem).options(options).measure_at([]).build(device)?;
    let set_up = began.elapsed().as_secs_f64();
    let (seconds, _) = bench.clock(|n| {
        solver.set_limit(solver.iterations() + u64::from(n))?;
        solver.run(|_| ControlFlow::Continue(())).map(|_| ())
    })?;
    let infoset_actions = Some(solver.report().infoset_actions);
    Ok((
        Row { what: what.to_string(), set_up, seconds: Some(seconds), units: options.batch.into(), infoset_actions },
        solver,
    ))
}

/// All rows: the buckets, the blueprint in them, the subgames of that.
fn rows(bench: &Bench, device: &Device, case: &Case) -> Result<Vec<Row>> {
    let rules = GameDef::parse(case.rules)?;
    bench.output.progress("buckets");
    let began = Instant::now();
    let buckets = Abstraction::build(device, &rules, &case.recipe.parse()?)?;
    let set_up = began.elapsed().as_secs_f64();
    let mut rows = vec![Row { what: "buckets".into(), set_up, seconds: None, units: 1.0, infoset_actions: None }];
    let sampled =
        Options { algorithm: Algorithm::Lcfr, sampling: Sampling::Chance, batch: 32, ..bench.options(device) };
    let (row, mut solver) =
        solve(bench, device, "sampled deals, 32 an iteration", Problem::abstracted(rules, buckets)?, sampled)?;
    rows.push(row);
    let blueprint = solver.strategy()?;
    drop(solver);
    for (what, history, board) in case.subgames {
        let began = Instant::now();
        let subgame = Subgame::new(&blueprint, history, board, 0)?;
        let options = Options { precision: bench.options(device).precision, ..Options::SPOT };
        let before = began.elapsed().as_secs_f64();
        let (mut row, _) = solve(bench, device, what, subgame.into(), options)?;
        row.set_up += before;
        rows.push(row);
    }
    Ok(rows)
}

pub fn blueprint(bench: &mut Bench) -> anyhow::Result<()> {
    let device = bench.device.clone();
    let case = match (bench.quick, device.backend()) {
        (true, _) => &SMALL,
        (false, Backend::Cuda) => &WHOLE,
        // The CPU takes minutes for the buckets alone.
        (false, _) => return Ok(()),
    };
    let headers = ["what", "set-up, s", "us an iteration", "deals or iterations a second", "infoset-actions"];
    let mut table = Table::new("BLUEPRINT, 20 big blinds, and subgames of it (wall time)", 1, &headers);
    match rows(bench, &device, case) {
        Ok(rows) => {
            for Row { what, set_up, seconds, units, infoset_actions } in rows {
                bench.output.json(&json!({
                    "section": "blueprint", "what": what, "device": device.to_string(), "set_up_seconds": set_up, "seconds_per_iteration": seconds,
                    "units_per_second": seconds.map(|seconds| units / seconds), "infoset_actions": infoset_actions,
                }))?;
                table.row(vec![
                    what,
                    number(set_up),
                    maybe(seconds.map(|seconds| 1e6 * seconds)),
                    maybe(seconds.map(|seconds| units / seconds)),
                    infoset_actions.map_or("-".to_string(), whole),
                ]);
            }
        }
        Err(error) => {
            let cell = bench.output.failed(&error);
            table.row(vec!["all".to_string(), cell]);
        }
    }
    table.print(&mut bench.output)
}
