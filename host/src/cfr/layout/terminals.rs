//! Sums over the hands that an opponent can hold beside one's own: what the ends of a hand are made of.

use std::collections::HashMap;

use rayon::prelude::*;

use super::VectorGame;
use crate::cfr::game::cards::{CardSet, members};
use crate::cfr::game::ranking::Ranking;

/// Card removal by inclusion and exclusion: the weight of all hands that share no card with a hand is Σ over the sets S of its cards of (−1)^|S| · the
/// weight of the hands that contain S.
pub(in crate::cfr) struct Removal {
    /// Numbers of the sets of each hand's cards, by seat: `[hand][set]`, the empty set first.
    sets: [Vec<u32>; 2],
    /// Sign of each set of a hand.
    signs: Vec<f64>,
    n_sets: usize,
}

impl Removal {
    pub fn new(game: &VectorGame) -> Self {
        let (sets, n_sets) = number_sets(game, 1 << game.n_hole);
        let signs =
            (0..1u32 << game.n_hole).map(|chosen| if chosen.count_ones() % 2 == 0 { 1.0 } else { -1.0 }).collect();
        Self { sets, signs, n_sets }
    }

    /// Sums that are all 0.
    pub fn sums(&self) -> Vec<f64> {
        vec![0.0; self.n_sets]
    }

    fn of(&self, seat: usize, hand: usize) -> &[u32] {
        &self.sets[seat][hand * self.signs.len()..][..self.signs.len()]
    }

    /// Adds the weight of a seat's hand.
    pub fn add(&self, sums: &mut [f64], seat: usize, hand: usize, weight: f64) {
        for &set in self.of(seat, hand) {
            sums[set as usize] += weight;
        }
    }

    /// Weight of all hands added so far that are compatible with a seat's hand.
    pub fn beside(&self, sums: &[f64], seat: usize, hand: usize) -> f64 {
        self.of(seat, hand).iter().zip(&self.signs).map(|(&set, sign)| sign * sums[set as usize]).sum()
    }
}

/// Numbers the first `n` sets of each hand's cards, `[hand][set]` by seat; also returns how many numbers there are. Equal sets of different hands have one number.
///
/// Sets are in the order of their masks, of which bit `i` says whether the set has the hand's card `i`: the empty set comes first, as number 0, and that of all the hand's cards last, if `n` covers it.
pub(in crate::cfr) fn number_sets(game: &VectorGame, n: usize) -> ([Vec<u32>; 2], usize) {
    let mut numbers: HashMap<CardSet, u32> = HashMap::new();
    let mut sets_of = |hand: CardSet| -> Vec<u32> {
        let cards: Vec<u8> = members(hand).collect();
        let set =
            |mask: usize| (0..cards.len()).filter(|at| mask >> at & 1 != 0).fold(0, |set, at| set | 1u64 << cards[at]);
        (0..n)
            .map(|mask| {
                let next = numbers.len() as u32;
                *numbers.entry(set(mask)).or_insert(next)
            })
            .collect()
    };
    let sets = game.hands.each_ref().map(|hands| hands.iter().flat_map(|&hand| sets_of(hand)).collect());
    (sets, numbers.len())
}

/// The hands that a board leaves possible, by seat, with their strengths, the weakest first.
pub(in crate::cfr) type Shown = [Vec<(u32, u16)>; 2];

impl VectorGame {
    /// Strengths of a seat's hands on a board of the last street; larger is better, and 0 means a hand that the board blocks.
    pub fn strengths(&self, seat: usize, board: usize) -> Vec<u32> {
        self.strengths_by(&Ranking::new(self.deck), seat, board)
    }

    fn strengths_by(&self, ranking: &Ranking, seat: usize, board: usize) -> Vec<u32> {
        let cards = self.streets.last().map_or(0, |street| street.boards[board].cards);
        let strength = |&hand: &CardSet| if hand & cards == 0 { ranking.strength(hand | cards) } else { 0 };
        self.hands[seat].iter().map(strength).collect()
    }

    /// The order of hands at the showdown on every board of the last street.
    pub(in crate::cfr) fn shown(&self) -> Vec<Shown> {
        let ranking = Ranking::new(self.deck);
        let cards_of = |board: usize| self.streets.last().map_or(0, |street| street.boards[board].cards);
        let of_seat = |seat: usize, board: usize| {
            let strengths = self.strengths_by(&ranking, seat, board);
            let possible = |&hand: &usize| self.hands[seat][hand] & cards_of(board) == 0;
            let mut order: Vec<(u32, u16)> =
                (0..strengths.len()).filter(possible).map(|hand| (strengths[hand], hand as u16)).collect();
            order.sort_unstable();
            order
        };
        let n_boards = self.streets.last().map_or(0, |street| street.boards.len());
        (0..n_boards).into_par_iter().map(|board| [of_seat(0, board), of_seat(1, board)]).collect()
    }
}

/// Calls `each(hand, weaker, equal)` for every hand of `seat` that the board leaves possible, with the weights of the opponent's compatible hands that are weaker and that
/// are equal.
pub(in crate::cfr) fn showdown(
    removal: &Removal,
    shown: &Shown,
    seat: usize,
    reach: &[f64],
    mut each: impl FnMut(usize, f64, f64),
) {
    let other = &shown[1 - seat];
    // Beside a hand: the sums of the weaker ones, and of those that are not stronger.
    let (mut weaker, mut up_to) = (removal.sums(), removal.sums());
    let (mut n_weaker, mut n_up_to) = (0, 0);
    for &(strength, hand) in &shown[seat] {
        while let Some(&(_, opponent)) = other.get(n_weaker).filter(|other| other.0 < strength) {
            removal.add(&mut weaker, 1 - seat, opponent.into(), reach[usize::from(opponent)]);
            n_weaker += 1;
        }
        while let Some(&(_, opponent)) = other.get(n_up_to).filter(|other| other.0 <= strength) {
            removal.add(&mut up_to, 1 - seat, opponent.into(), reach[usize::from(opponent)]);
            n_up_to += 1;
        }
        let below = removal.beside(&weaker, seat, hand.into());
        each(hand.into(), below, removal.beside(&up_to, seat, hand.into()) - below);
    }
}
