//! Expansion: the selected leaf gets a child for each legal action.
//!
//! Step 1, one block a tree, a thread an action: which actions are legal, a prefix sum for the ranks of the children, room for them in the pool.
//! Step 2, one block a child: its position and whether the game ends there.
//!
//! A leaf is expanded whole or not at all. It is not where the game is over, where it lies [`MAX_DEPTH`] deep, or where the pool is too full; then
//! the leaf itself is played out (again). [`TreeHead::refused`] counts the last case.

use super::game::{Draw, Game, Outcome, Player};
use super::rng::Stream;
use super::tree::{MAX_DEPTH, NOT_EXPANDED, NodeLink, NodeStats, TreeHead, Trees, target};
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_threads;
use crate::cuda::{block, memory, thread};
use crate::launch::LaunchShape;

/// Launch shape of [`expand_1`] with blocks of `threads` threads, whole warps and at least one thread an action.
pub const fn shape_1(n_trees: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_trees, threads)
}

/// Launch shape of [`expand_2_prodigal`] with blocks of `threads` threads.
pub const fn shape_2_prodigal<G: Game>(n_trees: u32, threads: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_trees, G::MAX_ACTIONS, threads)
}

/// Launch shape of [`expand_2_thrifty`] for a list of `n_children` with blocks of `threads` threads.
pub const fn shape_2_thrifty(n_children: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_children, threads)
}

/// Launch shape of [`memorize_root_actions`] with blocks of `threads` threads.
pub const fn shape_memorize<G: Game>(threads: u32) -> LaunchShape {
    LaunchShape::linear(G::MAX_ACTIONS, threads)
}

/// How many blocks the later stages get, and how `expanded` is laid out for them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// As many as there are expanded actions: `expanded` lists the actions by rank.
    Thrifty,
    /// One for each tree and action: `expanded` gives each action's rank or [`NOT_EXPANDED`].
    Prodigal,
}

/// Which children are played out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Children {
    /// One, drawn at random.
    One,
    /// All.
    All,
}

/// Expands the leaf `selected` of tree `tree` as far as the tree's structure goes: everything but the children's positions.
///
/// # Safety
/// Called by every thread of a block that works on this tree alone and has at least `B` threads; `selected` with `stats` at `depth` is a leaf of it;
/// `head` is the tree's head.
#[device_inline]
#[allow(clippy::too_many_arguments, reason = "one stage's whole input")]
pub unsafe fn grow<G: Game>(
    trees: &Trees<G>,
    tree: u32,
    head: TreeHead,
    (selected, stats, depth): (u32, NodeStats, u32),
    position: &G,
    blocks: Blocks,
    children: Children,
    scratch: Shared<u32>,
) {
    let action = thread::thread_idx_x();
    let over = stats.outcome().is_over();
    let legal = !over && action < G::MAX_ACTIONS && position.is_legal(action);
    let (up_to, n_legal) = block::inclusive_sum(legal as u32, scratch);
    let may_grow = n_legal > 0 && depth < MAX_DEPTH;
    let has_room = head.size as u64 + n_legal as u64 <= trees.capacity as u64;
    let grows = may_grow && has_room;
    let rank = (legal && grows).then(|| up_to - 1);

    let mut head = TreeHead { selected, path_length: depth + 1, ..head };
    head.n_expanded = if grows { n_legal } else { 0 };
    head.refused += (may_grow && !has_room) as u64;
    head.target = if over {
        target::TERMINAL
    } else if !grows {
        target::SELECTED
    } else if children == Children::All {
        target::CHILDREN
    } else {
        target::ONE_CHILD
    };
    let first_child = head.size;
    // SAFETY: a rank is there only where the tree has room for all children, so that of a child lies below the capacity; only thread 0 writes head, parent and expansion stream.
    unsafe {
        note_action(trees, tree, head, depth, rank, blocks);
        if grows {
            head.size += n_legal;
            head.depth_sum += n_legal as u64 * (depth as u64 + 1);
            head.max_depth = head.max_depth.max(depth + 1);
        }
        if action == 0 {
            if grows {
                trees.set_node(tree, selected, NodeStats { first_child, info: stats.info | n_legal, ..stats });
                if children == Children::One {
                    let mut stream = Stream::load(trees.expansion_streams, tree as usize);
                    head.chosen = stream.below(n_legal);
                    stream.store(trees.expansion_streams, tree as usize);
                }
            }
            trees.set_head(tree, head);
        }
    }
}

/// Notes the thread's action for the later stages, as `blocks` has them, and where its child of rank `rank` hangs.
///
/// # Safety
/// As [`grow`]; children begin at the head's size, and those with a rank lie below the capacity.
#[device_inline]
unsafe fn note_action<G: Game>(
    trees: &Trees<G>,
    tree: u32,
    head: TreeHead,
    depth: u32,
    rank: Option<u32>,
    blocks: Blocks,
) {
    let action = thread::thread_idx_x();
    // SAFETY: action < B for the arrays by action; the children lie below the capacity; each entry is written by one thread.
    unsafe {
        match blocks {
            Blocks::Prodigal if action < G::MAX_ACTIONS => {
                let entry = match rank {
                    Some(rank) => rank as u16,
                    None => NOT_EXPANDED,
                };
                memory::store(trees.expanded, trees.action_at(tree, action), entry);
            }
            Blocks::Thrifty => {
                if let Some(rank) = rank {
                    memory::store(trees.expanded, trees.action_at(tree, rank), action as u16);
                }
            }
            Blocks::Prodigal => {}
        }
        if let Some(rank) = rank {
            let link = NodeLink { parent: head.selected, action: action as u16, depth: (depth + 1) as u16 };
            memory::store(trees.links, trees.at(tree, head.size + rank), link);
        }
    }
}

/// The position after `action` in `parent`, and whether the game ends there.
#[device_inline]
pub fn position_after<G: Game>(parent: &G, action: u32) -> (G, Outcome) {
    let mut position = *parent;
    position.apply(action);
    (position, position.outcome_after(action))
}

/// Writes child `child`: its position, how it stands, and that `mover` moved into it.
///
/// # Safety
/// `tree < n_trees`, `child < capacity`, and nobody else accesses the child meanwhile.
#[device_inline]
pub unsafe fn write_child<G: Game>(
    trees: &Trees<G>,
    tree: u32,
    child: u32,
    position: &G,
    outcome: Outcome,
    mover: Player,
) {
    // SAFETY: the child lies below the capacity, and is this thread's.
    unsafe {
        memory::store(trees.states, trees.at(tree, child), *position);
        trees.set_node(tree, child, NodeStats::new(outcome, mover));
    }
}

/// Computes and writes the child of rank `rank` that `action` leads to in the selected position `parent`.
///
/// # Safety
/// As [`write_child`]; the step expanded the action, and `head` is the tree's.
#[device_inline]
pub unsafe fn make_child<G: Game>(trees: &Trees<G>, tree: u32, head: TreeHead, rank: u32, parent: &G, action: u32) {
    let (position, outcome) = position_after(parent, action);
    // SAFETY: the step's children end at the tree's size.
    unsafe { write_child(trees, tree, head.size - head.n_expanded + rank, &position, outcome, parent.to_move()) };
}

/// Step 1 in each tree.
///
/// # Safety
/// Launched with [`shape_1`]: one block a tree, of a whole number of warps and at least `B` threads. The arrays of `trees` are as [`Trees`] says.
#[device_inline]
pub unsafe fn expand_1<G: Game>(trees: Trees<G>, blocks: Blocks, children: Children, scratch: Shared<u32>) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; the block has the tree alone.
    unsafe {
        let head = trees.head(tree);
        let stats = trees.node(tree, head.selected);
        let position = memory::load(trees.states, trees.at(tree, head.selected));
        let leaf = (head.selected, stats, head.path_length - 1);
        // Thread 0 writes head and parent, which all have read.
        sync_threads();
        grow(&trees, tree, head, leaf, &position, blocks, children, scratch);
    }
}

/// Step 2 with a block for each tree and action; blocks of actions without a child end at once.
///
/// # Safety
/// Launched with [`shape_2_prodigal`], `(n_trees, B)` blocks, after [`expand_1`] with [`Blocks::Prodigal`].
#[device_inline]
pub unsafe fn expand_2_prodigal<G: Game>(trees: Trees<G>) {
    let (tree, action) = (thread::block_idx_x(), thread::block_idx_y());
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: tree < n_trees and action < B by the launch shape; each child is written by one block.
    unsafe {
        let rank = memory::load(trees.expanded, trees.action_at(tree, action));
        let head = trees.head(tree);
        if rank != NOT_EXPANDED && head.n_expanded > 0 {
            let parent = memory::load(trees.states, trees.at(tree, head.selected));
            make_child(&trees, tree, head, rank as u32, &parent, action);
        }
    }
}

/// Step 2 with a block for each expanded child: `children[block]` is (tree, rank). An entry of a tree that did not grow, which stands there for the
/// playouts of its leaf, ends at once.
///
/// # Safety
/// Launched with [`shape_2_thrifty`], as many blocks as `children` has entries, each naming a tree, and a rank below the number of children that [`expand_1`] with
/// [`Blocks::Thrifty`] just made there.
#[device_inline]
pub unsafe fn expand_2_thrifty<G: Game>(trees: Trees<G>, children: *const [u16; 2]) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: the launch shape gives a block for each entry; each child is written by one block.
    unsafe {
        let [tree, rank] = memory::load(children, thread::block_idx_x() as usize);
        let (tree, rank) = (tree as u32, rank as u32);
        let head = trees.head(tree);
        if head.n_expanded == 0 {
            return;
        }
        let action = memory::load(trees.expanded, trees.action_at(tree, rank));
        let parent = memory::load(trees.states, trees.at(tree, head.selected));
        make_child(&trees, tree, head, rank, &parent, action as u32);
    }
}

/// Notes the actions that the first step expanded at the root: rank by action in `root_actions`, [`NOT_EXPANDED`] elsewhere.
///
/// # Safety
/// Launched with [`shape_memorize`], at least `B` threads in all, after the first step; `root_actions` holds `B` values.
#[device_inline]
pub unsafe fn memorize_root_actions<G: Game>(trees: Trees<G>, root_actions: *mut u16) {
    let Some(action) = thread::index_1d_below(G::MAX_ACTIONS) else { return };
    // SAFETY: the root's children exist after the first step; each entry is written by one thread.
    unsafe {
        let root = trees.node(0, 0);
        let mut entry = NOT_EXPANDED;
        let mut rank = 0;
        while rank < root.n_children() {
            let link = memory::load(trees.links, trees.at(0, root.first_child + rank));
            if link.action as u32 == action {
                entry = rank as u16;
            }
            rank += 1;
        }
        memory::store(root_actions, action as usize, entry);
    }
}
