//! The formulas that all solvers share, each a function on slices.

use super::Step;

/// Divides by the sum; uniform where the sum is not positive.
///
/// `values` are weights ≥ 0.
pub fn normalise(values: &mut [f64]) {
    let sum: f64 = values.iter().sum();
    let n_actions = values.len() as f64;
    for value in values {
        *value = if sum > 0.0 { *value / sum } else { 1.0 / n_actions };
    }
}

/// Regret matching: probabilities in the ratio of the positive regrets, uniform where none is positive.
///
/// # Source
/// Hart and Mas-Colell, "A Simple Adaptive Procedure Leading to Correlated Equilibrium", 2000.
pub fn match_regrets(regrets: &[f64], strategy: &mut [f64]) {
    for (probability, regret) in strategy.iter_mut().zip(regrets) {
        *probability = regret.max(0.0);
    }
    normalise(strategy);
}

/// The same from `max(cumulative + last, 0)`.
pub fn match_predicted(regrets: &[f64], last: &[f64], strategy: &mut [f64]) {
    for ((probability, regret), last) in strategy.iter_mut().zip(regrets).zip(last) {
        *probability = (regret + last).max(0.0);
    }
    normalise(strategy);
}

/// A cumulative regret after this iteration's `gain` was added.
#[inline]
pub fn discounted(step: Step, cumulative: f64, gain: f64) -> f64 {
    let sum = cumulative + gain;
    if sum >= 0.0 { sum * step.positive } else { sum * step.negative }
}

/// Adds an iteration's `gains` to the cumulative regrets of one set.
pub fn add_regrets(step: Step, regrets: &mut [f64], gains: &[f64]) {
    for (regret, &gain) in regrets.iter_mut().zip(gains) {
        *regret = discounted(step, *regret, gain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_regrets_are_played() {
        let mut strategy = [0.0; 3];
        match_regrets(&[3.0, -2.0, 1.0], &mut strategy);
        assert_eq!(strategy, [0.75, 0.0, 0.25]);
        match_regrets(&[0.0, -2.0, -1.0], &mut strategy);
        assert_eq!(strategy, [1.0 / 3.0; 3]);
        match_predicted(&[0.0, 2.0, 1.0], &[1.0, 1.0, -2.0], &mut strategy);
        assert_eq!(strategy, [0.25, 0.75, 0.0]);
    }
}
