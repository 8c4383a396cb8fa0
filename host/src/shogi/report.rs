//! What reports of shogi have in common.

use crate::runtime::named::named;

/// Version of the reports' fields.
pub const SCHEMA: u32 = 1;

named! {
    /// Why learning ended.
    StoppedBy, "stopped_by":
        /// All iterations are done.
        Iterations = "iterations",
        /// The objective on held-out games no longer decreased.
        EarlyStopping = "early_stopping",
        /// The caller stopped it.
        Request = "request",
        /// No step along the gradient lowers the objective (L-BFGS).
        Converged = "converged",
}
