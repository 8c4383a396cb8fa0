//! What traversals find, and in which parts.

use crate::Buffer;

/// Parts into which found values are divided: powers of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scales {
    /// Of a chip.
    pub regret: f64,
    /// Of a strategy.
    pub average: f64,
}

/// What traversals find, as whole numbers.
pub(super) struct Found {
    /// `[n_rows]`
    pub regrets: Buffer<u64>,
    /// `[n_rows]`
    pub averages: Buffer<u64>,
    /// `[n_seats]`
    pub utilities: Buffer<u64>,
}
