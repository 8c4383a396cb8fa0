//! The gadget of re-solving: before the first decision a seat ends the game with a value for each hand, or plays on.
//!
//! # Source
//! Burch, Johanson and Bowling, "Solving Imperfect Information Games Using Decomposition", 2014, part 4.

use crate::cfr::options::Step;

/// The choice of a seat, with its regrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Gadget {
    /// Who has the choice.
    pub seat: usize,
    /// What each hand wins by ending, as counterfactual values with [`Game::scale`](super::Game::scale).
    pub alternatives: Vec<f64>,
    /// Cumulative regrets by hand, of playing on and of ending.
    pub regrets: Vec<[f64; 2]>,
}

impl Gadget {
    /// A choice without regrets.
    pub fn new(seat: usize, alternatives: Vec<f64>) -> Self {
        let regrets = vec![[0.0; 2]; alternatives.len()];
        Self { seat, alternatives, regrets }
    }

    /// The probability that a hand plays on: positive regrets in proportion, one half if there are none.
    pub fn plays_on(&self, hand: usize) -> f64 {
        let [on, end] = self.regrets[hand];
        let (on, end) = (on.max(0.0), end.max(0.0));
        if on + end == 0.0 { 0.5 } else { on / (on + end) }
    }
}

/// Adds the regrets of an iteration in which playing on was worth `values`, and discounts them.
pub(super) fn learn(gadget: &mut Gadget, values: &[f64], step: &Step) {
    for (hand, &on) in values.iter().enumerate() {
        let (part, end) = (gadget.plays_on(hand), gadget.alternatives[hand]);
        let mean = part * on + (1.0 - part) * end;
        let discounted = |sum: f64| if sum >= 0.0 { sum * step.positive } else { sum * step.negative };
        let [before_on, before_end] = gadget.regrets[hand];
        gadget.regrets[hand] = [discounted(before_on + on - mean), discounted(before_end + end - mean)];
    }
}
