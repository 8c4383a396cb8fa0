//! Game definition files in the format of the Annual Computer Poker Competition (ACPC).

use super::cards::Deck;

/// The rules of a poker game. Read from a file with `GameDef::read`, from text with `GameDef::parse`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GameDef {
    /// Any raise from the minimum to all-in, instead of fixed sizes.
    pub no_limit: bool,
    /// Seats.
    pub n_players: usize,
    /// Betting rounds.
    pub n_rounds: usize,
    /// Chips of each seat; `None` without bound.
    pub stacks: Option<Vec<u32>>,
    /// Chips that each seat puts in before the first action.
    pub blinds: Vec<u32>,
    /// Chips that a raise adds, by round; empty in no-limit.
    pub raise_sizes: Vec<u32>,
    /// Seat (from 0) that acts first, by round.
    pub first_players: Vec<usize>,
    /// Most raises of a round, by round.
    pub max_raises: Vec<u32>,
    /// The deck.
    pub deck: Deck,
    /// Private cards of a player.
    pub n_hole_cards: usize,
    /// Cards turned up at the start of each round.
    pub n_board_cards: Vec<usize>,
}
