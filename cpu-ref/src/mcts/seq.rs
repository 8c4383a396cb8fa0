//! One step of one tree, stage by stage, as in the paper.
//!
//! The parallel form (`par.rs`) calls the same functions for the stages.
//!
//! Paper: Klęsk, "MCTS-NC: A thorough GPU parallelization of Monte Carlo Tree Search", SoftwareX, section 2.

use std::ops::Range;

use super::game::Game;
use super::params::{Params, Variant};
use super::rng::Stream;
use super::times::{Clock, StageTimes};
use super::tree::{NodeId, ROOT, Tally, Tree, best_child};

/// What a step plays out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// The selected node itself, since it is terminal or cannot be expanded.
    Selected(NodeId),
    /// Children of the selected node: `first` and the `count - 1` after it.
    Children { first: NodeId, count: u32 },
}

impl Target {
    /// The nodes played out, in ascending order.
    pub fn nodes(&self) -> Range<NodeId> {
        match *self {
            Self::Selected(node) => node..node + 1,
            Self::Children { first, count } => first..first + count,
        }
    }
}

/// One step of one tree.
///
/// * `lanes`: the tree's playout streams, `[slots, m]`; see [`slots`].
/// * `expansion`: the tree's expansion stream.
/// * returns the number of moves made in the playouts.
pub(super) fn step<G: Game>(
    tree: &mut Tree,
    root: &G,
    params: &Params,
    lanes: &mut [Stream],
    expansion: &mut Stream,
    times: &mut StageTimes,
) -> u64 {
    let mut clock = Clock::start();
    let position = select(tree, root, params);
    clock.lap(&mut times.select);
    let target = expand(tree, &position, params, expansion);
    clock.lap(&mut times.expand);
    let mut tallies = Vec::with_capacity(target.nodes().len());
    for node in target.nodes() {
        tallies.push(match known_result(tree, node, params) {
            Some(copies) => copies,
            None => {
                playouts(&position, action_of(tree, target, node), &mut lanes[lanes_of(tree, target, node, params)])
            }
        });
    }
    clock.lap(&mut times.playout);
    let plies = backup(tree, target, &tallies);
    clock.lap(&mut times.backup);
    plies
}

/// Stage 1. Walks from the root to a node without children, stores the path in `tree.path` and returns the position there.
pub(super) fn select<G: Game>(tree: &mut Tree, root: &G, params: &Params) -> G {
    let mut position = root.clone();
    let mut node = ROOT;
    tree.path.clear();
    tree.path.push(node);
    while tree.nodes[node as usize].n_children > 0 {
        node = best_child(&tree.nodes, node, params.ucb_c, params.draw_value);
        position.apply(tree.nodes[node as usize].action as usize);
        tree.path.push(node);
    }
    position
}

/// Stage 2. Expands the selected node, whose position is `position`, if possible, and returns the nodes to be played out.
pub(super) fn expand<G: Game>(tree: &mut Tree, position: &G, params: &Params, expansion: &mut Stream) -> Target {
    let selected = tree.path.last().copied().unwrap_or(ROOT);
    let node = &tree.nodes[selected as usize];
    let deep = usize::from(node.depth) >= params.max_depth.min(usize::from(u16::MAX));
    if node.result().is_some() || deep || !tree.add_children(selected, position, params.max_tree_nodes) {
        return Target::Selected(selected);
    }
    let node = &tree.nodes[selected as usize];
    match params.variant {
        Variant::Ocp => Target::Children { first: node.first_child + expansion.below(node.n_children), count: 1 },
        Variant::Acp => Target::Children { first: node.first_child, count: node.n_children },
    }
}

/// Stage 3 for a terminal `node`: `m` copies of its outcome, and no random number is drawn. `None` for any other node.
pub(super) fn known_result(tree: &Tree, node: NodeId, params: &Params) -> Option<Tally> {
    let result = tree.nodes[node as usize].result()?;
    Some(Tally::copies(result, params.n_playouts as u64))
}

/// Stage 3 for any other node: one playout with each of `lanes`, from `position` or from the child that `action` leads to.
pub(super) fn playouts<G: Game>(position: &G, action: Option<usize>, lanes: &mut [Stream]) -> Tally {
    let mut start = position.clone();
    if let Some(action) = action {
        start.apply(action);
    }
    let mut tally = Tally::default();
    for lane in lanes {
        let (result, plies) = start.playout(lane);
        tally.count(result, plies);
    }
    tally
}

/// Stage 4. Adds `tallies`, one for each node of `target`, to these nodes, and their sum to the path. Returns the moves made.
pub(super) fn backup(tree: &mut Tree, target: Target, tallies: &[Tally]) -> u64 {
    let mut total = Tally::default();
    for (node, tally) in target.nodes().zip(tallies) {
        total.merge(tally);
        // The selected node is on the path and gets its share there.
        if matches!(target, Target::Children { .. }) {
            tree.nodes[node as usize].add(tally);
        }
    }
    for &node in &tree.path {
        tree.nodes[node as usize].add(&total);
    }
    total.plies
}

/// The action that leads from the selected position to `node` of `target`.
pub(super) fn action_of(tree: &Tree, target: Target, node: NodeId) -> Option<usize> {
    match target {
        Target::Selected(_) => None,
        Target::Children { .. } => Some(tree.nodes[node as usize].action as usize),
    }
}

/// Groups of `m` playout streams that a tree owns: one for each action in ACP, one in OCP.
pub(super) fn slots<G: Game>(root: &G, params: &Params) -> usize {
    match params.variant {
        Variant::Ocp => 1,
        Variant::Acp => root.max_actions(),
    }
}

/// The playout streams of the tree that belong to `node`: slot `action` for a child in ACP, slot 0 otherwise.
pub(super) fn lanes_of(tree: &Tree, target: Target, node: NodeId, params: &Params) -> Range<usize> {
    let slot = match (params.variant, target) {
        (Variant::Acp, Target::Children { .. }) => tree.nodes[node as usize].action as usize,
        _ => 0,
    };
    slot * params.n_playouts..(slot + 1) * params.n_playouts
}
