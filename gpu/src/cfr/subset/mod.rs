//! Poker with one hole card each, one suit and no board, for up to eight players and eight cards, over **all** deals in every iteration.
//!
//! A pass of one seat: terminals over all deals by a recurrence over sets of holders ([`terminals`]), values level by level upwards with regrets, averages and the
//! next strategy at the seat's own nodes, and the seat's new reaches ([`nodes`]).
//!
//! The recurrence over subsets is that of permanents. Ryser (1963) has the inclusion and exclusion; this is the plain sum, since all terms are positive and nothing may
//! cancel.

mod instantiate;
pub mod layout;
pub mod nodes;
pub mod terminals;

#[cfg(not(target_arch = "nvptx64"))]
pub use instantiate::{Kernels, SubsetKernels, kernels};
pub use instantiate::{double, single};
