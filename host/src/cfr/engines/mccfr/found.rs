//! What traversals find, and in which parts.

use crate::Buffer;

/// Scales by which sampled values are multiplied before conversion to integers: powers of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scales {
    /// Scale of chips.
    pub regret: f64,
    /// Scale of probabilities.
    pub average: f64,
}

/// Sums of the traversals, as integers.
pub(super) struct Found {
    /// `[n_rows]`
    pub regrets: Buffer<u64>,
    /// `[n_rows]`
    pub averages: Buffer<u64>,
    /// `[n_seats]`
    pub utilities: Buffer<u64>,
}
