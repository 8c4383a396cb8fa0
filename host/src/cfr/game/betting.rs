//! The betting of a game without its cards: the state machine, and the tree of all sequences of actions.

mod count;
mod payoffs;
mod state;
mod tree;

pub(in crate::cfr) use count::NODE_BYTES;
pub use count::{MAX_LEVELS, MAX_NODES, Size};
pub use state::BettingState;
pub(in crate::cfr) use tree::{Grown, rounded_chips};

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Action {
    /// Gives up the hand.
    Fold,
    /// Checks or calls.
    Call,
    /// Bets or raises to this many chips in all over all rounds of this hand (dead money not counted).
    Raise(f64),
}

/// One node of the betting tree.
#[derive(Clone, Debug, PartialEq)]
pub struct BettingNode {
    /// The node before; `None` at the root.
    pub parent: Option<u32>,
    /// Actions from the root.
    pub level: u32,
    /// Betting round, from 0; of a terminal node the round in which the last action was.
    pub round: u32,
    /// Chips put in so far, by seat.
    pub contributed: Vec<f64>,
    /// Seats that folded: bit `seat`.
    pub folded: u32,
    /// Whose turn it is, or how it ended.
    pub kind: BettingKind,
}

/// Whose turn it is at a [`BettingNode`], or how it ended.
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
    /// All but one folded (`folded` of the node tells), or the cards are shown after the missing board cards have been dealt.
    Terminal,
}

/// All sequences of actions, the root first, children behind their parents, **level by level** (breadth first); so node numbers of one level are consecutive.
#[derive(Clone, Debug, PartialEq)]
pub struct BettingTree {
    /// Seats.
    pub n_players: usize,
    /// Whether a history tells the size of a raise (`r8`), as in no-limit, or only that there was one (`r`).
    pub sized: bool,
    /// The nodes.
    pub nodes: Vec<BettingNode>,
    /// Chips in the pot before the first action that nobody here put in (the pot of a spot).
    pub dead: f64,
    /// What the house takes of a pot that was called.
    pub rake: Rake,
}

/// What the house takes at the end of a hand: a part of the pot, up to a cap. What a bet has above the highest of the others' goes back before, and is
/// not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rake {
    /// Part of the pot, 0 to 1.
    pub part: f64,
    /// Most chips.
    pub cap: f64,
}
