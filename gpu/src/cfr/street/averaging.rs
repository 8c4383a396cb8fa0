//! What a pass adds to averages.

use super::block::{BlockView, Side};
use super::layout::Op;

/// How a seat's strategies are added to its averages as its reach goes down.
#[derive(Clone, Copy)]
pub(super) struct Averaging {
    /// The iteration's weight; with 0 nothing is added.
    pub weight: f32,
    /// Whether the reach includes the prior (weight of the hand × scale of the game × probability of the board), which averages must not include.
    pub with_priors: bool,
    /// Whether the pass adds to averages and does nothing else.
    pub alone: bool,
}

impl Averaging {
    /// Adds nothing.
    pub const NONE: Self = Self { weight: 0.0, with_priors: false, alone: false };

    /// For a reach that includes priors: adds with `weight`; `alone`: the pass does nothing else.
    #[device_inline]
    pub const fn with_priors(weight: f32, alone: bool) -> Self {
        Self { weight, with_priors: true, alone }
    }

    /// Whether operation `op` adds to the averages of its node. Where several operations compute the reach of one node's children, only the first does.
    #[device_inline]
    pub const fn adds_at(&self, op: &Op) -> bool {
        self.weight > 0.0 && op.first == 0
    }

    /// The weight of a hand's strategy where it arrives with `reach`.
    #[device_inline]
    #[track_caller]
    pub fn gain(&self, view: &BlockView<'_>, side: &Side, hand: u32, reach: f32) -> f32 {
        let own = if self.with_priors { reach * view.inverse_prior(side, hand) } else { reach };
        self.weight * own
    }
}
