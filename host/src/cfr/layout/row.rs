//! One information set of a table.

/// One information set in a seat's table: action `a` is at `start + a · stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cfr) struct Row {
    pub start: usize,
    pub stride: usize,
    pub n_actions: usize,
}

impl Row {
    /// Indices of the actions.
    pub fn indices(self) -> impl Iterator<Item = usize> {
        (0..self.n_actions).map(move |action| self.start + action * self.stride)
    }
}
