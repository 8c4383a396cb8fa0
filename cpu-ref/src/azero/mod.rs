//! The AlphaZero network and its search, plainly.
