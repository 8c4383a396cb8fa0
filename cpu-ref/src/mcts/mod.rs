//! Monte Carlo tree search in the manner of MCTS-NC: several independent trees, and many playouts for each step of each tree.
//!
//! One step of one tree has four stages:
//!
//! 1. **select**: from the root, go to the child with the largest upper confidence bound ([`ucb`]) until a node has no children;
//! 2. **expand**: give that node a child for every legal action, all of them or none;
//! 3. **playout**: play random games: `m` from one child drawn at random ([`Variant::Ocp`]), or `m` from each child ([`Variant::Acp`]);
//! 4. **backup**: add the results to the children played and to every node on the way back to the root.
//!
//! After the last step the counts of the root's children are summed over the trees and the best action is named
//! ([`Search::statistics`]).
//!
//! ```text
//! tree t:  nodes[0] root                      children of a node stand side by side,
//!          nodes[1..=7] children of the root  in ascending order of their actions:
//!          nodes[8..]   in order of expansion nodes[first_child .. first_child + n_children]
//! ```
//!
//! A step costs O(depth × B) for the selection and m (OCP) or m × B (ACP) playouts, B being the number of legal actions.
//!
//! What the paper leaves open is settled so:
//!
//! * A node's wins are those of the player who moved into it (the root counts for the opponent of its player to move). Draws are
//!   counted apart and enter the mean with the weight [`Params::draw_value`].
//! * The bound is computed in f32 in a fixed order of operations, with `libm`'s logarithm, so that it has the same bits everywhere.
//! * A node that cannot be expanded (memory, depth) is played out from itself; a terminal node adds `m` copies of its outcome.
//! * Random streams are numbered (see [`Streams`]), so results do not depend on the order in which playouts run.
//!
//! [`Search::step`] is the sequential search, [`Search::step_parallel`] the same under rayon with the same statistics, bit for bit.
//! [`vanilla::Vanilla`] is the ordinary single-thread search that the paper plays its matches against.

pub mod games;
pub mod vanilla;

mod game;
mod par;
mod params;
mod rng;
mod search;
mod seq;
mod statistics;
mod times;
mod tree;

pub use game::{Game, GameResult};
pub use params::{Params, Variant};
pub use rng::{Stream, Streams};
pub use search::Search;
pub use statistics::{ActionStatistics, NO_ACTION, Statistics, TreeStatistics};
pub use times::StageTimes;
pub use tree::{Node, q, ucb};
