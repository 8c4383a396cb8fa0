//! Monte Carlo tree search on the GPU, on the CPU thread by thread, and on the CPU in the plain form.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::mcts::{Connect4, Search, position_after};
//!
//! let position: Connect4 = position_after("4453")?;
//! let mut search = Search::<Connect4>::builder().n_trees(2).n_playouts(32).steps(20).no_seconds().build(&Device::cpu())?;
//! let report = search.run(&position)?;
//! assert_eq!(report.performance.steps, 20);
//! assert_eq!(report.actions.iter().map(|action| action.n).sum::<u64>(), report.best.n_root);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! [`Search`] owns the trees and may run many searches; [`SearchReport`] is what one search found. The same seed and the same number of steps give
//! the same statistics on every back end, for all four [`Variant`]s. A game is any type with [`Game`] and [`KernelSet`]; [`Notation`] adds the text
//! that programs need. Kernels: [`warpplay_gpu::mcts`]; plain form: [`warpplay_cpu_ref::mcts`].
//!
//! # Source
//! Klęsk, "MCTS-NC: A thorough GPU parallelization of Monte Carlo Tree Search", SoftwareX.

mod blocks;
mod config;
mod cpu;
mod gpu;
#[allow(unsafe_code)]
mod kernels;
mod position;
mod raw;
mod report;
mod search;

pub use blocks::BlockSizes;
pub use config::{Execution, SearchBuilder, Variant};
pub use cpu::Adapted;
pub use position::{check_playable, play_moves, position_after};
pub use raw::{RawPlayouts, RawReport, RawShape};
pub use report::{
    ActionReport, Options, Performance, SCHEMA, SearchReport, StageMs, StageTimes, StoppedBy, TreesReport,
};
pub use search::Search;
pub use warpplay_gpu::mcts::games::checkers::Checkers;
pub use warpplay_gpu::mcts::games::connect4::{Connect4Large, Connect4Standard as Connect4};
pub use warpplay_gpu::mcts::games::gomoku::{GomokuFree, GomokuLarge, GomokuStandard as Gomoku};
pub use warpplay_gpu::mcts::{Game, KernelSet, Notation, NotationError, Outcome, Player};
