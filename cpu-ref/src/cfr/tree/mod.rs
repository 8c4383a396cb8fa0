//! Any game of hidden information on its explicit tree, with any number of players.
//!
//! [`Tree::new`] walks a [`Game`] once and stores its nodes depth first:
//!
//! ```text
//! nodes  [root, first child, its subtree …, second child, …]        edges of a node stand together, with chance's probabilities
//! sets   in the order in which a depth-first walk meets them; a seat's table holds its sets' actions one behind the other
//! ```
//!
//! [`Solver`] runs counterfactual regret minimisation on it, a pass over all nodes for each seat and iteration: own reach and the
//! product of chance's and the others' reach go down, expected winnings come up. The gain of an action is its counterfactual value
//! minus the set's, both weighted with what the others and chance contribute. [`Profile`] gives values and exact best responses
//! of any strategies.
//!
//! The game must have perfect recall: all nodes of a set have the same own actions before them.

mod best_response;
mod build;
mod game;
mod profile;
mod solver;

pub use build::{InformationSet, Node, Tree};
pub use game::{Game, Turn};
pub use profile::Profile;
pub use solver::{Solver, State};
