//! Ordinary single-thread Monte Carlo tree search with UCT: the reference player of the paper's matches.
//!
//! A step selects a leaf by the upper confidence bound, gives it all its children, plays one random game from one child drawn at
//! random, and adds the result along the way. It uses playout stream 0 and expansion stream 0 of its seed.
//!
//! Paper: Kocsis and Szepesvári, "Bandit based Monte-Carlo planning", 2006; Klęsk, "MCTS-NC", SoftwareX, section 3.

use std::time::{Duration, Instant};

use super::game::Game;
use super::rng::{Stream, Streams};
use super::statistics::Statistics;
use super::tree::{Node, NodeId, ROOT, Tally, Tree, best_child};

/// Default maximum number of nodes: 2 GB. Beyond it, leaves are played out without expansion.
pub const DEFAULT_MAX_NODES: usize = 50_000_000;

/// Depth from which nodes are not expanded.
const MAX_DEPTH: u16 = 2048;

/// Number of steps between two checks of the clock.
pub const STEPS_PER_LOOK: u64 = 32;

/// A search of one position with one tree and one playout per step.
///
/// ```
/// use warpplay_cpu_ref::mcts::{games::connect4::Connect4, vanilla::Vanilla};
///
/// let mut player = Vanilla::new(Connect4::new(6, 7), 2.0, 0.5, 0);
/// player.run(Some(2000), None, &|| false);
/// assert_eq!(player.statistics().n_root, 2000);
/// assert_eq!(player.best(), 3); // the middle column is the best opening
/// ```
#[derive(Clone, Debug)]
pub struct Vanilla<G> {
    root: G,
    tree: Tree,
    ucb_c: f32,
    draw_value: f32,
    max_nodes: usize,
    playout_stream: Stream,
    expansion_stream: Stream,
    steps: u64,
    plies: u64,
}

impl<G: Game> Vanilla<G> {
    /// Starts a search of `root`.
    ///
    /// * `ucb_c`: exploration constant C; `draw_value`: value of a draw, 0 to 1.
    pub fn new(root: G, ucb_c: f32, draw_value: f32, seed: u64) -> Self {
        let streams = Streams::new(seed);
        Self {
            tree: Tree::new(&root),
            root,
            ucb_c,
            draw_value,
            max_nodes: DEFAULT_MAX_NODES,
            playout_stream: streams.playout(0),
            expansion_stream: streams.expansion(0),
            steps: 0,
            plies: 0,
        }
    }

    /// Sets a maximum number of nodes (40 bytes each) other than [`DEFAULT_MAX_NODES`].
    pub fn with_max_nodes(self, max_nodes: usize) -> Self {
        Self { max_nodes, ..self }
    }

    /// One step: one playout.
    pub fn step(&mut self) {
        let tree = &mut self.tree;
        let mut position = self.root.clone();
        let mut node = ROOT;
        tree.path.clear();
        tree.path.push(node);
        while tree.nodes[node as usize].n_children > 0 {
            node = best_child(&tree.nodes, node, self.ucb_c, self.draw_value);
            position.apply(tree.nodes[node as usize].action as usize);
            tree.path.push(node);
        }

        let leaf = tree.nodes[node as usize];
        if leaf.result().is_none() && leaf.depth < MAX_DEPTH && tree.add_children(node, &position, self.max_nodes) {
            let parent = tree.nodes[node as usize];
            let child: NodeId = parent.first_child + self.expansion_stream.below(parent.n_children);
            node = child;
            position.apply(tree.nodes[node as usize].action as usize);
            tree.path.push(node);
        }

        let mut tally = Tally::default();
        let (result, plies) = match tree.nodes[node as usize].result() {
            Some(result) => (result, 0),
            None => position.playout(&mut self.playout_stream),
        };
        tally.count(result, plies);
        for &node in &tree.path {
            tree.nodes[node as usize].add(&tally);
        }
        self.plies += u64::from(plies);
        self.steps += 1;
    }

    /// Makes steps until `limit_steps` are done, `limit` has passed or `stop` returns true, whichever comes first; returns the number of steps. Clock and `stop` are checked
    /// before the first step and then every 32 steps. Without a limit it runs until `stop` returns true.
    pub fn run(&mut self, limit_steps: Option<u64>, limit: Option<Duration>, stop: &dyn Fn() -> bool) -> u64 {
        let start = Instant::now();
        let mut made = 0;
        while limit_steps.is_none_or(|limit| made < limit) {
            if made % STEPS_PER_LOOK == 0 && (stop() || limit.is_some_and(|limit| start.elapsed() >= limit)) {
                break;
            }
            self.step();
            made += 1;
        }
        made
    }

    /// The best action so far; see [`Statistics::best`].
    pub fn best(&self) -> usize {
        self.statistics().best
    }

    /// The statistics so far, of one tree.
    pub fn statistics(&self) -> Statistics {
        Statistics::new(self.steps, &self.root, std::slice::from_ref(&self.tree))
    }

    /// Steps made, each with one playout.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Moves made in all playouts.
    pub fn plies(&self) -> u64 {
        self.plies
    }

    /// The nodes of the tree, the root first.
    pub fn nodes(&self) -> &[Node] {
        &self.tree.nodes
    }
}
