//! The paper's learning: thirteen evaluations an iteration, then a step against the signs of the differences.

use std::ops::Range;

use super::Values;
use crate::shogi::ONE;

/// Parameters of the learning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Step Δ of the differences.
    pub delta: f64,
    /// First step h of the update.
    pub h: f64,
    /// Factor of h after each iteration.
    pub factor: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { delta: 0.05, h: 0.3, factor: 0.97 }
    }
}

/// The state before an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// J(v).
    pub j: f64,
    /// v.
    pub values: Values,
    /// The step of the next update.
    pub h: f64,
    /// J(v + Δ e) − J(v) for each value.
    pub differences: Values,
}

/// The sums for v itself and for v + Δ e of the features in `features` (of 0 to 12), in this order.
///
/// # Panics
/// If `features` ends after 12.
pub fn evaluations(
    mut sum: impl FnMut(&Values) -> i128,
    values: &Values,
    delta: f64,
    features: Range<usize>,
) -> Vec<i128> {
    let mut sums = vec![sum(values)];
    for feature in features {
        let mut raised = *values;
        raised[feature] += delta;
        sums.push(sum(&raised));
    }
    sums
}

/// Learns: `iterations` + 1 rows, the last one after all updates. `sum` is Σ T in multiples of 2⁻³⁶ over `children` children.
///
/// All values move at once, by h against the sign of their difference; a difference of exactly 0 raises the value.
pub fn learn(
    mut sum: impl FnMut(&Values) -> i128,
    children: u64,
    settings: &Settings,
    start: &Values,
    iterations: u32,
) -> Vec<Row> {
    let (mut values, mut h) = (*start, settings.h);
    let mut rows = Vec::new();
    for iteration in 0..=iterations {
        let sums = evaluations(&mut sum, &values, settings.delta, 0..12);
        let mean = |sum: i128| sum as f64 / ONE / children as f64;
        let differences: Values = std::array::from_fn(|feature| mean(sums[feature + 1] - sums[0]));
        rows.push(Row { j: mean(sums[0]), values, h, differences });
        if iteration < iterations {
            for (value, &raised) in values.iter_mut().zip(&sums[1..]) {
                *value -= if raised > sums[0] { h } else { -h };
            }
            h *= settings.factor;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::{Program, Sequential, pack};
    use super::*;

    #[test]
    fn a_tie_raises_and_a_loss_lowers() {
        // One child loses a rook, one wins a gold: the rook should rise, the gold fall, and nothing tells the others apart.
        let lost = pack(&[0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0]);
        let won = pack(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let rows = learn(|v| Sequential::differences(&[0, lost, won], v, 3.0), 3, &Settings::default(), &[1.0; 12], 2);
        assert_eq!(rows.len(), 3);
        let (h, values) = (rows[1].h, rows[2].values);
        assert_eq!(h, 0.3 * 0.97);
        assert_eq!(values[3], 1.0 - 0.3 - h);
        assert_eq!(values[5], 1.0 + 0.3 + h);
        assert_eq!(values[0], values[5]);
        assert!(rows[2].j < rows[0].j);
        assert_eq!(rows[0].differences[0], 0.0);
    }
}
