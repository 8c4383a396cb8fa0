//! Positions from moves, with every move checked.

use warpplay_gpu::mcts::{Game, Notation, Outcome, Player};

use crate::{Error, Result};

/// Returns the position after a string of moves from the start.
///
/// # Errors
/// [`Error::Moves`] names the first word that is no move, the first illegal move, or the move after the game was over.
pub fn position_after<G: Notation>(moves: &str) -> Result<G> {
    let mut position = G::start();
    play_moves(&mut position, moves)?;
    Ok(position)
}

/// Plays a string of moves and returns the actions. If one of them cannot be played, the position is unchanged.
///
/// # Errors
/// As [`position_after`].
pub fn play_moves<G: Notation>(position: &mut G, moves: &str) -> Result<Vec<u32>> {
    let wrong = |reason: String| Error::Moves { game: G::NAME, reason };
    let actions = G::parse_moves(moves).map_err(|error| wrong(error.to_string()))?;
    let mut next = *position;
    for (index, &action) in actions.iter().enumerate() {
        let name = G::action_name(action);
        if next.outcome().is_over() {
            return Err(wrong(format!("move {} (`{name}`) comes after the end of the game", index + 1)));
        }
        if !next.is_legal(action) {
            return Err(wrong(format!("move {} (`{name}`) is illegal", index + 1)));
        }
        next.apply(action);
    }
    *position = next;
    Ok(actions)
}

/// Checks that a position can be searched.
///
/// # Errors
/// [`Error::Finished`] if the game is over, or nobody can move.
pub fn check_playable<G: Game>(position: &G) -> Result<()> {
    let outcome = position.outcome();
    if outcome.is_over() {
        let outcome = match outcome {
            Outcome::Win(Player::First) => "the first player has won",
            Outcome::Win(Player::Second) => "the second player has won",
            Outcome::Draw | Outcome::Ongoing => "a draw",
        };
        return Err(Error::Finished { game: G::NAME, outcome: outcome.to_string() });
    }
    if !(0..G::MAX_ACTIONS).any(|action| position.is_legal(action)) {
        return Err(Error::Finished { game: G::NAME, outcome: "no legal action".to_string() });
    }
    Ok(())
}
