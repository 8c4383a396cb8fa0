//! What is sampled in an iteration: boards, hands, or both; and the count of iterations.
//!
//! A board drawn counts as often as it was drawn, over how often that is expected: so the sums over boards keep their expectation. Draws are numbered, and
//! each is a function of seed, iteration and number alone.

use super::layout::{Board, Task, control};
use crate::cuda::view::Disjoint;
use crate::cuda::{DeviceArgs, atomic, kernel, memory, thread};
use crate::launch::LaunchShape;
use crate::split_mix::element;

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// What is drawn from.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
pub struct Draws {
    /// How often each board was drawn, then each hand; zero before.
    #[len(n_boards + n_hands[0] + n_hands[1])]
    pub counts: *mut u32,
    /// Members of the classes of boards up to and with each, among the children of the same parent.
    #[len(n_boards)]
    pub cumulative: *const u32,
    /// The children of each board as a range; one more at the end: the boards of the first street.
    #[len(n_boards + 1)]
    pub children: *const [u32; 2],
    /// Importance of each board.
    #[len(n_boards)]
    pub board_factors: *mut f32,
    /// Importance of each hand.
    #[len(n_hands[0] + n_hands[1])]
    pub hand_factors: *mut f32,
    /// The seed.
    pub seed: u64,
    /// Boards of all streets.
    pub n_boards: u32,
    /// Hands of each seat.
    pub n_hands: [u32; 2],
    /// Streets.
    pub n_streets: u32,
    /// Draws.
    pub batch: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Draws>() == 72);

/// Launch shape for `n` draws, or boards and hands.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n, BLOCK)
}

/// Number `of` of draw `draw` in iteration `iteration`, below `n`.
#[device_inline]
pub const fn drawn(seed: u64, iteration: u64, draw: u32, of: u32, n: u32) -> u32 {
    let word = element(element(element(seed, 0) ^ iteration, 0) ^ ((draw as u64) << 8 | of as u64), 0);
    (((word >> 32) * n as u64) >> 32) as u32
}

/// Draws a board of every street and a hand of each seat, and counts them.
///
/// * Launch: [`shape`], a thread a draw, blocks of 128.
/// * Reads: `children`, `cumulative`; iteration and step in `control`.
/// * Writes: `counts`, added to atomically.
/// * Shared: none.
/// * Cost: streets × log₂ of the boards of a street steps a thread.
/// * Twin: `warpplay_cpu_ref::cfr::vector::sampling::Draw::new`, with other random numbers.
/// * Source: Johanson et al. 2012.
///
/// # Safety
/// `draws` is the host's, its counts are 0.
#[kernel(shape = shape(draws.batch), max_threads = BLOCK)]
pub unsafe fn cfr_street_draw(task: Task, draws: Draws) {
    let Some(draw) = thread::index_1d_below(draws.batch) else { return };
    // SAFETY: the draw is below the batch and `draws` is the host's, as the kernel asks; ranges of children lie among the boards.
    unsafe {
        let word = |at: usize| memory::load(task.control, at) as u64;
        let iteration = word(control::ITERATION) + (word(control::ITERATION + 1) << 32) + word(control::STEP);
        let mut parent = draws.n_boards;
        let mut street = 0;
        while street < draws.n_streets {
            let [from, to] = memory::load(draws.children, parent as usize);
            let n = memory::load(draws.cumulative, to as usize - 1);
            let target = drawn(draws.seed, iteration, draw, street, n);
            // The first board whose cumulative number is beyond the number drawn.
            let (mut low, mut high) = (from, to - 1);
            while low < high {
                let middle = (low + high) / 2;
                if memory::load(draws.cumulative, middle as usize) > target {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            atomic::add_u32(draws.counts.add(low as usize), 1);
            parent = low;
            street += 1;
        }
        let first = draws.n_boards + drawn(draws.seed, iteration, draw, 64, draws.n_hands[0]);
        atomic::add_u32(draws.counts.add(first as usize), 1);
        let second = draws.n_boards + draws.n_hands[0] + drawn(draws.seed, iteration, draw, 65, draws.n_hands[1]);
        atomic::add_u32(draws.counts.add(second as usize), 1);
    }
}

/// Importance of boards, relative to their parents', and of hands.
///
/// * Launch: [`shape`], a thread a board or hand, blocks of 128.
/// * Reads: `counts`, `cumulative`, `children`, `boards`.
/// * Writes: `board_factors`, `hand_factors`.
/// * Shared: none.
/// * Cost: a quotient a thread.
/// * Twin: `warpplay_cpu_ref::cfr::vector::sampling::Draw::reach`, `warpplay_cpu_ref::cfr::vector::pass::Pass::drawn`.
/// * Source: Johanson et al. 2012.
///
/// # Safety
/// After the draws; `draws` is the host's; `task.boards` has the boards in the order of `draws`, street by street.
#[kernel(shape = shape(draws.n_boards + draws.n_hands[0] + draws.n_hands[1]), max_threads = BLOCK)]
pub unsafe fn cfr_street_weigh(task: Task, draws: Draws) {
    let Some(at) = thread::index_1d_below(draws.n_boards + draws.n_hands[0] + draws.n_hands[1]) else { return };
    // SAFETY: the board or hand is one of `draws`, which is the host's, as the kernel asks; each is one thread's.
    unsafe {
        let count = memory::load(draws.counts, at as usize) as f32;
        if at < draws.n_boards {
            let board: Board = memory::load(task.boards, at as usize);
            let [from, to] = memory::load(draws.children, board.parent_global as usize);
            let of_parent = if board.parent_global == draws.n_boards {
                draws.batch as f32
            } else {
                memory::load(draws.counts, board.parent_global as usize) as f32
            };
            let up_to = |board: u32| memory::load(draws.cumulative, board as usize);
            let members = up_to(at) - if at > from { up_to(at - 1) } else { 0 };
            let all = up_to(to - 1);
            let factor = if count > 0.0 { count / of_parent * (all as f32 / members as f32) } else { 0.0 };
            memory::store(draws.board_factors, at as usize, factor);
        } else {
            let hand = at - draws.n_boards;
            let n = if hand < draws.n_hands[0] { draws.n_hands[0] } else { draws.n_hands[1] };
            memory::store(draws.hand_factors, hand as usize, count * n as f32 / draws.batch as f32);
        }
    }
}

/// Moves on to the next iteration's step.
///
/// * Launch: one thread.
/// * Reads: the step in `words`.
/// * Writes: the step in `words`.
/// * Shared: none.
/// * Cost: one addition.
/// * Twin: `warpplay_cpu_ref::cfr::vector::solver::Solver::iterate`.
/// * Source: our own.
#[kernel(shape = LaunchShape::new(1, 1), max_threads = 1)]
pub fn cfr_street_next(#[len(control::WORDS)] mut words: Disjoint<u32>) {
    const { assert!(control::STEP == 0) };
    let Some(step) = thread::own_index_below(1) else { return };
    words.set(&step, words.get(&step) + 1);
}
