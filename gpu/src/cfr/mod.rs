//! Kernels of counterfactual regret minimisation.
//!
//! | source | paper |
//! |---|---|
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
