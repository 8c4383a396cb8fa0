//! Strategies that are given rather than learnt.

use std::collections::HashMap;

use super::{Node, Street, Values, VectorGame};
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

/// Puts the locks of node `betting` on the boards of `lock.street`.
pub(super) fn place(lock: &mut Lock, betting: u32, locks: &[SetupLock], streets: &[Street]) {
    let mut of_node: Vec<&SetupLock> = locks.iter().filter(|lock| lock.betting == betting).collect();
    of_node.sort_by_key(|lock| lock.runout.len());
    let mut found: HashMap<Vec<usize>, u32> = HashMap::new();
    for board in 0..streets[lock.street].boards.len() {
        let (mut runout, mut at) = (Vec::new(), board);
        for street in streets[1..=lock.street].iter().rev() {
            runout.insert(0, street.boards[at].cards);
            at = street.boards[at].parent as usize;
        }
        let holding: Vec<usize> = (0..of_node.len()).filter(|&n| runout.starts_with(&of_node[n].runout)).collect();
        let given = holding.split_first().map(|(&first, more)| {
            *found.entry(holding.clone()).or_insert_with(|| {
                let mut given = of_node[first].given.clone();
                more.iter().for_each(|&n| given.cover(&of_node[n].given));
                lock.given.push(given);
                lock.given.len() as u32 - 1
            })
        });
        lock.of_boards.push(given);
    }
}

impl VectorGame {
    /// What is given at a node on a board of a street; `None` where all hands learn.
    pub fn given(&self, street: usize, entry: usize, node: usize, board: usize) -> Option<&Given> {
        self.locks.iter().find(|lock| (lock.street, lock.entry, lock.node) == (street, entry, node))?.on(board)
    }

    /// The given strategies in a seat's table: the offset of the first action's vector, and what is given there.
    pub fn given_rows(&self, seat: usize) -> impl Iterator<Item = (usize, &Given)> {
        let slot_of = move |lock: &Lock| match &self.streets[lock.street].entries[lock.entry].nodes[lock.node] {
            Node::Decision { seat: of, slot, .. } if *of == seat => Some(*slot),
            _ => None,
        };
        self.locks.iter().filter_map(move |lock| Some((lock, slot_of(lock)?))).flat_map(move |(lock, slot)| {
            let boards = lock.of_boards.iter().enumerate();
            boards.filter_map(move |(board, _)| Some((self.offset(seat, lock.street, board, slot), lock.on(board)?)))
        })
    }

    /// Writes to the hands with given strategies in a seat's table, or in that of its first streets: their probabilities, times `factor`.
    pub(in crate::cfr) fn write_given(&self, seat: usize, table: &mut Values, factor: f64) {
        let n_hands = self.hands[seat].len();
        let len = table.len();
        for (first, given) in self.given_rows(seat).filter(|(first, _)| *first < len) {
            for hand in given.numbers() {
                for (action, vector) in given.strategy.iter().enumerate() {
                    table.set(first + action * n_hands + hand, factor * vector[hand]);
                }
            }
        }
    }
}
