//! What a board looks like.

use serde::{Deserialize, Serialize};

use crate::cfr::game::cards::{CardSet, Deck, RANKS, members, set_of};
use crate::runtime::named::named;
use crate::{Error, Result};

/// Ranks that a straight has.
const STRAIGHT: usize = 5;

/// The features of a board by which boards are grouped.
///
/// ```
/// use warpplay::cfr::spot::{Pairing, Suits, Texture};
///
/// let texture = Texture::of("Qs Jh 2h")?;
/// assert_eq!((texture.high, texture.pairing, texture.suits, texture.straight), ('Q', Pairing::Unpaired, Suits::TwoTone, 2));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Texture {
    /// The highest rank, `2` to `A`.
    pub high: char,
    /// Ranks that occur more than once.
    pub pairing: Pairing,
    /// Suits that occur more than once.
    pub suits: Suits,
    /// The most cards of different rank that fit into one straight, the ace high or low: with 3 or more of them two hole cards can make a straight.
    pub straight: u8,
}

named! {
    /// Ranks of a board that occur more than once.
    Pairing, "pairing":
    /// None.
    Unpaired = "unpaired",
    /// One, twice.
    Paired = "paired",
    /// Two, twice each.
    TwoPairs = "two_pairs",
    /// One, three times.
    Trips = "trips",
    /// One three times, another twice.
    FullHouse = "full_house",
    /// One, four times.
    Quads = "quads",
}

named! {
    /// The most cards of one suit.
    Suits, "suits":
    /// One.
    Rainbow = "rainbow",
    /// Two.
    TwoTone = "two_tone",
    /// Three, and others.
    Three = "three_of_a_suit",
    /// Four, and another.
    Four = "four_of_a_suit",
    /// All, three or more.
    Monotone = "monotone",
}

impl Texture {
    /// The texture of a board of 3 to 5 cards, as `Qs Jh 2h`.
    ///
    /// # Errors
    /// [`Error::Option`] for other boards.
    pub fn of(board: &str) -> Result<Self> {
        let cards = Deck::FULL.cards(board).ok().filter(|cards| (3..=5).contains(&cards.len()));
        let cards = cards.ok_or_else(|| Error::option("board", format!("'{board}'"), "3 to 5 cards, as Qs Jh 2h"))?;
        Ok(Self::of_cards(set_of(&cards)))
    }

    /// The texture of a set of at least one card.
    pub(super) fn of_cards(board: CardSet) -> Self {
        let (mut by_rank, mut by_suit) = ([0u8; 13], [0u8; 4]);
        for card in members(board) {
            by_rank[usize::from(Deck::FULL.rank(card))] += 1;
            by_suit[usize::from(Deck::FULL.suit(card))] += 1;
        }
        let high = by_rank.iter().rposition(|&n| n > 0).unwrap_or(0);
        let n_pairs = by_rank.iter().filter(|&&n| n == 2).count();
        let pairing = match (by_rank.iter().max(), n_pairs) {
            (Some(4), _) => Pairing::Quads,
            (Some(3), 0) => Pairing::Trips,
            (Some(3), _) => Pairing::FullHouse,
            (_, 0) => Pairing::Unpaired,
            (_, 1) => Pairing::Paired,
            _ => Pairing::TwoPairs,
        };
        let of_one_suit = by_suit.iter().copied().max().unwrap_or(0);
        let suits = match of_one_suit {
            0 | 1 => Suits::Rainbow,
            2 => Suits::TwoTone,
            n if u32::from(n) == board.count_ones() => Suits::Monotone,
            3 => Suits::Three,
            _ => Suits::Four,
        };
        // The ace below the deuce, then all ranks.
        let there: Vec<bool> = by_rank[12..].iter().chain(&by_rank).map(|&n| n > 0).collect();
        let in_straight = there.windows(STRAIGHT).map(|five| five.iter().filter(|&&there| there).count());
        let straight = in_straight.max().unwrap_or(0) as u8;
        Self { high: RANKS.as_bytes()[high] as char, pairing, suits, straight }
    }

    /// The features by name, each with the place of its value among all values and its text.
    pub(super) fn features(&self) -> [(&'static str, usize, String); 4] {
        let high = RANKS.len() - RANKS.find(self.high).unwrap_or(0);
        [
            ("high card", high, self.high.to_string()),
            ("pairing", self.pairing as usize, self.pairing.to_string()),
            ("suits", self.suits as usize, self.suits.to_string()),
            ("cards to a straight", self.straight.into(), self.straight.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_some_boards() {
        for (board, high, pairing, suits, straight) in [
            ("As Ah Ad", 'A', Pairing::Trips, Suits::Rainbow, 1),
            ("Ks Kh 4s", 'K', Pairing::Paired, Suits::TwoTone, 1),
            ("Ah 4h 3h", 'A', Pairing::Unpaired, Suits::Monotone, 3),
            ("Ah Kd 2c", 'A', Pairing::Unpaired, Suits::Rainbow, 2),
            ("9s 7s 5s 6s", '9', Pairing::Unpaired, Suits::Monotone, 4),
            ("Ts 6s 6h Td 2s", 'T', Pairing::TwoPairs, Suits::Three, 2),
            ("Ts Th Td 2c 2s", 'T', Pairing::FullHouse, Suits::TwoTone, 1),
            ("8s 8h 8d 8c Ks", 'K', Pairing::Quads, Suits::TwoTone, 1),
            ("2s 3s 4s 5s Ah", 'A', Pairing::Unpaired, Suits::Four, 5),
        ] {
            assert_eq!(Texture::of(board).expect(board), Texture { high, pairing, suits, straight }, "{board}");
        }
        for board in ["", "As Ah", "As As Ah", "xx", "As Ks Qs Js Ts 9s"] {
            let error = Texture::of(board).expect_err(board).to_string();
            assert!(error.starts_with("option board: ") && error.contains("3 to 5 cards"), "{error}");
        }
    }
}
