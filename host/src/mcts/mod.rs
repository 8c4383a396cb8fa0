//! Monte Carlo tree search: by kernels on the GPU, by the same kernels on the CPU (`simt`), and in plain Rust on the CPU.
//!
//! A search finds a good move from nothing but the rules of a game: it plays random games from a position and keeps their results in a tree, which grows where moves look good.
//! [`Search`] keeps several trees at once in device memory and plays hundreds of games a step. Any [`Game`] can be searched; six are here.
//!
//! ```
//! use warpplay::mcts::{Connect4, Search, position_after};
//! use warpplay::{Device, Progress};
//!
//! let position: Connect4 = position_after("4453")?;
//! let mut search = Search::<Connect4>::builder().n_trees(2).n_playouts(32).steps(20).no_seconds().build(&Device::cpu())?;
//! let report = search.run(&position, Progress::go_on)?;
//! assert_eq!(report.performance.steps, 20);
//! assert_eq!(report.actions.iter().map(|action| action.n).sum::<u64>(), report.best.n_root);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Search`], [`SearchBuilder`] | the trees: built once, with the device memory they need, for many searches |
//! | [`Options`] | options of a search: [`Variant`], [`Engine`], trees, playouts, limits, seed |
//! | [`Report`] | result of a search: [`ActionReport`]s, [`Performance`] |
//! | [`Connect4`], [`Connect4Large`], [`Gomoku`], [`GomokuLarge`], [`GomokuFree`], [`Checkers`] | the games |
//! | [`picture`](fn@picture) | a board and what a search of it found, as SVG |
//! | [`contest`] | games between two players, recorded, repeated, scored |
//! | [`RawPlayouts`] | playouts without a tree, for measurements |
//! | [`Game`], [`KernelSet`], [`Notation`] | what a game is: its rules, its kernels, its text |
//! | [`position_after`], [`play_moves`], [`check_playable`] | positions from moves |
//!
//! # The algorithm
//!
//! ```text
//! step, in every tree   select      from the root to a leaf, the child with the largest  q + C · √(ln n(parent) / n(child))
//!                       expand      the leaf gets a child for each legal action
//!                       playout     acp: m random games from every child; ocp: m from one of them
//!                       backup      counts of games, wins and draws are added along the path
//! at the end            reduce      the trees' counts are added; most games played is the best action, a proven win before that
//! ```
//!
//! `n` counts games, `q` is their mean result for the player who chooses among the children, 0 to 1. A *thrifty* variant launches blocks for the children that there are,
//! a *prodigal* one for all actions. The same seed and the same number of steps give the same statistics on every back end, for all four [`Variant`]s and every [`Engine`].
//!
//! # Data layout
//!
//! ```text
//! tree t      nodes [t · capacity ..]   0 (root) | children of the root | children of some leaf | …
//!                                       a node's children stand side by side, ascending by action
//! a node      statistics   32 bytes     games, wins, draws (u64), first child, number of children with outcome and player (u32)
//!             link          8 bytes     parent (u32), action, depth (u16)
//!             position      G           as the game's type has it
//! capacity    what Options::device_memory_gb leaves, at most 2²⁴ nodes a tree, and no more than the steps can use
//! streams     16 bytes of random state for each lane that plays, and one a tree
//! ```
//!
//! [`SearchBuilder::capacity`] and [`SearchBuilder::memory_needed`] say both before anything is allocated. A tree that is full grows no more; the report says so. Kernels, and the
//! structures byte by byte: [`warpplay_gpu::mcts`]; plain form: [`warpplay_cpu_ref::mcts`].
//!
//! # Paper
//! Klęsk, "MCTS-NC: A thorough GPU parallelization of Monte Carlo Tree Search", SoftwareX.

/// Lists every field that differs between the recorded value and the present one: its name and both values, as written in the files.
macro_rules! differences {
    ($old:expr, $now:expr, $($field:ident),*) => {{
        let mut found = Vec::new();
        $( if $old.$field != $now.$field {
            let (old, now) = (serde_json::json!($old.$field), serde_json::json!($now.$field));
            found.push(format!("{}: recorded {old}, now {now}", stringify!($field)));
        } )*
        found
    }};
}

mod blocks;
mod builder;
mod clock;
pub mod contest;
mod dispatch;
mod engines;
mod layout;
mod options;
mod picture;
mod position;
mod raw;
mod report;
mod search;

pub use blocks::BlockSizes;
pub use builder::SearchBuilder;
pub use engines::cpu::Adapted;
pub use options::{Engine, MAX_PLAYOUTS, MAX_TREE_SIZE, MAX_TREES, Options, Variant};
pub use picture::picture;
pub use position::{check_playable, play_moves, position_after};
pub use raw::{RawPlayouts, RawReport, RawShape};
pub use report::{ActionReport, Performance, Report, SCHEMA, StageMs, StageTimes, StoppedBy, TreesReport};
pub use search::Search;
pub use warpplay_gpu::mcts::games::checkers::Checkers;
pub use warpplay_gpu::mcts::games::connect4::{Connect4Large, Connect4Standard as Connect4};
pub use warpplay_gpu::mcts::games::gomoku::{GomokuFree, GomokuLarge, GomokuStandard as Gomoku};
pub use warpplay_gpu::mcts::{Game, KernelSet, Notation, NotationError, Outcome, Player};
