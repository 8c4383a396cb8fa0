//! Games whose every history is a node: full traversals level by level, and sampled ones, a thread each.
//!
//! | kernel | what | threads |
//! |---|---|---|
//! | `cfr_explicit_tick` | counts the iteration | 1 |
//! | `cfr_explicit_reach` | chance × others' reach, and own reach, of a seat's histories | a history |
//! | `cfr_explicit_values` | values of one level from those of the next | a history |
//! | `cfr_explicit_respond` | best responses of one level | a few a set |
//! | `cfr_explicit_update` | regrets, averages and the next strategies | a few a set |
//! | `cfr_explicit_profile` | averages to probabilities, in double precision | a set |
//! | `cfr_explicit_sample_external`, `…_outcome`, `…_chance` | sampled traversals | a traversal |
//! | `cfr_explicit_apply` | what the traversals found, into the tables | a set |
//!
//! Each has the suffix `_f32` or `_f64`, but `tick`. Seats that learn from the same strategies are blocks along y. All sums have a fixed order; sampled
//! traversals add whole numbers, whose order does not matter.

pub mod apply;
pub mod chance;
pub mod external;
mod instantiate;
pub mod outcome;
pub mod profile;
pub mod random;
pub mod reach;
pub mod respond;
pub mod sample;
pub mod tick;
pub mod update;
pub mod values;
pub mod view;

#[cfg(not(target_arch = "nvptx64"))]
pub use instantiate::{ExplicitKernels, RealKernels};
pub use instantiate::{double, single};

crate::kernel_set! {
    /// The kernel that is the same for both precisions.
    tick::cfr_explicit_tick;
    ..instantiate
}
