//! Values at the ends of the public tree.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::blockers::{Blockers, Sums};
use super::game::Game;
use crate::cfr::poker::strength;

/// Maximum number of the opponent's hands for which pairs of hands are compared one by one. That costs no more than the sums and keeps equal values exactly equal, where
/// differences of sums would leave rounding errors that affect regrets.
const FEW_HANDS: usize = 24;

/// Data of a game for evaluating ends, built once.
#[derive(Clone, Debug)]
pub(super) struct Terminals {
    pub blockers: Blockers,
    /// By board of the last round and seat: strength and number of each hand that the board leaves possible, the weakest first.
    orders: Vec<[Vec<(u32, u32)>; 2]>,
}

impl Terminals {
    pub fn new(game: &Game) -> Self {
        let order = |board: u64, seat: usize| {
            let hands = game.hands[seat].iter().enumerate().filter(|(_, hand)| *hand & board == 0);
            let mut order: Vec<(u32, u32)> =
                hands.map(|(number, hand)| (strength(hand | board, game.deck), number as u32)).collect();
            order.sort_unstable();
            order
        };
        let last = game.rounds.last().map_or(&[][..], |boards| boards);
        let orders = last.par_iter().map(|board| [order(board.cards, 0), order(board.cards, 1)]).collect();
        Self { blockers: Blockers::new(&game.hands), orders }
    }

    /// Counterfactual values of `seat`'s hands if each wins `payoff`, weighted by the opponent's `reach`. Hands that `board` blocks have 0.
    pub fn fold(&self, game: &Game, board: u64, seat: usize, payoff: f64, reach: &[f64]) -> Vec<f64> {
        let mut values = if reach.len() <= FEW_HANDS {
            let free = |hand: &u64| {
                let others = game.hands[1 - seat].iter().zip(reach);
                others.filter(|(other, _)| *other & hand == 0).map(|(_, reach)| reach).sum()
            };
            game.hands[seat].iter().map(free).collect()
        } else {
            self.blockers.free(seat, reach)
        };
        for (value, hand) in values.iter_mut().zip(&game.hands[seat]) {
            *value = if hand & board == 0 { *value * payoff } else { 0.0 };
        }
        values
    }

    /// The same at a showdown on a board of the last round; `payoffs` are for a win, a loss and a tie.
    pub fn showdown(&self, game: &Game, board: usize, seat: usize, payoffs: [f64; 3], reach: &[f64]) -> Vec<f64> {
        let (own, other) = (&self.orders[board][seat], &self.orders[board][1 - seat]);
        let mut values = vec![0.0; game.hands[seat].len()];
        if other.len() <= FEW_HANDS {
            for &(strength, hand) in own {
                let cards = game.hands[seat][hand as usize];
                let free = other.iter().filter(|(_, other)| game.hands[1 - seat][*other as usize] & cards == 0);
                values[hand as usize] = free
                    .map(|&(of_other, other)| {
                        let payoff = payoffs[match strength.cmp(&of_other) {
                            Ordering::Greater => 0,
                            Ordering::Less => 1,
                            Ordering::Equal => 2,
                        }];
                        payoff * reach[other as usize]
                    })
                    .sum();
            }
            return values;
        }
        let [win, lose, tie] = payoffs;
        let blockers = &self.blockers;
        let [mut all, mut weaker, mut not_stronger] = [Sums::default(), Sums::default(), Sums::default()];
        for sums in [&mut all, &mut weaker, &mut not_stronger] {
            sums.clear(blockers);
        }
        for &(_, hand) in other {
            all.add(blockers, 1 - seat, hand as usize, reach[hand as usize]);
        }
        let (mut n_weaker, mut n_not_stronger) = (0, 0);
        for &(strength, hand) in own {
            while n_weaker < other.len() && other[n_weaker].0 < strength {
                let number = other[n_weaker].1 as usize;
                weaker.add(blockers, 1 - seat, number, reach[number]);
                n_weaker += 1;
            }
            while n_not_stronger < other.len() && other[n_not_stronger].0 <= strength {
                let number = other[n_not_stronger].1 as usize;
                not_stronger.add(blockers, 1 - seat, number, reach[number]);
                n_not_stronger += 1;
            }
            let hand = hand as usize;
            let [all, up_to, below] = [&all, &not_stronger, &weaker].map(|sums| sums.free(blockers, seat, hand));
            values[hand] = win * below + tie * (up_to - below) + lose * (all - up_to);
        }
        values
    }
}
