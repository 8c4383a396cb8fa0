//! A game's rules for the programs of the CPU.

use warpplay::cfr::GameDef;
use warpplay_cpu_ref::cfr::poker::{Deck, Rules};

/// The rules as the plain implementation takes them.
pub(super) fn rules(game: &GameDef) -> Rules {
    Rules {
        no_limit: game.no_limit,
        stacks: game.stacks.clone(),
        blinds: game.blinds.clone(),
        raise_sizes: game.raise_sizes.clone(),
        first_players: game.first_players.clone(),
        max_raises: game.max_raises.clone(),
        deck: Deck { n_suits: game.deck.n_suits, n_ranks: game.deck.n_ranks },
        n_hole_cards: game.n_hole_cards,
        n_board_cards: game.n_board_cards.clone(),
    }
}
