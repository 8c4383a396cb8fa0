//! The engines, a folder each; and, for experts, three of them with their tables open.
//!
//! [`dispatch`](super) chooses an engine and [`Solver`](super::Solver) runs it. What some engines can do beside that is here: many small games at
//! once ([`SmallBatch`]), tables read between iterations ([`SubsetSolver`]), and buckets of one's own ([`walk::Sampler`]). These take a number of iterations where
//! the solver takes a limit and a `watch`.
//!
//! ```
//! use std::sync::Arc;
//! use warpplay::Device;
//! use warpplay::cfr::engines::SmallBatch;
//! use warpplay::cfr::layout::VectorGame;
//! use warpplay::cfr::{Algorithm, BettingTree, GameDef, Options};
//!
//! // Kuhn poker with antes of 1 and of 2, side by side: a block of the GPU each.
//! let games = [1, 2].map(|ante| {
//!     let game = GameDef { blinds: vec![ante; 2], ..GameDef::kuhn() };
//!     VectorGame::from_game(&game, &BettingTree::new(&game)?, true).map(Arc::new)
//! });
//! let games: Vec<Arc<VectorGame>> = games.into_iter().collect::<Result<_, _>>()?;
//! let options = Options { algorithm: Algorithm::CfrPlus, ..Options::default() };
//! let mut batch = SmallBatch::new(&Device::simt(), &games, &options)?;
//! batch.run(200)?;
//! let found = batch.measure()?;
//! assert!((found[0].values[0] + 1.0 / 18.0).abs() < 0.01); // the published value of Kuhn poker
//! assert!(found.iter().all(|game| game.nash_conv() < 0.02));
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`SmallBatch`], [`GameMeasure`] | small two-player games side by side, and how good their strategies are |
//! | [`SubsetSolver`], [`SeatMeasure`] | all deals of a game of one card each, for 2 to 8 seats |
//! | [`walk::Sampler`] | sampled deals, with buckets of one's own |
//!
//! | folder | what it is |
//! | --- | --- |
//! | `small` | public tree × vectors of hands, a whole game in one block, many iterations a launch |
//! | `street` | the same, a block a betting round on a board, level by level in a graph; 16-bit tables |
//! | `subset` | betting tree × cards: all deals by a recurrence over sets of cards, any number of players |
//! | `explicit` | every history a node, level by level |
//! | `mccfr` | sampled traversals of the explicit tree, a thread each |
//! | `merged` | the explicit tree with an information set for each bucket of an abstraction, solved by `explicit` or `mccfr` |
//! | [`walk`] | sampled deals, a warp a subtree of the betting, up to 32 deals at once |
//! | `cpu` | the vector form in plain Rust on all cores |

pub(in crate::cfr) mod cpu;
pub(in crate::cfr) mod explicit;
pub(in crate::cfr) mod mccfr;
pub(in crate::cfr) mod merged;
pub(in crate::cfr) mod small;
mod solve;
pub(in crate::cfr) mod street;
pub(in crate::cfr) mod subset;
pub mod walk;

pub use small::{GameMeasure, SmallBatch};
pub use subset::{SeatMeasure, SubsetSolver};

pub(in crate::cfr) use solve::Solve;
