//! The AlphaZero network and its search, plainly.

pub mod search;
