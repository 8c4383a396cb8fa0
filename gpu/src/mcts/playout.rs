//! Playouts: uniformly random games from the node to be played, one a thread, and their results summed over the block.
//!
//! One block a node, one thread a playout (several playouts a thread where their words leave no room for so many threads). Each playout keeps a random
//! stream of its own from step to step, numbered by (tree, lane) in every variant, so that thrifty and prodigal launches give the same games.

use super::game::{Draw, Game, Outcome, Player, Playout, Scratch};
use super::rng::Stream;
use super::tree::{NOT_EXPANDED, PlayoutCounts, Trees, target};
use crate::cuda::shared::{self, Shared};
use crate::cuda::{block, memory, thread};
use crate::launch::LaunchShape;

/// Threads of a playout block for `m` playouts where a block may have `max_shared_bytes` of shared memory: one each, at least a warp (a reduction
/// needs it whole), and fewer where the playouts' words would not fit.
pub const fn block_size<G: Game>(m: u32, max_shared_bytes: u32) -> u32 {
    let mut threads = if m > thread::WARP { m } else { thread::WARP };
    // Beside the words there are the reduction's own 128 bytes.
    while threads > thread::WARP && shared_bytes::<G>(threads) + 128 > max_shared_bytes {
        threads /= 2;
    }
    threads
}

/// `x` × `y` blocks that play `m` games each, where a block may have `max_shared_bytes` of shared memory.
const fn blocks<G: Game>(x: u32, y: u32, m: u32, max_shared_bytes: u32) -> LaunchShape {
    let threads = block_size::<G>(m, max_shared_bytes);
    LaunchShape::grid_2d(x, y, threads).with_shared(shared_bytes::<G>(threads))
}

/// Launch shape of [`playout_ocp`]: one block a tree.
pub const fn shape_ocp<G: Game>(n_trees: u32, m: u32, max_shared_bytes: u32) -> LaunchShape {
    blocks::<G>(n_trees, 1, m, max_shared_bytes)
}

/// Launch shape of [`playout_acp_thrifty`] for a list of `n_children`: one block a child.
pub const fn shape_acp_thrifty<G: Game>(n_children: u32, m: u32, max_shared_bytes: u32) -> LaunchShape {
    blocks::<G>(n_children, 1, m, max_shared_bytes)
}

/// Launch shape of [`playout_acp_prodigal`]: one block for each tree and action.
pub const fn shape_acp_prodigal<G: Game>(n_trees: u32, m: u32, max_shared_bytes: u32) -> LaunchShape {
    blocks::<G>(n_trees, G::MAX_ACTIONS, m, max_shared_bytes)
}

/// Launch shape of [`raw_playouts`] for `n_blocks` blocks of `threads` threads, whole warps.
pub const fn shape_raw<G: Game>(n_blocks: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_blocks, threads).with_shared(shared_bytes::<G>(threads))
}

/// Launch shape of [`raw_restart`], which needs no playouts' words.
pub const fn shape_raw_restart(n_blocks: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_blocks, threads)
}

/// What words hold under `simt` before they are written: a game that reads them unwritten plays there as nowhere else.
#[cfg(not(target_arch = "nvptx64"))]
const UNWRITTEN: u32 = 0xdead_beef;

/// A playout's words in dynamic shared memory: word w of thread t at `w * threads + t`, so that a warp's accesses never meet in a bank.
///
/// Under `simt` they are the thread's own, which no other thread can see anyway: looking for races there would only take time. A word beyond those that
/// the game asked for is a fault there.
pub struct Words {
    #[cfg(target_arch = "nvptx64")]
    words: Shared<u32>,
    #[cfg(target_arch = "nvptx64")]
    stride: u32,
    #[cfg(target_arch = "nvptx64")]
    thread: u32,
    #[cfg(not(target_arch = "nvptx64"))]
    words: [u32; super::game::MAX_PLAYOUT_WORDS as usize],
    #[cfg(not(target_arch = "nvptx64"))]
    n_words: usize,
}

impl Words {
    /// This thread's words, `n_words` of them; the launch's dynamic shared memory must hold them for every thread.
    #[device_inline]
    pub fn new(n_words: u32) -> Self {
        let stride = thread::block_dim_x();
        let words: Shared<u32> = shared::dynamic(0, n_words * stride);
        #[cfg(target_arch = "nvptx64")]
        return Self { words, stride, thread: thread::thread_idx_x() };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = words;
            Self { words: [UNWRITTEN; super::game::MAX_PLAYOUT_WORDS as usize], n_words: n_words as usize }
        }
    }

    /// Where a word stands. A word that the game did not ask for ends at the last one instead of a neighbour's; under `simt` it is a fault.
    #[cfg(target_arch = "nvptx64")]
    #[device_inline]
    fn at(&self, word: u32) -> u32 {
        (word * self.stride + self.thread).min(self.words.len() - 1)
    }
}

impl Scratch for Words {
    #[device_inline]
    fn get(&self, word: u32) -> u32 {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: `at` is below the length.
        return unsafe { self.words.get_unchecked(self.at(word)) };
        #[cfg(not(target_arch = "nvptx64"))]
        self.words[..self.n_words][word as usize]
    }

    #[device_inline]
    fn set(&mut self, word: u32, value: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: `at` is below the length.
        unsafe {
            self.words.set_unchecked(self.at(word), value)
        };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.words[..self.n_words][word as usize] = value;
        }
    }
}

/// Dynamic shared memory of a playout kernel in bytes.
pub const fn shared_bytes<G: Game>(threads: u32) -> u32 {
    G::PLAYOUT_WORDS * threads * 4
}

/// What a finished game adds to the block's sum: wins of the first player in the low half, of the second in the high half.
#[device_inline]
const fn packed(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Win(Player::First) => 1,
        Outcome::Win(Player::Second) => 1 << 16,
        _ => 0,
    }
}

/// Plays `m` games from a position that stands at `outcome`, game `l` with stream `first_stream + l`, and writes their counts as number `slot`.
///
/// A thread plays game t, t + threads, …: one game where there are threads enough.
///
/// # Safety
/// Called by every thread of a block of whole warps. The streams and the slot exist and are this block's alone.
#[device_inline]
pub(super) unsafe fn play<G: Game>(
    trees: &Trees<G>,
    position: &G,
    outcome: Outcome,
    first_stream: usize,
    slot: usize,
    scratch: Shared<u32>,
) {
    let thread = thread::thread_idx_x();
    let mut mine = 0;
    if outcome.is_over() {
        // A finished game is its own playout, m times over.
        mine = if thread == 0 { packed(outcome) * trees.n_playouts } else { 0 };
    } else {
        let mut game = thread;
        while game < trees.n_playouts {
            // SAFETY: the block has a stream for each of its m games, and each game one thread.
            unsafe {
                let mut stream = Stream::load(trees.playout_streams, first_stream + game as usize);
                let playout = position.playout(&mut stream, &mut Words::new(G::PLAYOUT_WORDS));
                stream.store(trees.playout_streams, first_stream + game as usize);
                mine += packed(playout.outcome);
            }
            game += thread::block_dim_x();
        }
    }
    let sum = block::sum(mine, scratch);
    if thread == 0 {
        // SAFETY: the slot is there, and this block's.
        unsafe { memory::store(trees.outcomes, slot, PlayoutCounts { wins: [sum & 0xffff, sum >> 16] }) };
    }
}

/// Plays `m` games from a node of a tree.
///
/// # Safety
/// As [`play`]; the node exists and is not written meanwhile.
#[device_inline]
unsafe fn play_node<G: Game>(
    trees: &Trees<G>,
    tree: u32,
    node: u32,
    first_stream: usize,
    slot: usize,
    scratch: Shared<u32>,
) {
    // SAFETY: the node is there, and nobody writes it; streams and slot are this block's.
    unsafe {
        let outcome = trees.node(tree, node).outcome();
        let position = memory::load(trees.states, trees.at(tree, node));
        play(trees, &position, outcome, first_stream, slot, scratch);
    }
}

/// One child a tree: plays the child that expansion drew, or the selected node.
///
/// # Safety
/// Launched with [`shape_ocp`], one block a tree, after expansion with one child.
#[device_inline]
pub unsafe fn playout_ocp<G: Game>(trees: Trees<G>, scratch: Shared<u32>) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; streams [tree * m, + m) and slot (tree, 0) are this block's.
    unsafe {
        let head = trees.head(tree);
        let node = match head.target {
            target::ONE_CHILD => head.size - head.n_expanded + head.chosen,
            _ => head.selected,
        };
        let first_stream = tree as usize * trees.n_playouts as usize;
        play_node(&trees, tree, node, first_stream, trees.action_at(tree, 0), scratch);
    }
}

/// All children, a block for each tree and action: blocks without a child end at once.
///
/// # Safety
/// Launched with [`shape_acp_prodigal`], `(n_trees, B)` blocks, after expansion of all children with a rank for each action.
#[device_inline]
pub unsafe fn playout_acp_prodigal<G: Game>(trees: Trees<G>, scratch: Shared<u32>) {
    let (tree, action) = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: tree < n_trees and action < B by the launch shape.
    unsafe {
        let head = trees.head(tree);
        let rank = if head.target == target::CHILDREN {
            memory::load(trees.expanded, trees.action_at(tree, action))
        } else if action == 0 {
            0
        } else {
            NOT_EXPANDED
        };
        if rank == NOT_EXPANDED {
            return;
        }
        play_action(&trees, tree, action, rank as u32, scratch);
    }
}

/// All children, a block for each child: `children[block]` is (tree, rank); a tree that did not grow has one entry of rank 0.
///
/// # Safety
/// Launched with [`shape_acp_thrifty`], as many blocks as `children` has entries, after expansion of all children with the actions by rank.
#[device_inline]
pub unsafe fn playout_acp_thrifty<G: Game>(trees: Trees<G>, children: *const [u16; 2], scratch: Shared<u32>) {
    // SAFETY: the launch shape gives a block for each entry; entries are children that exist.
    unsafe {
        let [tree, rank] = memory::load(children, thread::block_idx_x() as usize);
        let (tree, rank) = (tree as u32, rank as u32);
        let action = match trees.head(tree).target {
            target::CHILDREN => memory::load(trees.expanded, trees.action_at(tree, rank)) as u32,
            _ => 0,
        };
        play_action(&trees, tree, action, rank, scratch);
    }
}

/// Plays the child of rank `rank` that `action` led to, or the selected node where the tree did not grow.
///
/// # Safety
/// As the callers: this block alone works on (tree, action).
#[device_inline]
unsafe fn play_action<G: Game>(trees: &Trees<G>, tree: u32, action: u32, rank: u32, scratch: Shared<u32>) {
    // SAFETY: streams [(tree * B + action) * m, + m) and slot (tree, action) are this block's.
    unsafe {
        let head = trees.head(tree);
        let node = match head.target {
            target::CHILDREN => head.size - head.n_expanded + rank,
            _ => head.selected,
        };
        let slot = trees.action_at(tree, action);
        play_node(trees, tree, node, slot * trees.n_playouts as usize, slot, scratch);
    }
}

/// Sums of raw playouts.
#[derive(Clone, Copy, Default)]
struct RawSums {
    first_wins: u64,
    second_wins: u64,
    draws: u64,
    plies: u64,
}

impl RawSums {
    #[device_inline]
    fn count(&mut self, playout: Playout) {
        match playout.outcome {
            Outcome::Win(Player::First) => self.first_wins += 1,
            Outcome::Win(Player::Second) => self.second_wins += 1,
            _ => self.draws += 1,
        }
        self.plies += playout.plies as u64;
    }

    /// Adds the sums of all threads to the totals, in the order of the fields.
    ///
    /// # Safety
    /// Called by every thread of the block; `totals` holds four values.
    #[device_inline]
    unsafe fn add_to(self, totals: *mut u64, scratch: Shared<u64>) {
        let add = |which: usize, mine: u64| {
            let sum = block::sum(mine, scratch);
            if thread::thread_idx_x() == 0 {
                // SAFETY: four totals; atomic, since every block adds.
                unsafe { crate::cuda::atomic::add_u64(totals.add(which), sum) };
            }
        };
        add(0, self.first_wins);
        add(1, self.second_wins);
        add(2, self.draws);
        add(3, self.plies);
    }
}

/// Raw playouts for comparison with the playout stage: every thread plays `n_games` games from one position by [`Game::playout`], one after another.
/// The lanes of a warp begin each game together.
///
/// `totals` gets wins of the first player, wins of the second, draws, plies, each summed over the grid.
///
/// # Safety
/// Launched with [`shape_raw`]. `streams` holds a stream for each thread of the grid, `totals` four values; `root` is one position that is not over.
#[device_inline]
pub unsafe fn raw_playouts<G: Game>(
    root: *const G,
    streams: *mut Stream,
    totals: *mut u64,
    n_games: u32,
    scratch: Shared<u64>,
) {
    let index = thread::index_1d() as usize;
    let mut sums = RawSums::default();
    // SAFETY: there is a stream for each thread of the grid and four totals, as the caller says; the root is one position.
    unsafe {
        let position = memory::load(root, 0);
        let mut stream = Stream::load(streams, index);
        let mut words = Words::new(G::PLAYOUT_WORDS);
        let mut game = 0;
        while game < n_games {
            sums.count(position.playout(&mut stream, &mut words));
            game += 1;
        }
        stream.store(streams, index);
        sums.add_to(totals, scratch);
    }
}

/// Raw playouts that never wait: a lane whose game is over begins its next one in the same turn of the loop, while its neighbours play on. Plies come
/// from [`Game::nth_playout_action`]. This is the fastest form for games whose positions fit in registers; the playout stage cannot use it,
/// since there each game has a stream, and a slot in the sums, of its own.
///
/// # Safety
/// As [`raw_playouts`], but launched with [`shape_raw_restart`].
#[device_inline]
pub unsafe fn raw_restart<G: Game>(
    root: *const G,
    streams: *mut Stream,
    totals: *mut u64,
    n_games: u32,
    scratch: Shared<u64>,
) {
    let index = thread::index_1d() as usize;
    let mut sums = RawSums::default();
    // SAFETY: there is a stream for each thread of the grid and four totals, as the caller says; the root is one position.
    unsafe {
        let start = memory::load(root, 0);
        let mut stream = Stream::load(streams, index);
        let mut position = start;
        let (mut plies, mut game) = (0, 0);
        while game < n_games {
            let n = position.n_playout_actions();
            let action = position.nth_playout_action(stream.below(n));
            position.apply(action);
            plies += 1;
            let outcome = position.outcome_after(action);
            if outcome.is_over() {
                sums.count(Playout { outcome, plies });
                (position, plies) = (start, 0);
                game += 1;
            }
        }
        stream.store(streams, index);
        sums.add_to(totals, scratch);
    }
}

/// One draw of a bounded number from each stream, for tests of the streams themselves.
///
/// # Safety
/// `streams` and `numbers` hold `n` values each; `bound` is at least 1.
#[device_inline]
pub unsafe fn draw_below(streams: *mut Stream, numbers: *mut u32, n: u32, bound: u32) {
    let Some(index) = thread::index_1d_below(n) else { return };
    // SAFETY: index < n; each stream and number belongs to one thread.
    unsafe {
        let mut stream = Stream::load(streams, index as usize);
        memory::store(numbers, index as usize, stream.below(bound));
        stream.store(streams, index as usize);
    }
}
