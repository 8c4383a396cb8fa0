//! The positions that a command is about.

use std::path::{Path, PathBuf};

use anyhow::Result;
use warpplay::azero::checkers::Checkers;
use warpplay::mcts::{Game, Notation, play_moves};
use warpplay::{Error, input_file};

/// Where a command begins.
#[derive(clap::Args, Clone, Debug)]
pub struct StartFlags {
    /// Moves from the start, as "a3b4 b6a5", each jump separately; default: the start position
    #[arg(long, value_name = "MOVES", default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub moves: String,

    /// A position: 64 characters from a8 on (o 8 White's men and kings, + * Black's, . empty), then optionally who is to move (0 White, 1 Black), the number of actions since the
    /// last capture, and the square of a piece that must continue jumping, or -
    #[arg(long, value_name = "POSITION", conflicts_with = "moves")]
    pub position: Option<String>,
}

impl StartFlags {
    /// The position.
    ///
    /// # Errors
    /// [`Error::Moves`], [`Error::Option`]: a text that names no position.
    pub fn position(&self) -> Result<Checkers, Error> {
        match &self.position {
            Some(text) => of_text(text).map_err(|reason| Error::option("position", text, reason)),
            None => of_moves(&self.moves),
        }
    }
}

fn of_moves(moves: &str) -> Result<Checkers, Error> {
    let mut position = Checkers::start();
    play_moves(&mut position, moves)?;
    Ok(position)
}

fn of_text(text: &str) -> Result<Checkers, String> {
    Checkers::from_text(text).map_err(|error| error.to_string())
}

/// Reads a file of positions, one a line: a position as `--position` takes it, or moves as `--moves`; `#` begins a comment.
///
/// # Errors
/// [`Error::File`] with the line for what is no position, for one where nobody can move, and for a file without positions.
pub fn read(path: &PathBuf) -> Result<Vec<Checkers>, Error> {
    let text = input_file::read_text(path)?;
    let mut positions = Vec::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let is_board = line.split_whitespace().next().is_some_and(|word| word.len() >= 16);
        let found = if is_board { of_text(line) } else { of_moves(line).map_err(|error| error.to_string()) };
        let position = found.and_then(|position| match position.outcome().is_over() {
            true => Err("the game is over there".to_string()),
            false => Ok(position),
        });
        positions.push(position.map_err(|reason| Error::file(path.as_path(), Some(number), reason))?);
    }
    match positions.is_empty() {
        true => Err(Error::file(Path::new(path), None, "holds no positions, expected one a line")),
        false => Ok(positions),
    }
}
