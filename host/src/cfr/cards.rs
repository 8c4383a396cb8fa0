//! Cards, decks and sets of cards.

/// A set of cards: bit `i` is card `i` of the deck.
pub type CardSet = u64;

/// The ranks' letters, the lowest first.
pub const RANKS: &str = "23456789TJQKA";
/// The suits' letters, in their order.
pub const SUITS: &str = "cdhs";

/// A deck of `n_suits` × `n_ranks` cards. Card `rank · n_suits + suit`, ranks from the deuce on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Deck {
    /// Suits, 1 to 4.
    pub n_suits: u8,
    /// Ranks, 1 to 13.
    pub n_ranks: u8,
}

impl Deck {
    /// The 52 cards of hold'em.
    pub const FULL: Self = Self { n_suits: 4, n_ranks: 13 };

    /// Cards in all.
    pub const fn n_cards(self) -> u32 {
        self.n_suits as u32 * self.n_ranks as u32
    }
}
