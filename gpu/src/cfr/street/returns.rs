//! What comes back from the next street: the sum of its values over the boards that may follow, for each exit and hand.

use super::block::BlockView;
use super::layout::{Link, Pass, Task};
use super::pass::Where;
use crate::cuda::kernel;
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 128;
/// Boards whose values are read together.
const TOGETHER: usize = 8;

/// Blocks of a row of `hand_stride` hands.
const fn blocks(hand_stride: u32) -> u32 {
    hand_stride.div_ceil(BLOCK)
}

/// Blocks for a game of `n_boards` boards, `n_entries` entries of the next street and rows of `hand_stride` hands.
pub const fn n_blocks(n_boards: u32, n_entries: u32, hand_stride: u32) -> u64 {
    n_boards as u64 * n_entries as u64 * blocks(hand_stride) as u64
}

/// Launch shape for `n_games` games of at most `n_blocks` blocks.
pub const fn shape(n_blocks: u32, n_games: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_blocks, n_games, BLOCK)
}

/// Adds up the next street's values of the traverser over the boards that follow each board of a street, in the order of its links. The sums replace the traverser's reach at the next street's roots, which
/// nobody needs any more in this pass and the next pass makes anew.
///
/// * Launch: [`shape`], a thread a board, entry of the next street and hand; games along y, blocks of 128.
/// * Reads: `streets`, `boards`, `links`, `permutations`; `values` of the next street; `board_factors` where boards are sampled.
/// * Writes: `reach` of the traverser for the next street; where boards are sampled, that of the boards that were drawn.
/// * Shared: none.
/// * Cost: a step a link of the board.
/// * Twin: `warpplay_cpu_ref::cfr::vector::pass::Pass::values`.
/// * Source: Johanson et al. 2011 (public tree); the partition is ours.
///
/// # Safety
/// `n_blocks` is at least the [`n_blocks`] of every game; it is launched after the next street's pass up; the task is the host's, and `at.street` has a street after it.
#[kernel(shape = |n_blocks: u32| shape(n_blocks, at.n_games), max_threads = BLOCK)]
pub unsafe fn cfr_street_return(task: Task, at: Where, pass: Pass) {
    // SAFETY: this kernel's caller guarantees what `has_exit` asks for: the task is the host's, and every game has the street `at.street` and one after it.
    if !unsafe { BlockView::has_exit(&task, at.street, at.n_games, BLOCK) } {
        return;
    }
    // SAFETY: as above, and `has_exit` is true. The launch follows the next street's pass up, after which that street's reach is not read any more; each block writes the row of its own exit, at its
    // own hands.
    let (view, row, hand) = unsafe { BlockView::find_exit(&task, at.street, at.n_games, BLOCK, pass.traverser) };
    // Nobody reads the row of a board that was not drawn: the pass up leaves the board out, and no board after it is drawn.
    if view.board_factor(&pass) <= 0.0 {
        return;
    }
    let next = view.next;
    let seat = pass.traverser as usize;
    if hand >= next.n_hands[seat] {
        return;
    }
    let (links, maps, values) = (view.links(), view.permutations(), view.values());
    let hand_stride = next.hand_stride as usize;
    let rows = next.values[seat] as usize + view.entry as usize * hand_stride;
    let row_stride = next.n_entries as usize * hand_stride;
    let permutations = next.permutations as usize + seat * hand_stride;
    let renamed =
        |link: &Link| maps.get(permutations + link.permutation as usize * 2 * hand_stride + hand as usize) as usize;
    let value = |link: &Link, renamed: usize| values.get(rows + link.board as usize * row_stride + renamed);
    let samples = pass.sampled & 1 != 0;
    let (mut at, end) = (view.on.links[0], view.on.links[1]);
    let mut sum = 0.0;
    // Loads of several boards are under way together, the links first, then the hands' numbers there, then the values: no branch is between them. The order of the sum is that of the links.
    while !samples && at + TOGETHER as u32 <= end {
        let mut found = [Link { board: 0, permutation: 0 }; TOGETHER];
        for (i, link) in found.iter_mut().enumerate() {
            *link = *links.row(at + i as u32);
        }
        let hands = found.map(|link| renamed(&link));
        let mut values = [0.0; TOGETHER];
        for (i, of_link) in values.iter_mut().enumerate() {
            *of_link = value(&found[i], hands[i]);
        }
        for of_link in &values {
            sum += of_link;
        }
        at += TOGETHER as u32;
    }
    while at < end {
        let link = *links.row(at);
        if !samples || view.next_board_factor(link.board) > 0.0 {
            sum += value(&link, renamed(&link));
        }
        at += 1;
    }
    view.own_reach().set(row + hand as usize, sum);
}
