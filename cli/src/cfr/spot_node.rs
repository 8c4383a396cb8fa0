//! `query` of a solved spot: what is played at a node, and what it is worth.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use warpplay::cfr::SolvedSpot;
use warpplay::cfr::spot::{NodeHand, NodeReport};

use crate::cfr::args::QueryArgs;
use crate::cfr::saved;
use crate::common::table::Table;
use crate::common::{self, OutputFile, Usage};

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    spot: String,
    iterations: u64,
    /// In chips, with `icm` in prizes; the latest measurement.
    exploitability: Option<f64>,
    /// The iteration after which it was measured.
    measured_at: Option<u64>,
    report: &'a NodeReport,
}

/// Runs the command for a file of a solved spot.
pub fn run(args: &QueryArgs) -> Result<()> {
    for (flag, is_given) in [("--key", args.key.is_some()), ("--export", args.export.is_some())] {
        if is_given {
            let text =
                format!("{flag}: only of a strategy; of a spot, --line and --board name a node, and --csv writes it");
            return Err(Usage(text).into());
        }
    }
    let json = args.output.json_file()?;
    let csv = OutputFile::prepare_option(args.csv.as_deref())?;
    let (solved, report) = common::without_results(|| -> Result<_> {
        let solved = SolvedSpot::open(&args.strategy)?;
        let mut report = saved::after("--line", solved.at(&args.history, &args.board))?.report()?;
        if let Some(hand) = &args.hand {
            only(&mut report, hand)?;
        }
        Ok((solved, report))
    })?;
    if let Some(json) = json {
        let (measured_at, exploitability) = solved.measured().unzip();
        let spot = args.strategy.display().to_string();
        let facts = Facts { spot, iterations: solved.iterations(), exploitability, measured_at, report: &report };
        json.write_json(&common::Record::new("cfr query", facts))?;
    }
    if let Some(csv) = csv {
        csv.write(&lines(&report))?;
    }
    let unit = if solved.spot().icm.is_some() { "prizes" } else { "chips" };
    args.output.print(text(&report, unit))
}

/// Leaves the hands that have these cards.
fn only(report: &mut NodeReport, hand: &str) -> Result<()> {
    let cards = |hand: &str| -> Option<[String; 2]> {
        let hand: String = hand.split_whitespace().collect::<String>().to_ascii_lowercase();
        let (one, other) = hand.split_at_checked(2)?;
        let mut cards = [one.to_string(), other.to_string()];
        cards.sort();
        Some(cards)
    };
    let asked = cards(hand);
    for hands in &mut report.by_hand {
        hands.retain(|of| cards(&of.hand) == asked);
    }
    match report.by_hand.iter().all(Vec::is_empty) {
        true => Err(warpplay::Error::option("hand", format!("'{hand}'"), "a hand of one of the seats").into()),
        false => Ok(()),
    }
}

/// A line for each hand.
fn lines(report: &NodeReport) -> String {
    let mut text = "seat,hand,reach,equity,ev".to_string();
    for kind in ["probability", "ev"] {
        report.actions.iter().for_each(|action| text += &format!(",{kind} {action}"));
    }
    text.push('\n');
    for (seat, hands) in report.by_hand.iter().enumerate() {
        for NodeHand { hand, reach, ev, equity, strategy, action_ev } in hands {
            // Writing to a text does not fail.
            let _ = write!(text, "{seat},{hand},{reach},{equity},{ev}");
            for values in [strategy, action_ev] {
                for at in 0..report.actions.len() {
                    text.push(',');
                    if let Some(value) = values.get(at) {
                        text += &value.to_string();
                    }
                }
            }
            text.push('\n');
        }
    }
    text
}

/// The node in some lines, then a table for each seat, with values in `unit`.
fn text(report: &NodeReport, unit: &str) -> String {
    let NodeReport { history, board, pot, seat, actions, ev, equity, by_hand } = report;
    let who = seat.map_or("nobody acts".to_string(), |seat| format!("seat {seat}: {}", actions.join(", ")));
    let mut text = format!("after '{history}' on {board}, pot {pot}; {who}\n");
    for (seat, hands) in by_hand.iter().enumerate() {
        text += &format!("\nseat {seat}: value {:.4} {unit}, equity {:.4}\n", ev[seat], equity[seat]);
        let acts = report.seat == Some(seat);
        let more = actions.iter().filter(|_| acts).flat_map(|action| [action.clone(), format!("{action}, {unit}")]);
        let value = format!("value, {unit}");
        let heads: Vec<String> =
            ["hand", "reach", "equity", &value].map(str::to_string).into_iter().chain(more).collect();
        let row = |hand: &NodeHand| {
            let mut cells = vec![hand.hand.clone(), format!("{:.4}", hand.reach), format!("{:.4}", hand.equity)];
            cells.push(format!("{:.3}", hand.ev));
            for (part, value) in hand.strategy.iter().zip(&hand.action_ev) {
                cells.extend([format!("{part:.4}"), format!("{value:.3}")]);
            }
            cells
        };
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        text += &Table::new(&heads).rows(&hands.iter().map(row).collect::<Vec<_>>());
    }
    text
}
