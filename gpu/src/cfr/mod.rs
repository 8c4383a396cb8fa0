//! Kernels of counterfactual regret minimisation, for several forms of a game.
//!
//! Which form fits depends on players, cards and size: public tree × vectors of hands for two players, betting tree × cards for one card each, every history a node for
//! anything else, sampled deals for what is too large. All of them update regrets by the same functions ([`regret`]).
//!
//! | module | feature | form of the game | made for |
//! | --- | --- | --- | --- |
//! | [`small`] | `cfr-small` | public tree × vectors of hands, a whole game in one block's shared memory | two players, many small games at once |
//! | `street` | `cfr-street` | the same, a block a betting round on a board | two players, hold'em spots |
//! | `subset` | `cfr-subset` | betting tree × cards, all deals by a recurrence over sets of cards | two to eight players with one card each |
//! | `explicit` | `cfr-explicit` | every history a node; also sampled traversals, a thread each | any game |
//! | `walk` | `cfr-walk` | betting tree, up to 32 sampled deals at once, a warp a subtree | many players, large games |
//! | `abstraction` | `cfr-abstraction` | strengths of hands, and k-means of their histograms | hands that are put together |
//! | [`regret`], [`beats`] | | regret matching and its updates; who beats whom in a deal | all of them |
//!
//! The plain forms are in `warpplay_cpu_ref::cfr`; the tables of kernels in `docs/kernels.md`.
//!
//! | source | paper |
//! | --- | --- |
//! | Zinkevich et al. 2007 | "Regret minimization in games with incomplete information" |
//! | Gilpin and Sandholm 2008 | "Expectation-based versus potential-aware automated abstraction" |
//! | Lanctot et al. 2009 | "Monte Carlo sampling for regret minimization in extensive games" |
//! | Johanson et al. 2011 | "Accelerating best response calculation in large extensive games" |
//! | Johanson et al. 2012 | "Efficient Nash equilibrium approximation through Monte Carlo counterfactual regret minimization" |
//! | Johanson et al. 2013 | "Evaluating state-space abstractions in extensive-form games" |
//! | Reis 2015 | "A GPU implementation of counterfactual regret minimization" |

#[cfg(feature = "cfr-abstraction")]
pub mod abstraction;
pub mod beats;
#[cfg(feature = "cfr-explicit")]
pub mod explicit;
pub mod regret;
pub mod small;
#[cfg(feature = "cfr-street")]
pub mod street;
#[cfg(feature = "cfr-subset")]
pub mod subset;
#[cfg(feature = "cfr-walk")]
pub mod walk;
