//! Suits that a spot does not tell apart.

use crate::Result;
use crate::cfr::game::cards::{CardSet, Deck, subsets};
use crate::cfr::game::suits::{self, SuitMap};
use crate::cfr::spot::file::{LockStrategy, Spot};
use crate::cfr::spot::range::Range;

/// The ways to rename suits that change nothing in a spot.
pub struct Symmetry {
    renamings: Vec<SuitMap>,
}

fn renamed(cards: CardSet, suits: SuitMap) -> CardSet {
    suits::rename(Deck::FULL, suits, cards)
}

impl Symmetry {
    /// Of the four suits where nothing tells them apart.
    pub fn full() -> Self {
        Self { renamings: suits::all(Deck::FULL) }
    }

    /// Of a spot's ranges and locks, whatever is on the table.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for hands that cannot be read.
    pub fn of(spot: &Spot) -> Result<Self> {
        // Sets of cards with what belongs to them: a weight, or the place of a lock's strategy.
        let mut by_hand: Vec<Vec<(CardSet, u64)>> = Vec::new();
        for seat in 0..2 {
            let hands = spot.range(seat, 0)?;
            by_hand.push(hands.into_iter().map(|(hand, weight)| (hand, weight.to_bits())).collect());
        }
        for lock in &spot.locks {
            // Each card of a run-out has to stay as it is.
            if let Some(runout) = &lock.runout {
                by_hand.extend(Deck::FULL.cards(runout)?.into_iter().map(|card| vec![(1 << card, 0)]));
            }
            let LockStrategy::ByHand(parts) = &lock.strategy else { continue };
            let mut hands = Vec::new();
            for (at, text) in parts.keys().enumerate().filter(|(_, text)| *text != "rest") {
                hands.extend(Range::parse(text)?.hands(0).into_iter().map(|(hand, _)| (hand, at as u64)));
            }
            hands.sort_unstable();
            by_hand.push(hands);
        }
        let changes_nothing = |&suits: &SuitMap| {
            by_hand.iter().all(|hands| {
                let mut others: Vec<_> = hands.iter().map(|&(hand, of)| (renamed(hand, suits), of)).collect();
                others.sort_unstable();
                others == *hands
            })
        };
        Ok(Self { renamings: suits::all(Deck::FULL).into_iter().filter(changes_nothing).collect() })
    }

    /// Those that also leave these cards together.
    pub fn beside(mut self, cards: CardSet) -> Self {
        self.renamings.retain(|&suits| renamed(cards, suits) == cards);
        self
    }

    /// Whether no two suits are told apart.
    pub fn is_full(&self) -> bool {
        self.renamings.len() == 24
    }

    /// One set of `n` of these cards of each class, the highest, with the size of the class; the highest first.
    pub fn classes(&self, cards: CardSet, n: usize) -> Vec<(CardSet, usize)> {
        let size = |set: CardSet| suits::size_if_highest(Deck::FULL, &self.renamings, set);
        let mut classes: Vec<_> = subsets(cards, n).filter_map(|set| Some((set, size(set)?))).collect();
        classes.reverse();
        classes
    }

    /// The highest set of those that the cards become.
    pub fn first_of(&self, cards: CardSet) -> CardSet {
        suits::images(Deck::FULL, &self.renamings, cards).last().copied().unwrap_or(cards)
    }

    /// The number of sets that the cards become.
    pub fn class_size(&self, cards: CardSet) -> usize {
        suits::images(Deck::FULL, &self.renamings, cards).len()
    }
}
