//! `push-fold`: all-in or fold before the flop.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use warpplay::cfr::preflop::{N_CLASSES, PushFold, PushFoldChart, PushFoldSolved, class_name};

use crate::cfr::args::PushFoldArgs;
use crate::cfr::ranges;
use crate::common;
use crate::common::table::{fixed, significant};

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    /// Names of the classes, in the order of all lists.
    classes: Vec<String>,
    #[serde(flatten)]
    chart: &'a PushFoldChart,
    device: String,
    device_name: String,
}

/// Runs the command.
pub fn run(args: &PushFoldArgs) -> Result<()> {
    args.output.start_log();
    let game = |&stack: &f64| PushFold { stack, small_blind: args.small_blind, ante: args.ante };
    let games: Vec<PushFold> = args.stack.iter().map(game).collect();
    games.iter().try_for_each(PushFold::check)?;
    let json = args.output.json_file()?;
    let device = args.device.open()?;
    let chart = PushFoldChart::solve(&device, &games, args.iterations, |_| common::until_interrupted())?;
    if let Some(json) = json {
        let classes = (0..N_CLASSES).filter_map(class_name).collect();
        let (device, device_name) = (device.backend().to_string(), device.name());
        json.write_json(&common::Record::new("cfr push-fold", Facts { classes, chart: &chart, device, device_name }))?;
    }
    args.output.print(match &chart.solved[..] {
        [solved] => strategies(solved),
        _ => largest(&chart),
    })?;
    if common::interrupted() {
        let (n, of) = (chart.solved.len(), games.len());
        args.output.print(format!("ended early: {n} of {of} stacks, the last perhaps in part\n"))?;
    }
    Ok(())
}

/// What each seat does.
const ACTS: [&str; 2] = ["small blind pushes", "big blind calls"];

/// Both strategies with one stack.
fn strategies(solved: &PushFoldSolved) -> String {
    let mut text = String::new();
    for (seat, parts) in [&solved.push, &solved.call].into_iter().enumerate() {
        let percent = fixed(100.0 * solved.frequency(seat), 1);
        // Writing to a text does not fail.
        let _ = writeln!(text, "{} {percent} % of its hands with {} big blinds\n", ACTS[seat], solved.game.stack);
        let cells = parts.iter().enumerate().map(|(class, &part)| {
            // What is left of the first iterations is none.
            let part = if part < 0.005 { 0.0 } else { part };
            ranges::cell(&class_name(class).unwrap_or_default(), part)
        });
        text += &(ranges::rows(cells) + "\n");
    }
    let (value, left) = (significant(solved.value), significant(solved.exploitability));
    text + &format!("The small blind wins {value} big blinds a hand; exploitability {left}\n")
}

/// The largest stack with which each hand is played.
fn largest(chart: &PushFoldChart) -> String {
    let mut text = String::new();
    for (seat, acts) in ACTS.into_iter().enumerate() {
        let _ = writeln!(text, "{acts} up to so many big blinds, of those that were solved\n");
        let cell = |class: usize| match chart.largest_stack(seat, class) {
            Some(stack) => format!("{stack}"),
            None => ".".to_string(),
        };
        let ranks = "AKQJT98765432";
        let _ = writeln!(text, "  {}", ranks.chars().map(|rank| format!("{rank:<7}")).collect::<String>().trim_end());
        let rows = ranges::rows((0..N_CLASSES).map(cell));
        for (rank, row) in ranks.chars().zip(rows.lines()) {
            let _ = writeln!(text, "{rank} {row}");
        }
        text.push('\n');
    }
    let most = chart.solved.iter().map(|solved| solved.exploitability).fold(0.0, f64::max);
    text + &format!("Hands of one suit above the diagonal; exploitability at most {}\n", significant(most))
}
