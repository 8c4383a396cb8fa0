//! What holds of every report and of every tree, whatever was searched.

use warpplay::mcts::{Game, Outcome, Report, TreesReport};

use crate::forest::Tree;

/// What two searches of the same seed and steps must have in common: everything but times and names of devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The best action.
    pub best: warpplay::mcts::ActionReport,
    /// All actions.
    pub actions: Vec<warpplay::mcts::ActionReport>,
    /// Steps and playouts.
    pub counts: [u64; 2],
    /// Sizes of the trees.
    pub trees: TreesReport,
}

impl From<&Report> for Found {
    fn from(report: &Report) -> Self {
        Self {
            best: report.best.clone(),
            actions: report.actions.clone(),
            counts: [report.performance.steps, report.performance.playouts],
            trees: report.performance.trees.clone(),
        }
    }
}

/// Checks a report against itself.
///
/// # Panics
/// At the first thing that does not hold.
#[track_caller]
pub fn check_report(report: &Report) {
    let options = &report.options;
    assert!(report.actions.windows(2).all(|pair| pair[0].index < pair[1].index), "actions ascend");
    assert!(report.actions.contains(&report.best));
    assert_eq!(report.seed, options.seed);
    assert_eq!(report.performance.playouts, report.best.n_root);
    for action in &report.actions {
        assert_eq!(action.n_root, report.best.n_root);
        assert!(action.wins + action.draws <= action.n, "{action:?}");
        let (n, n_root) = (action.n as f32, action.n_root as f32);
        if action.n == 0 {
            assert_eq!((action.q, action.ucb), (None, None));
        } else {
            // The report's own formula, written out again with the same order of operations.
            let q = (action.wins as f32 + options.draw_value * action.draws as f32) / n;
            assert_eq!(action.q.map(f32::to_bits), Some(q.to_bits()), "{action:?}");
            let ucb = q + options.ucb_c * (warpplay_gpu::cuda::math::ln(n_root) / n).sqrt();
            assert_eq!(action.ucb.map(f32::to_bits), Some(ucb.to_bits()), "{action:?}");
        }
    }
    let rank = |a: &warpplay::mcts::ActionReport| (a.win_flag, a.n, a.wins, std::cmp::Reverse(a.index));
    let best = report.actions.iter().max_by_key(|action| rank(action));
    assert_eq!(best, Some(&report.best), "proven win, then n, then wins, then the lowest");
    let trees = &report.performance.trees;
    assert_eq!(trees.count, options.n_trees);
    assert!(trees.mean_size <= trees.max_size as f64 && trees.mean_depth <= f64::from(trees.max_depth));
    assert!(trees.full <= trees.count && (trees.full == 0) == (trees.refused == 0), "{trees:?}");
    assert!(trees.refused <= report.performance.steps * u64::from(trees.count), "one expansion a step and tree");
    if trees.max_size > 1 {
        assert_eq!(report.actions.iter().map(|action| action.n).sum::<u64>(), report.best.n_root);
    }
}

/// Checks one tree: every child has one parent, positions follow from actions, counts add up.
///
/// # Panics
/// At the first thing that does not hold.
#[track_caller]
pub fn check_tree<G: Game + PartialEq + std::fmt::Debug>(tree: &Tree<G>, capacity: u32, n_playouts: u64) {
    let size = tree.nodes.len();
    assert!(size <= capacity as usize, "{size} nodes in {capacity}");
    let mut owned = vec![false; size];
    owned[0] = true;
    for (index, node) in tree.nodes.iter().enumerate() {
        let children = node.first_child as usize..node.first_child as usize + node.n_children as usize;
        assert!(node.wins + node.draws <= node.n, "node {index}: {node:?}");
        assert_eq!(node.n % n_playouts, 0, "node {index}: whole batches");
        if children.is_empty() {
            continue;
        }
        assert!(!node.outcome.is_over(), "node {index}: a finished game has no children");
        assert!(children.end <= size && children.start > index, "node {index}: {children:?} of {size}");
        let position = tree.states[index];
        let mut actions = Vec::new();
        let mut below = 0;
        for child in children {
            assert!(!std::mem::replace(&mut owned[child], true), "node {child} has two parents");
            let node_of_child = &tree.nodes[child];
            assert_eq!(node_of_child.parent as usize, index, "node {child}");
            assert_eq!(node_of_child.depth, node.depth + 1, "node {child}");
            assert_eq!(node_of_child.mover, position.to_move(), "node {child}");
            let mut next = position;
            next.apply(node_of_child.action);
            assert_eq!(tree.states[child], next, "node {child}: the position after action {}", node_of_child.action);
            assert_eq!(node_of_child.outcome, next.outcome(), "node {child}");
            if let Outcome::Win(winner) = node_of_child.outcome {
                let wins = if winner == node_of_child.mover { node_of_child.n } else { 0 };
                assert_eq!((node_of_child.wins, node_of_child.draws), (wins, 0), "node {child}: copies of its outcome");
            }
            actions.push(node_of_child.action);
            below += node_of_child.n;
        }
        assert_eq!(actions, crate::strategies::legal_actions(&position), "node {index}: all legal actions, ascending");
        // Its own playouts are those from before it had children: none at the root, else one batch at most.
        let own = node.n.checked_sub(below).unwrap_or_else(|| panic!("node {index}: {} below {}", below, node.n));
        assert!(own <= if index == 0 { 0 } else { n_playouts }, "node {index}: {own} playouts of its own");
    }
    assert!(owned.iter().all(|&owned| owned), "every node hangs somewhere");
}
