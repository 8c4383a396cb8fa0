//! How the tables of a problem are laid out, as far as strategies need it.

use std::sync::Arc;

use super::{Buckets, Node, Row, Values, VectorGame};
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::extensive::Tree;
use crate::runtime::fnv::Fnv;
use crate::runtime::named::named;

named! {
    /// The kind of layout of a table.
    LayoutKind, "layout":
    /// Vectors of hands.
    Vector = "vector",
    /// Information sets of an explicit tree.
    Tree = "tree",
    /// Betting nodes × the possible knowledge of the cards.
    Buckets = "buckets",
    /// As `buckets`, with room for three actions in every set.
    Padded = "padded",
    /// Betting nodes × buckets of an abstraction.
    Merged = "merged",
}

/// The position of every information set's values in a seat's table.
#[derive(Clone, Debug)]
pub(in crate::cfr) enum Layout {
    /// As [`VectorGame::offset`] tells: a vector of hands for each action.
    Vector {
        /// The game.
        game: Arc<VectorGame>,
        /// Its betting tree, which names the nodes.
        tree: Arc<BettingTree>,
    },
    /// The actions of each information set of a seat, one set after the other.
    Tree(Arc<Tree>),
    /// Betting nodes × the possible knowledge of the cards.
    Buckets(Arc<Buckets>),
}

impl Layout {
    /// The kind of layout.
    pub fn kind(&self) -> LayoutKind {
        match self {
            Self::Vector { .. } => LayoutKind::Vector,
            Self::Tree(_) => LayoutKind::Tree,
            Self::Buckets(buckets) if buckets.padded => LayoutKind::Padded,
            Self::Buckets(buckets) if buckets.abstraction.is_some() => LayoutKind::Merged,
            Self::Buckets(_) => LayoutKind::Buckets,
        }
    }

    /// Seats.
    pub fn n_players(&self) -> usize {
        match self {
            Self::Vector { .. } => 2,
            Self::Tree(tree) => tree.n_players(),
            Self::Buckets(buckets) => buckets.rules.n_players,
        }
    }

    /// Number of values of a seat's table.
    pub fn table_len(&self, seat: usize) -> usize {
        match self {
            Self::Vector { game, .. } => game.table_len(seat),
            Self::Tree(tree) => tree.table_len(seat),
            Self::Buckets(buckets) => buckets.table_len(seat),
        }
    }

    /// Hands that have a choice before the first decision, in a subgame; else 0.
    pub fn n_choices(&self) -> usize {
        match self {
            Self::Vector { game, .. } => game.gadget.as_ref().map_or(0, |gadget| gadget.alternatives.len()),
            Self::Tree(_) | Self::Buckets(_) => 0,
        }
    }

    /// Number of values of all seats' tables.
    pub fn len(&self) -> usize {
        (0..self.n_players()).map(|seat| self.table_len(seat)).sum()
    }

    /// Calls `visit` with every information set of a seat, in the table's order, including sets of hands that the board blocks.
    pub fn each_row(&self, seat: usize, mut visit: impl FnMut(Row)) {
        match self {
            Self::Vector { game, .. } => {
                let stride = game.hands[seat].len();
                each_decision(game, seat, |street, board, slot, n_actions| {
                    let start = game.offset(seat, street, board, slot);
                    (0..stride).for_each(|hand| visit(Row { start: start + hand, stride, n_actions }));
                });
            }
            Self::Tree(tree) => {
                let rows = tree.sets_of(seat).iter();
                rows.for_each(|set| visit(Row { start: set.offset, stride: 1, n_actions: set.actions.len() }));
            }
            Self::Buckets(buckets) => {
                for node in buckets.nodes(seat) {
                    (0..buckets.n_buckets(node)).for_each(|bucket| visit(buckets.row(node, bucket)));
                }
            }
        }
    }

    /// A checksum that is equal for two layouts only if their tables have the same meaning.
    pub fn fingerprint(&self) -> u64 {
        let mut sum = Fnv::default();
        match self {
            Self::Vector { game, .. } => {
                sum.add(b"vector");
                for seat in 0..2 {
                    game.hands[seat].iter().for_each(|hand| sum.add(&hand.to_le_bytes()));
                }
                for street in &game.streets {
                    street.boards.iter().for_each(|board| sum.add(&board.cards.to_le_bytes()));
                    for entry in &street.entries {
                        entry.nodes.iter().for_each(|node| sum.add(format!("{node:?}").as_bytes()));
                    }
                }
            }
            Self::Tree(tree) => {
                sum.add(b"tree");
                for set in tree.sets() {
                    sum.add(format!("{} {:?} {:?}", set.seat, set.key, set.actions).as_bytes());
                }
                tree.payoffs.iter().for_each(|payoff| sum.add(&payoff.to_le_bytes()));
            }
            Self::Buckets(buckets) => {
                sum.add(b"buckets");
                sum.add(format!("{:?} {}", buckets.rules, buckets.padded).as_bytes());
                if let Some(abstraction) = &buckets.abstraction {
                    abstraction.add_to(&mut sum);
                }
            }
        }
        sum.value()
    }

    /// Probabilities from weighted sums of strategies; sets that were never reached stay 0, which means uniform.
    pub fn normalised(&self, seat: usize, sums: &Values) -> Vec<f32> {
        let mut probabilities = vec![0.0; self.table_len(seat)];
        self.each_row(seat, |row| {
            let total: f64 = row.indices().map(|at| sums.get(at)).sum();
            if total > 0.0 {
                row.indices().for_each(|at| probabilities[at] = (sums.get(at) / total) as f32);
            }
        });
        probabilities
    }
}

/// Calls `visit(street, board, slot, n_actions)` for every decision of a seat.
fn each_decision(game: &VectorGame, seat: usize, mut visit: impl FnMut(usize, usize, u32, usize)) {
    for (number, street) in game.streets.iter().enumerate() {
        for board in 0..street.boards.len() {
            for node in street.entries.iter().flat_map(|entry| &entry.nodes) {
                if let Node::Decision { seat: mover, actions, slot, .. } = node
                    && *mover == seat
                {
                    visit(number, board, *slot, actions.len());
                }
            }
        }
    }
}
