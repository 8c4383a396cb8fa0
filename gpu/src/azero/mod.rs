//! Kernels of the AlphaZero network for board games, of the search that uses it, and of its training.

#[cfg(feature = "azero-fused")]
pub mod fused;
#[cfg(feature = "azero-layers")]
pub mod layers;
pub mod observation;
#[cfg(feature = "azero-paper")]
pub mod paper;
#[cfg(feature = "azero-search")]
pub mod search;
#[cfg(feature = "azero-train")]
pub mod train;
