//! Two-player poker as public tree × vectors of hands: every betting round on every board, with all private hands at once. Streets, boards, entries and members are
//! explained at [`layout`](super).

use super::{Gadget, Lock, SuitMap};
use crate::cfr::game::betting::Action;
use crate::cfr::game::cards::{CardSet, Deck};

/// A two-player game or spot in vector form.
///
/// ```text
/// streets[s]              a betting round
///   boards[b]             what has been dealt by then: cards, parent, probability, members
///   entries[e]            the betting from one way to come there, the same on every board
///     nodes[n]            Decision of a seat: action a has the vector  slot + a;  Fold, Showdown: payoffs in chips;  Exit: the next street's entry
/// hands[seat][h]          private cards, numbered the same on all streets
/// regret of a hand        table of the seat [ offset(seat, s, b, slot + a) + h ]
/// ```
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
    /// Factor that converts sums of products of weights and board probabilities to expected chips: 1 / Σ of weights over pairs of hands that can be dealt together.
    pub scale: f64,
    /// Suit permutations as maps between hands, by seat: `permutations[id][seat][hand]` is the hand after renaming. 0 is the identity.
    pub permutations: Vec<[Vec<u32>; 2]>,
    /// The same permutations as maps between suits.
    pub suit_maps: Vec<SuitMap>,
    /// The streets.
    pub streets: Vec<Street>,
    /// Strategies that are given rather than learnt: what an engine returns as averages has them, and regrets of 0.
    pub locks: Vec<Lock>,
    /// The choice before the first decision of a subgame that is re-solved.
    pub gadget: Option<Gadget>,
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

/// The public cards of a street.
#[derive(Clone, Debug)]
pub struct Board {
    /// All public cards so far.
    pub cards: CardSet,
    /// The board of the previous street; 0 on the first.
    pub parent: u32,
    /// Probability of **one** member of the class, given the parent and two hands that both leave it possible: 1 / C(cards left, cards dealt). Regrets are counterfactual,
    /// so those below a board are multiplied by the product of this weight over the boards on the path, and by [`VectorGame::scale`].
    pub weight: f64,
    /// For each member of the class, the permutation that maps the member to this board: counterfactual values at the parent are Σ over members m of weight ·
    /// `value[permutations[m][hand]]`. The board itself is the first, `0`; a board that represents only itself has `[0]`.
    pub members: Vec<u32>,
}

/// The betting of one street after one way of reaching it; node 0 is the root, and children follow their parents in depth-first order.
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
        /// The seat.
        seat: usize,
        /// The legal actions.
        actions: Vec<Action>,
        /// The node after each action.
        children: Vec<u32>,
        /// First action vector among the seat's of a board; action `a` has `slot + a`.
        slot: u32,
        /// Number of the node in the betting tree.
        betting: u32,
        /// Whether a strategy is given to some hands on some boards, by one of [`VectorGame::locks`]. They do not learn, and best responses play it too.
        locked: bool,
    },
    /// The round is over, and the next cards are dealt.
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
