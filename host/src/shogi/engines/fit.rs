//! What an engine computes of children, for the fit of the twelve values.

use std::ops::Range;

use crate::Result;
use crate::shogi::evaluation::{LEARNT, SUMS};
use crate::shogi::objective::{Objective, Values};

/// Some evaluations, and the steps between them.
#[derive(Clone, Debug)]
pub(in crate::shogi) struct Run {
    /// `h` is the first step.
    pub objective: Objective,
    /// The values of the first evaluation.
    pub values: Values,
    /// Evaluations that are wanted, one more than steps.
    pub evaluations: u32,
    /// Which of the twelve values are raised; all of them where there is more than one evaluation.
    pub features: Range<usize>,
}

/// Σ T in multiples of 2⁻³⁶ and the values that it belongs to: at the values, then with each of them raised; what was not wanted is 0.
pub(in crate::shogi) type Evaluated = ([i128; SUMS], Values);

/// Children in one of the forms that they are held in.
pub(in crate::shogi) trait Fit: Send {
    /// Evaluates, steps, evaluates, and so on. An engine may do less than it is asked for, but one evaluation.
    fn evaluate(&mut self, run: &Run) -> Result<Vec<Evaluated>>;

    /// The analytic gradient `∂J/∂v`; `None` for engines that have none.
    fn gradient(&mut self, _objective: &Objective, _values: &Values) -> Result<Option<[f64; LEARNT]>> {
        Ok(None)
    }
}
