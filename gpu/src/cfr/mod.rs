//! Kernels of counterfactual regret minimisation.

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
