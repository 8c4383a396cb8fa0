//! Chance-sampled regret minimisation: up to 32 deals an iteration, a lane of a warp each.
//!
//! Games of more than two players, or with more deals than can be walked, are learnt from sampled deals. [`Sampler`] runs them and opens single information sets to the caller;
//! what a player knows of the cards is [`Information`], which may be buckets of one's own. Any number of seats and rounds, side pots.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::cfr::engines::walk::{Information, Sampler};
//! use warpplay::cfr::{GameDef, Options, Sampling};
//!
//! // Kuhn poker for three seats: four cards, an ante of 1, one bet of 1.
//! let game = GameDef::parse(
//!     "GAMEDEF\nnumPlayers = 3\nnumRounds = 1\nblind = 1 1 1\nraiseSize = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 4\n\
//!      numHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
//! )?;
//! let options = Options { sampling: Sampling::Chance, batch: 32, ..Options::default() };
//! let mut sampler = Sampler::build(&Device::cpu(), &game, &Information::Exact, &options)?;
//! sampler.run(500)?;
//! assert_eq!(sampler.deals(), 500 * 32);
//!
//! // Who holds the best card calls a bet: fold, call, raise.
//! let [fold, call, _raise] = sampler.average("ccr", "5c", "")?;
//! assert!(fold < 0.05 && call > 0.95);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Sampler`] | batches of sampled deals on one game |
//! | [`Information`], [`Buckets`] | what a player knows of the cards; buckets of one's own |
//! | [`Set`] | regrets and sums of strategies of one information set |
//! | [`Checksums`] | sums over the tables, by which solves are compared |
//!
//! # How it works
//!
//! The betting tree is divided into pieces, each a list of operations for a warp. Only one value per piece is stored; reach probabilities and strategies are recomputed along the path from the
//! root.
//!
//! On the CPU the same pieces are walked by the threads of a pool, a batch's deals side by side in each; what is added is added in the same order, so that
//! tables of single and double precision have the bits of the kernels under `simt`.
//!
//! All seats learn from the same deals: with simultaneous updates in one pass, with alternating ones seat by seat. Regrets and strategies of a batch are sums over
//! its deals, without weights of chance. Algorithms: `cfr`; `cfr_plus`, which clips the sets that a batch meets (the others have nothing to clip); `lcfr`, whose
//! regrets are multiplied by t instead of being discounted, which differs by a common factor only. `dcfr` and `pcfr_plus` are not among them: they discount, with two
//! factors, or predict in every set in every iteration, also where no deal of the batch came.
//!
//! Where several sizes of raise are legal, a set decides to raise, and sets that follow it decide how much ([`Sequences`](crate::cfr::game::Sequences)); the kernels know of no
//! sizes. [`Solver`](crate::cfr::Solver) puts them together again; [`Sampler`] is for games with one size at a time.
//!
//! # Data layout
//!
//! ```text
//! information set   sequence (a node of the betting where somebody acts, level by level) × bucket of its round
//! set               3 actions: fold, call, raise; 0 where not allowed
//! ```

mod cpu;
mod draws;
mod engine;
mod information;
#[allow(unsafe_code)]
mod kernels;
mod measure;
mod pieces;
mod plan;
mod sampler;
#[cfg(test)]
mod tests;

pub use crate::cfr::game::Buckets;
pub use information::Information;
pub use sampler::{Checksums, Sampler, Set};

pub(in crate::cfr) use engine::{build, fits, no_sampled_deals};
