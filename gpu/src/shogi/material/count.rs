//! Counts equal differences: the histogram, built on the GPU.
//!
//! Each block counts in an open-addressing table in shared memory: most of its words are among a few hundred, so that nearly every word is one read and one
//! atomic addition there, and the words of one pass over memory are all that the grid reads. Then the block adds its rows to one table in global memory.
//! A word of 0 is not counted: the host knows how many words there were.

use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::Shared;
use crate::cuda::view::{Atomic, Slice, View};
use crate::cuda::{atomic, kernel, shared_array, sync, thread};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 1024;
/// Rows of a block's table.
pub const ROWS: u32 = 2048;
/// Slots that are tried for a word in a block's table before it goes to the grid's.
const TRIES: u32 = 32;
/// Slots that are tried in the grid's table before it counts as full.
const GRID_TRIES: u32 = 128;

/// Launch shape with `blocks` blocks.
pub const fn shape(blocks: u32) -> LaunchShape {
    LaunchShape::new(blocks, BLOCK)
}

/// Where the search for a word begins. A product's high bits depend on all bits of its factor, so they become the low ones, which are taken first.
#[device_inline]
fn hash(word: u64) -> u32 {
    let mixed = (word as u32).wrapping_mul(0x9e37_79b1) ^ ((word >> 32) as u32).wrapping_mul(0x85eb_ca77);
    mixed.rotate_left(ROWS.ilog2())
}

/// The grid's table, of `mask + 1` slots, accessed in this way only while the kernel runs: its contract.
#[derive(Clone, Copy)]
struct Grid {
    words: *mut u64,
    counts: *mut u64,
    mask: u32,
}

impl Grid {
    /// Adds `count` of `word`; tells whether there was room.
    #[device_inline]
    fn add(self, word: u64, count: u64) -> bool {
        let mut slot = hash(word) & self.mask;
        for _ in 0..GRID_TRIES {
            // SAFETY: masked, so one of the slots; all access is atomic.
            unsafe {
                let at = self.words.add(slot as usize);
                let mut there = atomic::load_u64(at);
                if there == 0 {
                    there = atomic::compare_exchange_u64(at, 0, word);
                }
                if there == 0 || there == word {
                    atomic::add_u64(self.counts.add(slot as usize), count);
                    return true;
                }
            }
            slot = (slot + 1) & self.mask;
        }
        false
    }
}

/// Counts one of `word` in the block's table; tells whether there was room.
#[device_inline]
fn add_to_block(words: Shared<u64>, counts: Shared<u32>, word: u64) -> bool {
    let mut slot = hash(word) % ROWS;
    for _ in 0..TRIES {
        // A slot is set once: what is read is its word, or 0 for one that may be set by now. `simt`, which wants no reading beside writing, asks the
        // other way at once.
        #[cfg(target_arch = "nvptx64")]
        let mut there = words.get(slot);
        #[cfg(not(target_arch = "nvptx64"))]
        let mut there = 0;
        if there == 0 {
            there = atomic::shared_compare_exchange_u64(words, slot, 0, word);
        }
        if there == 0 || there == word {
            atomic::shared_add_u32(counts, slot, 1);
            return true;
        }
        slot = (slot + 1) % ROWS;
    }
    false
}

/// Counts equal differences: the words other than 0 in pairs of words.
///
/// * Launch: [`shape`], as many blocks as fit, 1024 threads.
/// * Reads: `pairs` `[n]`: two words each, an odd one made whole by 0.
/// * Writes: `words` and `counts` `[mask + 1]`, a power of two: the grid's table, 0 at the launch; `full`: 1 where it had too little room, and then the
///   counts are of no use. A block must see fewer than 2³² words.
/// * Shared: 24,576 bytes: a table of 2,048 words and counts.
/// * Cost: 8 bytes a word; a read and an atomic addition in shared memory, where the word is known there.
/// * Twin: `warpplay_cpu_ref::shogi::material::program::histogram_of`.
/// * Source: our own.
#[kernel(shape = |blocks: u32| shape(blocks), max_threads = BLOCK, require = mask.wrapping_add(1).is_power_of_two())]
pub fn shogi_material_count(
    #[len(n as usize)] pairs: Slice<Vec4>,
    n: u32,
    #[len(mask as usize + 1)] words: Atomic<u64>,
    #[len(mask as usize + 1)] counts: Atomic<u64>,
    mask: u32,
    #[len(1)] full: Atomic<u32>,
) {
    let (pairs, words, counts) = (pairs.pointer(), words.pointer(), counts.pointer());
    let block_words = shared_array![u64; ROWS as usize];
    let block_counts = shared_array![u32; ROWS as usize];
    for row in thread::strided(thread::thread_idx_x(), ROWS, BLOCK) {
        block_words.set(row, 0);
        block_counts.set(row, 0);
    }
    // The table must be empty before the first word.
    sync::sync_threads();
    let grid = Grid { words, counts, mask };
    let mut room = true;
    let count = |word: u64| word == 0 || add_to_block(block_words, block_counts, word) || grid.add(word, 1);
    let count_pair = |Vec4([a, b, c, d]): Vec4| count((b as u64) << 32 | a as u64) & count((d as u64) << 32 | c as u64);
    let stride = thread::grid_dim_x() as usize * BLOCK as usize;
    let n = n as usize;
    let mut at = thread::index_1d() as usize;
    // SAFETY: what is read is below `n`.
    unsafe {
        while at + stride < n {
            // Two loads under way; with two blocks a multiprocessor that is enough, and more would not fit the registers.
            let (first, second) = (memory::load_vec4(pairs.add(at)), memory::load_vec4(pairs.add(at + stride)));
            room &= count_pair(first);
            room &= count_pair(second);
            at += 2 * stride;
        }
        while at < n {
            room &= count_pair(memory::load_vec4(pairs.add(at)));
            at += stride;
        }
    }
    // The block's table is complete.
    sync::sync_threads();
    for row in thread::strided(thread::thread_idx_x(), ROWS, BLOCK) {
        let word = block_words.get(row);
        if word != 0 {
            room &= grid.add(word, block_counts.get(row) as u64);
        }
    }
    if !room {
        full.max(0, 1);
    }
}
