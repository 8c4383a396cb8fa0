//! The order of hands at the showdown, for any number of cards of any deck.

use super::cards::{CardSet, Deck, members};
use crate::runtime::named::named;

named! {
    /// The category of a hand, the weakest first. Straights and flushes need five cards.
    Category, "category":
    /// None of the others.
    HighCard = "high card",
    /// Two of a rank.
    Pair = "pair",
    /// Two pairs.
    TwoPair = "two pair",
    /// Three of a rank.
    ThreeOfAKind = "three of a kind",
    /// Five ranks in a row; the ace is low in A2345 only if the deck has an ace.
    Straight = "straight",
    /// Five of a suit.
    Flush = "flush",
    /// Three of a rank and two of another.
    FullHouse = "full house",
    /// Four of a rank.
    FourOfAKind = "four of a kind",
    /// Five ranks in a row, of a suit.
    StraightFlush = "straight flush",
}

/// Ranks hands of one deck: the best five of the given cards, or all if there are fewer. Suits never break ties.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// Rank as a bit, and suit, by card.
    cards: [(u16, u8); 64],
    has_ace: bool,
}

/// Bits of a strength for the hand's main ranks, and below them for the other cards.
pub(in crate::cfr) const RANK_BITS: u32 = 13;

/// The category of a strength.
pub fn category(strength: u32) -> Category {
    let last = Category::ALL.len() - 1;
    Category::ALL[((strength >> (2 * RANK_BITS)) as usize).min(last)]
}

/// The `n` highest ranks of a set of ranks, or all.
fn highest(mut ranks: u32, n: u32) -> u32 {
    while ranks.count_ones() > n {
        ranks &= ranks - 1;
    }
    ranks
}

/// The highest rank of a set of ranks; 0 for none.
fn top(ranks: u32) -> u32 {
    if ranks == 0 { 0 } else { 1 << ranks.ilog2() }
}

impl Ranking {
    /// The ranking of a deck.
    pub fn new(deck: Deck) -> Self {
        let suits = deck.n_suits.max(1);
        let cards = std::array::from_fn(|card| {
            (1u16.checked_shl(card as u32 / u32::from(suits)).unwrap_or(0), card as u8 % suits)
        });
        Self { cards, has_ace: deck.n_ranks == 13 }
    }

    /// A number that is larger for a stronger hand and equal for hands that split the pot. Hands with different numbers of cards cannot be compared.
    ///
    /// Bits: 26 and above the [`Category`], 13 to 25 the ranks that make it, 0 to 12 the other cards that count.
    pub fn strength(&self, cards: CardSet) -> u32 {
        let mut suits = [0u32; 4];
        // Ranks of which there are at least 1, 2, 3, 4 cards.
        let (mut one, mut two, mut three, mut four) = (0u32, 0, 0, 0);
        for card in members(cards) {
            let (rank, suit) = self.cards[card as usize];
            let rank = u32::from(rank);
            suits[suit as usize & 3] |= rank;
            four |= three & rank;
            three |= two & rank;
            two |= one & rank;
            one |= rank;
        }
        let hand =
            |category: Category, main: u32, rest: u32| (category as u32) << (2 * RANK_BITS) | main << RANK_BITS | rest;
        // Cards of the hand beside those that make it.
        let rest = |used: u32, n: u32| highest(one & !used, cards.count_ones().min(5).saturating_sub(n));
        let mut best = 0;
        for ranks in suits.into_iter().filter(|ranks| ranks.count_ones() >= 5) {
            let straight = self.straight(ranks);
            best = best.max(if straight > 0 {
                hand(Category::StraightFlush, straight, 0)
            } else {
                hand(Category::Flush, highest(ranks, 5), 0)
            });
        }
        let made = if four > 0 {
            let main = top(four);
            hand(Category::FourOfAKind, main, rest(main, 4))
        } else if three > 0 && two & !top(three) > 0 {
            let main = top(three);
            hand(Category::FullHouse, main, top(two & !main))
        } else if self.straight(one) > 0 {
            hand(Category::Straight, self.straight(one), 0)
        } else if three > 0 {
            let main = top(three);
            hand(Category::ThreeOfAKind, main, rest(main, 3))
        } else if two.count_ones() >= 2 {
            let main = highest(two, 2);
            hand(Category::TwoPair, main, rest(main, 4))
        } else if two > 0 {
            hand(Category::Pair, two, rest(two, 2))
        } else {
            hand(Category::HighCard, rest(0, 0), 0)
        };
        best.max(made)
    }

    /// The highest rank of the best five in a row among a set of ranks; 0 for none.
    fn straight(&self, ranks: u32) -> u32 {
        // Bit 0 is the ace below the deuce, so rank r is bit r + 1.
        let low_ace = u32::from(self.has_ace) & ranks >> 12;
        let line = ranks << 1 | low_ace;
        top(line & line >> 1 & line >> 2 & line >> 3 & line >> 4) << 3
    }
}
