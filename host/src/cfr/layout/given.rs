//! Locks on the boards of a game, and what is given in its tables.

use std::collections::HashMap;

use super::locks::{Given, Lock, SetupLock};
use super::{Node, Street, Values, VectorGame};

/// Assigns the locks of node `betting` to the boards of `lock.street`.
pub(super) fn assign(lock: &mut Lock, betting: u32, locks: &[SetupLock], streets: &[Street]) {
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
