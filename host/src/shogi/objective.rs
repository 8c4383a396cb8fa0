//! What is minimised, and the paper's way to do it.

use crate::{Error, Result};

/// The values that the paper learns: L N S G B R +P +L +N +S +B +R; the pawn's is 1.
pub type Values = [f64; 12];

/// Initial values, as in the paper.
pub const FIRST_VALUES: Values = [3.0; 12];

/// Maximum absolute value of a piece value and of each number of the objective, so that everything computed from them stays far from infinity.
pub const LARGEST: f64 = 1e6;

/// Smallest step of the differences: larger than the spacing of double-precision numbers at [`LARGEST`], so that it changes every value up to that size.
pub const SMALLEST_DELTA: f64 = 1e-9;

/// The objective and the update of the paper, equations (1) to (6).
///
/// `J(v) = Σ T(σ (f(child) − f(played child))) / K` over all `K` children with `T(x) = 1 / (1 + exp(−a x))`; after each iteration every value moves by `h` against the sign of
/// `J(v + Δ e) − J(v)` (an exact tie raises it), then `h` shrinks by its factor.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Objective {
    /// Slope `a` of the sigmoid.
    pub a: f64,
    /// Step `Δ` of the differences.
    pub delta: f64,
    /// First step `h` of the update.
    pub h: f64,
    /// Factor of `h` after each iteration, at most 1.
    pub factor: f64,
}

impl Default for Objective {
    /// The paper's: a = 3, Δ = 0.05, h = 0.3, factor 0.97.
    fn default() -> Self {
        Self { a: 3.0, delta: 0.05, h: 0.3, factor: 0.97 }
    }
}

impl Objective {
    /// Checks that all numbers are above 0 and at most [`LARGEST`], and that the factor is at most 1.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error) names the number.
    pub fn check(&self) -> Result<()> {
        // A factor above 1 would let steps and values grow without end.
        for (name, value, most) in [("a", self.a, LARGEST), ("h", self.h, LARGEST), ("factor", self.factor, 1.0)] {
            if !(value > 0.0 && value <= most) {
                return Err(Error::option(name, value, format!("a number above 0, at most {most}")));
            }
        }
        if !(SMALLEST_DELTA..=LARGEST).contains(&self.delta) {
            let allowed = format!("a number from {SMALLEST_DELTA:e} to {LARGEST}");
            return Err(Error::option("delta", self.delta, allowed));
        }
        Ok(())
    }
}

/// Checks that values are finite and at most [`LARGEST`] in size.
///
/// * `name`: the caller's name of the values
///
/// # Errors
/// [`Error::Option`](crate::Error) under this name, with the first such value.
pub fn check_values(name: &'static str, values: &Values) -> Result<()> {
    match values.iter().find(|value| value.is_nan() || value.abs() > LARGEST) {
        Some(value) => Err(Error::option(name, value, format!("numbers of at most {LARGEST} in size"))),
        None => Ok(()),
    }
}

/// One row of a trajectory: the state before an iteration.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Row {
    /// Number of updates before this state.
    pub iteration: u32,
    /// The objective.
    pub j: f64,
    /// The values.
    pub values: Values,
    /// The step of the next update.
    pub h: f64,
    /// `J(v + Δ e) − J(v)` for each value.
    pub differences: Values,
}

/// A selection of games or half-moves: from `start` to before `end`, every `step`-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Window {
    /// First.
    pub start: u32,
    /// One after the last.
    pub end: u32,
    /// Distance.
    pub step: u32,
}

impl Window {
    /// Whether it holds `number`.
    pub fn contains(&self, number: u32) -> bool {
        (self.start..self.end).contains(&number) && (number - self.start).is_multiple_of(self.step)
    }
}

impl std::str::FromStr for Window {
    type Err = Error;

    /// Reads `40..80` and `40..80/2`.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::option(
                "window",
                text,
                "START..END or START..END/STEP with START < END and STEP from 1, such as 40..80",
            )
        };
        let (range, step) = text.split_once('/').unwrap_or((text, "1"));
        let (start, end) = range.split_once("..").ok_or_else(bad)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| bad());
        let window = Self { start: number(start)?, end: number(end)?, step: number(step)? };
        if window.start < window.end && window.step > 0 { Ok(window) } else { Err(bad()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_infinity_is_refused() {
        let mut values = [LARGEST; 12];
        check_values("init", &values).unwrap();
        for (value, said) in [(f64::NAN, "NaN"), (-1e7, "-10000000"), (f64::INFINITY, "inf")] {
            values[4] = value;
            let error = check_values("init", &values).unwrap_err().to_string();
            assert_eq!(error, format!("option init: {said} is not allowed (numbers of at most 1000000 in size)"));
        }
        let objective = Objective { delta: 1e7, ..Objective::default() };
        let error = objective.check().unwrap_err().to_string();
        assert_eq!(error, "option delta: 10000000 is not allowed (a number from 1e-9 to 1000000)");
    }

    #[test]
    fn a_difference_changes_every_value() {
        const { assert!(LARGEST - SMALLEST_DELTA < LARGEST) };
        for delta in [0.0, 1e-300, f64::NAN] {
            assert!(Objective { delta, ..Objective::default() }.check().is_err(), "{delta}");
        }
        assert!(Objective { delta: SMALLEST_DELTA, ..Objective::default() }.check().is_ok());
    }
}
