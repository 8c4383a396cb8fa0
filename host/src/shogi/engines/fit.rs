//! What an engine computes of children, for the fit of the twelve values.

use std::ops::Range;

use crate::Result;
use crate::shogi::evaluation::{LEARNT, SUMS};
use crate::shogi::objective::{Objective, Values};

/// A sequence of evaluations with steps between them.
#[derive(Clone, Debug)]
pub(in crate::shogi) struct Run {
    /// `h` is the first step.
    pub objective: Objective,
    /// The values of the first evaluation.
    pub values: Values,
    /// Number of evaluations, one more than the number of steps.
    pub evaluations: u32,
    /// Which of the twelve values are raised; all of them if there is more than one evaluation.
    pub features: Range<usize>,
}

/// Σ T in multiples of 2⁻³⁶, with the values: at the values, then with each of them raised; sums that were not requested are 0.
pub(in crate::shogi) type Evaluated = ([i128; SUMS], Values);

/// Children in one of the forms in which engines hold them.
pub(in crate::shogi) trait Fit: Send {
    /// Evaluates, makes a step, evaluates, and so on. An engine may do less than requested, but at least one evaluation.
    fn evaluate(&mut self, run: &Run) -> Result<Vec<Evaluated>>;

    /// The analytic gradient `∂J/∂v`; `None` for engines that have none.
    fn gradient(&mut self, _objective: &Objective, _values: &Values) -> Result<Option<[f64; LEARNT]>> {
        Ok(None)
    }
}
