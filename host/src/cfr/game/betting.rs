//! The betting of a game without its cards: the state machine, and the tree of all sequences of actions.

mod count;
mod icm;
mod payoffs;
mod state;
mod tree;

pub(in crate::cfr) use count::NODE_BYTES;
pub use count::{MAX_LEVELS, MAX_NODES, Size};
pub use icm::Icm;
pub use state::BettingState;
pub(in crate::cfr) use tree::{Grown, follow, rounded_chips};

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Action {
    /// Gives up the hand.
    Fold,
    /// Checks or calls.
    Call,
    /// Bets or raises to this total number of chips over all rounds of this hand (without dead money).
    Raise(f64),
}

/// One node of the betting tree.
#[derive(Clone, Debug, PartialEq)]
pub struct BettingNode {
    /// The node before; `None` at the root.
    pub parent: Option<u32>,
    /// Actions from the root.
    pub level: u32,
    /// Betting round, from 0; for a terminal node, the round of the last action.
    pub round: u32,
    /// Chips put in so far, by seat.
    pub contributed: Vec<f64>,
    /// Seats that folded: bit `seat`.
    pub folded: u32,
    /// Whether a seat acts or the hand is over.
    pub kind: BettingKind,
}

/// Whether a seat acts at a [`BettingNode`] or the hand is over.
#[derive(Clone, Debug, PartialEq)]
pub enum BettingKind {
    /// A seat acts.
    Decision {
        /// The seat.
        seat: usize,
        /// Its legal actions: fold, call, raises from the smallest.
        actions: Vec<Action>,
        /// The node after each action.
        children: Vec<u32>,
    },
    /// All seats but one folded (see `folded` of the node), or the cards are shown after the missing board cards have been dealt.
    Terminal,
}

/// All sequences of actions, the root first, children after their parents, **level by level** (breadth first), so that node numbers of one level are consecutive.
#[derive(Clone, Debug, PartialEq)]
pub struct BettingTree {
    /// Seats.
    pub n_players: usize,
    /// Whether a history includes the size of a raise (`r8`), as in no-limit, or only the raise (`r`).
    pub sized: bool,
    /// The nodes.
    pub nodes: Vec<BettingNode>,
    /// Chips in the pot before the first action that none of the seats put in (the pot of a spot).
    pub dead: f64,
    /// The rake that the house takes from a called pot.
    pub rake: Rake,
    /// The tournament whose prizes are paid; `None`: chips are.
    pub(in crate::cfr) icm: Option<Icm>,
}

/// The rake that the house takes at the end of a hand: a part of the pot, up to a cap. The part of a bet above the highest bet of the others is returned first and does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rake {
    /// Part of the pot, 0 to 1.
    pub part: f64,
    /// Most chips.
    pub cap: f64,
}
