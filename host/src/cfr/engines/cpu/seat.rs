//! The tables of a seat, and their parts that belong to some boards.

use std::mem::take;
use std::ops::Range;

use crate::cfr::layout::{Given, Number, VectorGame};

/// The tables of a seat, laid out as by [`VectorGame::offset`].
pub(super) struct Seat<T> {
    pub regrets: Vec<T>,
    pub averages: Vec<T>,
    /// Last regrets; empty unless the algorithm predicts.
    pub predictions: Vec<T>,
}

impl<T: Number> Seat<T> {
    pub fn new(game: &VectorGame, seat: usize, predicts: bool) -> Self {
        let n = game.table_len(seat);
        let mut averages = vec![T::default(); n];
        let n_hands = game.hands[seat].len();
        for (first, given) in game.given_rows(seat) {
            write_given(&mut averages[first..first + given.strategy.len() * n_hands], given);
        }
        Self { regrets: vec![T::default(); n], averages, predictions: vec![T::default(); if predicts { n } else { 0 }] }
    }

    /// A copy of the tables that the current strategy is matched from.
    pub fn strategy(&self) -> Self {
        Self { regrets: self.regrets.clone(), averages: Vec::new(), predictions: self.predictions.clone() }
    }

    /// The whole tables, for a pass that learns.
    pub fn part(&mut self) -> Part<'_, T> {
        Part { written: [&mut self.regrets, &mut self.averages, &mut self.predictions], first: 0 }
    }
}

/// Writes a given strategy over those of the hands that have it, one vector after the other.
pub(super) fn write_given<T: Number>(strategy: &mut [T], given: &Given) {
    for (played, vector) in strategy.chunks_exact_mut(given.hands.len().max(1)).zip(&given.strategy) {
        given.numbers().for_each(|hand| played[hand] = T::rounded(vector[hand]));
    }
}

/// The tables that a pass writes: rows of consecutive boards of one street, or of all streets at the start.
pub(super) struct Part<'a, T> {
    /// Regrets, averages and last regrets; or best responses and two empty slices. All non-empty slices have the same layout.
    pub written: [&'a mut [T]; 3],
    /// The first board.
    first: usize,
}

impl<'a, T: Number> Part<'a, T> {
    /// The whole table, for a pass that computes a best response.
    pub fn answer(answers: &'a mut [T]) -> Self {
        Self { written: [answers, &mut [], &mut []], first: 0 }
    }

    /// No table, for a pass that writes none.
    pub fn none() -> Self {
        Self { written: [&mut [], &mut [], &mut []], first: 0 }
    }

    /// Divides the part by street, from the first on.
    pub fn by_street(self, game: &VectorGame, seat: usize) -> Vec<Part<'a, T>> {
        let mut rest = self.written;
        (0..game.streets.len())
            .map(|street| {
                let n = game.street_offset(seat, street + 1) - game.street_offset(seat, street);
                Part { written: rest.each_mut().map(|rest| split_off(rest, n)), first: 0 }
            })
            .collect()
    }
}

/// Splits off the first `n` elements of a slice; nothing if it is empty.
fn split_off<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let n = n.min(rest.len());
    let (taken, left) = take(rest).split_at_mut(n);
    *rest = left;
    taken
}

/// Divides `parts`, which are those of `street` and the streets after it, among the boards `children` of `street`: for each child its own rows, then those of
/// the boards below it, street by street.
pub(super) fn divide<'a, T: Number>(
    game: &VectorGame,
    seat: usize,
    street: usize,
    children: Range<usize>,
    parts: &'a mut [Part<'_, T>],
) -> Vec<Vec<Part<'a, T>>> {
    let mut divided: Vec<Vec<Part<T>>> = children.clone().map(|_| Vec::with_capacity(parts.len())).collect();
    let mut ranges: Vec<Range<usize>> = children.map(|child| child..child + 1).collect();
    for (at, part) in parts.iter_mut().enumerate() {
        let row = game.streets[street + at].n_slots[seat] as usize * game.hands[seat].len();
        let mut rest = part.written.each_mut().map(|written| &mut **written);
        let mut next = part.first;
        for (of_child, range) in divided.iter_mut().zip(&ranges) {
            let skipped = (range.start - next) * row;
            for rest in &mut rest {
                split_off(rest, skipped);
            }
            next = range.end;
            let written = rest.each_mut().map(|rest| split_off(rest, range.len() * row));
            of_child.push(Part { written, first: range.start });
        }
        if let Some(below) = game.streets.get(street + at + 1) {
            let from = |parent: usize| below.boards.partition_point(|board| (board.parent as usize) < parent);
            for range in &mut ranges {
                *range = from(range.start)..from(range.end);
            }
        }
    }
    divided
}
