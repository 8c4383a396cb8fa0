//! What is known of every hand on every board: its position in the order of strength, what it beats, and the hands of each card.

use std::collections::HashMap;

use rayon::prelude::*;
use warpplay_gpu::cfr::street::layout::{BEGINS, MAX_CARDS, NO_CARD, NO_HAND, ROW, Record};
use warpplay_gpu::cuda::memory::Vec4;

use crate::cfr::game::cards::{CardSet, members};
use crate::cfr::game::ranking::Ranking;
use crate::cfr::layout::{Board, VectorGame};

/// The hands of all boards of a street.
#[derive(Clone, Debug, Default)]
pub(super) struct Hands {
    /// Whether both seats have the same hands and share one set of arrays.
    pub shared: bool,
    /// Number of hands that each board leaves possible, by seat.
    pub counts: Vec<[u32; 2]>,
    /// By seat, `[board][stride]`: number of each hand in the game.
    pub numbers: [Vec<u16>; 2],
    /// By seat, `[board][stride]`.
    pub records: [Vec<Record>; 2],
    /// By seat, `[board][row][BEGINS]`: row k has the position of each card's k-th hand, as far as it has one.
    pub lists: [Vec<u16>; 2],
    /// `[board][seat][BEGINS]`: for each card the number of hands of lower cards, where its prefix sums begin.
    pub begins: Vec<u16>,
}

/// Length of a row by seat: the largest number of hands that a board leaves possible, rounded up to whole warps.
pub(super) fn strides(game: &VectorGame, street: usize) -> [u32; 2] {
    let n_possible = |seat: usize| {
        let possible = |board: &Board| game.hands[seat].iter().filter(|&&hand| hand & board.cards == 0).count() as u32;
        game.streets[street].boards.par_iter().map(possible).max().unwrap_or(0)
    };
    [0, 1].map(|seat| n_possible(seat).max(1).div_ceil(ROW) * ROW)
}

/// Rows of a board's lists of hands by card: the most hands that share a card before any board.
pub(super) fn n_list_rows(game: &VectorGame) -> u32 {
    let of_seat = |hands: &Vec<CardSet>| {
        let mut n_with = [0; MAX_CARDS as usize];
        for card in hands.iter().flat_map(|&hand| members(hand)) {
            n_with[card as usize] += 1;
        }
        n_with.into_iter().max().unwrap_or(0)
    };
    game.hands.iter().map(of_seat).max().unwrap_or(0).max(1)
}

/// One seat's hands on a board, the weakest first, and the hands of each card.
struct Order {
    numbers: Vec<u16>,
    strengths: Vec<u32>,
    /// For each card the number of hands of lower cards; one more at the end.
    begins: Vec<u16>,
    /// Positions of the hands of each card.
    by_card: Vec<Vec<u16>>,
}

impl Order {
    fn new(game: &VectorGame, ranking: &Ranking, seat: usize, street: usize, board: usize) -> Self {
        let cards = game.streets[street].boards[board].cards;
        let is_last = street + 1 == game.streets.len();
        let mut hands: Vec<(u32, u16)> = (0u16..)
            .zip(&game.hands[seat])
            .filter(|&(_, &hand)| hand & cards == 0)
            .map(|(number, &hand)| (if is_last { ranking.strength(hand | cards) } else { 0 }, number))
            .collect();
        hands.sort_unstable();
        let mut by_card = vec![Vec::new(); MAX_CARDS as usize];
        for (position, &(_, number)) in (0u16..).zip(&hands) {
            for card in members(game.hands[seat][number as usize]) {
                by_card[card as usize].push(position);
            }
        }
        let mut begins = vec![0u16];
        for list in &by_card {
            begins.push(begins[begins.len() - 1] + list.len() as u16);
        }
        Self {
            numbers: hands.iter().map(|&(_, number)| number).collect(),
            strengths: hands.iter().map(|&(strength, _)| strength).collect(),
            begins,
            by_card,
        }
    }

    /// Numbers of hands weaker than `strength`, and of hands not stronger than it.
    fn below(&self, strength: u32) -> (u32, u32) {
        let weaker = self.strengths.partition_point(|&other| other < strength);
        (weaker as u32, self.strengths.partition_point(|&other| other <= strength) as u32)
    }

    /// The same among the hands with `card`, as indices of the prefix sums: a card's list has one more value than hands.
    fn below_with(&self, card: u8, strength: u32) -> (u32, u32) {
        let from = self.begins[card as usize];
        let list = &self.by_card[card as usize];
        let weaker = list.partition_point(|&position| self.strengths[position as usize] < strength);
        let equal = list.partition_point(|&position| self.strengths[position as usize] <= strength);
        let index = |n: usize| u32::from(from) + u32::from(card) + n as u32;
        (index(weaker), index(equal))
    }
}

/// The record of a hand of one seat with respect to the other seat's hands.
///
/// `same` is the position of the same hand of the other seat, or [`NO_HAND`].
fn record(own: &Order, position: usize, hand: CardSet, other: &Order, same: u16) -> Record {
    let strength = own.strengths[position];
    let pack = |(low, high): (u32, u32)| low | high << 16;
    let mut cards = members(hand);
    let (first, second) = (cards.next().unwrap_or(0), cards.next());
    let with_second = second.map_or((0, 0), |card| other.below_with(card, strength));
    // A hand of one card is taken away once, so nothing is to be given back.
    let same = second.map_or(NO_HAND, |_| u32::from(same));
    Vec4([
        pack(other.below(strength)),
        pack(other.below_with(first, strength)),
        pack(with_second),
        u32::from(first) | second.map_or(NO_CARD, u32::from) << 8 | same << 16,
    ])
}

impl Hands {
    /// Computes the hands of every board of a street on all threads.
    pub fn new(game: &VectorGame, street: usize) -> Self {
        let ranking = Ranking::new(game.deck);
        let stride = strides(game, street);
        let n_boards = game.streets[street].boards.len();
        let shared = game.hands[0] == game.hands[1];
        let of_lists = n_list_rows(game) as usize * BEGINS as usize;
        // Number of each hand among the other seat's.
        let twins = [0, 1].map(|seat| {
            let numbers: HashMap<CardSet, usize> = (game.hands[1 - seat].iter().copied()).zip(0..).collect();
            game.hands[seat].iter().map(|hand| numbers.get(hand).copied()).collect::<Vec<_>>()
        });
        let len = |seat: usize| if shared && seat == 1 { 0 } else { n_boards * stride[seat] as usize };
        let mut hands = Self {
            shared,
            counts: vec![[0; 2]; n_boards],
            numbers: [0, 1].map(|seat| vec![0; len(seat)]),
            records: [0, 1].map(|seat| vec![Record::default(); len(seat)]),
            lists: [0, 1].map(|seat| vec![0; if shared && seat == 1 { 0 } else { n_boards * of_lists }]),
            begins: vec![0; n_boards * 2 * BEGINS as usize],
        };
        let [numbers, other_numbers] = &mut hands.numbers;
        let [records, other_records] = &mut hands.records;
        let [lists, other_lists] = &mut hands.lists;
        let (first, second) = (stride[0] as usize, stride[1] as usize);
        // A shared second seat has empty arrays, which no chunk of a board may be asked of.
        let mut empty: Vec<(&mut [u16], &mut [Record], &mut [u16])> = Vec::with_capacity(n_boards);
        if shared {
            empty.extend((0..n_boards).map(|_| (&mut [][..], &mut [][..], &mut [][..])));
        } else {
            let rows = other_numbers.chunks_mut(second).zip(other_records.chunks_mut(second));
            empty.extend(rows.zip(other_lists.chunks_mut(of_lists)).map(|((a, b), c)| (a, b, c)));
        }
        numbers
            .par_chunks_mut(first)
            .zip(records.par_chunks_mut(first))
            .zip(lists.par_chunks_mut(of_lists))
            .zip(empty.par_iter_mut())
            .zip(hands.begins.par_chunks_mut(2 * BEGINS as usize))
            .zip(hands.counts.par_iter_mut())
            .enumerate()
            .for_each(|(board, (((((numbers, records), lists), other), begins), counts))| {
                let orders = [0, 1].map(|seat| Order::new(game, &ranking, seat, street, board));
                let fill = |seat: usize, numbers: &mut [u16], records: &mut [Record], lists: &mut [u16]| {
                    let (own, against) = (&orders[seat], &orders[1 - seat]);
                    // Positions of the other seat's hands by number.
                    let mut positions = vec![NO_HAND as u16; game.hands[1 - seat].len()];
                    for (position, &number) in (0..).zip(&against.numbers) {
                        positions[number as usize] = position;
                    }
                    numbers[..own.numbers.len()].copy_from_slice(&own.numbers);
                    for (position, to) in records[..own.numbers.len()].iter_mut().enumerate() {
                        let number = own.numbers[position] as usize;
                        let same = twins[seat][number].map_or(NO_HAND as u16, |twin| positions[twin]);
                        *to = record(own, position, game.hands[seat][number], against, same);
                    }
                    for (card, list) in own.by_card.iter().enumerate() {
                        for (row, &position) in list.iter().enumerate() {
                            lists[row * BEGINS as usize + card] = position;
                        }
                    }
                };
                fill(0, numbers, records, lists);
                if !shared {
                    fill(1, &mut *other.0, &mut *other.1, &mut *other.2);
                }
                for (seat, order) in orders.iter().enumerate() {
                    begins[seat * BEGINS as usize..][..order.begins.len()].copy_from_slice(&order.begins);
                    counts[seat] = order.numbers.len() as u32;
                }
            });
        hands
    }
}
