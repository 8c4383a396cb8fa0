//! The engines, a folder each.
//!
//! | folder | what it is |
//! | --- | --- |
//! | `small` | public tree × vectors of hands, a whole game in one block, many iterations a launch |
//! | `street` | the same, a block a betting round on a board, level by level in a graph; 16-bit tables |
//! | `subset` | betting tree × cards: all deals by a recurrence over sets of cards, any number of players |
//! | `explicit` | every history a node, level by level |
//! | `mccfr` | sampled traversals of the explicit tree, a thread each |
//! | [`walk`] | sampled deals, a warp a subtree of the betting, up to 32 deals at once |
//! | `cpu` | the vector form in plain Rust on all cores |
//!
//! [`dispatch`](super) chooses among them; [`Solver`](super::Solver) runs the one that is chosen. What some of them can besides is here: many small games at
//! once ([`SmallBatch`]), tables read between iterations ([`SubsetSolver`]), and buckets of one's own ([`walk::Sampler`]). These take a number of iterations where
//! the solver takes a limit and a `watch`.

pub(in crate::cfr) mod cpu;
pub(in crate::cfr) mod explicit;
pub(in crate::cfr) mod mccfr;
pub(in crate::cfr) mod small;
mod solve;
pub(in crate::cfr) mod street;
pub(in crate::cfr) mod subset;
pub mod walk;

pub use small::{GameMeasure, SmallBatch};
pub use subset::{SeatMeasure, SubsetSolver};

pub(in crate::cfr) use solve::Solve;
