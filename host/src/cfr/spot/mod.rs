//! Hold'em spots: a given board, ranges, pot, stacks and sizes, from the flop, turn or river on.

mod batch;
mod betting;
mod file;
mod game;
mod range;
mod report;
mod run;
mod solve;

pub use file::{BetSize, LockStrategy, SeatSizes, Spot, SpotLock, Streets};
pub use range::Range;
pub use report::{HandReport, SpotReport};
pub use run::SpotRun;
pub use solve::solve_spots;
