//! One tree: its nodes, and the upper confidence bound by which it is walked.

use super::game::{Game, GameResult};

/// Number of a node in its tree; the root is 0.
pub(super) type NodeId = u32;

/// The root of every tree.
pub(super) const ROOT: NodeId = 0;

/// One node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Playouts counted in this node.
    pub n: u64,
    /// Number of playouts won by the player who moved into this node.
    pub wins: u64,
    /// Number of drawn playouts.
    pub draws: u64,
    /// Index of the first child in the tree; the others follow it. Meaningless while `n_children` is 0.
    pub first_child: u32,
    /// Number of children: 0, or the number of legal actions.
    pub n_children: u32,
    /// The action that led here from the parent; 0 at the root.
    pub action: u32,
    /// Number of actions from the root to here.
    pub depth: u16,
    /// The player who moved into this node, whose wins are counted.
    pub mover: u8,
    /// See [`Node::result`].
    result: u8,
}

/// Codes of [`Node::result`].
const ONGOING: u8 = 0;
const DRAW: u8 = 1;
const WIN: u8 = 2;

impl Node {
    pub(super) fn new(action: usize, depth: u16, mover: usize, result: Option<GameResult>) -> Self {
        let result = match result {
            None => ONGOING,
            Some(GameResult::Draw) => DRAW,
            Some(GameResult::Win(player)) => WIN + (player & 1) as u8,
        };
        let mover = (mover & 1) as u8;
        Self { n: 0, wins: 0, draws: 0, first_child: 0, n_children: 0, action: action as u32, depth, mover, result }
    }

    /// A root node for `position`.
    pub(super) fn root<G: Game>(position: &G) -> Self {
        Self::new(0, 0, 1 - (position.to_move() & 1), position.result())
    }

    /// The game's result if this node is terminal.
    #[inline]
    pub fn result(&self) -> Option<GameResult> {
        match self.result {
            ONGOING => None,
            DRAW => Some(GameResult::Draw),
            win => Some(GameResult::Win((win - WIN) as usize)),
        }
    }

    /// The numbers of the children.
    #[inline]
    pub fn children(&self) -> std::ops::Range<usize> {
        let first = self.first_child as usize;
        first..first + self.n_children as usize
    }

    #[inline]
    pub(super) fn add(&mut self, tally: &Tally) {
        self.n += tally.n;
        self.wins += tally.wins[(self.mover & 1) as usize];
        self.draws += tally.draws;
    }
}

/// Sums of the results of playouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub n: u64,
    /// Wins of player 0 and of player 1.
    pub wins: [u64; 2],
    pub draws: u64,
    /// Moves made in all of them.
    pub plies: u64,
}

impl Tally {
    /// `n` times the same result, without any move.
    pub fn copies(result: GameResult, n: u64) -> Self {
        let mut tally = Self { n, ..Self::default() };
        match result {
            GameResult::Draw => tally.draws = n,
            GameResult::Win(player) => tally.wins[player & 1] = n,
        }
        tally
    }

    #[inline]
    pub fn count(&mut self, result: GameResult, plies: u32) {
        self.n += 1;
        self.plies += u64::from(plies);
        match result {
            GameResult::Draw => self.draws += 1,
            GameResult::Win(player) => self.wins[player & 1] += 1,
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.wins[0] += other.wins[0];
        self.wins[1] += other.wins[1];
        self.draws += other.draws;
        self.plies += other.plies;
    }
}

/// Mean value of a node for the player who moved into it: `(wins + draw_value·draws) / n`, in f32; NaN for `n` = 0.
#[inline]
pub fn q(n: u64, wins: u64, draws: u64, draw_value: f32) -> f32 {
    (wins as f32 + draw_value * (draws as f32)) / (n as f32)
}

/// Upper confidence bound of a child that has `n` playouts and the mean `q`, under a parent with `n_parent` playouts: equation (6) of
/// the paper for one tree, equation (8) for sums over the trees.
///
/// `q + c·sqrt(ln(n_parent) / n)`, in f32 and in this order, with `libm::logf`; +∞ for `n` = 0.
#[inline]
pub fn ucb(n_parent: u64, n: u64, q: f32, ucb_c: f32) -> f32 {
    ucb_with_ln(libm::logf(n_parent as f32), n, q, ucb_c)
}

#[inline]
fn ucb_with_ln(ln_n_parent: f32, n: u64, q: f32, ucb_c: f32) -> f32 {
    if n == 0 {
        return f32::INFINITY;
    }
    q + ucb_c * (ln_n_parent / (n as f32)).sqrt()
}

/// The child of `node` with the largest upper confidence bound; among equals the one with the lowest action. `node` has children.
#[inline]
pub(super) fn best_child(nodes: &[Node], node: NodeId, ucb_c: f32, draw_value: f32) -> NodeId {
    let parent = &nodes[node as usize];
    let ln_n_parent = libm::logf(parent.n as f32);
    let mut best = parent.first_child;
    let mut best_bound = f32::NEG_INFINITY;
    for (child, index) in nodes[parent.children()].iter().zip(parent.first_child..) {
        let bound = ucb_with_ln(ln_n_parent, child.n, q(child.n, child.wins, child.draws, draw_value), ucb_c);
        if bound > best_bound {
            (best, best_bound) = (index, bound);
        }
    }
    best
}

/// One tree with its statistics.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    /// Nodes from the root to the one selected last.
    pub path: Vec<NodeId>,
    /// Sum of the depths of all nodes.
    pub total_depth: u64,
    /// Depth of the deepest node.
    pub max_depth: u32,
    /// Expansions that did not fit into the capacity.
    pub refused: u64,
    /// Scratch memory for the list of legal actions.
    legal: Vec<usize>,
}

impl Tree {
    pub fn new<G: Game>(root: &G) -> Self {
        let nodes = vec![Node::root(root)];
        Self { nodes, path: Vec::new(), total_depth: 0, max_depth: 0, refused: 0, legal: Vec::new() }
    }

    /// Gives `node` one child for each action that is legal in `position`, its position, in ascending order; or none at all, if there is no such action or they would not
    /// all fit into `capacity` nodes. Returns whether there are children now.
    pub fn add_children<G: Game>(&mut self, node: NodeId, position: &G, capacity: usize) -> bool {
        position.legal_actions(&mut self.legal);
        let size = self.nodes.len();
        // Node numbers have 32 bits.
        let capacity = capacity.min(NodeId::MAX as usize);
        if self.legal.is_empty() {
            return false;
        }
        if self.legal.len() > capacity.saturating_sub(size) {
            self.refused += 1;
            return false;
        }
        let mover = position.to_move();
        let parent = &mut self.nodes[node as usize];
        parent.first_child = size as NodeId;
        parent.n_children = self.legal.len() as u32;
        let depth = parent.depth + 1;
        self.nodes.extend(self.legal.iter().map(|&action| Node::new(action, depth, mover, position.result_of(action))));
        self.total_depth += u64::from(depth) * self.legal.len() as u64;
        self.max_depth = self.max_depth.max(u32::from(depth));
        true
    }
}
