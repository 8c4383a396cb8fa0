//! The choice before the first decision of a subgame; see [`Gadget`].

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
        let [on, end] = self.regrets[hand].map(|regret| regret.max(0.0));
        if on + end > 0.0 { on / (on + end) } else { 0.5 }
    }

    /// Learns from the values of playing on.
    ///
    /// * `factors`: of cumulative regrets after the iteration's are added, of those that are 0 or more and of the others.
    pub fn learn<T: Real>(&mut self, gadget: &Gadget, values: &[T], factors: [T; 2]) {
        let factors = factors.map(T::widened);
        for (hand, (&end, value)) in gadget.alternatives.iter().zip(values).enumerate() {
            let (on, part) = (value.widened(), self.plays_on(hand));
            let mean = part * on + (1.0 - part) * end;
            for (regret, value) in self.regrets[hand].iter_mut().zip([on, end]) {
                let sum = *regret + value - mean;
                *regret = sum * if sum >= 0.0 { factors[0] } else { factors[1] };
            }
        }
    }

    /// The state as words.
    pub fn words(&self) -> Vec<u64> {
        self.regrets.iter().flatten().map(|regret| regret.to_bits()).collect()
    }

    /// Restores the state from words.
    pub fn set_words(&mut self, words: &[u64]) {
        for (regret, &bits) in self.regrets.iter_mut().flatten().zip(words) {
            *regret = f64::from_bits(bits);
        }
    }
}
