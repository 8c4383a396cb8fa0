//! The gadget of re-solving a subgame.

use super::Measured;

/// The choice that a seat has before the first decision of a subgame: to end the hand with a value for each of its hands, or to play on.
///
/// The other seat's strategy is re-solved: as long as the first one wins no more by playing on than the given values, the new strategy is no more exploitable than that from which they come.
/// The seat chooses by regret matching, and what it plays afterwards is no part of the result.
///
/// # Source
/// Burch, Johanson and Bowling, "Solving Imperfect Information Games Using Decomposition" (2014), part 4.
#[derive(Clone, Debug, PartialEq)]
pub struct Gadget {
    /// The seat that has the choice.
    pub seat: usize,
    /// What each of its hands wins by ending: counterfactual values in chips, [`VectorGame::scale`](super::VectorGame::scale) included.
    pub alternatives: Vec<f64>,
}

impl Gadget {
    /// Whether a renaming of the seat's hands keeps the values, but for rounding.
    pub(super) fn is_kept_by(&self, images: &[u32]) -> bool {
        let most = self.alternatives.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        // The values are sums of single precision at worst, in another order for another name of the suits.
        let tolerance = 64.0 * f64::from(f32::EPSILON) * most;
        images.iter().zip(&self.alternatives).all(|(&image, value)| {
            self.alternatives.get(image as usize).is_some_and(|other| (other - value).abs() <= tolerance)
        })
    }

    /// What is measured where there is a gadget, in chips: the value is that of ending with every hand, the best response of the seat with the choice ends or plays on, and NashConv is
    /// what that wins more.
    ///
    /// * `weights`, `best`: reach at the root and value of the best response, of each hand of the seat.
    pub(in crate::cfr) fn measured(&self, weights: &[f64], best: &[f64]) -> Measured {
        let total = |value: &dyn Fn(usize) -> f64| -> f64 {
            weights.iter().enumerate().map(|(hand, weight)| weight * value(hand)).sum()
        };
        let ends = total(&|hand| self.alternatives[hand]);
        let answers = total(&|hand| self.alternatives[hand].max(best[hand]));
        let mut measured = Measured { values: vec![-ends; 2], best_responses: vec![-ends; 2] };
        measured.values[self.seat] = ends;
        measured.best_responses[self.seat] = answers;
        measured
    }
}
