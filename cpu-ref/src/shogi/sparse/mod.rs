//! Evaluations of many parameters, learnt along the analytic gradient.
//!
//! A position is a list of 40 numbers: 38 pieces in no particular order, then the squares of Black's and of White's king. The number of a piece:
//!
//! | numbers | what |
//! | --- | --- |
//! | 0 | no piece |
//! | 1 to 76 | in hand: of pawn (18), lance, knight, silver, gold (4 each), bishop, rook (2 each) Black's first, second, … and then White's |
//! | 77 to 2182 | on the board: `77 + (kind * 2 + side) * 81 + square`, squares `(file - 1) * 9 + (rank - 1)` |
//!
//! [`features`] says which weights a list has. The evaluation f is the sum of their values, positive where Black is better. A child is judged by
//! x = σ (f(child) − f(child 0)): see [`judge`]. [`pass`] does it by the definition: every list is added up whole. [`par::pass`] looks only at what differs
//! between lists, on all cores, and has the same bits: weights are multiples of 2⁻³⁰ below 2¹⁰, so that no sum of a few thousand is rounded in `f64`, and all
//! else that is added up is whole.

pub mod features;
pub mod par;

mod judge;
mod update;

pub use features::Set;
pub use judge::{Loss, Totals, draws, judge};
pub use update::{Optimizer, Update, par_scale, par_update, rounded, scale, update};

use features::each;

/// Positions and their moves, in columns.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// The list of each parent.
    pub pieces: &'a [[u16; 40]],
    /// The side to move: 0 Black, 1 White.
    pub sides: &'a [u8],
    /// Half-moves before the parent.
    pub plies: &'a [u16],
    /// Hash of the game.
    pub games: &'a [u64],
    /// First child of each parent, and the number of children: `[n_parents + 1]`.
    pub first_child: &'a [u32],
    /// Index of the played move's child among those of the legal moves, from 1.
    pub played: &'a [u16],
    /// First change of each child, and the number of changes: `[n_children + 1]`.
    pub first_change: &'a [u32],
    /// Changes to the parent's list: `slot << 16 | new number`.
    pub changes: &'a [u32],
}

impl<'a> Columns<'a> {
    /// Parents.
    pub fn n_parents(&self) -> usize {
        self.pieces.len()
    }

    /// Children of a parent.
    pub fn children(&self, parent: usize) -> std::ops::Range<usize> {
        self.first_child[parent] as usize..self.first_child[parent + 1] as usize
    }

    /// Changes of a child: slots and new numbers.
    pub fn changes_of(&self, child: usize) -> impl Iterator<Item = (usize, u16)> + Clone + use<'a> {
        let range = self.first_change[child] as usize..self.first_change[child + 1] as usize;
        self.changes[range].iter().map(|&change| ((change >> 16) as usize, change as u16))
    }

    /// The list of a child.
    pub fn list(&self, parent: usize, child: usize) -> [u16; 40] {
        let mut list = self.pieces[parent];
        for (slot, number) in self.changes_of(child) {
            list[slot] = number;
        }
        list
    }

    /// 1 if Black is to move in the parent, else -1.
    pub fn sign(&self, parent: usize) -> i32 {
        if self.sides[parent] == 0 { 1 } else { -1 }
    }
}

/// The evaluation of a position.
///
/// # Panics
/// If `weights` are not the set's, or the list is not a position's.
pub fn evaluate(set: Set, weights: &[f32], list: &[u16; 40]) -> f64 {
    let mut sum = 0.0;
    each(set, list, |index, sign| sum += f64::from(sign) * f64::from(weights[index]));
    sum
}

/// One pass over all parents by the definition. With `gradient`, the derivatives of the loss are added to it, in multiples of 2⁻³⁶, not divided by the number
/// of children.
///
/// # Panics
/// If `weights` or `gradient` are not the set's, or the columns are inconsistent.
pub fn pass(set: Set, weights: &[f32], columns: &Columns<'_>, loss: &Loss, mut gradient: Option<&mut [i64]>) -> Totals {
    let mut totals = Totals::default();
    let (mut evaluations, mut slopes) = (Vec::new(), Vec::new());
    for parent in 0..columns.n_parents() {
        let (children, sign) = (columns.children(parent), columns.sign(parent));
        let before = evaluate(set, weights, &columns.pieces[parent]);
        evaluations.clear();
        evaluations.extend(
            children
                .clone()
                .map(|child| f64::from(sign) * (evaluate(set, weights, &columns.list(parent, child)) - before)),
        );
        totals += judge(columns, parent, &evaluations, loss, &mut slopes);
        if let Some(gradient) = gradient.as_deref_mut() {
            for (child, &slope) in children.zip(&slopes).filter(|(_, slope)| **slope != 0) {
                each(set, &columns.list(parent, child), |index, of_feature| {
                    gradient[index] = gradient[index].wrapping_add(i64::from(sign * of_feature) * slope);
                });
            }
        }
    }
    totals
}

#[cfg(test)]
mod tests;
