//! Hold'em spots: a given board, ranges, pot, stacks and sizes, from the flop, turn or river on.

mod betting;
mod file;
mod range;

pub use file::{BetSize, LockStrategy, SeatSizes, Spot, SpotLock, Streets};
pub use range::Range;
