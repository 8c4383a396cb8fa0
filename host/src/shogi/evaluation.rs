//! Thirteen sums, and what they mean for the next step.

use super::objective::{Row, Values};
use crate::{Error, Result};

/// The number 1 in the unit of sums.
pub(in crate::shogi) const ONE: f64 = warpplay_gpu::shogi::fixed::ONE;
/// One half in that unit: the term of a child without a difference in every sum.
pub(in crate::shogi) const HALF: i128 = 1 << 35;
/// Number of learnt values.
pub(in crate::shogi) const LEARNT: usize = 12;
/// Number of sums of an evaluation.
pub(in crate::shogi) const SUMS: usize = LEARNT + 1;

/// The objective at given values, and with each of them raised by a step Δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Σ T in multiples of 2⁻³⁶: at the values, then with each of the twelve raised.
    pub sums: [i128; SUMS],
    /// Children.
    pub children: u64,
}

impl Evaluation {
    /// The objective; NaN without children.
    pub fn j(&self) -> f64 {
        self.mean(self.sums[0])
    }

    /// `J(v + Δ e) − J(v)` for each value: the difference of two integers, divided once.
    pub fn differences(&self) -> Values {
        std::array::from_fn(|value| self.mean(self.sums[value + 1] - self.sums[0]))
    }

    /// Moves all values by `h` against the signs of the differences; a value whose difference is 0 rises.
    pub fn step(&self, values: &mut Values, h: f64) {
        for (value, &raised) in values.iter_mut().zip(&self.sums[1..]) {
            *value -= if raised > self.sums[0] { h } else { -h };
        }
    }

    fn mean(&self, sum: i128) -> f64 {
        sum as f64 / ONE / self.children as f64
    }

    /// The row of an iteration; `values` were evaluated, and `h` is the next step.
    pub fn row(&self, iteration: u32, values: Values, h: f64) -> Row {
        Row { iteration, j: self.j(), values, h, differences: self.differences() }
    }
}

/// Checks that there are children.
pub(in crate::shogi) fn check_children(children: u64) -> Result<()> {
    if children == 0 {
        return Err(Error::shape("children", "1 or more", 0));
    }
    Ok(())
}

/// Values with one of them raised by `delta`; unchanged for `None` and for an index that does not exist.
pub fn raised(values: &Values, value: Option<usize>, delta: f64) -> Values {
    let mut raised = *values;
    if let Some(value) = value.and_then(|value| raised.get_mut(value)) {
        *value += delta;
    }
    raised
}

/// Checks that a range of values exists.
///
/// # Errors
/// [`Error::Option`] for a range that is not in 0 to 12.
pub fn check_features(features: &std::ops::Range<usize>) -> Result<()> {
    if features.start > features.end || features.end > LEARNT {
        return Err(Error::option("features", format!("{features:?}"), "a range in 0..12"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_raise() {
        let mut sums = [10; SUMS];
        sums[1] = 11;
        sums[2] = 9;
        let evaluation = Evaluation { sums, children: 1 };
        let mut values = [1.0; 12];
        evaluation.step(&mut values, 0.25);
        assert_eq!(values[..3], [0.75, 1.25, 1.25]);
        assert_eq!(evaluation.differences()[..3], [1.0 / ONE, -1.0 / ONE, 0.0]);
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        assert!(check_features(&(0..12)).is_ok() && check_features(&(12..12)).is_ok());
        let error = check_features(&(3..13)).unwrap_err().to_string();
        assert_eq!(error, "option features: 3..13 is not allowed (a range in 0..12)");
        assert_eq!(check_children(0).unwrap_err().to_string(), "children: expected 1 or more, got 0");
    }
}
