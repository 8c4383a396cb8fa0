//! Chance-sampled regret minimisation: up to 32 deals an iteration, a lane of a warp each.
//!
//! The betting tree is cut into pieces, each a list of operations that a warp works off. Of its states nothing is stored but a value a piece: reaches are walked to
//! again and strategies matched again where they are needed. Any number of seats and rounds, one size of raise at a time, side pots; what players know of the cards
//! is [`Information`].
//!
//! On the CPU the same pieces are walked by the threads of a pool, a batch's deals side by side in each; what is added is added in the same order, so that
//! tables of single and double precision have the bits of the kernels under `simt`.
//!
//! All seats learn from the same deals: with simultaneous updates in one pass, with alternating ones seat by seat. Regrets and strategies of a batch are sums over
//! its deals, without weights of chance. Algorithms: `cfr`; `cfr_plus`, which clips the sets that a batch meets (the others have nothing to clip); `lcfr`, whose
//! regrets are multiplied by t instead of being discounted, which differs by a common factor only.

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

pub(in crate::cfr) use engine::{build, fits};
