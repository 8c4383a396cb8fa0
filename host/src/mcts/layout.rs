//! How large the trees are: from the memory that the options give to the nodes that a tree can hold.

use warpplay_cpu_ref::mcts as reference;
use warpplay_gpu::mcts::Game;

use super::options::{MAX_TREE_SIZE, Options, check_game};
use crate::{Backend, Error, Memory, Result};

/// Number of steps beyond the limit for which the trees have room.
const PROFILE_ROOM: u64 = 64;

/// Nodes that each tree can hold.
pub(super) fn capacity<G: Game>(options: &Options) -> Result<u32> {
    options.check()?;
    check_game::<G>()?;
    let budget = (options.device_memory_gb * (1u64 << 30) as f64) as u64;
    let layout = Layout::of::<G>(options);
    let for_nodes = budget.saturating_sub(layout.fixed_bytes + options.n_trees as u64 * layout.tree_bytes);
    let by_memory = for_nodes / (options.n_trees as u64 * layout.node_bytes);
    let least = 1 + G::MAX_ACTIONS as u64;
    if by_memory < least {
        let needed = layout.fixed_bytes + options.n_trees as u64 * (layout.tree_bytes + least * layout.node_bytes);
        return Err(Error::option(
            "device_memory_gb",
            options.device_memory_gb,
            format!("at least {:.6} for these trees and playouts", needed as f64 / (1u64 << 30) as f64 + 1e-6),
        ));
    }
    // The profiling run after the search needs room too: a tree that cannot grow plays one node instead of all children.
    let by_steps = options.steps.map_or(u64::MAX, |steps| {
        let steps = steps.saturating_add(PROFILE_ROOM);
        steps.saturating_mul(G::MAX_ACTIONS as u64).saturating_add(1)
    });
    Ok(by_memory.min(by_steps).min(MAX_TREE_SIZE).max(least) as u32)
}

/// Memory that a search takes on a back end; on the CPU, the most that its trees can take on the host.
pub(super) fn memory_needed<G: Game>(options: &Options, backend: Backend) -> Result<Memory> {
    use warpplay_gpu::mcts::tree::TreeHead;
    let capacity = u64::from(capacity::<G>(options)?);
    let n_trees = u64::from(options.n_trees);
    if backend == Backend::Cpu {
        let streams = n_trees * u64::from(lanes_per_tree::<G>(options) + 1);
        return Ok(Memory::default()
            .on_host("nodes", n_trees * capacity * size_of::<reference::Node>() as u64)
            .on_host("streams", streams * size_of::<reference::Stream>() as u64));
    }
    let layout = Layout::of::<G>(options);
    let copies = size_of::<TreeHead>() + G::MAX_ACTIONS as usize * size_of::<[u16; 2]>();
    Ok(Memory::default()
        .on_device("nodes", n_trees * capacity * layout.node_bytes)
        .on_device("trees", n_trees * layout.tree_bytes)
        .on_device("root", layout.fixed_bytes)
        .on_host("copies", n_trees * copies as u64))
}

/// Bytes of the device arrays.
struct Layout {
    fixed_bytes: u64,
    tree_bytes: u64,
    node_bytes: u64,
}

impl Layout {
    fn of<G: Game>(options: &Options) -> Self {
        use warpplay_gpu::mcts::reduce::RootAction;
        use warpplay_gpu::mcts::rng::STREAM_BITS;
        use warpplay_gpu::mcts::tree::{NodeLink, NodeStats, PATH_STRIDE, PlayoutCounts, TreeHead};
        let n_actions = G::MAX_ACTIONS as usize;
        let per_action = size_of::<u16>() + size_of::<PlayoutCounts>() + size_of::<[u16; 2]>();
        let tree = size_of::<TreeHead>()
            + PATH_STRIDE as usize * size_of::<u32>()
            + n_actions * per_action
            + size_of::<PlayoutCounts>()
            + (lanes_per_tree::<G>(options) as usize + 1) * 16;
        let fixed = n_actions * (size_of::<u16>() + size_of::<RootAction>())
            + size_of::<RootAction>()
            + size_of::<G>()
            + STREAM_BITS as usize * 16;
        Self {
            fixed_bytes: fixed as u64,
            tree_bytes: tree as u64,
            node_bytes: (size_of::<NodeStats>() + size_of::<NodeLink>() + size_of::<G>()) as u64,
        }
    }
}

/// Playout streams of one tree.
pub(super) fn lanes_per_tree<G: Game>(options: &Options) -> u32 {
    let children = if options.variant.plays_all_children() { G::MAX_ACTIONS } else { 1 };
    children * options.n_playouts
}
