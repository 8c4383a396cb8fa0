//! Buckets of cards with all deals: explicit trees, in which the hands of a bucket share an information set.
//!
//! Every history is a node as with the engines `explicit` and `mccfr`, which do the iterations; tables stand by betting node and bucket. A seat may forget what it knew
//! in an earlier round, so regrets need not go to 0; where nothing is forgotten, they do. A set's average weighs its strategy with the mean own reach of its
//! histories.
//!
//! With `cfr_br` each seat learns, in a tree of its own, against an opponent who knows its cards and plays its best against the seat's strategy (Johanson, Bard, Burch and
//! Bowling, "Finding Optimal Abstract Strategies in Extensive-Form Games", 2012): what it finds is the least exploitable strategy that the buckets allow.
//!
//! The exploitability is exact: best responses know all cards, in a tree of single hands.

mod engine;
mod game;
mod meter;
mod places;
mod trees;

pub(in crate::cfr) use engine::{build, fits};
pub(in crate::cfr) use trees::Trees;
