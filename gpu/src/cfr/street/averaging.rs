//! What a pass adds to averages.

use super::block::{BlockView, Side};
use super::layout::Op;

/// How a seat's strategies are added to its averages as its reach goes down.
#[derive(Clone, Copy)]
pub(super) struct Averaging {
    /// The iteration's weight; with 0 nothing is added.
    pub weight: f32,
    /// Whether the reach has the priors in it, which averages are not weighted with.
    pub with_priors: bool,
    /// Whether that is all that the pass does.
    pub alone: bool,
}

impl Averaging {
    /// Nothing is added.
    pub const NONE: Self = Self { weight: 0.0, with_priors: false, alone: false };

    /// With a reach that has the priors in it.
    #[inline(always)]
    pub const fn with_priors(weight: f32, alone: bool) -> Self {
        Self { weight, with_priors: true, alone }
    }

    /// Whether something is added at a node: where its children's reach is made one after the other, with the first.
    #[inline(always)]
    pub const fn adds_at(&self, op: &Op) -> bool {
        self.weight > 0.0 && op.first == 0
    }

    /// The weight of a hand's strategy where it arrives with `reach`.
    #[inline(always)]
    #[track_caller]
    pub fn gain(&self, view: &BlockView<'_>, side: &Side, hand: u32, reach: f32) -> f32 {
        let own = if self.with_priors { reach * view.inverse_prior(side, hand) } else { reach };
        self.weight * own
    }
}
