//! What a network sees of positions, written by a block each.

use warpplay_gpu::azero::observation::{Layout, n_observation, write_mask, write_observation};
use warpplay_gpu::cuda::{kernel, memory, thread};
use warpplay_gpu::mcts::games::checkers::Checkers;
use warpplay_gpu::mcts::{Game, Player};

/// Writes observation and legal actions of position b in block b, as its player `observers[b]` sees it in layout `layout`.
///
/// * Launch: a block a position.
///
/// # Safety
/// One block a position, along x. `positions` and `observers` have one entry each, `values` [n, 320], `masks` [n, 512].
#[kernel]
pub unsafe fn test_observe(
    positions: *const Checkers,
    observers: *const u32,
    layout: u32,
    values: *mut f32,
    masks: *mut u8,
) {
    let at = thread::block_idx_x() as usize;
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    // SAFETY: the caller vouches for the lengths; each element has one thread.
    unsafe {
        let position = memory::load(positions, at);
        let observer = Player::from_index(memory::load(observers, at));
        let values = values.add(at * n_observation::<Checkers>() as usize);
        write_observation(&position, observer, Layout::from_index(layout), values, lane, lanes);
        write_mask(&position, masks.add(at * Checkers::MAX_ACTIONS as usize), lane, lanes);
    }
}
