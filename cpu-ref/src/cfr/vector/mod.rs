//! Two-player poker in vector form: the public tree, with all private hands at once.
//!
//! A [`Game`] is plain data: betting nodes without cards, hands of both seats, and the boards of each round. [`Game::new`] deals every
//! board; whoever knows which boards differ by names of suits only may give one of each class and the others as permutations.
//!
//! ```text
//! public tree   deal ─ board 0 ─ betting nodes … ─ deal ─ board 0 …         a vector [action][hand] at every node and board
//!                    └ board 1 ─ …
//! down          reach of both seats' hands            up   counterfactual values of one seat's hands
//! ```
//!
//! At an end each hand needs the sum of the opponent's reach over hands that share no card with it: the sum over all, less the sums over
//! those that hold one of its cards, plus those that hold two, and so on. At a showdown the hands are gone through from the weakest on, with such
//! sums over the weaker ones. So an end costs as many steps as there are hands, not pairs of hands.
//!
//! Values, with all weights, are multiplied by [`Game::scale`]: the sum of a seat's values times its weights is its expected winnings.
//! Boards are dealt with under rayon if [`Solver::parallel`] is set; sums keep their order, so the bits are the same without.
//!
//! With [`Solver::sampling`] an iteration looks at one board, or at one hand of a seat: see [`Sampling`].
//!
//! # Source
//! Johanson, Waugh, Bowling and Zinkevich, "Accelerating Best Response Calculation in Large Extensive Games", 2011.

mod blockers;
mod evaluate;
mod gadget;
mod game;
mod pass;
mod poker;
mod public;
mod sampling;
mod solver;
mod terminal;

pub use evaluate::{ByHand, DecisionPoint, Evaluator, Strategies};
pub use gadget::Gadget;
pub use game::{Board, Game, Kind, Node};
pub use sampling::Sampling;
pub use solver::{Solver, State};
