//! Monte Carlo tree search run wholly on the GPU.
//!
//! T trees grow side by side from one position. A step of the search, in every tree at once: select a leaf by upper confidence bounds, expand it,
//! play random games from one of its new children (OCP) or from all of them (ACP), m each, and add the results along the path. At the end the trees'
//! statistics are summed up. Each stage is a kernel of many threads; there are no atomics and no locks.
//!
//! A *thrifty* search tells the host after each expansion how many children there are and launches just as many blocks; a *prodigal* one launches a
//! block for every tree and action and never asks. Statistics are the same.
//!
//! ```text
//! reset → [ select → expand 1 → expand 2 → playout → backup 1 → backup 2 ] × steps → reduce over trees → reduce over actions
//! fast form of the prodigal variants:  [ step (backup, select, expand 1) → play (expand 2, playout) ] × steps → backup …
//! ```
//!
//! | kernel | grid | block (as the paper's Listing 1) | complexity of a block | function |
//! |---|---|---|---|---|
//! | `mcts_seed_streams` | ⌈streams / 128⌉ | 128 | 27 × 128 generator steps | [`rng::seed_streams`] |
//! | `mcts_reset` | T | board | size of a position | [`reset::reset`] |
//! | `mcts_select` | T | 512 | depth × (⌈B/block⌉ + log block) | [`select::select`] |
//! | `mcts_expand_1_{ocp,acp}_{thrifty,prodigal}` | T | max(board, B) | log B | [`expand::expand_1`] |
//! | `mcts_expand_2_thrifty` | children | board | size of a position | [`expand::expand_2_thrifty`] |
//! | `mcts_expand_2_prodigal` | T × B | board | size of a position | [`expand::expand_2_prodigal`] |
//! | `mcts_memorize_root_actions` | 1 | B | B | [`expand::memorize_root_actions`] |
//! | `mcts_playout_ocp` | T | m | plies + log m | [`playout::playout_ocp`] |
//! | `mcts_playout_acp_thrifty` | children | m | plies + log m | [`playout::playout_acp_thrifty`] |
//! | `mcts_playout_acp_prodigal` | T × B | m | plies + log m | [`playout::playout_acp_prodigal`] |
//! | `mcts_backup_ocp` | T | 512 | ⌈path/block⌉ | [`backup::backup_ocp`] |
//! | `mcts_backup_1_acp_{thrifty,prodigal}` | T | B | log B | [`backup::backup_1_acp`] |
//! | `mcts_backup_2_acp` | T | 512 | ⌈path/block⌉ | [`backup::backup_2_acp`] |
//! | `mcts_reduce_over_trees_{thrifty,prodigal}` | children, B | T | log T | [`reduce::reduce_over_trees`] |
//! | `mcts_reduce_over_actions` | 1 | B | log B | [`reduce::reduce_over_actions`] |
//! | `mcts_step_{ocp,acp}` | T | B | backup, select, expand 1 | [`step::step`] |
//! | `mcts_play_ocp` | T × (1 + ⌈B/block⌉) | m | expand 2, playout | [`step::play_ocp`] |
//! | `mcts_play_acp` | T × B | m | expand 2, playout | [`step::play_acp`] |
//! | `mcts_raw_playouts` | any | any | plies × games | [`playout::raw_playouts`] |
//! | `mcts_raw_restart` | any | any | plies × games | [`playout::raw_restart`] |
//! | `mcts_draw_below` | any | any | 1 | [`playout::draw_below`] |
//!
//! Block sizes are rounded up to whole warps (and the paper's to powers of two); `board` is the larger of squares and extra bytes, at most 512.
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
pub use instantiate::KernelSet;
#[cfg(not(target_arch = "nvptx64"))]
pub use notation::{Notation, NotationError};
