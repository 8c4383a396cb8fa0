//! The block's shared memory, and the phases downwards: reaches of one seat, averages of the other.
//!
//! A phase takes turns over its items, a thread an item; the caller puts a barrier between two.

use super::layout::{DEAL_WORDS, Game, Seat, divide, list};
use crate::cfr::regret::Real;
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::{memory, thread};

/// Values in shared memory at indices of the host's plan, which lies in the arena: whoever made that has vouched for it. Bounds are not looked at (`simt` does).
#[derive(Clone, Copy)]
pub struct Planned<T>(Shared<T>);

impl<T: Copy> Planned<T> {
    /// The value at an index of the plan.
    #[device_inline]
    #[track_caller]
    pub fn get(self, at: u32) -> T {
        // SAFETY: indices of the plan are below the lengths that it gives.
        unsafe { self.0.get_unchecked(at) }
    }

    /// Replaces it.
    #[device_inline]
    #[track_caller]
    pub fn set(self, at: u32, value: T) {
        // SAFETY: as in `get`.
        unsafe { self.0.set_unchecked(at, value) }
    }
}

/// The block's shared memory.
#[derive(Clone, Copy)]
pub struct Arena<T> {
    /// Sums of utilities, by seat.
    pub utilities: Planned<f64>,
    /// Numbers.
    pub reals: Planned<T>,
    /// Four indices each, the first in the lowest bits.
    pub chunks: Planned<u64>,
    /// Words.
    pub words: Planned<u32>,
}

impl<T: Real> Arena<T> {
    /// The dynamic shared memory of a launch with `Game::shared_bytes`, for `n_deals` deals.
    ///
    /// # Safety
    /// The game is as the host has planned it: the phases look up in the arena what its plan names, and nothing else.
    #[device_inline]
    pub unsafe fn new(game: &Game, n_deals: u32) -> Self {
        let (reals, chunks, words) = game.offsets(size_of::<T>() as u32);
        Self {
            utilities: Planned(dynamic(0, 2)),
            reals: Planned(dynamic(reals, game.n_reals)),
            chunks: Planned(dynamic(chunks, game.n_chunks)),
            words: Planned(dynamic(words, game.n_words + n_deals * DEAL_WORDS)),
        }
    }

    /// Copies what the host has made: chunks, words, weights and payoffs; and makes zeros and ones.
    ///
    /// # Safety
    /// Called by every thread; the arrays hold the game.
    #[device_inline]
    #[track_caller]
    pub unsafe fn load_plan(
        &self,
        game: &Game,
        seats: [Seat; 2],
        chunks: *const u64,
        words: *const u32,
        reals: *const T,
    ) {
        let (first, step) = (thread::thread_idx_x(), thread::block_dim_x());
        // SAFETY: the arrays hold the game from its offsets on; each element is copied by one thread.
        unsafe {
            for at in thread::strided(first, game.n_chunks, step) {
                self.chunks.set(at, memory::load(chunks, game.chunks_from as usize + at as usize));
            }
            for at in thread::strided(first, game.n_words, step) {
                self.words.set(at, memory::load(words, game.words_from as usize + at as usize));
            }
            for at in thread::strided(first, game.n_given_reals, step) {
                self.reals.set(game.given_reals + at, memory::load(reals, game.reals_from as usize + at as usize));
            }
            for at in thread::strided(first, game.most_hands, step) {
                self.reals.set(at, T::ZERO);
            }
            for seat in seats {
                for hand in thread::strided(first, seat.n_hands, step) {
                    self.reals.set(seat.strategy + seat.n_vectors * seat.n_hands + hand, T::ONE);
                }
            }
        }
    }

    /// Product of the seat's own strategies along a path.
    ///
    /// `row` is one of the seat's rows of reaches, `hand` one of its hands.
    #[device_inline]
    #[track_caller]
    fn along_path(&self, seat: &Seat, row: u32, hand: u32) -> T {
        let path = self.words.get(seat.paths + row);
        let mut at = path & ((1 << list::START_BITS) - 1);
        let end = at + (path >> list::START_BITS & ((1 << list::COUNT_BITS) - 1));
        let base = seat.strategy + hand;
        let mut product = T::ONE;
        while at < end {
            let four = self.chunks.get(at);
            let first =
                self.reals.get(base + (four & 0xFFFF) as u32) * self.reals.get(base + (four >> 16 & 0xFFFF) as u32);
            let second =
                self.reals.get(base + (four >> 32 & 0xFFFF) as u32) * self.reals.get(base + (four >> 48) as u32);
            product *= first * second;
            at += 1;
        }
        product
    }

    /// Reaches of `seat`, the one that does not learn in this pass, after each of its actions.
    ///
    /// Called by every thread, behind a barrier after the last change of its strategy and the last use of the reaches.
    #[device_inline]
    #[track_caller]
    pub fn reaches(&self, game: &Game, seat: &Seat) {
        let n = (seat.n_vectors + 1) * seat.stride;
        let mut item = thread::thread_idx_x();
        while item < n {
            let (row, hand) = divide(item, seat.stride, seat.stride_factor);
            let reach = if hand < seat.n_hands {
                self.reals.get(seat.weights + hand) * self.along_path(seat, row, hand)
            } else {
                T::ZERO
            };
            self.reals.set(game.reach + item, reach);
            item += thread::block_dim_x();
        }
    }

    /// Adds `weight` times the seat's own reach to its averages.
    ///
    /// As [`reaches`](Self::reaches).
    #[device_inline]
    #[track_caller]
    pub fn add_averages(&self, seat: &Seat, weight: T) {
        let n = seat.n_vectors * seat.n_hands;
        let mut item = thread::thread_idx_x();
        while item < n {
            let (vector, hand) = divide(item, seat.n_hands, seat.hands_factor);
            // The average of a locked action is its strategy and stays.
            if self.words.get(seat.paths + vector + 1) & list::LOCKED == 0 {
                let reach = self.reals.get(seat.weights + hand) * self.along_path(seat, vector + 1, hand);
                let at = seat.averages + item;
                self.reals.set(at, self.reals.get(at) + weight * reach);
            }
            item += thread::block_dim_x();
        }
    }
}
