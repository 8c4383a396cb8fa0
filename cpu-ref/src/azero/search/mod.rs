//! The search of AlphaZero, plainly: many trees, each for one position, that ask for evaluations together.
//!
//! One simulation of one tree:
//!
//! 1. **select**: from the root, go to the child with the largest [`score`] until a node has no children;
//! 2. **evaluate** that node's position: its value for player 0, and a logit for each action;
//! 3. **expand**: give it a child for each legal action, with the softmax of the legal logits as priors;
//! 4. **back up**: add the value to every node on the way, and one visit.
//!
//! Details that decide what is found, bit for bit:
//!
//! * The root is evaluated and expanded before the first simulation; that is its first visit. Then [`Noise`] is mixed into its children's priors.
//! * The score of a child is `Q + c_puct · √N · P / (1 + n)`, computed in f32 from left to right, `c_puct · √N` first; of equals the lowest action is
//!   taken. `Q` is the mean value for the player to move at the parent, 0 without visits; a child that ends the game has its result instead. Who moves
//!   next is always asked of the game: players need not alternate.
//! * A tree begins [`Params::leaves`] simulations before it gets their values. Until a simulation has its value, it counts at each of its nodes as a visit lost
//!   by who moved there (in `Q`, `n` and `N` alike; `N` is without the simulation that is being selected). Two simulations may choose the same leaf.
//! * Values and priors arrive in the order of selection. Sums are of f32, added one by one in that order; a softmax adds up in ascending order of actions.
//! * A leaf whose children do not fit into [`Params::max_nodes`], or whose path has [`Params::max_path`] nodes, is evaluated but stays a leaf.
//!
//! Source: Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play", Science 2018; OpenSpiel's
//! `PUCTValue`; virtual loss as in Silver et al., "Mastering the game of Go with deep neural networks and tree search", Nature 2016.

mod evaluate;
mod forest;
pub(super) mod random;
mod tree;

pub use evaluate::{Batch, playouts, uniform};
pub use forest::{Forest, search};
pub use random::key;
pub use tree::{Fault, Found, FoundAction, Leaf, node_bytes, score};

/// Options of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Number of simulations begun before their values arrive, at least 1.
    pub leaves: usize,
    /// Weight of the priors.
    pub c_puct: f32,
    /// Noise at the root, if any.
    pub noise: Option<Noise>,
    /// Nodes of a tree.
    pub max_nodes: usize,
    /// Nodes of a path.
    pub max_path: usize,
}

/// `(1 - epsilon) · prior + epsilon · Dirichlet(alpha)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Shape of the gamma numbers that make the distribution.
    pub alpha: f64,
    /// Share of the noise.
    pub epsilon: f32,
}

/// A position to be searched.
#[derive(Clone, Debug)]
pub struct Task<G> {
    /// The position; not over.
    pub position: G,
    /// The key of its random numbers.
    pub key: u64,
    /// The action is drawn with weight `visits^(1 / temperature)`; with 0 it is the most visited.
    pub temperature: f32,
    /// Simulations after the root's evaluation.
    pub simulations: usize,
}
