//! The choice before the first decision of a subgame; see [`Gadget`].

use warpplay_gpu::cfr::regret::{self, Real as _};

use super::vectors::Real;
use crate::cfr::layout::Gadget;

/// The regrets of the choice, by hand: of playing on and of ending.
pub(super) struct Choice {
    pub regrets: Vec<[f64; 2]>,
}

impl Choice {
    pub fn new(gadget: &Gadget) -> Self {
        Self { regrets: vec![[0.0; 2]; gadget.alternatives.len()] }
    }

    /// How often a hand plays on.
    pub fn plays_on(&self, hand: usize) -> f64 {
        let [on, end] = self.regrets[hand].map(f64::positive);
        regret::probability(on, on + end, 2)
    }

    /// Learns from the values of playing on.
    pub fn learn<T: Real>(&mut self, gadget: &Gadget, values: &[T], step: &regret::Step<f64>) {
        for (hand, (&end, value)) in gadget.alternatives.iter().zip(values).enumerate() {
            let (on, part) = (value.widened(), self.plays_on(hand));
            let mean = part * on + (1.0 - part) * end;
            for (regret, value) in self.regrets[hand].iter_mut().zip([on, end]) {
                *regret = step.regret(*regret, value - mean);
            }
        }
    }
}
