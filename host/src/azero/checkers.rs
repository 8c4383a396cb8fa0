//! Checkers (English draughts) for the network: what it sees of a position, counts of lines of play, and the check of recorded games.
//!
//! The rules themselves are [`Checkers`], a game of the tree search. A network needs positions as numbers: [`observation`] and [`legal_mask`] make them. [`perft`] counts lines of
//! play, which is how rules are compared with published counts, and [`replay`] plays recorded games again and compares every state.
//!
//! ```
//! use warpplay::azero::ObservationLayout;
//! use warpplay::azero::checkers::{Checkers, N_ACTIONS, legal_mask, observation, perft};
//! use warpplay::mcts::Game;
//!
//! let start = Checkers::new();
//! let turns: Vec<u64> = perft(&start, 5)?.iter().map(|count| count.turns).collect();
//! assert_eq!(turns, [7, 49, 302, 1469, 7361]); // as published for English draughts
//!
//! let mask = legal_mask(&start);
//! assert_eq!((mask.len(), mask.iter().map(|&legal| u32::from(legal)).sum::<u32>()), (N_ACTIONS, 7));
//!
//! let planes = observation(&start, start.to_move(), ObservationLayout::Egocentric);
//! let pieces: Vec<f32> = planes.chunks(64).map(|plane| plane.iter().sum()).collect();
//! assert_eq!(pieces, [12.0, 0.0, 12.0, 0.0, 40.0]); // own men and kings, the other's, empty squares
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Checkers`] | a position; its rules, its text, and its notation of moves |
//! | [`observation`], [`legal_mask`] | what the network reads, and which actions are legal |
//! | [`returns`] | what each player gets of an outcome |
//! | [`perft`], [`perft_watched`], [`MoveCount`] | lines of play by length |
//! | [`replay`], [`ReplayedGames`] | recorded games, compared state by state |
//! | [`PositionError`] | why a text is no position |
//!
//! # Data layout
//!
//! ```text
//! square       row · 8 + column, row 0 at the top (labelled 8): square 56 is a1
//! observation  [plane 0..5][row 0..8][column 0..8] f32, 0 or 1; the planes by ObservationLayout are listed in warpplay_gpu::azero::observation
//! action       0..512   (square · 4 + direction) · 2 + type
//!                       direction 0 up-left, 1 up-right, 2 down-right, 3 down-left; type 0 step, 1 jump
//! mask         [action 0..512] u8, 1 for a legal action
//! ```
//!
//! A jump is an action of its own, so that a player who jumps on is to move twice in a row.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::Deserialize;
pub use warpplay_gpu::mcts::games::checkers::{Checkers, MAX_QUIET_ACTIONS, PositionError};

use warpplay_gpu::azero::observation::{Layout, Observed};

use super::ObservationLayout;
use crate::mcts::{Game, Notation, Outcome, Player};
use crate::runtime::input_file;
use crate::{Error, Result};

/// Number of values of an observation, `[5, 8, 8]`.
pub const N_OBSERVATION: usize = 5 * 64;
/// Number of actions.
pub const N_ACTIONS: usize = 512;
/// Maximum depth of [`perft`]; greater depths would take days.
pub const MAX_PERFT_DEPTH: u32 = 14;
/// The player of a finished state, in records.
pub const TERMINAL_PLAYER: i64 = -4;

impl From<ObservationLayout> for Layout {
    fn from(layout: ObservationLayout) -> Self {
        match layout {
            ObservationLayout::Default => Self::Default,
            ObservationLayout::Egocentric => Self::Egocentric,
            ObservationLayout::Legacy => Self::Legacy,
        }
    }
}

/// The observation of a position by `observer`, `[5, 8, 8]`: values 0 and 1, row 0 (the top) first.
pub fn observation(position: &Checkers, observer: Player, layout: ObservationLayout) -> [f32; N_OBSERVATION] {
    let mut values = [0.0; N_OBSERVATION];
    for (plane, values) in (0u32..).zip(values.chunks_exact_mut(64)) {
        let bits = position.plane(plane, observer, layout.into());
        for (square, value) in values.iter_mut().enumerate() {
            *value = (bits >> square & 1) as f32;
        }
    }
    values
}

/// 1 for each legal action, 0 for the others; all 0 once the game is over.
pub fn legal_mask(position: &Checkers) -> [u8; N_ACTIONS] {
    let mut mask = [0; N_ACTIONS];
    for action in position.legal_actions() {
        mask[action as usize] = 1;
    }
    mask
}

/// The return of each player in a finished game: 1, -1, or 0; 0 while it continues.
pub fn returns(outcome: Outcome) -> [i64; 2] {
    match outcome {
        Outcome::Win(Player::First) => [1, -1],
        Outcome::Win(Player::Second) => [-1, 1],
        Outcome::Draw | Outcome::Ongoing => [0, 0],
    }
}

/// Number of lines of play of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveCount {
    /// Length of the lines.
    pub depth: u32,
    /// Number of lines of this many actions, where each jump is one action.
    pub actions: u64,
    /// Number of lines of this many turns, where successive jumps of one piece are one turn, as published for English draughts.
    pub turns: u64,
}

/// Counts the lines of play of each length from 1 to `depth`, on all cores of the current rayon pool.
///
/// # Errors
/// [`Error::Option`] for a depth of 0 or above [`MAX_PERFT_DEPTH`].
pub fn perft(position: &Checkers, depth: u32) -> Result<Vec<MoveCount>> {
    perft_watched(position, depth, || ControlFlow::Continue(()))
}

/// As [`perft`], for a caller that may stop it: all threads call `watch` repeatedly. Once it returns `Break`, only completely counted lengths are returned.
///
/// # Errors
/// As [`perft`].
pub fn perft_watched(
    position: &Checkers,
    depth: u32,
    watch: impl Fn() -> ControlFlow<()> + Sync,
) -> Result<Vec<MoveCount>> {
    if !(1..=MAX_PERFT_DEPTH).contains(&depth) {
        return Err(Error::option("depth", depth, format!("1 to {MAX_PERFT_DEPTH}")));
    }
    let is_stopped = AtomicBool::new(false);
    let go_on = || {
        if watch().is_break() {
            is_stopped.store(true, Ordering::Relaxed);
        }
        !is_stopped.load(Ordering::Relaxed)
    };
    let mut counts = Vec::new();
    for depth in 1..=depth {
        let (actions, turns) = (lines::<false>(position, depth, &go_on), lines::<true>(position, depth, &go_on));
        if is_stopped.load(Ordering::Relaxed) {
            break;
        }
        counts.push(MoveCount { depth, actions, turns });
    }
    Ok(counts)
}

/// Depth at which the count becomes sequential: nearer to the leaves, a task or a call of `go_on` would cost more than its work.
const SMALL_DEPTH: u32 = 3;

/// Counts the lines of `depth` actions or, with `TURNS`, turns; the result is meaningless once `go_on` has returned false.
fn lines<const TURNS: bool>(position: &Checkers, depth: u32, go_on: &(dyn Fn() -> bool + Sync)) -> u64 {
    if depth > SMALL_DEPTH && !go_on() {
        return 0;
    }
    let moves = position.moves();
    if depth == 1 && !(TURNS && moves.jumps) {
        return u64::from(moves.count());
    }
    let after = |n: u32| {
        let mut next = *position;
        next.apply(moves.nth(n));
        let same_turn = TURNS && next.jumper().is_some();
        match depth - u32::from(!same_turn) {
            0 => 1,
            left => lines::<TURNS>(&next, left, go_on),
        }
    };
    if depth > SMALL_DEPTH {
        (0..moves.count()).into_par_iter().map(after).sum()
    } else {
        (0..moves.count()).map(after).sum()
    }
}

/// Counts of what [`replay`] has checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayedGames {
    /// Games.
    pub games: u64,
    /// States, including the last of each game.
    pub states: u64,
    /// Games that the 40-action rule ended.
    pub draws: u64,
    /// Games won by the first and by the second player.
    pub wins: [u64; 2],
}

impl fmt::Display for ReplayedGames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { games, states, draws, wins: [first, second] } = self;
        write!(f, "{games} games, {states} states: {first} won by White, {second} by Black, {draws} drawn")
    }
}

/// One line of a file of recorded games: `n` actions, and `n + 1` states.
#[derive(Deserialize)]
struct RecordedGame {
    actions: Vec<u32>,
    players: Vec<i64>,
    boards: Vec<String>,
    legal: Vec<Vec<u32>>,
    returns: Vec<f64>,
}

/// Replays every game of a JSON lines file and compares every state: player to move, board, legal actions, and at the end the returns.
///
/// A line holds `actions` (n of them), `players`, `boards` and `legal` (n + 1: before each action and at the end) and `returns`; other fields are ignored.
///
/// # Errors
/// [`Error::File`] with the line of the first difference, naming the ply and the expected value; also for a file that cannot be read or has no games.
pub fn replay(path: &Path) -> Result<ReplayedGames> {
    input_file::expect_file(path)?;
    let file = File::open(path).map_err(|error| Error::file(path, None, format!("cannot be read: {error}")))?;
    let mut found = ReplayedGames::default();
    for (number, line) in (1u64..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| Error::file(path, Some(number), error))?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |reason: String| Error::file(path, Some(number), reason);
        let game: RecordedGame = serde_json::from_str(&line)
            .map_err(|error| wrong(format!("not a recorded game: {}", input_file::json_reason(&error))))?;
        let outcome = replay_one(&game).map_err(wrong)?;
        found.games += 1;
        found.states += game.boards.len() as u64;
        match outcome {
            Outcome::Win(player) => found.wins[player.index()] += 1,
            _ => found.draws += 1,
        }
    }
    if found.games == 0 {
        return Err(Error::file(path, None, "holds no games, expected one JSON object a line"));
    }
    Ok(found)
}

/// Replays one game; the error is the first difference.
fn replay_one(game: &RecordedGame) -> Result<Outcome, String> {
    let n_states = game.actions.len() + 1;
    for (name, n) in [("players", game.players.len()), ("boards", game.boards.len()), ("legal", game.legal.len())] {
        if n != n_states {
            return Err(format!("{n} {name}, expected {n_states}: one for each action and one for the end"));
        }
    }
    let mut position = Checkers::new();
    for ply in 0..n_states {
        let differs = |what: &str, recorded: &dyn fmt::Display, expected: &dyn fmt::Display| {
            Err(format!("ply {ply}: {what}: recorded {recorded}, by the rules {expected}"))
        };
        let outcome = position.outcome();
        let player = if outcome.is_over() { TERMINAL_PLAYER } else { position.to_move().index() as i64 };
        if game.players[ply] != player {
            return differs("player to move", &game.players[ply], &player);
        }
        let board = position.board_text();
        if game.boards[ply] != board {
            return differs("board", &game.boards[ply].escape_debug(), &board);
        }
        let legal = position.legal_actions();
        if game.legal[ply] != legal {
            return differs("legal actions", &format!("{:?}", game.legal[ply]), &format!("{legal:?}"));
        }
        let Some(&action) = game.actions.get(ply) else { continue };
        if !legal.contains(&action) {
            let allowed = match legal[..] {
                [] => "none, the game is over".to_string(),
                _ => legal
                    .iter()
                    .map(|&action| format!("{action} {}", Checkers::action_name(action)))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            return Err(format!("ply {ply}: action {action} is illegal (allowed: {allowed})"));
        }
        position.apply(action);
    }
    let outcome = position.outcome();
    if !outcome.is_over() {
        return Err(format!("the record ends at ply {}, but the game is not over", n_states - 1));
    }
    let expected = returns(outcome).map(|value| value as f64);
    if game.returns != expected {
        return Err(format!("returns: recorded {:?}, by the rules {expected:?}", game.returns));
    }
    Ok(outcome)
}
