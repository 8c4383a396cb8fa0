//! The beginning of a search: a root that waits for its evaluation.

use super::random::{self, Purpose};
use super::step::{self, Observations};
use super::tree::{Head, Leaf, Node, Searched, Trees, kind};
use crate::cuda::{memory, sync, thread, warp};
use crate::launch::LaunchShape;

/// Launch shape of [`begin`] and of [`add_noise`]: a warp a tree.
pub const fn shape(n_trees: u32) -> LaunchShape {
    LaunchShape::new(n_trees, thread::WARP)
}

/// Makes every tree a root that waits for its evaluation, and writes its observation.
///
/// # Safety
/// Launched with [`shape`]. The arrays of `trees` are as [`Trees`] says, with room for one node, position and leaf; the roots are positions that are not
/// over; `out` has a row for each tree's first leaf.
#[device_inline]
pub unsafe fn begin<G: Searched>(trees: Trees<G>, out: Observations) {
    let tree = thread::block_idx_x();
    // SAFETY: the block has the tree alone.
    unsafe {
        let position: G = memory::load(trees.roots, tree as usize);
        let task = memory::load(trees.tasks, tree as usize);
        if thread::lane() == 0 {
            let root = Node { pending: 1, ..Node::new(0, 1.0, crate::mcts::Outcome::Ongoing, position.to_move()) };
            trees.set_node(tree, 0, root);
            memory::store(trees.paths, trees.path_at(tree, 0, 0), 0);
            let at = trees.leaf_at(tree, 0);
            memory::store(trees.leaves, at, Leaf::new(0, &root, 1, kind::NEW));
            memory::store(trees.leaf_positions, at, position);
            let remaining = task.simulations;
            trees.set_head(tree, Head { size: 1, n_leaves: 1, remaining, begun: 1, ..Head::default() });
        }
        sync::sync_warp(warp::ALL);
        step::observe(&trees, &out, tree, 0);
    }
}

/// Mixes Dirichlet noise into the priors of the roots' children: `(1 - epsilon) · prior + epsilon · noise`, where the noise is a gamma number of shape `alpha`
/// for each child, divided by their sum. Numbers so small that all are 0 count as equal ones.
///
/// In double precision, since `ln` and powers of such numbers leave the range of single precision.
///
/// # Safety
/// Launched with [`shape`], after the roots were expanded and before anything else was selected.
#[device_inline]
pub unsafe fn add_noise<G: Searched>(trees: Trees<G>, alpha: f64, epsilon: f32) {
    let tree = thread::block_idx_x();
    let lane = thread::lane();
    // SAFETY: the block has the tree alone; the root's children exist.
    unsafe {
        let key = memory::load(trees.tasks, tree as usize).key;
        let root = trees.node(tree, 0);
        let n = root.n_children();
        let number = |rank: u32| random::gamma(&mut random::stream(key, Purpose::Noise, rank as u64), alpha);
        let mut sum = 0.0;
        for first in thread::strided(0, n, thread::WARP) {
            let rank = first + lane;
            let mine = if rank < n { number(rank) } else { 0.0 };
            let mut other = 0;
            while other < thread::WARP && first + other < n {
                sum += warp::shuffle(warp::ALL, mine, other);
                other += 1;
            }
        }
        for rank in thread::strided(lane, n, thread::WARP) {
            let noise = if sum > 0.0 { number(rank) / sum } else { 1.0 / n as f64 };
            let at = root.first_child + rank;
            let mut child = trees.node(tree, at);
            child.prior = (1.0 - epsilon) * child.prior + epsilon * noise as f32;
            trees.set_visits(tree, at, &child);
        }
    }
}
