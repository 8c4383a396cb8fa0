//! The trees in device memory.
//!
//! ```text
//! tree t   nodes      [t * capacity ..]        0 | children of 0 | children of some leaf | …     a node's children side by side, ascending by action
//!          positions  [t * n_positions ..]     root | positions of nodes in the order of their expansion
//!          leaves     [t * max_leaves ..]      what this step evaluates: node, depth, kind; beside them their positions and paths
//! ```
//!
//! A child's node is two vectors of 16 bytes, all that selection needs of it. Positions are kept of expanded nodes only: a leaf's position is its parent's
//! with the leaf's action applied.

use bytemuck::{Pod, Zeroable};

use crate::azero::observation::Observed;
use crate::cuda::DeviceArgs;
use crate::cuda::memory::{self, Vec4};
use crate::mcts::{Outcome, Player};

/// A game that this search plays.
pub trait Searched: Observed {
    /// Most legal actions of a position.
    const MAX_LEGAL: u32;
    /// Actions after which every game is over.
    const MAX_PLIES: u32;
}

/// Nodes of the longest path; a node this deep, counted from 1, is not expanded.
pub const MAX_PATH: u32 = 256;
/// Most leaves of a tree in one step.
pub const MAX_LEAVES: u32 = 16;

/// What the search knows of a node.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Node {
    /// Evaluations that passed through the node, its own one included.
    pub visits: u32,
    /// Sum of their values for the first player.
    pub total: f32,
    /// The evaluator's probability of the action that leads here.
    pub prior: f32,
    /// Selections in this step that passed through the node and wait for their value.
    pub pending: u32,
    /// Index of the first child.
    pub first_child: u32,
    /// Index of the position among the tree's kept positions, for expanded nodes.
    pub position: u32,
    /// The action that leads here in bits 0 to 15, the number of children in bits 16 to 31.
    pub action_children: u32,
    /// The outcome's code in bits 0 and 1, who is to move in bit 2.
    pub info: u32,
}

const _: () = assert!(size_of::<Node>() == 32);

impl Node {
    /// A node that nobody has visited.
    #[device_inline]
    pub const fn new(action: u32, prior: f32, outcome: Outcome, to_move: Player) -> Self {
        Self {
            visits: 0,
            total: 0.0,
            prior,
            pending: 0,
            first_child: 0,
            position: 0,
            action_children: action & 0xffff,
            info: outcome.code() | (to_move as u32) << 2,
        }
    }

    /// The action that leads here.
    #[device_inline]
    pub const fn action(&self) -> u32 {
        self.action_children & 0xffff
    }

    /// Number of children; 0 for a node that is not expanded.
    #[device_inline]
    pub const fn n_children(&self) -> u32 {
        self.action_children >> 16
    }

    /// How the position stands.
    #[device_inline]
    pub const fn outcome(&self) -> Outcome {
        Outcome::from_code(self.info)
    }

    /// Who is to move.
    #[device_inline]
    pub const fn to_move(&self) -> Player {
        Player::from_index(self.info >> 2)
    }
}

/// What a leaf of a step is; the values of [`Leaf::kind`].
pub mod kind {
    /// To be evaluated and expanded.
    pub const NEW: u32 = 0;
    /// To be evaluated; an earlier leaf of the step is the same node and expands it.
    pub const AGAIN: u32 = 1;
    /// The game is over there.
    pub const OVER: u32 = 2;
}

/// What a step evaluates.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Leaf {
    /// The node.
    pub node: u32,
    /// Nodes of the path from the root to it.
    pub path_length: u32,
    /// One of [`kind`] in bits 0 to 7, the node's [`Node::info`] from bit 8 on.
    pub state: u32,
    /// Legal actions.
    pub n_legal: u32,
}

impl Leaf {
    /// A leaf whose legal actions are still to be counted.
    #[device_inline]
    pub const fn new(at: u32, node: &Node, path_length: u32, kind: u32) -> Self {
        Self { node: at, path_length, state: kind | node.info << 8, n_legal: 0 }
    }

    /// One of [`kind`].
    #[device_inline]
    pub const fn kind(&self) -> u32 {
        self.state & 0xff
    }

    /// How the position stands.
    #[device_inline]
    pub const fn outcome(&self) -> Outcome {
        Outcome::from_code(self.state >> 8)
    }

    /// Who is to move.
    #[device_inline]
    pub const fn to_move(&self) -> Player {
        Player::from_index(self.state >> 10)
    }
}

/// The state of one tree.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Head {
    /// Nodes.
    pub size: u32,
    /// Positions kept.
    pub n_positions: u32,
    /// Leaves that wait for their values.
    pub n_leaves: u32,
    /// Simulations that are still to be begun.
    pub remaining: u32,
    /// Bits of [`fault`].
    pub faults: u32,
    /// Simulations begun; the root's own evaluation is number 0.
    pub begun: u32,
    /// Keeps the size a multiple of 16.
    pub reserved: [u32; 2],
}

/// What was wrong with an evaluation; the bits of [`Head::faults`].
pub mod fault {
    /// A value that is not a number.
    pub const NAN_VALUE: u32 = 1;
    /// An infinite value.
    pub const INFINITE_VALUE: u32 = 2;
    /// A legal action's logit that is not a number.
    pub const NAN_LOGIT: u32 = 4;
    /// An infinite logit of a legal action.
    pub const INFINITE_LOGIT: u32 = 8;
}

/// A position to be searched.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Task {
    /// Key of its random streams, [`random::key`](super::random::key).
    pub key: u64,
    /// Of the choice of a move; 0 for the action with most visits.
    pub temperature: f32,
    /// Simulations.
    pub simulations: u32,
}

const _: () = assert!(size_of::<Leaf>() == 16 && size_of::<Head>() == 32 && size_of::<Task>() == 16);

/// Device arrays of a search, as kernels get them.
#[repr(C)]
#[derive(Debug, DeviceArgs)]
#[args(
    /// Trees.
    n_trees: u32
)]
#[require(capacity >= 1 && n_positions >= 1 && (1..=MAX_LEAVES).contains(&max_leaves))]
pub struct Trees<G> {
    /// `[n_trees, capacity]`.
    #[len(n_trees * capacity)]
    pub nodes: *mut Node,
    /// `[n_trees, n_positions]`.
    #[len(n_trees * n_positions)]
    pub positions: *mut G,
    /// `[n_trees]`.
    #[len(n_trees)]
    pub heads: *mut Head,
    /// `[n_trees, max_leaves]`.
    #[len(n_trees * max_leaves)]
    pub leaves: *mut Leaf,
    /// `[n_trees, max_leaves]`: the leaves' positions.
    #[len(n_trees * max_leaves)]
    pub leaf_positions: *mut G,
    /// `[n_trees, max_leaves, MAX_PATH]`: nodes from the root to each leaf.
    #[len(n_trees * max_leaves * MAX_PATH)]
    pub paths: *mut u32,
    /// `[n_trees]`: the positions to be searched.
    #[len(n_trees)]
    pub roots: *const G,
    /// `[n_trees]`.
    #[len(n_trees)]
    pub tasks: *const Task,
    /// Nodes that a tree can hold.
    pub capacity: u32,
    /// Positions that a tree can hold.
    pub n_positions: u32,
    /// Leaves that a tree can have in a step.
    pub max_leaves: u32,
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

const _: () = assert!(size_of::<Trees<u64>>() == 80);

impl<G: Searched> Trees<G> {
    #[device_inline]
    fn node_at(&self, tree: u32, node: u32) -> usize {
        tree as usize * self.capacity as usize + node as usize
    }

    /// Index of a leaf in the arrays by leaf.
    #[device_inline]
    pub fn leaf_at(&self, tree: u32, leaf: u32) -> usize {
        tree as usize * self.max_leaves as usize + leaf as usize
    }

    /// Index of an entry of a leaf's path.
    #[device_inline]
    pub fn path_at(&self, tree: u32, leaf: u32, depth: u32) -> usize {
        self.leaf_at(tree, leaf) * MAX_PATH as usize + depth as usize
    }

    /// Index of a kept position.
    #[device_inline]
    pub fn position_at(&self, tree: u32, position: u32) -> usize {
        tree as usize * self.n_positions as usize + position as usize
    }

    /// Reads a node, 2 × 16 bytes.
    ///
    /// # Safety
    /// The tree exists, `node < capacity`, and nobody writes the node meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn node(&self, tree: u32, node: u32) -> Node {
        // SAFETY: the tree exists and the node is below its capacity, as the caller says; a node is two aligned vectors of 16 bytes.
        unsafe {
            let at = self.nodes.add(self.node_at(tree, node)).cast::<Vec4>();
            bytemuck::cast([memory::load_vec4(at).0, memory::load_vec4(at.add(1)).0])
        }
    }

    /// Writes a node.
    ///
    /// # Safety
    /// The tree exists, `node < capacity`, and nobody else accesses the node meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_node(&self, tree: u32, node: u32, value: Node) {
        // SAFETY: the tree exists and the node is below its capacity, as the caller says; a node is two aligned vectors of 16 bytes.
        unsafe {
            let at = self.nodes.add(self.node_at(tree, node)).cast::<Vec4>();
            let [first, second]: [[u32; 4]; 2] = bytemuck::cast(value);
            memory::store_vec4(at, Vec4(first));
            memory::store_vec4(at.add(1), Vec4(second));
        }
    }

    /// Writes the half of a node that visits change: visits, total, prior, pending.
    ///
    /// # Safety
    /// As [`set_node`](Self::set_node).
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_visits(&self, tree: u32, node: u32, value: &Node) {
        // SAFETY: the tree exists and the node is below its capacity, as the caller says; its first half is one aligned vector of 16 bytes.
        unsafe {
            let at = self.nodes.add(self.node_at(tree, node)).cast::<Vec4>();
            let half = [value.visits, value.total.to_bits(), value.prior.to_bits(), value.pending];
            memory::store_vec4(at, Vec4(half));
        }
    }

    /// Reads a tree's head.
    ///
    /// # Safety
    /// The tree exists, and nobody writes the head meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn head(&self, tree: u32) -> Head {
        // SAFETY: there is a head for each tree, of which this is one, as the caller says.
        unsafe { memory::load(self.heads, tree as usize) }
    }

    /// Writes a tree's head.
    ///
    /// # Safety
    /// The tree exists, and nobody else accesses the head meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_head(&self, tree: u32, head: Head) {
        // SAFETY: there is a head for each tree, of which this is one, as the caller says.
        unsafe { memory::store(self.heads, tree as usize, head) }
    }

    /// Reads a leaf.
    ///
    /// # Safety
    /// The tree exists, `leaf < max_leaves`, and nobody writes it meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn leaf(&self, tree: u32, leaf: u32) -> Leaf {
        // SAFETY: there are `max_leaves` leaves for each tree, of which this is one, as the caller says.
        unsafe { memory::load(self.leaves, self.leaf_at(tree, leaf)) }
    }
}

/// What an outcome is worth to the first player.
#[device_inline]
pub const fn outcome_value(outcome: Outcome) -> f32 {
    match outcome {
        Outcome::Win(Player::First) => 1.0,
        Outcome::Win(Player::Second) => -1.0,
        _ => 0.0,
    }
}

/// A value for the first player as `player` sees it, and back.
#[device_inline]
pub const fn seen_by(player: Player, value: f32) -> f32 {
    match player {
        Player::First => value,
        Player::Second => -value,
    }
}
