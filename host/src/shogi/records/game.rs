//! A game as it was played.

use std::fmt;
use std::path::PathBuf;

use warpplay_gpu::split_mix::mix;

use crate::runtime::fnv::Fnv;
use crate::shogi::board::{Board, Move, Rules, START, unsound};
use crate::{Error, Result};

/// Where a game is found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Source {
    /// The file.
    #[serde(serialize_with = "as_text")]
    pub file: PathBuf,
    /// The line, from 1; 0 for the whole file.
    pub line: u64,
}

/// A game or a file that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Skipped {
    /// Where it is found.
    pub source: Source,
    /// What is wrong with it.
    pub reason: String,
}

/// Writes names that are not Unicode approximately.
fn as_text<S: serde::Serializer>(path: &std::path::Path, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}", self.file.display()),
            line => write!(formatter, "{}, line {line}", self.file.display()),
        }
    }
}

crate::runtime::named::named! {
    /// How a game ended.
    Outcome, "outcome":
        /// Black won.
        Black = "black",
        /// White won.
        White = "white",
        /// Nobody won.
        Draw = "draw",
        /// The game was broken off, or the record does not give the result.
        Unknown = "unknown",
}

/// A game: its main line, without variations, comments and clock times. All its moves are legal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    start: Option<Box<str>>,
    moves: Vec<Move>,
    outcome: Outcome,
    source: Source,
    hash: u64,
}

impl Game {
    /// A game from a start position (SFEN; `None` for the usual one).
    ///
    /// # Errors
    /// [`Error::Option`] for a position that cannot be read or cannot occur, and for the first illegal move, with its number from 1.
    pub fn new(start: Option<&str>, moves: Vec<Move>, outcome: Outcome, source: Source) -> Result<Self> {
        let mut board = match start {
            Some(start) => Board::from_sfen(start)?,
            None => Board::start(),
        };
        if let Some(reason) = unsound(&board) {
            return Err(Error::option("start", board.sfen(), format!("a position of a game: {reason}")));
        }
        let first = placement(&board.sfen());
        let start = (first != placement(START)).then(|| format!("{first} 1").into_boxed_str());
        let mut sum = Fnv::default();
        sum.add(first.as_bytes());
        for (number, &played) in (1..).zip(&moves) {
            if !board.play(played) {
                return Err(Error::option(
                    "move",
                    played,
                    format!("a legal move; it is number {number}, in {}", board.sfen()),
                ));
            }
            sum.add(&played.number().to_le_bytes());
        }
        Ok(Self { start, moves, outcome, source, hash: mix(sum.value()) })
    }

    /// The start position in SFEN; `None` for the usual one.
    pub fn start(&self) -> Option<&str> {
        self.start.as_deref()
    }

    /// The moves.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Where it was read.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// A hash of start and moves, equal for the same game in any file.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// A position in SFEN without the number of its move.
fn placement(sfen: &str) -> String {
    sfen.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// Makes a predicate that selects a share of games by their hashes.
///
/// # Errors
/// [`Error::Option`] for a share that is not above 0 and below 1.
pub(in crate::shogi) fn draw(held_out: f64) -> Result<impl Fn(u64) -> bool + Copy> {
    if !(held_out > 0.0 && held_out < 1.0) {
        return Err(Error::option("held_out", held_out, "above 0 and below 1"));
    }
    // Below 2⁶⁴ for every share below 1: the conversion is exact, or rounds down at the largest.
    let limit = (held_out * 18_446_744_073_709_551_616.0) as u64;
    Ok(move |hash| hash < limit)
}
