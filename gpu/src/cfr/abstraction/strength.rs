//! Strength of every hand on a board against a uniformly drawn opponent, over run-outs: its sum and its histogram.
//!
//! One block, one board and a part of the run-outs; one thread, one hand at a time, which it compares with all others as they pass through shared memory in
//! tiles of a block's size.

use super::rank;
use crate::cuda::{DeviceArgs, atomic, kernel, math, memory, shared_array, sync, thread};
use crate::launch::LaunchShape;

/// Threads per block, and hands of a tile.
pub const BLOCK: u32 = 256;

/// Launch shape for so many boards, the run-outs in so many parts.
pub const fn shape(n_boards: u32, n_parts: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_boards, n_parts, BLOCK)
}

/// The cards of `left` whose numbers, counted from the lowest, are the bits of `mask`.
#[device_inline]
pub fn deposit(mask: u64, left: u64) -> u64 {
    let (mut mask, mut left, mut cards) = (mask, left, 0u64);
    while mask != 0 && left != 0 {
        if mask & 1 == 1 {
            cards |= left & left.wrapping_neg();
        }
        mask >>= 1;
        left &= left - 1;
    }
    cards
}

/// What the kernel works on. A hand's value on a full board is twice the opponents' hands it beats and once those it ties.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Boards.
    n_boards: u32
)]
#[require(n_bins >= 1 && most >= 1)]
pub struct Task {
    /// All hands, `[n_hands]`.
    #[len(n_hands)]
    pub hands: *const u64,
    /// Boards, one a block along x.
    #[len(n_boards)]
    pub boards: *const u64,
    /// Run-outs as numbers of the cards that a board leaves, `[n_runouts]`.
    #[len(n_runouts)]
    pub runouts: *const u64,
    /// Run-outs by value, `[board, hand, bin]`, added to; of hands that the board blocks nothing.
    #[len(n_boards * n_hands * n_bins)]
    pub histograms: *mut u32,
    /// Sums of values, `[board, hand]`, added to.
    #[len(n_boards * n_hands)]
    pub sums: *mut u64,
    /// All cards.
    pub deck: u64,
    /// Hands.
    pub n_hands: u32,
    /// Run-outs.
    pub n_runouts: u32,
    /// Bins of a histogram.
    pub n_bins: u32,
    /// The largest value: twice the hands that an opponent can have.
    pub most: u32,
    /// Suits of the deck.
    pub n_suits: u32,
    /// 1 where the deck has an ace.
    pub has_ace: u32,
}

const _: () = assert!(size_of::<Task>() == 72);

/// The bin of a value.
#[device_inline]
pub fn bin(value: u32, most: u32, n_bins: u32) -> u32 {
    let bin = (value as u64 * n_bins as u64 / most as u64) as u32;
    if bin < n_bins { bin } else { n_bins - 1 }
}

/// Adds the run-outs of a part to the sums and histograms of a board.
///
/// * Launch: [`shape`], boards along x, parts of the run-outs along y, 256 threads.
/// * Reads: `hands`, `boards`, `runouts`.
/// * Writes: `sums` and `histograms`, added to atomically.
/// * Shared: 3,072 bytes: cards and strengths of a tile of hands.
/// * Cost: run-outs of the part × ⌈hands / 256⌉ × hands comparisons a thread.
/// * Twin: `warpplay_cpu_ref::cfr::abstraction::strengths`.
/// * Source: Gilpin and Sandholm 2008.
///
/// # Safety
/// The boards are `n_boards`; everything `task` points to is valid for it, and sums and histograms are only added to meanwhile.
#[kernel(shape = |n_boards: u32, n_parts: u32| shape(n_boards, n_parts), max_threads = BLOCK, require = task.most > 0 && task.n_bins > 0)]
pub unsafe fn cfr_abstraction_strength(task: Task) {
    let masks = shared_array![u64; BLOCK as usize];
    let strengths = shared_array![u32; BLOCK as usize];
    let me = thread::thread_idx_x();
    let board_index = thread::block_idx_x() as usize;
    let has_ace = task.has_ace != 0;
    let n_tiles = task.n_hands.div_ceil(BLOCK);
    // SAFETY: the launch shape has a block for each board; runouts and hands are below the lengths of their lists, where they are read. A hand's values are added atomically.
    unsafe {
        // A hand of the list, or, where the list has ended or the cards on the board block it, one that every hand blocks.
        let hand_at = |hand: u32, full: u64| {
            let cards = if hand < task.n_hands { memory::load(task.hands, hand as usize) } else { u64::MAX };
            if cards & full == 0 { cards } else { u64::MAX }
        };
        let rank_of = |cards: u64, full: u64| {
            if cards == u64::MAX { 0 } else { rank::strength(cards | full, task.n_suits, has_ace) }
        };
        let board = memory::load(task.boards, board_index);
        for runout in thread::strided(thread::block_idx_y(), task.n_runouts, thread::grid_dim_y()) {
            let full = board | deposit(memory::load(task.runouts, runout as usize), task.deck & !board);
            for group in 0..n_tiles {
                let hand = group * BLOCK + me;
                let own = hand_at(hand, full);
                let strength = rank_of(own, full);
                let (mut wins, mut ties) = (0u32, 0u32);
                for tile in 0..n_tiles {
                    let other = hand_at(tile * BLOCK + me, full);
                    masks.set(me, other);
                    strengths.set(me, rank_of(other, full));
                    // The tile is complete.
                    sync::sync_threads();
                    for at in 0..BLOCK {
                        let (other, theirs) = (masks.get(at), strengths.get(at));
                        let apart = own & other == 0;
                        wins += (apart && theirs < strength) as u32;
                        ties += (apart && theirs == strength) as u32;
                    }
                    // Nobody reads the tile any more.
                    sync::sync_threads();
                }
                // Hidden from the compiler, which would else make a copy of the barriers for hands that do not count.
                let counts = math::opaque((own != u64::MAX) as u32) != 0;
                if counts {
                    let value = 2 * wins + ties;
                    let row = board_index * task.n_hands as usize + hand as usize;
                    let bin = bin(value, task.most, task.n_bins);
                    atomic::add_u64(task.sums.add(row), value as u64);
                    atomic::add_u32(task.histograms.add(row * task.n_bins as usize + bin as usize), 1);
                }
            }
        }
    }
}
