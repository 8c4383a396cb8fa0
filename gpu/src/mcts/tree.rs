//! The trees in device memory.
//!
//! T trees, each a pool of `capacity` nodes; node 0 is the root. A node's children stand side by side, in ascending order of their actions:
//!
//! ```text
//! tree t:  nodes [t * capacity ..]   0 | children of 0 | children of some leaf | …        size ->
//! stats    NodeStats (32 bytes): n, wins, draws, first child, number of children, outcome, who moved here
//! links    NodeLink   (8 bytes): parent, action, depth
//! states   G                   : the position
//! ```
//!
//! So one 32-byte read of each child gives selection all it needs for this level and where to go on the next one.
//! All arrays are indexed by `Trees::at(tree, node)`.

use bytemuck::{Pod, Zeroable};

use super::game::{Game, Outcome, Player};
use super::rng::Stream;
use crate::cuda::DeviceArgs;
use crate::cuda::memory::{self, Vec4};

/// Deepest node that may still be reached; a leaf this deep is played out, never expanded.
pub const MAX_DEPTH: u32 = 2048;
/// Entries of a path: the nodes of depth 0 to [`MAX_DEPTH`].
pub const PATH_STRIDE: u32 = MAX_DEPTH + 1;
/// Marks an action that was not expanded.
pub const NOT_EXPANDED: u16 = u16::MAX;

/// What selection and backup need of a node.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct NodeStats {
    /// Playouts that passed through the node.
    pub n: u64,
    /// Of these, won by the player who moved into the node.
    pub wins: u64,
    /// Of these, drawn.
    pub draws: u64,
    /// Index of the first child.
    pub first_child: u32,
    /// Number of children in bits 0 to 15, outcome code in bits 16 and 17, the player who moved into the node in bit 18.
    pub info: u32,
}

const _: () = assert!(size_of::<NodeStats>() == 32);

impl NodeStats {
    /// A fresh node: no playouts, no children.
    #[device_inline]
    pub const fn new(outcome: Outcome, mover: Player) -> Self {
        Self { n: 0, wins: 0, draws: 0, first_child: 0, info: outcome.code() << 16 | (mover as u32) << 18 }
    }

    /// Number of children; 0 for a leaf.
    #[device_inline]
    pub const fn n_children(&self) -> u32 {
        self.info & 0xffff
    }

    /// How the node's position stands.
    #[device_inline]
    pub const fn outcome(&self) -> Outcome {
        Outcome::from_code(self.info >> 16)
    }

    /// The player who moved into the node; for the root the opponent of the player to move.
    #[device_inline]
    pub const fn mover(&self) -> Player {
        Player::from_index(self.info >> 18)
    }
}

/// Where a node hangs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct NodeLink {
    /// Index of the parent; the root names itself.
    pub parent: u32,
    /// The action that led here from the parent.
    pub action: u16,
    /// Distance from the root.
    pub depth: u16,
}

const _: () = assert!(size_of::<NodeLink>() == 8);

/// What is to be played out in a step; the values of [`TreeHead::target`].
pub mod target {
    /// Nothing was played out yet.
    pub const NOTHING: u32 = 0;
    /// All children of the selected node.
    pub const CHILDREN: u32 = 1;
    /// One child of the selected node, [`TreeHead::chosen`](super::TreeHead::chosen).
    pub const ONE_CHILD: u32 = 2;
    /// The selected node itself, which could not be expanded.
    pub const SELECTED: u32 = 3;
    /// The selected node itself, which is terminal: its outcome counts once a playout.
    pub const TERMINAL: u32 = 4;
}

/// The state of one tree's search.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct TreeHead {
    /// Number of nodes.
    pub size: u32,
    /// The node that this step selected.
    pub selected: u32,
    /// Nodes of the path from the root to the selected node.
    pub path_length: u32,
    /// What this step plays out, one of [`target`].
    pub target: u32,
    /// Number of children that this step added.
    pub n_expanded: u32,
    /// Rank of the child drawn for playouts, where one child is played.
    pub chosen: u32,
    /// Depth of the deepest node.
    pub max_depth: u32,
    /// Keeps the size a multiple of 16.
    pub reserved: u32,
    /// Sum of the depths of all nodes.
    pub depth_sum: u64,
    /// Leaves that could not be expanded since the nodes did not suffice, each counted as often as it was selected.
    pub refused: u64,
}

const _: () = assert!(size_of::<TreeHead>() == 48);

/// Playouts won by each player; the rest of the `m` were drawn.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct PlayoutCounts {
    /// Won by the first and by the second player.
    pub wins: [u32; 2],
}

/// Device arrays of a search, as kernels get them. `B` is the game's number of actions.
#[repr(C)]
#[derive(Debug, DeviceArgs)]
#[args(
    /// Actions of the game, `B`.
    n_actions: u32,
    /// Playout streams of a tree.
    n_lanes: u32
)]
#[require(capacity >= 1)]
pub struct Trees<G> {
    /// `[n_trees, capacity]`.
    #[len(n_trees * capacity)]
    pub stats: *mut NodeStats,
    /// `[n_trees, capacity]`.
    #[len(n_trees * capacity)]
    pub states: *mut G,
    /// `[n_trees, capacity]`.
    #[len(n_trees * capacity)]
    pub links: *mut NodeLink,
    /// `[n_trees]`.
    #[len(n_trees)]
    pub heads: *mut TreeHead,
    /// `[n_trees, PATH_STRIDE]`: nodes from the root to the selected one.
    #[len(n_trees * PATH_STRIDE)]
    pub paths: *mut u32,
    /// `[n_trees, B]`. Prodigal: the rank of each action's child or [`NOT_EXPANDED`]. Thrifty: the actions of the children by rank.
    #[len(n_trees * n_actions)]
    pub expanded: *mut u16,
    /// `[n_trees, B]`: playouts of each action's child; entry 0 where only one node was played.
    #[len(n_trees * n_actions)]
    pub outcomes: *mut PlayoutCounts,
    /// `[n_trees, lanes]`: one stream a lane; lanes are `n_playouts` (one child) or `B * n_playouts` (all children, by action).
    #[len(n_trees * n_lanes)]
    pub playout_streams: *mut Stream,
    /// `[n_trees]`: the streams that draw the child to play.
    #[len(n_trees)]
    pub expansion_streams: *mut Stream,
    /// Nodes that a tree can hold.
    pub capacity: u32,
    /// Number of trees, T.
    pub n_trees: u32,
    /// Playouts of one child in a step, m.
    pub n_playouts: u32,
    /// Keeps the size a multiple of 8.
    pub reserved: u32,
}

impl<G> Clone for Trees<G> {
    #[device_inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for Trees<G> {}

const _: () = assert!(size_of::<Trees<u64>>() == 88);

impl<G: Game> Trees<G> {
    /// Position of a node in the arrays by node.
    #[device_inline]
    pub fn at(&self, tree: u32, node: u32) -> usize {
        tree as usize * self.capacity as usize + node as usize
    }

    /// Position of an action's entry in the arrays by action.
    #[device_inline]
    pub fn action_at(&self, tree: u32, action: u32) -> usize {
        tree as usize * G::MAX_ACTIONS as usize + action as usize
    }

    /// Reads a node's statistics, 2 × 16 bytes.
    ///
    /// # Safety
    /// `tree < n_trees`, `node < size` of it, and nobody writes the node meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn node(&self, tree: u32, node: u32) -> NodeStats {
        // SAFETY: the node is there, two aligned vectors of 16 bytes that nobody writes.
        unsafe {
            let at = self.stats.add(self.at(tree, node)).cast::<Vec4>();
            bytemuck::cast([memory::load_vec4(at).0, memory::load_vec4(at.add(1)).0])
        }
    }

    /// Writes a node's statistics.
    ///
    /// # Safety
    /// `tree < n_trees`, `node < capacity`, and nobody else accesses the node meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_node(&self, tree: u32, node: u32, stats: NodeStats) {
        // SAFETY: the node is there, two aligned vectors of 16 bytes that are this thread's.
        unsafe {
            let at = self.stats.add(self.at(tree, node)).cast::<Vec4>();
            let [first, second]: [[u32; 4]; 2] = bytemuck::cast(stats);
            memory::store_vec4(at, Vec4(first));
            memory::store_vec4(at.add(1), Vec4(second));
        }
    }

    /// Reads a tree's head.
    ///
    /// # Safety
    /// `tree < n_trees`, and nobody writes the head meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn head(&self, tree: u32) -> TreeHead {
        // SAFETY: a head for each tree, which nobody writes.
        unsafe { memory::load(self.heads, tree as usize) }
    }

    /// Writes a tree's head.
    ///
    /// # Safety
    /// `tree < n_trees`, and nobody else accesses the head meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_head(&self, tree: u32, head: TreeHead) {
        // SAFETY: a head for each tree, which is this thread's.
        unsafe { memory::store(self.heads, tree as usize, head) }
    }
}
