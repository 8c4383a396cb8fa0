//! The search's options.

/// Which children of a freshly expanded node are played out.
///
/// The paper's thrifty and prodigal forms of each differ in the number of thread blocks, not in results, so they have one meaning
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One child playouts: one child, drawn at random, gets `m` playouts.
    Ocp,
    /// All children playouts: each child gets `m` playouts.
    Acp,
}

/// Options of a [`Search`](super::Search).
///
/// The host library checks the paper's limits on users' values; here every value that fits into memory is accepted unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// OCP or ACP.
    pub variant: Variant,
    /// Number of independent trees, T.
    pub n_trees: usize,
    /// Playouts for each child played, m.
    pub n_playouts: usize,
    /// Capacity of one tree in nodes. An expansion is made only if all children fit.
    pub max_tree_nodes: usize,
    /// The exploration constant C of the upper confidence bound.
    pub ucb_c: f32,
    /// Value of a draw, 0 to 1, where a win has value 1.
    pub draw_value: f32,
    /// Seed of all random streams.
    pub seed: u64,
    /// Nodes of this depth (the root has depth 0) are not expanded.
    pub max_depth: usize,
}

impl Default for Params {
    /// `acp`, 8 trees, 128 playouts, 1,000,000 nodes per tree, C = 2, draws worth 0.5, seed 0, depth up to 2048.
    fn default() -> Self {
        Self {
            variant: Variant::Acp,
            n_trees: 8,
            n_playouts: 128,
            max_tree_nodes: 1_000_000,
            ucb_c: 2.0,
            draw_value: 0.5,
            seed: 0,
            max_depth: 2048,
        }
    }
}
