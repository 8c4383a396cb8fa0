//! Suits that a spot does not tell apart.

use crate::Result;
use crate::cfr::game::cards::{CardSet, Deck, members};
use crate::cfr::spot::file::{LockStrategy, Spot};
use crate::cfr::spot::range::Range;

/// A suit for each suit.
type Renaming = [u8; 4];

/// The ways to rename suits that change nothing in a spot.
pub struct Symmetry {
    renamings: Vec<Renaming>,
}

fn renamed(cards: CardSet, suits: &Renaming) -> CardSet {
    let deck = Deck::FULL;
    members(cards).fold(0, |set, card| set | 1 << (deck.rank(card) * 4 + suits[usize::from(deck.suit(card))]))
}

/// All ways to rename four suits.
fn all() -> Vec<Renaming> {
    let mut all = Vec::new();
    for code in 0..4u32.pow(4) {
        let suits = [0, 1, 2, 3].map(|at| (code / 4u32.pow(at) % 4) as u8);
        if suits.iter().fold(0, |set, suit| set | 1 << suit) == 0b1111 {
            all.push(suits);
        }
    }
    all
}

impl Symmetry {
    /// Of the four suits where nothing tells them apart.
    pub fn full() -> Self {
        Self { renamings: all() }
    }

    /// Of a spot's ranges and locks, whatever is on the table.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for hands that cannot be read.
    pub fn of(spot: &Spot) -> Result<Self> {
        // Hands with what belongs to them: a weight, or the place of a lock's strategy.
        let mut by_hand: Vec<Vec<(CardSet, u64)>> = Vec::new();
        for seat in 0..2 {
            let hands = spot.range(seat, 0)?;
            by_hand.push(hands.into_iter().map(|(hand, weight)| (hand, weight.to_bits())).collect());
        }
        for lock in &spot.locks {
            let LockStrategy::ByHand(parts) = &lock.strategy else { continue };
            let mut hands = Vec::new();
            for (at, text) in parts.keys().enumerate().filter(|(_, text)| *text != "rest") {
                hands.extend(Range::parse(text)?.hands(0).into_iter().map(|(hand, _)| (hand, at as u64)));
            }
            hands.sort_unstable();
            by_hand.push(hands);
        }
        let changes_nothing = |suits: &Renaming| {
            by_hand.iter().all(|hands| {
                let mut others: Vec<_> = hands.iter().map(|&(hand, of)| (renamed(hand, suits), of)).collect();
                others.sort_unstable();
                others == *hands
            })
        };
        Ok(Self { renamings: all().into_iter().filter(changes_nothing).collect() })
    }

    /// Those that also leave these cards together.
    pub fn beside(mut self, cards: CardSet) -> Self {
        self.renamings.retain(|suits| renamed(cards, suits) == cards);
        self
    }

    /// Whether no two suits are told apart.
    pub fn is_full(&self) -> bool {
        self.renamings.len() == 24
    }

    /// The highest set of those that the cards become.
    pub fn first_of(&self, cards: CardSet) -> CardSet {
        self.renamings.iter().map(|suits| renamed(cards, suits)).max().unwrap_or(cards)
    }

    /// The number of sets that the cards become.
    pub fn class_size(&self, cards: CardSet) -> usize {
        let mut class: Vec<CardSet> = self.renamings.iter().map(|suits| renamed(cards, suits)).collect();
        class.sort_unstable();
        class.dedup();
        class.len()
    }
}
