//! One game between two players.

use std::ops::ControlFlow;
use std::time::Instant;

use warpplay_gpu::mcts::{KernelSet, Notation, Outcome};

use super::player::Contestant;
use super::record::{GameRecord, GameResult, MoveRecord, Side};
use crate::{Error, Progress, Result};

/// A game and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The record, which a repetition must reproduce.
    pub record: GameRecord,
    /// Seconds of each search, in the order of the moves.
    pub seconds: Vec<f64>,
}

/// Plays a game from `start` to its end; `first` moves first, each player has its own seed, and `players` are A and B.
///
/// With the `recorded` moves of a game, each search makes the recorded number of steps instead of applying its limits; after the last recorded move, searches make as many
/// steps as that move. `watch` receives the progress of each search; the result is `None` if it stopped one.
///
/// # Errors
/// As [`Contestant::think`]; [`Error::Finished`] for a position in which nobody can move; [`Error::Moves`] for a player that finds no legal move.
pub fn play_game<G: KernelSet + Notation>(
    players: &mut [Contestant<G>; 2],
    start: &G,
    first: Side,
    seeds: [u64; 2],
    recorded: &[MoveRecord],
    mut watch: impl FnMut(&Progress) -> ControlFlow<()> + Send,
) -> Result<Option<Played>> {
    for side in Side::BOTH {
        players[side.index()].begin(seeds[side.index()]);
    }
    let mut position = *start;
    let first_to_move = position.to_move();
    let of = |player| if player == first_to_move { first } else { first.other() };
    let (mut moves, mut seconds) = (Vec::<MoveRecord>::new(), Vec::new());
    loop {
        let side = of(position.to_move());
        let steps = recorded.get(moves.len()).or(recorded.last()).map(|old| old.steps);
        let begun = Instant::now();
        let Some(found) = players[side.index()].think(&position, side, steps, &mut watch)? else { return Ok(None) };
        seconds.push(begun.elapsed().as_secs_f64());
        if found.action >= G::MAX_ACTIONS || !position.is_legal(found.action) {
            let reason = format!("move {} by {side}: action {} is illegal", moves.len() + 1, found.action);
            return Err(Error::Moves { game: G::NAME, reason });
        }
        position.apply(found.action);
        moves.push(found);
        let result = match position.outcome() {
            Outcome::Ongoing => continue,
            Outcome::Draw => GameResult::Draw,
            Outcome::Win(player) => match of(player) {
                Side::A => GameResult::A,
                Side::B => GameResult::B,
            },
        };
        return Ok(Some(Played { record: GameRecord { first, seeds, result, moves }, seconds }));
    }
}
