//! Regret matching in double precision.

/// Factors and weights that an iteration applies to cumulative regrets and averages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Factor of cumulative regrets that are ≥ 0 after adding this iteration's regrets.
    pub positive: f64,
    /// Factor of negative cumulative regrets.
    pub negative: f64,
    /// Weight of this iteration's strategy in the average.
    pub weight: f64,
    /// 1 if the next strategy is matched from `max(cumulative + last, 0)`, else 0.
    pub predicts: f64,
}

impl Step {
    /// The cumulative regret after adding this iteration's `gain`.
    pub fn regret(&self, cumulative: f64, gain: f64) -> f64 {
        let sum = cumulative + gain;
        if sum >= 0.0 { sum * self.positive } else { sum * self.negative }
    }

    /// The regret from which the next strategy is matched.
    pub fn matched(&self, cumulative: f64, last: f64) -> f64 {
        let sum = cumulative + self.predicts * last;
        // Not `max`, which may give either zero.
        if sum > 0.0 { sum } else { 0.0 }
    }
}

/// Probability of an action whose regret has the positive part `positive`, among `n_actions` whose positive parts add up to `sum`; uniform if none is positive.
pub(super) fn probability(positive: f64, sum: f64, n_actions: u32) -> f64 {
    if sum > 0.0 { positive / sum } else { 1.0 / f64::from(n_actions) }
}
