//! Two-player games as streets: a block has one betting subtree of one street on one board, with all hands of both seats or some of them.
//!
//! # How a pass is cut
//! The host compiles a subtree, for each traverser, into lists of operations ([`layout`]); a block runs them in order, all its threads the same. A thread keeps its
//! hands at every node, so reach goes down and values go up without a barrier; only the ends of the betting need all of the opponent's hands. They are
//! evaluated together, a warp a reach vector or 32 cards of one (`eval`): three barriers a segment, and a subtree that fits in shared memory is one segment.
//!
//! ```text
//! street 0 .. last - 1   down: averages of the traverser, reach of both at every exit      a launch a street
//! last street            down, evaluations, up                                            one launch
//! last - 1 .. 0          sums of the next street's values over its boards                 a launch a street
//!                        down once more (reach of the opponent), evaluations of folds, up   a launch a street
//! ```
//!
//! Averages. On the streets before the last, the pass of a seat adds that seat's strategy. On the last street a plain pass (no sampling, no best response) adds the opponent's, because it reads
//! those tables for the reach anyway; the prior of each hand is divided out of the reach. Seat 1's strategy of iteration t is thus added in the pass of seat 0 of iteration t, and seat 0's in the
//! pass of seat 1 of iteration t − 1. For the first iteration of a run, a separate pass adds seat 0's.
//!
//! A thread works on three of its hands at a time, so that their loads are under way together: a block waits for loads more than for anything else. At nodes of two to four actions (`nodes`) the compiler knows the number of actions too.
//!
//! A street of few subtrees would leave most multiprocessors idle: except on the last one, several blocks then share the hands of a subtree ([`parts`]). On the way up each of them makes the
//! reach of all the opponent's hands and their sums, and the values of its part of the traverser's.
//!
//! Where there is one street only, a launch runs many iterations: a block needs nobody else.
//!
//! # Data layout
//! Tables are `[board][action vector][hand]`, a row a whole number of warps long. The hands of a row are those that the board leaves possible, on the last
//! street in order of strength, so that prefix sums run along the row. Reach and values between streets are in the game's own numbers.
//!
//! Updates of regrets, for all algorithms, are in [`regret`](crate::cfr::regret).

mod averaging;
mod block;
mod down;
mod eval;
pub mod gadget;
mod hands;
mod instantiate;
pub mod layout;
mod nodes;
mod numbers;
mod pass;
pub mod returns;
pub mod sample;
mod strategy;
mod tables;
mod up;

#[cfg(not(target_arch = "nvptx64"))]
pub use instantiate::{Any, PassKernels, StreetKernels};
pub use instantiate::{any_short, any_single, short, single};
pub use numbers::{F32, I16, scale_of};
pub use pass::{Passes, Where};

use crate::launch::LaunchShape;

crate::kernel_set! {
    /// The kernels that are the same for all ways to store.
    returns::cfr_street_return,
    sample::cfr_street_draw,
    sample::cfr_street_weigh,
    sample::cfr_street_next,
    gadget::cfr_street_gadget;
    ..instantiate
}

/// Most threads of a block: a multiprocessor then has 168 registers for each, which the interpreter of operations needs.
pub const MAX_THREADS: u32 = 384;

/// Blocks that share the hands of each of `n_subtrees` subtrees in rows of `stride` hands, on `n_multiprocessors`: one for each round of a block's threads if all of them find a multiprocessor, else one.
pub const fn parts(n_subtrees: u32, stride: u32, n_multiprocessors: u32) -> u32 {
    let rounds = stride.div_ceil(threads(stride));
    if n_subtrees <= n_multiprocessors / rounds { rounds } else { 1 }
}

/// Threads of a block for rows of `stride` hands: the fewest rounds over the row, evenly filled.
pub const fn threads(stride: u32) -> u32 {
    let warps = stride.div_ceil(layout::ROW);
    let rounds = warps.div_ceil(MAX_THREADS / layout::ROW);
    warps.div_ceil(rounds) * layout::ROW
}

/// Launch shape for `n_games` games of at most `n_subtrees` boards × entries, in `n_parts` blocks each, rows of at most `stride` hands and `n_shared` values of shared memory.
pub const fn shape(n_subtrees: u32, n_parts: u32, n_games: u32, stride: u32, n_shared: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_subtrees * n_parts, n_games, threads(stride)).with_shared(n_shared * 4)
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    /// Rows that take 1, 2 and 3 rounds of a block's threads, at the ends of each.
    const ROWS: [(u32, u32); 6] = [(32, 1), (384, 1), (416, 2), (768, 2), (800, 3), (1152, 3)];

    #[test]
    fn blocks_have_a_round_each_where_all_find_a_multiprocessor() {
        for (stride, rounds) in ROWS {
            let threads = threads(stride);
            assert!(threads <= MAX_THREADS && threads.is_multiple_of(layout::ROW), "{stride}: {threads}");
            assert!(rounds * threads >= stride && (rounds - 1) * threads < stride, "{stride}: {threads}");
            // What is left over of the multiprocessors is too little for one more subtree.
            for n_multiprocessors in [rounds, 2 * rounds + 1, 132] {
                let most = n_multiprocessors / rounds;
                for (n_subtrees, expected) in [(1, rounds), (most, rounds), (most + 1, 1), (u32::MAX, 1)] {
                    let found = parts(n_subtrees, stride, n_multiprocessors);
                    assert_eq!(found, expected, "{n_subtrees} of {stride} on {n_multiprocessors}");
                }
            }
            // Too few for a single subtree.
            assert_eq!(parts(1, stride, rounds - 1), 1);
        }
    }
}
