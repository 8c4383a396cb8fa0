//! `analyse`: value and likeliest moves of positions, by a network.

use std::borrow::Cow;
use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;
use warpplay::Precision;
use warpplay::azero::checkers::Checkers;
use warpplay::azero::{Evaluation, Evaluator, Positions, ValueOf};
use warpplay::mcts::{Game, Notation, check_playable};

use crate::azero::args::AnalyseArgs;
use crate::azero::print::repeated;
use crate::azero::{board, network, start};
use crate::common::table::Table;
use crate::common::{self, OutputFile, table};

/// Most positions that are shown with their boards.
const DRAWN: usize = 4;

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    positions: Vec<Found>,
    weights: Cow<'a, str>,
    observation: String,
    value_of: ValueOf,
    precision: Precision,
    engine: String,
    repeated_batches: u64,
    device: String,
    device_name: String,
}

/// What was found of a position.
#[derive(Serialize)]
struct Found {
    position: String,
    player: usize,
    value: f64,
    /// All legal moves, the likeliest first.
    moves: Vec<Move>,
}

#[derive(Serialize)]
struct Move {
    action: u32,
    name: String,
    probability: f64,
    logit: f64,
}

/// Runs the command.
pub fn run(args: &AnalyseArgs) -> Result<()> {
    args.output.start_log();
    let (out, json) = (args.out.as_deref(), args.output.json.as_deref());
    let weights = args.weights.path();
    let inputs = [("--inputs", args.inputs.as_deref()), ("--positions", args.positions.as_deref())];
    let read = [inputs[0], inputs[1], ("--weights", weights.as_deref())];
    common::expect_apart(&read, &[("--out", out), ("--json", json)], &[])?;
    out.map(OutputFile::prepare).transpose()?;
    let json = OutputFile::prepare_option(json)?;
    network::check_batch(args.batch)?;

    let device = args.device.open()?;
    let boards = match (&args.inputs, &args.positions) {
        (Some(_), _) => None,
        (None, Some(path)) => Some(start::read(path)?),
        (None, None) => Some(vec![args.start.position()?]),
    };
    boards.iter().flatten().try_for_each(check_playable)?;
    let network = args.weights.load(args.output.quiet)?;
    let positions = match (&args.inputs, &boards) {
        (Some(path), _) => Positions::load(path, network.shape())?,
        (None, boards) => Positions::of_checkers(boards.as_deref().unwrap_or_default(), network.observation()),
    };
    let mut evaluator = args.run.open(&device, &network, args.batch.min(positions.len()))?;
    let (found, seconds) = network::evaluate(&mut evaluator, &positions)?;
    if let Some(out) = out {
        found.save(out, evaluator.precision())?;
    }
    if let (Some(json), Some(boards)) = (json, &boards) {
        let facts = Facts {
            positions: of_each(boards, &found, &evaluator),
            weights: args.weights.name(),
            observation: evaluator.observation().to_string(),
            value_of: evaluator.value_of(),
            precision: evaluator.precision(),
            engine: evaluator.engine().to_string(),
            repeated_batches: evaluator.repeated_batches(),
            device: device.backend().to_string(),
            device_name: device.name(),
        };
        json.write_json(&common::Record::new("azero analyse", facts))?;
    }
    if !args.output.quiet {
        let text = match &boards {
            Some(boards) => of_boards(boards, &of_each(boards, &found, &evaluator), args.top.top, evaluator.value_of()),
            None => of_values(&found),
        };
        common::print(text)?;
        common::print(format!(
            "{} in {} on {} ({}), {}, {}\n",
            table::count(positions.len() as u64, "position"),
            table::seconds(seconds),
            device.backend(),
            device.name(),
            evaluator.precision(),
            evaluator.engine()
        ))?;
        common::print(repeated(evaluator.repeated_batches()))?;
        if let Some(out) = out {
            common::print(format!("value, policy_logits and policy are in {}\n", out.display()))?;
        }
    }
    Ok(())
}

/// The moves of every position, likeliest first.
fn of_each(boards: &[Checkers], found: &Evaluation, evaluator: &Evaluator) -> Vec<Found> {
    let actions = evaluator.shape().actions as usize;
    let of = |(at, position): (usize, &Checkers)| {
        let one = |action: u32| Move {
            action,
            name: Checkers::action_name(action),
            probability: found.policies[at * actions + action as usize],
            logit: found.policy_logits[at * actions + action as usize],
        };
        let mut moves: Vec<Move> = position.legal_actions().into_iter().map(one).collect();
        moves.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(a.action.cmp(&b.action)));
        Found { position: position.to_text(), player: position.to_move().index(), value: found.values[at], moves }
    };
    boards.iter().enumerate().map(of).collect()
}

/// Value and likeliest moves of boards: of few with drawings, of many a line each.
fn of_boards(boards: &[Checkers], found: &[Found], top: usize, value_of: ValueOf) -> String {
    let mut text = String::new();
    for (board, found) in boards.iter().zip(found) {
        let mover = board.to_move();
        let whose = match value_of {
            ValueOf::First => "White",
            ValueOf::Mover => board::colour(mover),
        };
        let shown = if top == 0 { found.moves.len() } else { top };
        let value = format!("value {:+.4} for {whose}", found.value);
        if boards.len() <= DRAWN {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}{} to move, {value}", board::draw(board, None), board::colour(mover));
            let row = |one: &Move| {
                let bar = "#".repeat((40.0 * one.probability).round() as usize);
                vec![one.name.clone(), format!("{:.3}", 100.0 * one.probability), bar]
            };
            let rows: Vec<Vec<String>> = found.moves.iter().take(shown).map(row).collect();
            let _ = write!(text, "\n{}", Table::new(&["move", "policy, %", ""]).words_at(2).rows(&rows));
            if found.moves.len() > shown {
                let _ = writeln!(text, "  and {} more (--top 0 shows all)", found.moves.len() - shown);
            }
        } else {
            let moves: Vec<String> = found
                .moves
                .iter()
                .take(shown)
                .map(|one| format!("{} {:.1} %", one.name, 100.0 * one.probability))
                .collect();
            let _ = writeln!(text, "{}  {value}: {}", found.position, moves.join(", "));
        }
    }
    text
}

/// Output for positions whose boards are not known.
fn of_values(found: &Evaluation) -> String {
    let (mut least, mut most, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    for &value in &found.values {
        (least, most, sum) = (least.min(value), most.max(value), sum + value);
    }
    format!("values from {least:+.4} to {most:+.4}, mean {:+.4}\n", sum / found.values.len() as f64)
}
