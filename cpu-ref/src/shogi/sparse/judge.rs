//! Which children count, what they cost, and how the played move ranks.

use super::Columns;
use crate::shogi::{fixed, sigmoid};
use crate::split_mix::{INCREMENT, finalize};

/// Which children count and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Slope of the sigmoid.
    pub a: f64,
    /// Siblings whose evaluation differs from child 0's by more than this do not count.
    pub window: f64,
    /// Maximum number of siblings of a parent that count, drawn by a hash; 0 for all.
    pub siblings: u32,
    /// Seed of the draw.
    pub seed: u64,
}

/// Sums over children and parents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Σ T over the children that count, in multiples of 2⁻³⁶.
    pub loss: i128,
    /// Number of children that count.
    pub children: u64,
    /// Number of parents with at least one such child.
    pub parents: u64,
    /// Expected number of parents whose played move ranks first, ties broken at random, in multiples of 2⁻³⁶.
    pub first: i128,
    /// The same among the first three.
    pub first_three: i128,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.loss += other.loss;
        self.children += other.children;
        self.parents += other.parents;
        self.first += other.first;
        self.first_three += other.first_three;
    }
}

/// The number by which a sibling is drawn: the finaliser of SplitMix64 over seed, game, half-move and child.
fn lot(seed: u64, game: u64, ply: u16, child: u32) -> u64 {
    finalize(seed ^ game.wrapping_mul(INCREMENT) ^ u64::from(ply) << 32 ^ u64::from(child))
}

/// Which of `siblings` siblings (children 1, 2, …) are drawn: all, or the `loss.siblings` with the smallest lots.
pub fn draws(loss: &Loss, game: u64, ply: u16, siblings: usize) -> Vec<bool> {
    let most = loss.siblings as usize;
    if most == 0 || siblings <= most {
        return vec![true; siblings];
    }
    let mut lots: Vec<_> =
        (0..siblings).map(|sibling| (lot(loss.seed, game, ply, sibling as u32 + 1), sibling)).collect();
    lots.sort_unstable();
    let mut drawn = vec![false; siblings];
    for &(_, sibling) in &lots[..most] {
        drawn[sibling] = true;
    }
    drawn
}

/// Totals of one parent from y = σ (f(child) − f(parent)) of its children, and the slope of each child, the derivative of the loss with respect to its y, in multiples of 2⁻³⁶.
///
/// With x = y − y of child 0, child c costs T(x) and its slope is a T (1 − T); child 0 costs 1/2 and its slope is minus the sum of the others'. Rivals of the played
/// move are all other legal moves, whether they count or not: with `b` of them above it (x > 0) and `t − 1` equal, it is first with chance 1/t where b = 0, and
/// among the first three with chance (3 − b) / t, between 0 and 1.
pub fn judge(columns: &Columns<'_>, parent: usize, evaluations: &[f64], loss: &Loss, slopes: &mut Vec<i64>) -> Totals {
    slopes.clear();
    let Some((&played, siblings)) = evaluations.split_first() else { return Totals::default() };
    slopes.resize(evaluations.len(), 0);
    let drawn = draws(loss, columns.games[parent], columns.plies[parent], siblings.len());
    let mut totals = Totals { loss: i128::from(fixed(0.5)), children: 1, parents: 1, first: 0, first_three: 0 };
    let (mut above, mut equal, mut sum) = (0, 1, 0);
    for (sibling, (&evaluation, &drawn)) in siblings.iter().zip(&drawn).enumerate() {
        let x = evaluation - played;
        if drawn && x.abs() <= loss.window {
            let t = sigmoid(loss.a, x);
            totals.loss += i128::from(fixed(t));
            totals.children += 1;
            slopes[sibling + 1] = fixed(loss.a * t * (1.0 - t));
            sum += slopes[sibling + 1];
        }
        if sibling + 1 != usize::from(columns.played[parent]) {
            above += i32::from(x > 0.0);
            equal += i32::from(x == 0.0);
        }
    }
    slopes[0] = -sum;
    let equal = f64::from(equal);
    totals.first = i128::from(fixed(if above == 0 { 1.0 / equal } else { 0.0 }));
    totals.first_three = i128::from(fixed((f64::from(3 - above) / equal).clamp(0.0, 1.0)));
    totals
}
