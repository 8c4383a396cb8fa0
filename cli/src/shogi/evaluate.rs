//! `evaluate`: a position, and its legal moves by what they lead to.

use anyhow::{Result, ensure};
use serde::Serialize;
use warpplay::shogi::board::{Board, Rules, expect_sound};
use warpplay::shogi::learner::Weights;
use warpplay::shogi::{Evaluator, FeatureSet};

use crate::common::table::count;
use crate::common::{self, OutputFile};
use crate::shogi::args::EvaluateArgs;

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 1;

/// What is written.
#[derive(Serialize)]
struct Record {
    schema: u32,
    kind: &'static str,
    sfen: String,
    side: &'static str,
    features: FeatureSet,
    /// In pawns, positive where Black is better.
    value: f64,
    /// Best first.
    moves: Vec<Line>,
    program: &'static str,
    version: &'static str,
}

/// A legal move.
#[derive(Serialize)]
struct Line {
    usi: String,
    /// Of the position after it, without search; in pawns, positive where the side that moved is better.
    value: f64,
}

/// Runs the command.
pub fn run(args: &EvaluateArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(&[("--weights", args.weights.as_deref())], &[("--json", args.output.json.as_deref())], &[])?;
    let json = OutputFile::prepare_option(args.output.json.as_deref())?;
    let board = Board::from_usi(&args.position.join(" "))?;
    expect_sound(&board)?;
    let evaluator = match &args.weights {
        Some(path) => Weights::load(path)?.into(),
        None => Evaluator::new(FeatureSet::Material, FeatureSet::Material.weights_of(&args.values))?,
    };
    let value = evaluator.evaluate_position(&board)?;
    let sign = if board.side() == 0 { 1.0 } else { -1.0 };
    let mut legal = Vec::new();
    board.legal_moves(&mut legal);
    let mut moves = Vec::with_capacity(legal.len());
    for played in legal {
        let mut after = board.clone();
        ensure!(after.play(played), "check failed: the legal move {played} is refused");
        moves.push(Line { usi: played.to_string(), value: sign * evaluator.evaluate_position(&after)? });
    }
    moves.sort_by(|a, b| b.value.total_cmp(&a.value));
    let record = Record {
        schema: SCHEMA,
        kind: "evaluate",
        sfen: board.sfen(),
        side: if board.side() == 0 { "black" } else { "white" },
        features: evaluator.features(),
        value,
        moves,
        program: "warpplay shogi_learn",
        version: env!("CARGO_PKG_VERSION"),
    };
    if let Some(json) = json {
        json.write(&common::to_json_text(&record)?)?;
    }
    if !args.output.quiet {
        common::print(text(&record, args.top))?;
    }
    Ok(())
}

fn text(record: &Record, top: usize) -> String {
    let side = record.side;
    let mut text = format!(
        "{}\n{:+.4} pawns for Black by {}; {side} to move, {}, valued for {side} by the position after them, without search\n",
        record.sfen,
        record.value,
        record.features,
        count(record.moves.len() as u64, "legal move")
    );
    let shown = if top == 0 { record.moves.len() } else { top };
    for (number, line) in (1..).zip(record.moves.iter().take(shown)) {
        text += &format!("{number:>4}  {:<6} {:>+9.4}\n", line.usi, line.value);
    }
    text
}
