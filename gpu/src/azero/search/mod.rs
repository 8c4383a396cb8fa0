//! The search that uses the network: many games' trees on the GPU, each grown by the PUCT rule.
//!
//! # The algorithm
//!
//! A tree's root is evaluated and expanded first (its visit count is 1 then). A *simulation* descends from the root to a node that is not expanded, has it
//! evaluated, expands it, and adds its value to the visited nodes. At each node it goes to the child with the largest
//!
//! ```text
//! Q + c_puct · P · √N / (1 + n)       the lowest action of equals
//! ```
//!
//! where `N` counts the evaluations below the parent, `n` those below the child, P is the evaluator's probability, and Q the mean value for the player who is to
//! move **at the parent**: 0 without a visit, and exactly ±1 or 0 where the child is the end of the game, which is known as soon as the parent is expanded.
//! Values are added up for the first player and turned when they are read, since players do not always alternate (a capture may go on).
//!
//! - **Several leaves a step.** A step begins several simulations, one after the other, before any of them has its value. Until then a simulation counts, at
//!   each node it passed, as a visit that the player who moved there has lost (virtual loss). A leaf may come up twice in a step; it is evaluated for each and
//!   expanded once. Values arrive in the order of the selections.
//! - **Ends of games** are worth their true result; nothing is evaluated there.
//! - **Noise.** `(1 - ε) · P + ε · Dirichlet(α)` at the root, after its evaluation.
//! - **The move.** With temperature τ an action is drawn with weight `visits^(1/τ)`; with 0 it is the most visited, the lowest of equals.
//! - **Full.** A leaf whose children do not fit into the tree, or at depth [`MAX_PATH`](tree::MAX_PATH), is evaluated and never expanded.
//! - **Random numbers** depend on seed, game and ply alone, see [`random`].
//!
//! Nothing is added atomically: the same seed gives the same bits, however many games run side by side, and those of the twin.
//!
//! # The kernels
//!
//! ```text
//! begin → evaluate → step(0) → noise → step(n) → [ evaluate → step(n) ] × steps → finish
//! ```
//!
//! | kernel | function |
//! |---|---|
//! | `azero_search_begin` | [`begin::begin`] |
//! | `azero_search_step` | [`step::step`]: expansion, backup, selection, observations |
//! | `azero_search_noise` | [`begin::add_noise`] |
//! | `azero_search_playouts` | [`playouts::playouts`] |
//! | `azero_search_finish` | [`finish::finish`] |
//!
//! Each kernel's launch, memory, cost, twin and source stand at its declaration in [`instantiate`], and in the tables of `docs/kernels.md`.
//!
//! Paper: Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play", 2018; and OpenSpiel's `PUCTValue`.

pub mod begin;
pub mod expand;
pub mod finish;
mod games;
pub mod instantiate;
pub mod playouts;
pub mod random;
pub mod select;
pub mod step;
pub mod tree;

#[cfg(not(target_arch = "nvptx64"))]
pub use instantiate::{Kernels, SearchKernels};
pub use tree::Searched;
