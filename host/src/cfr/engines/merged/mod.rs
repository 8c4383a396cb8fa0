//! Buckets of cards with all deals: explicit trees in which the hands of a bucket share an information set.
//!
//! Every history is a node, as with the engines `explicit` and `mccfr`, which run the iterations here. Tables are indexed by betting node and bucket.
//!
//! Where the bucket of a later round does not tell that of an earlier one, a seat has imperfect recall, and its regret need not vanish (Lanctot, Gibson, Burch, Zinkevich and Bowling, "No-Regret Learning
//! in Extensive-Form Games with Imperfect Recall", 2012); with perfect recall it does. A set's average weighs its strategy with the mean own reach of its histories.
//!
//! With `cfr_br` each seat learns in a tree of its own, against an opponent who knows its cards and plays a best response to the seat's strategy (Johanson, Bard, Burch and
//! Bowling, "Finding Optimal Abstract Strategies in Extensive-Form Games", 2012). The result is the least exploitable strategy that the buckets allow.
//!
//! The exploitability is exact: best responses know all cards, in a tree of single hands.

mod engine;
mod game;
mod meter;
mod offsets;
mod trees;

pub(in crate::cfr) use engine::{build, check, fits};
pub(in crate::cfr) use trees::Trees;
