//! Deals drawn on the device, from a seed and counters alone: nothing is remembered from one iteration to the next.
//!
//! Every quantity is weighted with the inverse of its probability of being drawn, so that the mean over draws is the exact value of every set. Where hands are
//! drawn the boards must stand for themselves alone: under renamed suits not all hands are equally likely on a class's representative.

use super::arena::Arena;
use super::layout::{BoardRecord, DEAL_WORDS, Game, MAX_STREETS};
use crate::cfr::regret::Real;
use crate::cuda::{memory, thread};
use crate::split_mix::{GAMMA, element, mix};

/// What is drawn.
pub mod sampling {
    /// Nothing.
    pub const NONE: u32 = 0;
    /// Both hands and the boards.
    pub const CHANCE: u32 = 1;
    /// The boards.
    pub const PUBLIC: u32 = 2;
    /// The boards and the hand of the seat that does not learn.
    pub const OPPONENT_PUBLIC: u32 = 3;
    /// The boards and the hand of the seat that learns.
    pub const SELF_PUBLIC: u32 = 4;

    /// Whether the learning seat's hand is drawn.
    #[device_inline]
    pub const fn draws_own(sampling: u32) -> bool {
        sampling == CHANCE || sampling == SELF_PUBLIC
    }

    /// Whether the other seat's hand is drawn.
    #[device_inline]
    pub const fn draws_other(sampling: u32) -> bool {
        sampling == CHANCE || sampling == OPPONENT_PUBLIC
    }
}

/// The draw of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// One of [`sampling`].
    pub sampling: u32,
    /// Deals.
    pub n_deals: u32,
    /// The seat that learns.
    pub seat: u32,
    /// Which numbers: a hash of seed, iteration and seat.
    pub key: u64,
}

impl Drawn {
    /// Nothing drawn.
    pub const NOTHING: Self = Self { sampling: sampling::NONE, n_deals: 0, seat: 0, key: 0 };
}

/// The key of a pass.
#[device_inline]
pub fn key(seed: u64, iteration: u64, seat: u32) -> u64 {
    mix(element(seed, 0) ^ (2 * iteration + seat as u64))
}

/// Numbers of one deal: SplitMix64 from a state that is a hash.
struct Generator {
    state: u64,
}

impl Generator {
    /// A number below `n`; the bias is below n / 2³².
    #[device_inline]
    fn below(&mut self, n: u32) -> u32 {
        self.state = self.state.wrapping_add(GAMMA);
        (((mix(self.state) >> 32) * n as u64) >> 32) as u32
    }
}

impl<T: Real> Arena<T> {
    /// Draws the deals of a pass, a thread a deal.
    ///
    /// # Safety
    /// Called by every thread, behind a barrier after the last use of the deals before; `boards` and `hands` hold those of all games.
    #[device_inline]
    #[track_caller]
    pub unsafe fn draw(&self, game: &Game, drawn: &Drawn, boards: *const BoardRecord, hands: *const u64) {
        let mut deal = thread::thread_idx_x();
        // SAFETY: boards and hands are the game's, since indices are below their numbers; each deal is one thread's.
        unsafe {
            while deal < drawn.n_deals {
                let mut generator = Generator { state: mix(drawn.key ^ (deal as u64) << 40) };
                let words = game.n_words + deal * DEAL_WORDS;
                let n_hands = [game.seats[0].n_hands, game.seats[1].n_hands];
                let of_seats = [game.hands_from, game.hands_from + n_hands[0]];
                let mut dead = 0;
                let mut inverse = 1.0 / drawn.n_deals as f64;
                let mut drawn_hands = [0, 0];
                if drawn.sampling == sampling::CHANCE {
                    // The host has counted the pairs: there is one.
                    loop {
                        drawn_hands = [generator.below(n_hands[0]), generator.below(n_hands[1])];
                        let first = memory::load(hands, (of_seats[0] + drawn_hands[0]) as usize);
                        let second = memory::load(hands, (of_seats[1] + drawn_hands[1]) as usize);
                        dead = first | second;
                        if first & second == 0 {
                            break;
                        }
                    }
                    inverse *= game.n_pairs as f64;
                } else if drawn.sampling != sampling::PUBLIC {
                    let of_first = (drawn.seat == 0) == (drawn.sampling == sampling::SELF_PUBLIC);
                    let (n, from) = if of_first { (n_hands[0], of_seats[0]) } else { (n_hands[1], of_seats[1]) };
                    let hand = generator.below(n);
                    drawn_hands = if of_first { [hand, 0] } else { [0, hand] };
                    dead = memory::load(hands, (from + hand) as usize);
                    inverse *= n as f64;
                }
                self.words.set(words, drawn_hands[0]);
                self.words.set(words + 1, drawn_hands[1]);
                let (mut first, mut n) = (0, game.n_first_boards);
                for street in 0..game.n_streets {
                    let (board, record, n_open) = Self::draw_board(&mut generator, game, boards, dead, first, n);
                    inverse *= n_open as f64 / record.n_members as f64;
                    self.words.set(words + 2 + street, board);
                    self.reals.set(game.factors + deal * MAX_STREETS as u32 + street, T::from_f64(inverse));
                    (first, n) = (record.first_child, record.n_children);
                }
                deal += thread::block_dim_x();
            }
        }
    }

    /// One of the boards `first..first + n` that leave the cards of `dead` alone, by the number of boards that each stands for: its number, itself, and those
    /// that could have come.
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    #[device_inline]
    #[track_caller]
    unsafe fn draw_board(
        generator: &mut Generator,
        game: &Game,
        boards: *const BoardRecord,
        dead: u64,
        first: u32,
        n: u32,
    ) -> (u32, BoardRecord, u32) {
        // SAFETY: the boards from `first` on are the game's, which lie behind its offset.
        unsafe {
            let record = |board: u32| memory::load(boards, (game.boards_from + board) as usize);
            let mut n_open = 0;
            for board in first..first + n {
                let record = record(board);
                n_open += if record.cards & dead == 0 { record.n_members } else { 0 };
            }
            let mut left = generator.below(n_open);
            let mut board = first;
            let mut found = record(first);
            // The numbers of members add up to more than `left`, so one is found before the end.
            while board + 1 < first + n {
                if found.cards & dead == 0 {
                    if left < found.n_members {
                        break;
                    }
                    left -= found.n_members;
                }
                board += 1;
                found = record(board);
            }
            (board, found, n_open)
        }
    }
}
