//! The search: T trees that grow from one position.

use super::game::Game;
use super::params::Params;
use super::rng::{Stream, Streams};
use super::seq::slots;
use super::statistics::Statistics;
use super::times::StageTimes;
use super::tree::{Node, Tree};
use super::{par, seq};

/// A search of one position with many trees and many playouts.
///
/// [`Search::step`] and [`Search::step_parallel`] give the same results and may be mixed.
///
/// Memory: 40 bytes per node, and 16 bytes for each playout stream, of which there are T·m (OCP) or T·B·m (ACP).
#[derive(Clone, Debug)]
pub struct Search<G> {
    params: Params,
    root: G,
    trees: Vec<Tree>,
    /// `[n_trees, slots, n_playouts]`
    lanes: Vec<Stream>,
    lanes_per_tree: usize,
    /// `[n_trees]`
    expansions: Vec<Stream>,
    steps: u64,
    plies: u64,
    times: StageTimes,
}

impl<G: Game> Search<G> {
    /// Starts a search of `root`. All random streams begin anew from the seed.
    ///
    /// A finished `root` is allowed: each step then counts its result.
    ///
    /// # Panics
    /// If there are more playout streams than a vector can hold.
    pub fn new(params: Params, root: G) -> Self {
        let streams = Streams::new(params.seed);
        let lanes_per_tree = slots(&root, &params) * params.n_playouts;
        Self {
            trees: (0..params.n_trees).map(|_| Tree::new(&root)).collect(),
            lanes: streams.playouts_from(0).take(params.n_trees * lanes_per_tree).collect(),
            lanes_per_tree,
            expansions: streams.expansions().take(params.n_trees).collect(),
            steps: 0,
            plies: 0,
            times: StageTimes::default(),
            params,
            root,
        }
    }

    /// One step of every tree, one after the other.
    pub fn step(&mut self) {
        let Self { params, root, trees, lanes, lanes_per_tree, expansions, times, .. } = self;
        for (t, (tree, expansion)) in trees.iter_mut().zip(expansions).enumerate() {
            let own = t * *lanes_per_tree..(t + 1) * *lanes_per_tree;
            self.plies += seq::step(tree, root, params, &mut lanes[own], expansion, times);
        }
        self.steps += 1;
    }

    /// One step of every tree, with the threads of the current rayon pool. Same statistics as [`Search::step`], bit for bit.
    pub fn step_parallel(&mut self) {
        let Self { params, root, trees, lanes, lanes_per_tree, expansions, times, .. } = self;
        self.plies += par::step(trees, root, params, lanes, *lanes_per_tree, expansions, times);
        self.steps += 1;
    }

    /// Steps made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Moves made in all playouts.
    pub fn plies(&self) -> u64 {
        self.plies
    }

    /// Time spent in each stage.
    pub fn stage_times(&self) -> StageTimes {
        self.times
    }

    /// The options.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The position searched.
    pub fn root(&self) -> &G {
        &self.root
    }

    /// The nodes of tree `t`, the root first, in the order in which they were made; `None` if there is no such tree.
    ///
    /// With own = the playouts that a node got when its parent was expanded, these hold:
    ///
    /// * an expanded node has n = own + Σ n of its children, where own is 0 at the root, m elsewhere in ACP, and 0 or m in OCP
    ///   (what cannot be expanded once can never be, so all other playouts of the node went through its children);
    /// * a node without children has n = own + m × how often it was selected.
    pub fn tree(&self, t: usize) -> Option<&[Node]> {
        self.trees.get(t).map(|tree| tree.nodes.as_slice())
    }

    /// The statistics so far, summed over the trees.
    pub fn statistics(&self) -> Statistics {
        Statistics::new(self.steps, &self.root, &self.trees)
    }
}
