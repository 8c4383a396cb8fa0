//! One step of every tree, in one launch: the last step's leaves get their children and their values go up, then new leaves are selected and their
//! observations written. A block a tree, a warp a leaf.
//!
//! ```text
//! warp w     expands leaf w, its value to shared memory                     barrier
//! warp 0     adds the values along the paths, leaf after leaf; selects      barrier
//! warp w     writes observation and mask of new leaf w
//! ```

use super::expand::{self, Evaluations};
use super::select;
use super::tree::{Leaf, MAX_LEAVES, Searched, Trees, kind};
use crate::azero::observation::{Layout, write_mask, write_observation};
use crate::cuda::shared::Shared;
use crate::cuda::sync::{sync_threads, sync_warp};
use crate::cuda::{DeviceArgs, memory, thread, warp};
use crate::launch::LaunchShape;

/// Launch shape of [`step`] that evaluates and selects up to `n_leaves` leaves a tree.
pub const fn shape(n_trees: u32, n_leaves: u32) -> LaunchShape {
    let warps = if n_leaves == 0 { 1 } else { n_leaves };
    LaunchShape::new(n_trees, warps * thread::WARP)
}

/// Where a step writes what the evaluator reads. Row `tree · row_stride + leaf` is that of a leaf.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Trees.
    n_trees: u32,
    /// Numbers of an observation.
    n_observation: u32,
    /// Most actions.
    max_actions: u32,
)]
#[require(observations.is_none() == masks.is_none())]
pub struct Observations {
    /// `[rows, planes, rows, columns]`; nothing is written where it is null.
    #[len(n_trees * row_stride * n_observation)]
    #[nullable]
    pub observations: *mut f32,
    /// `[rows, MAX_ACTIONS]`; null where `observations` is.
    #[len(n_trees * row_stride * max_actions)]
    #[nullable]
    pub masks: *mut u8,
    /// What an observation shows, [`Layout`]'s number.
    pub layout: u32,
    /// Rows from one tree to the next.
    pub row_stride: u32,
}

/// Shared memory of [`step`].
#[derive(Clone, Copy)]
pub struct Scratch {
    /// Values of the leaves.
    pub values: Shared<f32>,
    /// Faults of the leaves.
    pub faults: Shared<u32>,
}

/// Writes what the evaluator and the expansion need of leaf `number`.
///
/// # Safety
/// Called by all lanes of one warp, which has the leaf alone; the leaf's row exists where observations are written.
#[device_inline]
pub unsafe fn observe<G: Searched>(trees: &Trees<G>, out: &Observations, tree: u32, number: u32) {
    let lane = thread::lane();
    // SAFETY: this warp has the leaf alone, and the leaf's row exists where observations are written, as the caller says.
    unsafe {
        let leaf = trees.leaf(tree, number);
        if leaf.kind() == kind::OVER {
            return;
        }
        let at = trees.leaf_at(tree, number);
        let position: G = memory::load(trees.leaf_positions, at);
        sync_warp(warp::ALL);
        if lane == 0 {
            let n_legal = G::n_legal(&position.legal());
            memory::store(trees.leaves, at, Leaf { n_legal, ..leaf });
        }
        if out.observations.is_null() {
            return;
        }
        let row = tree as usize * out.row_stride as usize + number as usize;
        let n = crate::azero::observation::n_observation::<G>() as usize;
        let (observation, mask) = (out.observations.add(row * n), out.masks.add(row * G::MAX_ACTIONS as usize));
        let layout = Layout::from_index(out.layout);
        write_observation(&position, position.to_move(), layout, observation, lane, thread::WARP);
        write_mask(&position, mask, lane, thread::WARP);
    }
}

/// Adds a leaf's value to the nodes of its path, a lane a node, and takes back what selection had counted there.
///
/// # Safety
/// Called by all lanes of one warp that has the tree alone; `leaf` is leaf number `number`.
#[device_inline]
unsafe fn back_up<G: Searched>(trees: &Trees<G>, tree: u32, number: u32, leaf: &Leaf, value: f32) {
    let mut depth = thread::lane();
    while depth < leaf.path_length {
        // SAFETY: the path's nodes are different ones, each this lane's.
        unsafe {
            let at = memory::load(trees.paths, trees.path_at(tree, number, depth));
            let mut node = trees.node(tree, at);
            node.visits += 1;
            node.pending -= 1;
            node.total += value;
            trees.set_visits(tree, at, &node);
        }
        depth += thread::WARP;
    }
    // The next leaf's path shares nodes with this one.
    sync_warp(warp::ALL);
}

/// The whole step.
///
/// # Safety
/// Launched with [`shape`] for the larger of `n_leaves` and the number of leaves that wait. The arrays of `trees` are as [`Trees`] says and begun by
/// [`begin`](super::begin::begin); `evaluations` has rows for the leaves that wait, `out` for those selected.
#[device_inline]
pub unsafe fn step<G: Searched>(
    trees: Trees<G>,
    evaluations: Evaluations,
    out: Observations,
    c_puct: f32,
    n_leaves: u32,
    scratch: Scratch,
) {
    let tree = thread::block_idx_x();
    let (warp_index, lane) = (thread::warp_index(), thread::lane());
    // SAFETY: a block a tree, a warp a leaf; barriers stand between one warp's writes and another's reads.
    unsafe {
        let mut head = trees.head(tree);
        let n_waiting = head.n_leaves;
        let (mut size, mut n_positions) = (head.size, head.n_positions);
        let mut number = 0;
        while number < n_waiting {
            let leaf = trees.leaf(tree, number);
            let grows = expand::grows(&trees, &leaf, size, n_positions);
            if number == warp_index {
                let (value, mut faults) = expand::value_of(&evaluations, tree, number, &leaf);
                if grows {
                    faults |= expand::expand(&trees, &evaluations, tree, number, &leaf, size, n_positions);
                }
                if lane == 0 {
                    scratch.values.set(number, value);
                    scratch.faults.set(number, faults);
                }
            }
            if grows {
                size += leaf.n_legal;
                n_positions += 1;
            }
            number += 1;
        }
        // All have read the head and written their children.
        sync_threads();
        if warp_index == 0 {
            let mut number = 0;
            while number < n_waiting {
                let leaf = trees.leaf(tree, number);
                back_up(&trees, tree, number, &leaf, scratch.values.get(number));
                head.faults |= scratch.faults.get(number);
                number += 1;
            }
            (head.size, head.n_positions, head.n_leaves) = (size, n_positions, 0);
            select::select(&trees, tree, &mut head, n_leaves, c_puct);
            if lane == 0 {
                trees.set_head(tree, head);
            }
        }
        sync_threads();
        let n_selected = trees.head(tree).n_leaves;
        if warp_index < n_selected {
            observe(&trees, &out, tree, warp_index);
        }
    }
}

const _: () = assert!(MAX_LEAVES * thread::WARP <= 1024);
