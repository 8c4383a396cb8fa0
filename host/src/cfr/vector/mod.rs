//! Two-player poker as public tree × vectors of hands: every betting round on every board, with all private hands at once.
//!
//! A *street* is a betting round. Its *boards* are what has been dealt by then, one for each class of boards that differ by names of suits only. Its
//! *entries* are the betting subtrees of the round, one for each way the betting before it can end with the hand going on. Hands are numbered once, by the
//! hands that the first board allows; a hand that a later card blocks keeps its number and has reach 0.

use super::betting::Action;
use super::cards::{CardSet, Deck};

/// A two-player game or spot in vector form.
#[derive(Clone, Debug)]
pub struct VectorGame {
    /// The deck.
    pub deck: Deck,
    /// Private cards of a hand, 1 to 3.
    pub n_hole: usize,
    /// The hands of each seat.
    pub hands: [Vec<CardSet>; 2],
    /// Reach of each hand at the root: 1, or the weight of its range.
    pub weights: [Vec<f64>; 2],
    /// What turns sums of products of weights and board probabilities into expected chips: 1 / Σ of weights over pairs of hands that can be dealt together.
    pub scale: f64,
    /// Suit permutations as maps between hands, by seat: `permutations[id][seat][hand]` is the hand after renaming. 0 is the identity.
    pub permutations: Vec<[Vec<u32>; 2]>,
    /// The streets.
    pub streets: Vec<Street>,
}

/// A betting round on all its boards.
#[derive(Clone, Debug)]
pub struct Street {
    /// Boards: representatives of their classes. Children of one parent are consecutive, parents in order.
    pub boards: Vec<Board>,
    /// Betting subtrees.
    pub entries: Vec<Entry>,
    /// Action vectors of one board over all entries, by seat.
    pub n_slots: [u32; 2],
}

/// What has been dealt by the time of a street.
#[derive(Clone, Debug)]
pub struct Board {
    /// All public cards so far.
    pub cards: CardSet,
    /// The board of the street before; 0 on the first.
    pub parent: u32,
    /// Probability of **one** member of the class, given the parent and two hands that both leave it possible: 1 / C(cards left, cards dealt).
    pub weight: f64,
    /// Permutations whose images are the members: counterfactual values at the parent are Σ over members m of weight · value[permutations[m][hand]].
    /// A board that stands for itself has `[0]`.
    pub members: Vec<u32>,
}

/// The betting of one street from one way to come there; node 0 is its root, children stand behind their parents in depth-first order.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// A node of an [`Entry`]. Payoffs are net winnings in chips, for seats 0 and 1.
#[derive(Clone, Debug)]
pub enum Node {
    /// A seat acts.
    Decision {
        /// Who.
        seat: usize,
        /// What can be done.
        actions: Vec<Action>,
        /// The node after each action.
        children: Vec<u32>,
        /// First action vector among the seat's of a board; action `a` has `slot + a`.
        slot: u32,
        /// Number of the node in the betting tree.
        betting: u32,
        /// Whether the strategy is given and not learnt; then the averages hold it.
        locked: bool,
    },
    /// The round is over and the next card comes.
    Exit {
        /// Entry of the next street.
        entry: u32,
    },
    /// Somebody folded.
    Fold {
        /// Payoff to each seat.
        payoff: [f64; 2],
    },
    /// The cards are shown.
    Showdown {
        /// Payoff to a seat that wins.
        win: [f64; 2],
        /// Payoff to a seat that loses.
        lose: [f64; 2],
        /// Payoff to a seat when hands are equal.
        tie: [f64; 2],
    },
}

impl VectorGame {
    /// Values of a seat's table on the streets before `street`.
    pub fn street_offset(&self, seat: usize, street: usize) -> usize {
        let hands = self.hands[seat].len();
        self.streets[..street].iter().map(|s| s.boards.len() * s.n_slots[seat] as usize * hands).sum()
    }

    /// Where the vector of action vector `slot` on a board begins in a seat's table.
    pub fn offset(&self, seat: usize, street: usize, board: usize, slot: u32) -> usize {
        let slots = self.streets[street].n_slots[seat] as usize;
        self.street_offset(seat, street) + (board * slots + slot as usize) * self.hands[seat].len()
    }

    /// Values of a seat's table: information sets times their actions, hands blocked by the board included.
    pub fn table_len(&self, seat: usize) -> usize {
        self.street_offset(seat, self.streets.len())
    }
}
