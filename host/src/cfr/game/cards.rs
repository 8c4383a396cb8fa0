//! Cards, decks and sets of cards.

use crate::{Error, Result};

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

    /// Number of cards.
    pub const fn n_cards(self) -> u32 {
        self.n_suits as u32 * self.n_ranks as u32
    }

    /// Checks the size of the deck.
    ///
    /// # Errors
    /// [`Error::Option`] unless it has 1 to 4 suits and 1 to 13 ranks.
    pub fn check(self) -> Result<()> {
        if !(1..=4).contains(&self.n_suits) {
            return Err(Error::option("numSuits", self.n_suits, "1 to 4"));
        }
        if !(1..=13).contains(&self.n_ranks) {
            return Err(Error::option("numRanks", self.n_ranks, "1 to 13"));
        }
        Ok(())
    }

    /// All cards.
    pub const fn all(self) -> CardSet {
        if self.n_cards() < CardSet::BITS { (1 << self.n_cards()) - 1 } else { CardSet::MAX }
    }

    /// A card's rank, 0 for the deuce.
    pub const fn rank(self, card: u8) -> u8 {
        card / self.suits()
    }

    /// A card's suit, 0 for clubs.
    pub const fn suit(self, card: u8) -> u8 {
        card % self.suits()
    }

    /// Number of suits, at least one, so that a deck that [`check`](Self::check) refuses causes no division by zero.
    const fn suits(self) -> u8 {
        if self.n_suits == 0 { 1 } else { self.n_suits }
    }

    /// A card's name, such as `Ah`; `?` for a card that no deck has.
    pub fn name(self, card: u8) -> String {
        let letters = (RANKS.as_bytes().get(self.rank(card) as usize), SUITS.as_bytes().get(self.suit(card) as usize));
        match letters {
            (Some(&rank), Some(&suit)) => String::from_iter([rank as char, suit as char]),
            _ => "?".to_string(),
        }
    }

    /// The names of a set's cards, the highest first, without spaces: `AhAc7d`. Empty for no cards.
    pub fn names(self, cards: CardSet) -> String {
        let mut all: Vec<u8> = members(cards).collect();
        all.reverse();
        all.into_iter().map(|card| self.name(card)).collect()
    }

    /// Parses the name of a card, in letters of either case.
    ///
    /// # Errors
    /// [`Error::Option`] if it is not a rank and a suit, or the deck lacks the card.
    pub fn card(self, name: &str) -> Result<u8> {
        let allowed = || {
            let end = |letters: &str, n: u8| letters.chars().take(n as usize).collect::<String>();
            format!(
                "a rank of {} and a suit of {}, as {}",
                end(RANKS, self.n_ranks),
                end(SUITS, self.n_suits),
                self.name(0)
            )
        };
        let mut letters = name.chars();
        let (rank, suit, rest) = (letters.next(), letters.next(), letters.next());
        let rank = rank.and_then(|rank| RANKS.find(rank.to_ascii_uppercase()));
        let suit = suit.and_then(|suit| SUITS.find(suit.to_ascii_lowercase()));
        match (rank, suit, rest) {
            (Some(rank), Some(suit), None)
                if rank < self.n_ranks as usize && suit < self.n_suits as usize && self.check().is_ok() =>
            {
                Ok((rank * self.n_suits as usize + suit) as u8)
            }
            _ => Err(Error::option("card", format!("'{name}'"), allowed())),
        }
    }

    /// Parses the cards of a text, in its order, with or without spaces between them: `Qs Jh 2h`, `QsJh2h`. A ten may be written `10s`.
    ///
    /// # Errors
    /// [`Error::Option`] if one is not a card of the deck, or occurs twice.
    pub fn cards(self, text: &str) -> Result<Vec<u8>> {
        let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        // No card has a 1 or a 0 otherwise.
        let letters: Vec<char> = plain.replace("10", "T").chars().collect();
        let mut seen: CardSet = 0;
        letters
            .chunks(2)
            .map(|name| {
                let card = self.card(&String::from_iter(name))?;
                if seen >> card & 1 == 1 {
                    return Err(Error::option("card", self.name(card), format!("each card once, in '{text}'")));
                }
                seen |= 1 << card;
                Ok(card)
            })
            .collect()
    }
}

/// The cards of a set, in ascending order.
pub fn members(mut cards: CardSet) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        if cards == 0 {
            return None;
        }
        let card = cards.trailing_zeros() as u8;
        cards &= cards - 1;
        Some(card)
    })
}

/// The set of some cards.
pub fn set_of(cards: &[u8]) -> CardSet {
    cards.iter().fold(0, |set, &card| set | 1 << (card & 63))
}

/// Number of ways to choose `k` of `n`; the largest `u64` if it does not fit.
pub fn choose(n: u32, k: u32) -> u64 {
    if k > n {
        return 0;
    }
    let mut ways: u128 = 1;
    for i in 0..u128::from(k.min(n - k)) {
        ways = ways * (u128::from(n) - i) / (i + 1);
        if ways > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    ways as u64
}

/// Position of a set among all sets of as many cards, ordered by the highest card, then the next (colexicographic): Σ C(cₖ, k + 1) over its cards c₀ < c₁ < ….
pub fn colex_rank(cards: CardSet) -> u64 {
    members(cards).zip(1..).map(|(card, k)| choose(card.into(), k)).sum()
}

/// All sets of `k` cards out of `cards`, in colexicographic order.
pub fn subsets(cards: CardSet, k: usize) -> impl Iterator<Item = CardSet> {
    let all: Vec<u8> = members(cards).collect();
    // A set of positions, stepped to the next larger number with as many bits.
    let mut positions: Option<u64> = (k <= all.len()).then(|| if k == 64 { u64::MAX } else { (1 << k) - 1 });
    std::iter::from_fn(move || {
        let now = positions?;
        if now != 0 && 64 - now.leading_zeros() as usize > all.len() {
            return None;
        }
        positions = if now == 0 {
            None
        } else {
            let low = now & now.wrapping_neg();
            now.checked_add(low).map(|up| up | (((now ^ up) >> 2) / low))
        };
        Some(members(now).fold(0, |set, position| set | 1 << all[position as usize]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_cards_are_inverse() {
        let deck = Deck { n_suits: 3, n_ranks: 7 };
        for card in 0..deck.n_cards() as u8 {
            assert_eq!(deck.card(&deck.name(card)).unwrap(), card);
        }
        for text in ["Qs Jh2h", "QS jh 2H"] {
            assert_eq!(Deck::FULL.cards(text).unwrap(), [43, 38, 2]);
        }
        assert_eq!(Deck::FULL.cards("10s TH").unwrap(), Deck::FULL.cards("TsTh").unwrap());
        assert_eq!(Deck::FULL.names(set_of(&[2, 43, 38])), "QsJh2h");
        for bad in ["9c", "2s", "x", "2cc", "1c", ""] {
            assert!(deck.card(bad).is_err(), "{bad}");
        }
        assert!(Deck::FULL.cards("2c3d2c").is_err());
        assert!(Deck::FULL.cards("2c3").is_err());
    }

    #[test]
    fn subsets_come_in_the_order_of_their_ranks() {
        let cards = 0b1011_0110;
        for k in 0..=6 {
            let all: Vec<CardSet> = subsets(cards, k).collect();
            assert_eq!(all.len() as u64, choose(5, k as u32));
            assert!(all.iter().all(|set| set & !cards == 0 && set.count_ones() as usize == k));
            assert!(all.is_sorted());
        }
        for (rank, set) in subsets(Deck { n_suits: 2, n_ranks: 4 }.all(), 3).enumerate() {
            assert_eq!(colex_rank(set), rank as u64);
        }
        assert_eq!(subsets(u64::MAX, 64).collect::<Vec<_>>(), [u64::MAX]);
        assert_eq!(choose(36, 7), 8_347_680);
    }
}
