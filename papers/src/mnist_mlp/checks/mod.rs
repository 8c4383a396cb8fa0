//! Every number of the paper that follows from others, computed again; and its claims, each beside what holds.
//!
//! [`numbers`] compares as intervals: a printed number stands for all that it may be the rounding, or the cutting, of. A [`Verdict`] tells numbers that do not follow from those that
//! follow from the paper's own terms, at least one of which is wrong. [`claims`] are sentences; what is set against each is
//! computed from the published figures, or is what the makers of the devices state. What our own measurements say of a claim is not here: [`Claim::evidence`] names it, and the item
//! `arithmetic` computes it from the run's journal.

mod claims;
mod number;
mod numbers;
pub mod speed;

pub use claims::{Claim, Evidence, claims};
pub use number::{Number, Range, Verdict};
pub use numbers::numbers;
