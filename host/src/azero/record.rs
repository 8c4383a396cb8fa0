//! Games of self-play as JSON lines: a game a line.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checkers::{Checkers, returns};
use crate::mcts::{Game, Notation};
use crate::runtime::{atomic_file, input_file};
use crate::{Error, Result};

/// A game played by searches: the results of each search, and how the game ended. Lists have one entry per move, for the state before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameRecord {
    /// Number of the game within its seed.
    pub game: u64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The actions played.
    pub actions: Vec<u32>,
    /// The player to move, 0 or 1.
    pub players: Vec<u8>,
    /// The 64 characters of the board.
    pub boards: Vec<String>,
    /// Visits of every legal action, `[action, visits]`, ascending.
    pub visits: Vec<Vec<[u32; 2]>>,
    /// The search's value for the player to move, -1 to 1.
    pub root_values: Vec<f32>,
    /// The return of each player: 1, -1, or 0.
    pub returns: [i64; 2],
    /// Actions played.
    pub plies: u32,
    /// Name of the estimator.
    pub network: String,
}

impl GameRecord {
    /// A game without a move.
    pub(super) fn begin(game: u64, seed: u64, network: &str) -> Self {
        Self {
            game,
            seed,
            actions: Vec::new(),
            players: Vec::new(),
            boards: Vec::new(),
            visits: Vec::new(),
            root_values: Vec::new(),
            returns: [0; 2],
            plies: 0,
            network: network.to_string(),
        }
    }

    /// Replays the game and checks everything that follows from the rules; returns the positions before each action, and the last one.
    ///
    /// # Errors
    /// A description of the first error, with its ply.
    pub fn replay(&self) -> std::result::Result<Vec<Checkers>, String> {
        let n = self.actions.len();
        for (name, len) in [
            ("players", self.players.len()),
            ("boards", self.boards.len()),
            ("visits", self.visits.len()),
            ("root_values", self.root_values.len()),
            ("plies", self.plies as usize),
        ] {
            if len != n {
                return Err(format!("{name}: {len}, expected {n}, one for each action"));
            }
        }
        let mut position = Checkers::new();
        let mut positions = vec![position];
        for ply in 0..n {
            self.check_state(ply, &position).map_err(|reason| format!("ply {ply}: {reason}"))?;
            position.apply(self.actions[ply]);
            positions.push(position);
        }
        let outcome = position.outcome();
        if !outcome.is_over() {
            return Err(format!("ply {n}: the record ends, but the game is not over"));
        }
        if self.returns != returns(outcome) {
            return Err(format!("returns: {:?}, by the rules {:?}", self.returns, returns(outcome)));
        }
        Ok(positions)
    }

    fn check_state(&self, ply: usize, position: &Checkers) -> std::result::Result<(), String> {
        if position.outcome().is_over() {
            return Err("the game is over, an action was recorded".to_string());
        }
        let player = position.to_move().index() as u8;
        if self.players[ply] != player {
            return Err(format!("player {}, by the rules {player}", self.players[ply]));
        }
        let board = position.board_text();
        if self.boards[ply] != board {
            return Err(format!("board `{}`, by the rules `{board}`", self.boards[ply].escape_debug()));
        }
        let legal = position.legal_actions();
        let visited: Vec<u32> = self.visits[ply].iter().map(|&[action, _]| action).collect();
        if visited != legal {
            return Err(format!("visits of actions {visited:?}, legal are {legal:?}"));
        }
        let visits: u64 = self.visits[ply].iter().map(|&[_, visits]| u64::from(visits)).sum();
        if visits == 0 {
            return Err("no action was visited".to_string());
        }
        if visits > u64::from(u32::MAX) {
            return Err(format!("{visits} visits of all actions, expected at most {}", u32::MAX));
        }
        let action = self.actions[ply];
        if !legal.contains(&action) {
            let names = legal.iter().map(|&action| format!("{action} {}", Checkers::action_name(action)));
            return Err(format!("action {action} is illegal (allowed: {})", names.collect::<Vec<_>>().join(", ")));
        }
        let value = self.root_values[ply];
        if !(-1.0..=1.0).contains(&value) {
            return Err(format!("root value {value}, expected -1 to 1"));
        }
        Ok(())
    }
}

fn lines(records: &[GameRecord]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for record in records {
        serde_json::to_writer(&mut bytes, record)
            .map_err(|error| Error::Order { what: "game record", reason: format!("cannot be written: {error}") })?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Writes games to a file; if that fails, nothing is written.
///
/// # Errors
/// [`Error::File`] with the system's reason.
pub fn write_records(path: &Path, records: &[GameRecord]) -> Result<()> {
    atomic_file::write(path, &lines(records)?)
}

/// Appends games to a file, or creates it. Existing content is not changed.
///
/// # Errors
/// [`Error::File`] with the system's reason, and for a file whose last line is not complete.
pub fn append_records(path: &Path, records: &[GameRecord]) -> Result<()> {
    let bytes = lines(records)?;
    let failed = |error: std::io::Error| Error::file(path, None, format!("cannot be written: {error}"));
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).map_err(failed)?;
        file.read_exact(&mut last).map_err(failed)?;
        if last != *b"\n" {
            return Err(Error::file(path, None, "its last line is not complete, remove it before games are added"));
        }
    }
    let before = file.metadata().map_err(failed)?.len();
    file.write_all(&bytes).and_then(|()| file.sync_data()).map_err(|error| {
        // The first error is reported; the part of a line that was written is removed if possible.
        let _ = file.set_len(before);
        failed(error)
    })
}

/// Reads games and replays each of them.
///
/// # Errors
/// [`Error::File`] naming line and ply of the first error; also for a file that cannot be read or has no games.
pub fn read_records(path: &Path) -> Result<Vec<GameRecord>> {
    let bytes = input_file::read(path)?;
    let mut records = Vec::new();
    for (number, line) in (1u64..).zip(bytes.split(|&byte| byte == b'\n')) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let wrong = |reason: String| Error::file(path, Some(number), reason);
        let record: GameRecord = serde_json::from_slice(line)
            .map_err(|error| wrong(format!("not a game record: {}", input_file::json_reason(&error))))?;
        record.replay().map_err(wrong)?;
        records.push(record);
    }
    match records.is_empty() {
        true => Err(Error::file(path, None, "holds no games, expected one JSON object a line")),
        false => Ok(records),
    }
}
