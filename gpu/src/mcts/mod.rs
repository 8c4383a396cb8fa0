//! Monte Carlo tree search run wholly on the GPU.
//!
//! T trees grow side by side from one position. A step of the search, in every tree at once: select a leaf by upper confidence bounds, expand it,
//! play random games from one of its new children (OCP) or from all of them (ACP), m each, and add the results along the path. At the end the trees'
//! statistics are summed up. Each stage is a kernel of many threads; there are no atomics and no locks. B is the game's number of actions.
//!
//! A *thrifty* search tells the host after each expansion how many children there are and launches just as many blocks; a *prodigal* one launches a
//! block for every tree and action and never asks. Statistics are the same.
//!
//! ```text
//! reset → [ select → expand 1 → expand 2 → playout → backup 1 → backup 2 ] × steps → reduce over trees → reduce over actions
//! fast form of the prodigal variants:  [ step (backup, select, expand 1) → play (expand 2, playout) ] × steps → backup …
//! ```
//!
//! Each kernel's launch, memory, cost, twin and source stand at its declaration in [`instantiate`], and in the tables of `docs/kernels.md`.
//!
//! | stage | kernel and launch shape here | twin in `cpu-ref/src/mcts` |
//! | --- | --- | --- |
//! | reset | `reset.rs` | `tree.rs`, `Tree::new` |
//! | selection by upper confidence bounds | `select.rs` | `seq.rs`, `select`; `tree.rs`, `best_child` |
//! | expansion | `expand.rs` | `seq.rs`, `expand` |
//! | playouts | `playout.rs` | `seq.rs`, `playouts` |
//! | backup | `backup.rs` | `seq.rs`, `backup` |
//! | reduction | `reduce.rs` | `statistics.rs` |
//! | a step in two kernels | `step.rs` | the same as the stages' |
//!
//! | of every stage | where |
//! | --- | --- |
//! | entry points of a game | `instantiate.rs` |
//! | launch, device arrays | `host/src/mcts/engines/gpu/kernels.rs` |
//! | order of the launches | `host/src/mcts/engines/gpu/mod.rs` |
//! | test, node by node and search by search | `tests/tests/mcts/agree.rs`; faults of the original: `faults.rs` |
//! | bench | `host/benches/mcts/stages.rs` |
//! | option `--trees` and the others | `cli/src/mcts/args.rs`, then `host/src/mcts/options.rs` |
//!
//! Paper: Klęsk, "MCTS-NC: A thorough GPU parallelization of Monte Carlo Tree Search", SoftwareX.

pub mod backup;
pub mod expand;
pub mod game;
pub mod games;
pub mod instantiate;
#[cfg(not(target_arch = "nvptx64"))]
pub mod notation;
pub mod playout;
pub mod reduce;
pub mod reset;
pub mod rng;
pub mod select;
pub mod step;
pub mod tree;

pub use game::{Draw, Game, Outcome, Player, Playout, Scratch};
#[cfg(not(target_arch = "nvptx64"))]
pub use instantiate::{KernelSet, Kernels};
#[cfg(not(target_arch = "nvptx64"))]
pub use notation::{Notation, NotationError};
