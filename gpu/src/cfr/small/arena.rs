//! The block's shared memory, and the phases downwards: reaches of one seat, averages of the other.
//!
//! A phase takes turns over its items, a thread an item; the caller puts a barrier between two.

use super::layout::{DEAL_WORDS, Game, Seat, divide, list};
use crate::cfr::regret::Real;
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::{memory, thread};

/// The block's shared memory. Indices come from the host's plan, so bounds are not looked at (`simt` does).
#[derive(Clone, Copy)]
pub struct Arena<T> {
    utilities: Shared<f64>,
    reals: Shared<T>,
    chunks: Shared<u64>,
    words: Shared<u32>,
}

impl<T: Real> Arena<T> {
    /// The dynamic shared memory of a launch with `Game::shared_bytes`, for `n_deals` deals.
    #[inline(always)]
    pub fn new(game: &Game, n_deals: u32) -> Self {
        let (reals, chunks, words) = game.offsets(size_of::<T>() as u32);
        Self {
            utilities: dynamic(0, 2),
            reals: dynamic(reals, game.n_reals),
            chunks: dynamic(chunks, game.n_chunks),
            words: dynamic(words, game.n_words + n_deals * DEAL_WORDS),
        }
    }

    /// A number.
    ///
    /// # Safety
    /// `at` lies in the arena, as with the four functions below.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn real(&self, at: u32) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.reals.get_unchecked(at) }
    }

    /// Writes a number.
    ///
    /// # Safety
    /// As [`real`](Self::real).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_real(&self, at: u32, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.reals.set_unchecked(at, value) }
    }

    /// A word.
    ///
    /// # Safety
    /// As [`real`](Self::real).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn word(&self, at: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.words.get_unchecked(at) }
    }

    /// Writes a word.
    ///
    /// # Safety
    /// As [`real`](Self::real).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_word(&self, at: u32, value: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.words.set_unchecked(at, value) }
    }

    /// A chunk: four indices, the first in the lowest bits.
    ///
    /// # Safety
    /// As [`real`](Self::real).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn chunk(&self, at: u32) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { self.chunks.get_unchecked(at) }
    }

    /// A sum of utilities.
    ///
    /// # Safety
    /// As [`real`](Self::real).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn utility(&self, at: u32) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { self.utilities.get_unchecked(at) }
    }

    /// Writes a sum of utilities.
    ///
    /// # Safety
    /// As [`real`](Self::real).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_utility(&self, at: u32, value: f64) {
        // SAFETY: the caller's promise.
        unsafe { self.utilities.set_unchecked(at, value) }
    }

    /// Copies what the host has made: chunks, words, weights and payoffs; and makes zeros and ones.
    ///
    /// # Safety
    /// Called by every thread; the arrays hold the game.
    #[inline(always)]
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
        // SAFETY: the caller vouches for the arrays; each element is copied by one thread.
        unsafe {
            for at in thread::strided(first, game.n_chunks, step) {
                self.chunks.set_unchecked(at, memory::load(chunks, game.chunks_from as usize + at as usize));
            }
            for at in thread::strided(first, game.n_words, step) {
                self.set_word(at, memory::load(words, game.words_from as usize + at as usize));
            }
            for at in thread::strided(first, game.n_given_reals, step) {
                self.set_real(game.given_reals + at, memory::load(reals, game.reals_from as usize + at as usize));
            }
            for at in thread::strided(first, game.most_hands, step) {
                self.set_real(at, T::ZERO);
            }
            for seat in seats {
                for hand in thread::strided(first, seat.n_hands, step) {
                    self.set_real(seat.strategy + seat.n_vectors * seat.n_hands + hand, T::ONE);
                }
            }
        }
    }

    /// Product of the seat's own strategies along a path.
    ///
    /// # Safety
    /// `row` is one of the seat's rows of reaches, `hand` one of its hands.
    #[inline(always)]
    #[track_caller]
    unsafe fn along_path(&self, seat: &Seat, row: u32, hand: u32) -> T {
        // SAFETY: the plan's paths; each fourth of a chunk is where a vector begins among the seat's strategies.
        unsafe {
            let path = self.word(seat.paths + row);
            let mut at = path & ((1 << list::START_BITS) - 1);
            let end = at + (path >> list::START_BITS & ((1 << list::COUNT_BITS) - 1));
            let base = seat.strategy + hand;
            let mut product = T::ONE;
            while at < end {
                let four = self.chunk(at);
                let first = self.real(base + (four & 0xFFFF) as u32) * self.real(base + (four >> 16 & 0xFFFF) as u32);
                let second = self.real(base + (four >> 32 & 0xFFFF) as u32) * self.real(base + (four >> 48) as u32);
                product *= first * second;
                at += 1;
            }
            product
        }
    }

    /// Reaches of `seat`, the one that does not learn in this pass, after each of its actions.
    ///
    /// # Safety
    /// Called by every thread, behind a barrier after the last change of its strategy and the last use of the reaches.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn reaches(&self, game: &Game, seat: &Seat) {
        let n = (seat.n_vectors + 1) * seat.stride;
        let mut item = thread::thread_idx_x();
        // SAFETY: rows and hands within the plan; hands beyond the seat's are the row's filling.
        unsafe {
            while item < n {
                let (row, hand) = divide(item, seat.stride, seat.stride_factor);
                let reach = if hand < seat.n_hands {
                    self.real(seat.weights + hand) * self.along_path(seat, row, hand)
                } else {
                    T::ZERO
                };
                self.set_real(game.reach + item, reach);
                item += thread::block_dim_x();
            }
        }
    }

    /// Adds `weight` times the seat's own reach to its averages.
    ///
    /// # Safety
    /// As [`reaches`](Self::reaches).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn add_averages(&self, seat: &Seat, weight: T) {
        let n = seat.n_vectors * seat.n_hands;
        let mut item = thread::thread_idx_x();
        // SAFETY: rows and hands within the plan; each average is one thread's.
        unsafe {
            while item < n {
                let (vector, hand) = divide(item, seat.n_hands, seat.hands_factor);
                // The average of a locked action is its strategy and stays.
                if self.word(seat.paths + vector + 1) & list::LOCKED == 0 {
                    let reach = self.real(seat.weights + hand) * self.along_path(seat, vector + 1, hand);
                    let at = seat.averages + item;
                    self.set_real(at, self.real(at) + weight * reach);
                }
                item += thread::block_dim_x();
            }
        }
    }
}
