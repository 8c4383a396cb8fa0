//! What a search has found out, summed over its trees.

use std::cmp::Reverse;

use super::game::{Game, GameResult};
use super::tree::{ROOT, Tree, q, ucb};

/// [`Statistics::best`] of a position that has no legal action.
pub const NO_ACTION: usize = usize::MAX;

/// Statistics of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Steps made.
    pub steps: u64,
    /// Playouts of all trees: the sum of the roots' `n`.
    pub n_root: u64,
    /// One entry for each legal action of the root, ascending; all zero if no step was made or the root could not be expanded. Empty
    /// if the root is a finished game.
    pub actions: Vec<ActionStatistics>,
    /// The best action: a proven win first, then the most playouts, then the most wins, then the lowest number. [`NO_ACTION`] if
    /// there is none.
    pub best: usize,
    /// The trees' sizes.
    pub trees: TreeStatistics,
}

/// An action of the root, summed over the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionStatistics {
    /// The action.
    pub action: usize,
    /// Playouts through it.
    pub n: u64,
    /// Number of playouts that the player to move at the root won.
    pub wins: u64,
    /// Number of drawn playouts.
    pub draws: u64,
    /// Whether the action wins at once.
    pub win_flag: bool,
}

impl ActionStatistics {
    /// Mean value for the player to move at the root; `None` without playouts. See [`q`].
    pub fn q(&self, draw_value: f32) -> Option<f32> {
        (self.n > 0).then(|| q(self.n, self.wins, self.draws, draw_value))
    }

    /// Upper confidence bound over all trees, equation (8) of the paper; `None` (for +∞) without playouts. See [`ucb`].
    pub fn ucb(&self, n_root: u64, ucb_c: f32, draw_value: f32) -> Option<f32> {
        self.q(draw_value).map(|q| ucb(n_root, self.n, q, ucb_c))
    }
}

/// Sizes of the trees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeStatistics {
    /// Number of trees.
    pub count: usize,
    /// Mean depth of all nodes of all trees; the root has depth 0.
    pub mean_depth: f64,
    /// Depth of the deepest node.
    pub max_depth: u32,
    /// Mean number of nodes of a tree.
    pub mean_size: f64,
    /// Number of nodes of the largest tree.
    pub max_size: u64,
    /// Trees that are full: at least one leaf could not be expanded for lack of nodes.
    pub full: usize,
    /// Expansions that were refused for lack of nodes, over all trees.
    pub refused: u64,
}

impl Statistics {
    pub(super) fn new<G: Game>(steps: u64, root: &G, trees: &[Tree]) -> Self {
        let mut legal = Vec::new();
        if root.result().is_none() {
            root.legal_actions(&mut legal);
        }
        let mut actions: Vec<_> =
            legal.iter().map(|&action| ActionStatistics { action, n: 0, wins: 0, draws: 0, win_flag: false }).collect();
        let win = GameResult::Win(root.to_move() & 1);
        let mut n_root = 0;
        for tree in trees {
            let root = &tree.nodes[ROOT as usize];
            n_root += root.n;
            // Children stand in the order of the legal actions; a root that could not be expanded has none.
            for (sum, child) in actions.iter_mut().zip(&tree.nodes[root.children()]) {
                sum.n += child.n;
                sum.wins += child.wins;
                sum.draws += child.draws;
                sum.win_flag |= child.result() == Some(win);
            }
        }
        let best = actions
            .iter()
            .max_by_key(|sum| (sum.win_flag, sum.n, sum.wins, Reverse(sum.action)))
            .map_or(NO_ACTION, |sum| sum.action);
        Self { steps, n_root, actions, best, trees: TreeStatistics::new(trees) }
    }
}

impl TreeStatistics {
    fn new(trees: &[Tree]) -> Self {
        let sizes = || trees.iter().map(|tree| tree.nodes.len() as u64);
        let n_nodes: u64 = sizes().sum();
        let total_depth: u64 = trees.iter().map(|tree| tree.total_depth).sum();
        Self {
            count: trees.len(),
            // No tree, no node: 0 rather than 0 / 0.
            mean_depth: total_depth as f64 / n_nodes.max(1) as f64,
            max_depth: trees.iter().map(|tree| tree.max_depth).max().unwrap_or(0),
            mean_size: n_nodes as f64 / trees.len().max(1) as f64,
            max_size: sizes().max().unwrap_or(0),
            full: trees.iter().filter(|tree| tree.refused > 0).count(),
            refused: trees.iter().map(|tree| tree.refused).sum(),
        }
    }
}
