//! The phases upwards: values of terminals, of decision nodes level by level, then regrets and the next strategies.

use super::arena::Arena;
use super::layout::{DEAL_WORDS, Game, MAX_STREETS, Seat, divide, list, node, outcome};
use super::sample::{Drawn, sampling};
use crate::cfr::regret::{Real, Step, probability};
use crate::cuda::{math, thread, warp};

/// What a pass does besides values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Nodes are worth what the seat's strategy makes of them.
    Strategy,
    /// Nodes are worth their best action; locked ones what their strategy makes of them.
    Best,
    /// As `Best`, and the strategy becomes that action.
    Respond,
}

/// Payoff of an outcome, chosen bit by bit: as a `match` it becomes a table of jumps, which lanes take one after the other.
#[device_inline]
fn payoff<T: Real>(outcome: u32, payoffs: [T; 3]) -> T {
    let odd = outcome & 1 != 0;
    let lost = if odd { payoffs[outcome::LOSE as usize - 1] } else { T::ZERO };
    let kept = if odd { payoffs[outcome::WIN as usize - 1] } else { payoffs[outcome::TIE as usize - 1] };
    if outcome & 2 != 0 { kept } else { lost }
}

const _: () = assert!(outcome::IMPOSSIBLE == 0 && outcome::LOSE == 1 && outcome::TIE == 2 && outcome::WIN == 3);

/// A node's word, taken apart: first action vector, actions, whether it is locked.
#[device_inline]
fn parts(word: u32) -> (u32, u32, bool) {
    let actions = word >> node::VECTOR_BITS & ((1 << node::ACTION_BITS) - 1);
    (word & ((1 << node::VECTOR_BITS) - 1), actions, word & node::LOCKED != 0)
}

impl<T: Real> Arena<T> {
    /// Where the values of `seat`'s nodes begin.
    #[device_inline]
    fn node_values(&self, game: &Game, seat: &Seat) -> u32 {
        game.most_hands + game.n_terminals * seat.n_hands
    }

    /// Value of a terminal to a hand: the other seat's hands one by one, in their order.
    ///
    /// `row` begins a row of reaches, `codes` the outcomes of the hand against them.
    #[device_inline]
    #[track_caller]
    fn against_all(&self, game: &Game, stride: u32, row: u32, codes: u32, payoffs: [T; 3]) -> T {
        let mut at = game.reach + row;
        let end = at + stride;
        let mut word = codes;
        let mut sum = T::ZERO;
        while at < end {
            let mut outcomes = self.words.get(word);
            let stop = if end - at < outcome::PER_WORD { end } else { at + outcome::PER_WORD };
            while at < stop {
                let reach =
                    [self.reals.get(at), self.reals.get(at + 1), self.reals.get(at + 2), self.reals.get(at + 3)];
                sum += reach[0] * payoff(outcomes & 3, payoffs);
                sum += reach[1] * payoff(outcomes >> 2 & 3, payoffs);
                sum += reach[2] * payoff(outcomes >> 4 & 3, payoffs);
                sum += reach[3] * payoff(outcomes >> 6 & 3, payoffs);
                outcomes >>= 8;
                at += 4;
            }
            word += 1;
        }
        sum
    }

    /// The same against what was drawn.
    ///
    /// As [`against_all`](Self::against_all), on board `board`; `hand` is the own one, and the deals are drawn for this seat.
    #[device_inline]
    #[track_caller]
    fn against_drawn(
        &self,
        game: &Game,
        other: &Seat,
        drawn: &Drawn,
        [row, codes, board, hand]: [u32; 4],
        payoffs: [T; 3],
    ) -> T {
        let mut of_all = T::ZERO;
        let mut sum = T::ZERO;
        let mut deal = 0;
        while deal < drawn.n_deals {
            let words = game.n_words + deal * DEAL_WORDS;
            let own = !sampling::draws_own(drawn.sampling) || self.words.get(words + drawn.seat) == hand;
            for street in 0..game.n_streets {
                if own && self.words.get(words + 2 + street) == board {
                    let factor = self.reals.get(game.factors + deal * MAX_STREETS as u32 + street);
                    if sampling::draws_other(drawn.sampling) {
                        let theirs = self.words.get(words + 1 - drawn.seat);
                        let outcomes = self.words.get(codes + theirs / outcome::PER_WORD);
                        let outcome = outcomes >> (2 * (theirs % outcome::PER_WORD)) & 3;
                        sum += factor * self.reals.get(game.reach + row + theirs) * payoff(outcome, payoffs);
                    } else {
                        of_all += factor;
                    }
                }
            }
            deal += 1;
        }
        if of_all > T::ZERO {
            sum = of_all * self.against_all(game, other.stride, row, codes, payoffs);
        }
        sum
    }

    /// Values of all terminals to `seat`'s hands.
    ///
    /// Called by every thread, behind a barrier after [`reaches`](Self::reaches) and, where something is sampled, after the draw.
    #[device_inline]
    #[track_caller]
    pub fn terminals(&self, game: &Game, seat: &Seat, other: &Seat, drawn: &Drawn) {
        let n = game.n_terminals * seat.n_hands;
        // The draw before the barrier asks the same: without this the barrier would come out twice.
        let sampling = math::opaque(drawn.sampling);
        let mut item = thread::thread_idx_x();
        while item < n {
            let (terminal, hand) = divide(item, seat.n_hands, seat.hands_factor);
            let packed = self.words.get(seat.terminals + terminal);
            let (row, board) = (packed & 0xFFFF, packed >> 16);
            let at = seat.payoffs + 3 * terminal;
            let payoffs = [self.reals.get(at), self.reals.get(at + 1), self.reals.get(at + 2)];
            let codes = seat.codes + (board * seat.n_hands + hand) * seat.code_words;
            let value = if sampling == sampling::NONE {
                self.against_all(game, other.stride, row, codes, payoffs)
            } else {
                self.against_drawn(game, other, drawn, [row, codes, board, hand], payoffs)
            };
            self.reals.set(game.most_hands + item, value);
            item += thread::block_dim_x();
        }
    }

    /// Sum of a list of values, for one hand.
    ///
    /// The plan's list number, a hand of the seat; what the list names is computed.
    #[device_inline]
    #[track_caller]
    fn sum_of_list(&self, seat: &Seat, number: u32, hand: u32) -> T {
        let word = self.words.get(seat.lists + number);
        let mut at = word & ((1 << list::START_BITS) - 1);
        let mut left = word >> list::START_BITS & ((1 << list::COUNT_BITS) - 1);
        let (step, plus) = if word & list::PERMUTED != 0 { (seat.n_hands, 0) } else { (1, hand) };
        if word & list::PERMUTED != 0 {
            at += hand;
        }
        let mut sum = T::ZERO;
        while left > 0 {
            let four = self.chunks.get(at);
            let first =
                self.reals.get(plus + (four & 0xFFFF) as u32) + self.reals.get(plus + (four >> 16 & 0xFFFF) as u32);
            let second =
                self.reals.get(plus + (four >> 32 & 0xFFFF) as u32) + self.reals.get(plus + (four >> 48) as u32);
            sum += first + second;
            at += step;
            left -= 1;
        }
        sum
    }

    /// Values of `seat`'s nodes of one level, and of their actions.
    ///
    /// Called by every thread, behind a barrier after the terminals and the level below.
    #[device_inline]
    #[track_caller]
    pub fn combine(&self, game: &Game, seat: &Seat, level: u32, choice: Choice) {
        let first = self.words.get(seat.levels + level);
        let n = (self.words.get(seat.levels + level + 1) - first) * seat.n_hands;
        let values = self.node_values(game, seat) + first * seat.n_hands;
        for item in thread::strided(thread::thread_idx_x(), n, thread::block_dim_x()) {
            let (node, hand) = divide(item, seat.n_hands, seat.hands_factor);
            let (vector, n_actions, locked) = parts(self.words.get(seat.nodes + first + node));
            let mut at = vector * seat.n_hands + hand;
            let (mut value, mut best, mut best_action) = (T::ZERO, T::ZERO, 0);
            for action in 0..n_actions {
                let of_action = self.sum_of_list(seat, vector + action, hand);
                self.reals.set(seat.last + at, of_action);
                value += self.reals.get(seat.strategy + at) * of_action;
                if action == 0 || of_action > best {
                    (best, best_action) = (of_action, action);
                }
                at += seat.n_hands;
            }
            if choice != Choice::Strategy && !locked {
                value = best;
                if choice == Choice::Respond {
                    let mut at = seat.strategy + vector * seat.n_hands + hand;
                    for action in 0..n_actions {
                        self.reals.set(at, if action == best_action { T::ONE } else { T::ZERO });
                        at += seat.n_hands;
                    }
                }
            }
            self.reals.set(values + item, value);
        }
    }

    /// Value of the whole game to `seat`, on every lane of the warp: hands weighted and added in a fixed order.
    ///
    /// Called by every lane of a warp, behind a barrier after all levels.
    #[device_inline]
    #[track_caller]
    pub fn root(&self, seat: &Seat) -> f64 {
        let mut sum = 0.0;
        let mut hand = thread::lane();
        while hand < seat.n_hands {
            let value = self.sum_of_list(seat, seat.n_vectors, hand);
            sum += self.reals.get(seat.weights + hand).to_f64() * value.to_f64();
            hand += thread::WARP;
        }
        warp::reduce(sum, |a, b| a + b)
    }

    /// Adds the pass's regrets, and makes the next strategy of them where `renews`.
    ///
    /// Called by every thread, behind a barrier after all levels.
    #[device_inline]
    #[track_caller]
    pub fn add_regrets(&self, game: &Game, seat: &Seat, step: &Step<T>, renews: bool) {
        let n = seat.n_nodes * seat.n_hands;
        let mut item = thread::thread_idx_x();
        let values = self.node_values(game, seat);
        while item < n {
            let (node, hand) = divide(item, seat.n_hands, seat.hands_factor);
            let (vector, n_actions, locked) = parts(self.words.get(seat.nodes + node));
            if !locked {
                let value = self.reals.get(values + item);
                let first = vector * seat.n_hands + hand;
                let mut at = first;
                for _ in 0..n_actions {
                    let gain = self.reals.get(seat.last + at) - value;
                    self.reals.set(seat.last + at, gain);
                    self.reals.set(seat.regrets + at, step.regret(self.reals.get(seat.regrets + at), gain));
                    at += seat.n_hands;
                }
                if renews {
                    self.normalise(seat, first, n_actions, |at| self.matched(seat, step, at));
                }
            }
            item += thread::block_dim_x();
        }
    }

    /// The strategy of a node and hand, whose first value among the seat's tables is `first`: in proportion to `weight` of each index, uniform where all are 0.
    ///
    /// Within the plan, and this thread's alone.
    #[device_inline]
    #[track_caller]
    fn normalise(&self, seat: &Seat, first: u32, n_actions: u32, weight: impl Fn(u32) -> T) {
        let mut sum = T::ZERO;
        let mut at = first;
        for _ in 0..n_actions {
            let weight = weight(at);
            self.reals.set(seat.strategy + at, weight);
            sum += weight;
            at += seat.n_hands;
        }
        let mut at = seat.strategy + first;
        for _ in 0..n_actions {
            self.reals.set(at, probability(self.reals.get(at), sum, n_actions));
            at += seat.n_hands;
        }
    }

    /// What the strategy is matched from at an index of the seat's tables.
    ///
    /// As [`normalise`](Self::normalise).
    #[device_inline]
    #[track_caller]
    fn matched(&self, seat: &Seat, step: &Step<T>, at: u32) -> T {
        let last = if step.predicts > T::ZERO { self.reals.get(seat.last + at) } else { T::ZERO };
        step.matched(self.reals.get(seat.regrets + at), last)
    }

    /// All strategies of a seat: from the averages where `averages` or the node is locked, else from the regrets. Locked nodes are left where `learnt_only`.
    ///
    /// Called by every thread, behind a barrier after the last change of regrets and averages and the last use of the strategies.
    #[device_inline]
    #[track_caller]
    pub fn strategies(&self, seat: &Seat, step: &Step<T>, averages: bool, learnt_only: bool) {
        let n = seat.n_nodes * seat.n_hands;
        let mut item = thread::thread_idx_x();
        while item < n {
            let (node, hand) = divide(item, seat.n_hands, seat.hands_factor);
            let (vector, n_actions, locked) = parts(self.words.get(seat.nodes + node));
            let first = vector * seat.n_hands + hand;
            if averages || locked {
                if !learnt_only || !locked {
                    self.normalise(seat, first, n_actions, |at| self.reals.get(seat.averages + at));
                }
            } else {
                self.normalise(seat, first, n_actions, |at| self.matched(seat, step, at));
            }
            item += thread::block_dim_x();
        }
    }
}
