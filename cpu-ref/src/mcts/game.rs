//! What a search asks of a game.

use super::rng::Stream;

/// How a finished game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameResult {
    /// Nobody won.
    Draw,
    /// The player with this number (0 or 1) won.
    Win(usize),
}

/// A position of a game for players 0 and 1, with the game's rules.
///
/// Player 0 moves first in a new game; callers always use [`Game::to_move`] to find the next player, so a game need not alternate. Actions are numbers below
/// [`Game::max_actions`].
pub trait Game: Clone + Send + Sync {
    /// Upper limit of action numbers (exclusive), the same for all positions of the game. The paper calls it B.
    fn max_actions(&self) -> usize;

    /// The player who moves next: 0 or 1.
    fn to_move(&self) -> usize;

    /// Whether `action` may be played here. The result for a finished position is meaningless.
    fn is_legal(&self, action: usize) -> bool;

    /// Plays `action`, which must be legal.
    fn apply(&mut self, action: usize);

    /// The result of this position, given that the position before `action` was not finished. It may examine only the last move.
    fn result_after(&self, action: usize) -> Option<GameResult>;

    /// The result of this position, regardless of its history; `None` while the game continues.
    fn result(&self) -> Option<GameResult>;

    /// Replaces the content of `out` by the legal actions, ascending.
    fn legal_actions(&self, out: &mut Vec<usize>) {
        out.clear();
        out.extend((0..self.max_actions()).filter(|&action| self.is_legal(action)));
    }

    /// The result that playing `action` here would have, without playing it. A game may override it with something faster than a copy.
    fn result_of(&self, action: usize) -> Option<GameResult> {
        let mut next = self.clone();
        next.apply(action);
        next.result_after(action)
    }

    /// A random game from here to its end: its result and the number of moves made.
    ///
    /// Each move draws `k = below(count)` from the ascending list of legal actions and plays the `k`-th; the number is drawn even if there is only one action. The position
    /// must not be finished. A position that is not finished but has no legal action counts as a draw. An override must draw the same numbers and return the same result.
    fn playout(&self, rng: &mut Stream) -> (GameResult, u32) {
        let mut position = self.clone();
        let mut legal = Vec::new();
        let mut plies = 0;
        loop {
            position.legal_actions(&mut legal);
            if legal.is_empty() {
                return (GameResult::Draw, plies);
            }
            let action = legal[rng.below(legal.len() as u32) as usize];
            position.apply(action);
            plies += 1;
            if let Some(result) = position.result_after(action) {
                return (result, plies);
            }
        }
    }
}
