//! Strategies that are given rather than learnt.

use crate::cfr::game::cards::CardSet;

/// The strategies that are given at one decision node: to all hands or some, on all boards or some.
#[derive(Clone, Debug)]
pub struct Lock {
    /// The street.
    pub street: usize,
    /// The entry of the street.
    pub entry: usize,
    /// The node of the entry; a decision with `locked`.
    pub node: usize,
    /// The strategies.
    pub given: Vec<Given>,
    /// Which of them holds on each board of the street; `None` where all hands learn.
    pub of_boards: Vec<Option<u32>>,
}

/// A strategy that is given to some hands of a seat.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Whether a hand has it; others learn.
    pub hands: Vec<bool>,
    /// Probabilities `[action][hand of the seat]`, which add up to 1 over the actions for each hand that has them; 0 for others.
    pub strategy: Vec<Vec<f64>>,
}

impl Given {
    /// A strategy of all hands, `[action][hand]`.
    pub fn all(strategy: Vec<Vec<f64>>) -> Self {
        Self { hands: vec![true; strategy.first().map_or(0, Vec::len)], strategy }
    }

    /// The numbers of the hands that have it.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        (0..self.hands.len()).filter(|&hand| self.hands[hand])
    }

    /// Puts another strategy over this one, for the hands that have it.
    pub(in crate::cfr) fn cover(&mut self, other: &Self) {
        for hand in other.numbers() {
            self.hands[hand] = true;
            self.strategy.iter_mut().zip(&other.strategy).for_each(|(to, from)| to[hand] = from[hand]);
        }
    }

    /// Whether this is `other` after a renaming of the hands: `images[hand]` is the hand's new number.
    fn is_renamed(&self, other: &Self, images: &[u32]) -> bool {
        fn same<T: PartialEq>(renamed: &[T], of: &[T], images: &[u32]) -> bool {
            images.iter().zip(of).all(|(&image, value)| renamed[image as usize] == *value)
        }
        same(&self.hands, &other.hands, images)
            && self.strategy.iter().zip(&other.strategy).all(|(renamed, of)| same(renamed, of, images))
    }
}

impl Lock {
    /// A strategy of all hands, `[action][hand]`, on each of a street's boards.
    pub fn everywhere(street: usize, entry: usize, node: usize, n_boards: usize, strategy: Vec<Vec<f64>>) -> Self {
        Self { street, entry, node, given: vec![Given::all(strategy)], of_boards: vec![Some(0); n_boards] }
    }

    /// What is given on a board.
    pub fn on(&self, board: usize) -> Option<&Given> {
        self.given.get((*self.of_boards.get(board)?)? as usize)
    }

    /// Whether no hand learns, on any board.
    pub fn is_whole(&self) -> bool {
        self.of_boards.iter().all(Option::is_some) && self.given.iter().all(|given| given.hands.iter().all(|&is| is))
    }
}

/// A given strategy of a node of the betting tree.
pub(in crate::cfr) struct SetupLock {
    /// The decision node of the betting tree.
    pub betting: u32,
    /// The board after each card that was dealt since the first street, for as many streets as matter; empty for all boards.
    pub runout: Vec<CardSet>,
    /// The strategy. Where several hold for a hand, that of the longest run-out does.
    pub given: Given,
}

impl SetupLock {
    /// Whether `locks` has this lock after a renaming of suits, which changes sets of cards by `rename` and numbers of hands by `images`.
    pub fn is_among(&self, locks: &[Self], rename: impl Fn(CardSet) -> CardSet, images: &[u32]) -> bool {
        let runout: Vec<CardSet> = self.runout.iter().map(|&cards| rename(cards)).collect();
        let mut others = locks.iter().filter(|other| other.betting == self.betting && other.runout == runout);
        others.any(|other| other.given.is_renamed(&self.given, images))
    }
}
