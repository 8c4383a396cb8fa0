//! The pass on all cores, looking only at what differs between a parent's list and its children's.
//!
//! *Single* features belong to one piece and the kings. A child adds those of its new numbers and takes away those of the old ones; where a king moves and features
//! know the kings, all pieces are counted anew.
//!
//! *Pairs* of a perspective know its own king. A child whose king stays takes away the rows of its old numbers (a number's pairs with all others of the
//! parent's list, summed once a parent) and adds pairs of the new ones; where the own king moves, all pairs are counted anew.
//!
//! The gradient goes the same ways with whole numbers. What children take away is first summed for each slot of the parent's list, so that a parent's old pairs are
//! touched once, not once a child.

use std::sync::atomic::{AtomicI64, Ordering};

use rayon::prelude::*;

use super::features::{MATERIAL, NUMBERS, PAIRS, View, each_of_piece, lowered, pair, piece};
use super::judge::{Loss, Totals, judge};
use super::{Columns, Set};

/// Slots for pieces.
const PIECES: usize = 38;
/// Slots of the kings.
const KINGS: [usize; 2] = [38, 39];

/// The numbers of all pieces for pairs, from each side's view, plain and mirrored; 0 for none.
struct Tables([[Vec<u16>; 2]; 2]);

impl Tables {
    fn new() -> Self {
        let table = |side, mirrored| {
            let view = View { side, mirrored };
            let seen = |number| piece(number).map_or(0, |piece| lowered(&view.piece(&piece)) as u16);
            (0..NUMBERS as u16).map(seen).collect()
        };
        Self([0, 1].map(|side| [false, true].map(|mirrored| table(side, mirrored))))
    }
}

/// Data that all threads read.
struct Shared<'a> {
    set: Set,
    weights: &'a [f32],
    columns: &'a Columns<'a>,
    loss: &'a Loss,
    gradient: Option<&'a [AtomicI64]>,
    tables: Tables,
}

/// Lists of one thread, kept between parents.
#[derive(Default)]
struct Scratch {
    evaluations: Vec<f64>,
    slopes: Vec<i64>,
}

/// [`pass`](super::pass) in parallel by rayon: the same totals, and the same sums added to `gradient`.
///
/// # Panics
/// As [`pass`](super::pass).
pub fn pass(set: Set, weights: &[f32], columns: &Columns<'_>, loss: &Loss, gradient: Option<&[AtomicI64]>) -> Totals {
    let shared = Shared { set, weights, columns, loss, gradient, tables: Tables::new() };
    (0..columns.n_parents())
        .into_par_iter()
        .with_min_len(8)
        .map_init(Scratch::default, |scratch, parent| shared.parent(parent, scratch))
        .reduce(Totals::default, |mut sum, totals| {
            sum += totals;
            sum
        })
}

/// A list in one perspective, for pairs.
struct Seen<'a> {
    /// Offset of the row of the king's square.
    row: usize,
    /// Numbers in this view.
    table: &'a [u16],
    /// The numbers of the list, 0 for none.
    numbers: [u16; PIECES],
}

impl<'a> Seen<'a> {
    fn new(tables: &'a Tables, side: usize, list: &[u16; 40]) -> Self {
        let king = usize::from(list[KINGS[side]]);
        let view = View::of(side, king);
        let table = &tables.0[side][usize::from(view.mirrored)][..];
        let numbers = std::array::from_fn(|slot| table[usize::from(list[slot])]);
        Self { row: MATERIAL + view.square(king) * PAIRS, table, numbers }
    }

    /// The weight of two numbers.
    fn offset(&self, u: u16, v: u16) -> usize {
        self.row + pair(usize::from(u), usize::from(v))
    }

    /// Visits the pairs of `number` with all other slots' numbers, except those of `without` (one bit per slot).
    fn each_with(&self, number: u16, without: u64, mut visit: impl FnMut(usize)) {
        if number != 0 {
            for (slot, &other) in self.numbers.iter().enumerate() {
                if other != 0 && without >> slot & 1 == 0 {
                    visit(self.offset(number, other));
                }
            }
        }
    }

    /// Visits all pairs.
    fn each(&self, mut visit: impl FnMut(usize)) {
        for (later, &number) in self.numbers.iter().enumerate() {
            self.each_with(number, !0 << later, &mut visit);
        }
    }

    /// Visits the pairs that a child with these changes has and the parent does not have. The own king does not move.
    fn each_new(&self, changes: impl Iterator<Item = (usize, u16)> + Clone, mut visit: impl FnMut(usize)) {
        let pieces = changes.filter(|change| change.0 < PIECES);
        let changed = pieces.clone().fold(0, |changed: u64, (slot, _)| changed | 1 << slot);
        let mut rest = pieces;
        while let Some((_, number)) = rest.next() {
            let number = self.table[usize::from(number)];
            self.each_with(number, changed, &mut visit);
            for (_, other) in rest.clone() {
                let other = self.table[usize::from(other)];
                if number != 0 && other != 0 {
                    visit(self.offset(number, other));
                }
            }
        }
    }
}

impl Shared<'_> {
    fn parent(&self, parent: usize, scratch: &mut Scratch) -> Totals {
        let children = self.columns.children(parent);
        scratch.evaluations.clear();
        scratch.evaluations.resize(children.len(), 0.0);
        self.evaluate_singles(parent, &mut scratch.evaluations);
        if self.set == Set::KingPiecePiece {
            for side in 0..2 {
                self.evaluate_pairs(parent, side, &mut scratch.evaluations);
            }
        }
        if self.columns.sides[parent] != 0 {
            for evaluation in &mut scratch.evaluations {
                *evaluation = -*evaluation;
            }
        }
        let totals = judge(self.columns, parent, &scratch.evaluations, self.loss, &mut scratch.slopes);
        if let Some(gradient) = self.gradient {
            let sign = i64::from(self.columns.sign(parent));
            for slope in &mut scratch.slopes {
                *slope *= sign;
            }
            self.descend_singles(parent, &scratch.slopes, gradient);
            if self.set == Set::KingPiecePiece {
                for side in 0..2 {
                    self.descend_pairs(parent, side, &scratch.slopes, gradient);
                }
            }
        }
        totals
    }

    /// Whether a child's single features are counted anew.
    fn anew(&self, child: usize) -> bool {
        matches!(self.set, Set::KingPiece | Set::KingKingPiece)
            && self.columns.changes_of(child).any(|(slot, _)| slot >= PIECES)
    }

    /// Visits the single features of a number in a list with these kings.
    fn each_single(&self, kings: [usize; 2], number: u16, visit: impl FnMut(usize, i32)) {
        if let Some(piece) = piece(number) {
            each_of_piece(self.set, kings, &piece, visit);
        }
    }

    fn single(&self, kings: [usize; 2], number: u16) -> f64 {
        let mut sum = 0.0;
        self.each_single(kings, number, |index, sign| sum += f64::from(sign) * f64::from(self.weights[index]));
        sum
    }

    /// Adds f(child) − f(parent) of the single features.
    fn evaluate_singles(&self, parent: usize, evaluations: &mut [f64]) {
        let list = &self.columns.pieces[parent];
        let kings = kings(list);
        let old: [f64; PIECES] = std::array::from_fn(|slot| self.single(kings, list[slot]));
        let whole: f64 = old.iter().sum();
        for (child, evaluation) in self.columns.children(parent).zip(evaluations) {
            if self.anew(child) {
                let list = self.columns.list(parent, child);
                let new: f64 = list[..PIECES].iter().map(|&number| self.single(self::kings(&list), number)).sum();
                *evaluation += new - whole;
            } else {
                for (slot, number) in self.columns.changes_of(child).filter(|change| change.0 < PIECES) {
                    *evaluation += self.single(kings, number) - old[slot];
                }
            }
        }
    }

    /// Adds f(child) − f(parent) of the pairs that `side` sees.
    fn evaluate_pairs(&self, parent: usize, side: usize, evaluations: &mut [f64]) {
        let list = &self.columns.pieces[parent];
        let seen = Seen::new(&self.tables, side, list);
        let weight = |index: usize| f64::from(self.weights[index]);
        let whole = |seen: &Seen<'_>| {
            let mut sum = 0.0;
            seen.each(|index| sum += weight(index));
            sum
        };
        let mut rows = [None; PIECES];
        let mut of_parent = None;
        for (child, evaluation) in self.columns.children(parent).zip(evaluations) {
            let changes = self.columns.changes_of(child);
            let mut sum = 0.0;
            if changes.clone().any(|(slot, _)| slot == KINGS[side]) {
                let list = self.columns.list(parent, child);
                let before = *of_parent.get_or_insert_with(|| whole(&seen));
                sum = whole(&Seen::new(&self.tables, side, &list)) - before;
            } else {
                seen.each_new(changes.clone(), |index| sum += weight(index));
                let mut rest = changes.filter(|change| change.0 < PIECES);
                while let Some((slot, _)) = rest.next() {
                    let number = seen.numbers[slot];
                    sum -= *rows[slot].get_or_insert_with(|| {
                        let mut row = 0.0;
                        seen.each_with(number, 1 << slot, |index| row += weight(index));
                        row
                    });
                    for (other, _) in rest.clone() {
                        if number != 0 && seen.numbers[other] != 0 {
                            sum += weight(seen.offset(number, seen.numbers[other]));
                        }
                    }
                }
            }
            *evaluation += if side == 0 { sum } else { -sum };
        }
    }

    /// Adds the gradient of the single features. `slopes` are those of f, of all children.
    fn descend_singles(&self, parent: usize, slopes: &[i64], gradient: &[AtomicI64]) {
        let list = &self.columns.pieces[parent];
        let mut removed = [0; PIECES];
        for (child, &slope) in self.columns.children(parent).zip(slopes).filter(|(_, slope)| **slope != 0) {
            if self.anew(child) {
                let list = self.columns.list(parent, child);
                for (&number, removed) in list[..PIECES].iter().zip(&mut removed) {
                    *removed += slope;
                    self.each_single(kings(&list), number, |index, sign| {
                        add(gradient, index, i64::from(sign) * slope);
                    });
                }
            } else {
                for (slot, number) in self.columns.changes_of(child).filter(|change| change.0 < PIECES) {
                    removed[slot] += slope;
                    self.each_single(kings(list), number, |index, sign| {
                        add(gradient, index, i64::from(sign) * slope);
                    });
                }
            }
        }
        for (&number, &slope) in list.iter().zip(&removed).filter(|(_, slope)| **slope != 0) {
            self.each_single(kings(list), number, |index, sign| add(gradient, index, i64::from(-sign) * slope));
        }
    }

    /// Adds the gradient of the pairs that `side` sees.
    fn descend_pairs(&self, parent: usize, side: usize, slopes: &[i64], gradient: &[AtomicI64]) {
        let list = &self.columns.pieces[parent];
        let seen = Seen::new(&self.tables, side, list);
        let sign = if side == 0 { 1 } else { -1 };
        // A pair of slots loses the slopes of the children that change one or both, and of those whose king moves.
        let (mut everywhere, mut removed, mut both) = (0i64, [0i64; PIECES], Vec::new());
        for (child, &slope) in self.columns.children(parent).zip(slopes).filter(|(_, slope)| **slope != 0) {
            let slope = sign * slope;
            let changes = self.columns.changes_of(child);
            if changes.clone().any(|(slot, _)| slot == KINGS[side]) {
                everywhere += slope;
                let list = self.columns.list(parent, child);
                Seen::new(&self.tables, side, &list).each(|index| add(gradient, index, slope));
            } else {
                seen.each_new(changes.clone(), |index| add(gradient, index, slope));
                let mut rest = changes.filter(|change| change.0 < PIECES);
                while let Some((slot, _)) = rest.next() {
                    removed[slot] += slope;
                    both.extend(rest.clone().map(|(other, _)| (slot, other, slope)));
                }
            }
        }
        for (later, &number) in seen.numbers.iter().enumerate().filter(|(_, number)| **number != 0) {
            for (slot, &other) in seen.numbers[..later].iter().enumerate().filter(|(_, other)| **other != 0) {
                let slope = everywhere + removed[later] + removed[slot];
                if slope != 0 {
                    add(gradient, seen.offset(number, other), -slope);
                }
            }
        }
        for (slot, other, slope) in both {
            if seen.numbers[slot] != 0 && seen.numbers[other] != 0 {
                add(gradient, seen.offset(seen.numbers[slot], seen.numbers[other]), slope);
            }
        }
    }
}

fn kings(list: &[u16; 40]) -> [usize; 2] {
    KINGS.map(|slot| usize::from(list[slot]))
}

fn add(gradient: &[AtomicI64], index: usize, slope: i64) {
    gradient[index].fetch_add(slope, Ordering::Relaxed);
}
