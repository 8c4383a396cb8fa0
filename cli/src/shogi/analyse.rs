//! `analyse`: a position, and its legal moves by what they lead to.

use anyhow::{Result, ensure};
use serde::Serialize;
use warpplay::shogi::board::{Board, Rules, expect_sound};
use warpplay::shogi::learner::Weights;
use warpplay::shogi::{Evaluator, FeatureSet};

use crate::common;
use crate::common::table::{Table, count};
use crate::shogi::args::AnalyseArgs;

/// What is written.
#[derive(Serialize)]
struct Found {
    sfen: String,
    side: &'static str,
    features: FeatureSet,
    /// In pawns, positive where Black is better.
    value: f64,
    /// Best first.
    moves: Vec<Line>,
}

/// A legal move.
#[derive(Serialize)]
struct Line {
    usi: String,
    /// Of the position after it, without search; in pawns, positive where the side that moved is better.
    value: f64,
}

/// Runs the command.
pub fn run(args: &AnalyseArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(&[("--weights", args.weights.as_deref())], &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
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
    let found = Found {
        sfen: board.sfen(),
        side: if board.side() == 0 { "black" } else { "white" },
        features: evaluator.features(),
        value,
        moves,
    };
    if let Some(json) = json {
        json.write_json(&common::Record::new("shogi analyse", &found))?;
    }
    args.output.print(text(&found, args.top.top))?;
    Ok(())
}

fn text(found: &Found, top: usize) -> String {
    let side = found.side;
    let mut text = format!(
        "{}{}\n{:+.4} pawns for Black by {}; {side} to move, {}, valued for {side} by the position after them, without search\n\n",
        drawn(&found.sfen),
        found.sfen,
        found.value,
        found.features,
        count(found.moves.len() as u64, "legal move")
    );
    let shown = if top == 0 { found.moves.len() } else { top };
    let row = |line: &Line| vec![line.usi.clone(), format!("{:+.4}", line.value)];
    let rows: Vec<Vec<String>> = found.moves.iter().take(shown).map(row).collect();
    text += &Table::new(&["move", "value, pawns"]).rows(&rows);
    if shown < found.moves.len() {
        text += &format!("  and {} more (--top 0 shows all)\n", found.moves.len() - shown);
    }
    text
}

/// The board of a position in SFEN, as Black sees it: White's pieces in small letters, hands above and below.
fn drawn(sfen: &str) -> String {
    let mut parts = sfen.split(' ');
    let (board, hands) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or("-"));
    let hand = |of: fn(&char) -> bool| -> String {
        let mut text = String::new();
        let mut count = String::new();
        for letter in hands.chars().filter(|&letter| letter != '-') {
            if letter.is_ascii_digit() {
                count.push(letter);
                continue;
            }
            if of(&letter) {
                text += &format!(" {letter}{count}");
            }
            count.clear();
        }
        if text.is_empty() { " nothing".into() } else { text }
    };
    let mut text = format!("White holds{}\n  9  8  7  6  5  4  3  2  1\n", hand(char::is_ascii_lowercase));
    for (row, rank) in board.split('/').zip('a'..) {
        let mut promoted = false;
        for cell in row.chars() {
            match cell {
                '+' => promoted = true,
                cell if cell.is_ascii_digit() => {
                    text += &"  .".repeat(cell.to_digit(10).unwrap_or(0) as usize);
                }
                cell => {
                    text += if promoted { " +" } else { "  " };
                    text.push(cell);
                    promoted = false;
                }
            }
        }
        text += &format!("  {rank}\n");
    }
    text + &format!("Black holds{}\n", hand(char::is_ascii_uppercase))
}
