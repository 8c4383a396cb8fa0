//! Checks of the rules against files of positions with all their legal moves.

use std::fmt;
use std::path::Path;

use super::{Board, Move, Rules};
use crate::runtime::input_file;
use crate::{Error, Result};

/// Result of checking a file of positions. One CPU thread generates the moves, without random numbers, so there is no device, engine or seed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MovesReport {
    /// Positions in the file.
    pub positions: u64,
    /// Total number of generated legal moves.
    pub moves: u64,
    /// Positions whose moves differ from those of the file.
    pub disagreements: Vec<Disagreement>,
}

/// A position whose legal moves differ from those that the file lists.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Disagreement {
    /// The line of the file, from 1.
    pub line: u64,
    /// The position.
    pub sfen: String,
    /// Moves that the file lists and the generator does not.
    pub missing: Vec<String>,
    /// Moves of the generator that the file does not list.
    pub extra: Vec<String>,
}

impl fmt::Display for MovesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { positions, moves, disagreements } = self;
        write!(f, "{positions} positions, {moves} legal moves: ")?;
        match disagreements.len() {
            0 => write!(f, "all agree"),
            n => write!(f, "{n} differ"),
        }
    }
}

#[derive(serde::Deserialize)]
struct Line {
    sfen: String,
    moves: Vec<String>,
    n: Option<u64>,
}

/// Compares the legal moves of positions with those that a file lists: one JSON object per line with `sfen`, `moves` (USI, in any order) and optionally their number `n`;
/// other fields are ignored, and empty lines are allowed.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read or holds no position, and with the line for an invalid object, for a position that cannot be read, and if `n` is not the
/// number of `moves`.
pub fn check_moves(path: &Path) -> Result<MovesReport> {
    let bytes = input_file::read(path)?;
    let mut report = MovesReport { positions: 0, moves: 0, disagreements: Vec::new() };
    let mut found = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let bad = |reason: String| Error::file(path, Some(number), reason);
        let line: Line = serde_json::from_slice(line).map_err(|error| {
            bad(format!("is not an object with sfen and moves: {}", input_file::json_reason(&error)))
        })?;
        let board = Board::from_sfen(&line.sfen).map_err(|error| bad(error.to_string()))?;
        if line.n.is_some_and(|n| n != line.moves.len() as u64) {
            return Err(bad(format!("n is {}, but there are {} moves", line.n.unwrap_or_default(), line.moves.len())));
        }
        board.legal_moves(&mut found);
        report.positions += 1;
        report.moves += found.len() as u64;
        let mut generated: Vec<String> = found.iter().map(Move::to_string).collect();
        let mut listed = line.moves;
        generated.sort_unstable();
        listed.sort_unstable();
        if generated != listed {
            let without = |these: &[String], those: &[String]| {
                let mut rest = these.to_vec();
                // One for one, so that a move that is listed twice is told.
                for one in those {
                    if let Some(at) = rest.iter().position(|other| other == one) {
                        rest.remove(at);
                    }
                }
                rest
            };
            report.disagreements.push(Disagreement {
                line: number,
                sfen: line.sfen,
                missing: without(&listed, &generated),
                extra: without(&generated, &listed),
            });
        }
    }
    if report.positions == 0 {
        return Err(Error::file(path, None, "holds no position: expected lines of JSON with sfen and moves"));
    }
    Ok(report)
}
