//! Games that come with the library, each a [`Game`](super::Game) with kernels of its own.
//!
//! | game | position | actions |
//! | --- | --- | --- |
//! | [`connect4`] | stones of both players as bits, 16 bytes | a column |
//! | [`gomoku`] | stones of both players as bits | a square |
//! | [`checkers`] | men and kings on the 32 dark squares, 16 bytes | a step or a single jump |

pub mod checkers;
pub mod connect4;
pub mod gomoku;
