//! The AlphaZero network and its search, plainly.

pub mod observation;
pub mod search;
