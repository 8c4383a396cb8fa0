//! Games that come with the library.

pub mod checkers;
pub mod connect4;
pub mod gomoku;
