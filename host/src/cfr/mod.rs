//! Equilibria of poker and of other games of hidden information, by counterfactual regret minimisation: on the GPU, on the CPU thread by thread, and on the
//! CPU in plain Rust.
//!
//! In such a game the best play is a strategy with probabilities, from which no player gains by leaving it. [`Solver`] finds it for a poker game from a definition file, for
//! a hold'em [`Spot`] or for any [`Game`], and measures exactly how far it still is from it. A [`Strategy`] answers questions, goes to a file, and plays against others.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::cfr::{Algorithm, GameDef, Solver};
//! use warpplay::{Device, Precision};
//!
//! // Kuhn poker: three cards, ante 1, one bet of 1.
//! let game = GameDef::parse(
//!     "GAMEDEF\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 3\n\
//!      numHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
//! )?;
//! let builder = Solver::builder(game).algorithm(Algorithm::CfrPlus).precision(Precision::F64);
//! let mut solver = builder.build(&Device::cpu())?;
//! let report = solver.run(|_| ControlFlow::Continue(()))?;
//!
//! // Nobody can win much against the average strategy, and the game is worth -1/18 to the first seat.
//! let point = report.trajectory.last().expect("a run measures at its end");
//! assert!(point.nash_conv < 0.001 && (point.value[0] + 1.0 / 18.0).abs() < 0.001);
//!
//! // The king calls a bet.
//! let answer = solver.strategy()?.query("r", "", "4c")?;
//! assert!(answer.choices[1].action == "c" && answer.choices[1].probability > 0.999);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # The algorithm
//!
//! A player knows its *information set*: its own cards, the board, and what was done, but not the others' cards. In each iteration, for each set, the value
//! of every action is found against the others' present strategies, weighted with the probability that chance and the others bring the hand there
//! (*counterfactual* value; the player's own part is left out). How much better an action would have been than what was played is its *regret*; regrets are
//! summed over the iterations, and the next strategy plays actions in proportion to their positive sums (*regret matching*). The strategies themselves wander; their
//! average, weighted with the player's own reach, goes to an equilibrium of two players, and with more players to something worth trying.
//!
//! ```text
//! strategy   σ(a) = max(R(a), 0) / Σ max(R, 0),  uniform where nothing is positive
//! values     v(a) = Σ over histories of chance · others' reach · utility after a,   v = Σ σ(a) v(a)
//! regrets    R(a) += v(a) − v                  then discounted or cut off at 0, by Algorithm
//! average    S(a) += weight · own reach · σ(a)   with the strategy before it is renewed
//! ```
//!
//! *Exploitability* says how far the average is from an equilibrium: what each seat could win more by its best response against the others. NashConv
//! is the sum over the seats. It is found exactly, on the device, and its time is reported apart.
//!
//! # Which engine solves
//!
//! | what | where kernels run | on the CPU |
//! | --- | --- | --- |
//! | two players; all deals, or boards or hands sampled | `small` where regrets and averages fit in a block's shared memory, else `street` | `cpu`, all deals only; one deal by name with `walk` or `mccfr` |
//! | the rest of a hand, re-solved for one seat ([`Subgame`]) | `street` | `cpu` |
//! | more players, one hole card, one suit, no board | `subset` where the explicit tree would have more than 4 million nodes, else `explicit` | `explicit` |
//! | more players, else; trees of other games | `explicit` | `explicit` |
//! | more players, chance sampling; any number with buckets of cards ([`Problem::abstracted`]), sampled deals | `walk` | `walk` |
//! | buckets of cards and all deals, for every algorithm | `explicit` | `explicit` |
//! | external or outcome sampling | `mccfr` | `mccfr`: one traversal an iteration, `cfr`, alternating |
//!
//! [`Engine`] asks for one by name. What an engine cannot do is an error that says why and, where it is memory, how much; nothing is replaced by
//! something else.
//!
//! | engine | what it is |
//! | --- | --- |
//! | `small` | public tree × vectors of hands, a whole game in one block, many iterations a launch |
//! | `street` | the same, a block a betting round on a board, level by level in a graph; 16-bit tables |
//! | `subset` | betting tree × cards: all deals by a recurrence over sets of cards, any number of players |
//! | `explicit` | every history a node, level by level |
//! | `mccfr` | sampled traversals of the explicit tree, a thread each |
//! | `walk` | sampled deals, a warp a subtree of the betting, up to 32 deals at once |
//! | `cpu` | the vector form in plain Rust on all cores |
//!
//! The programs of the paper that this family began with are repeated in the crate `warpplay-papers`.
//!
//! # Where to go on
//!
//! | to | see |
//! | --- | --- |
//! | read a game, play its betting, rank hands, count | [`GameDef`], [`BettingTree`], [`Ranking`], [`Counts`]; the rest in [`game`] |
//! | choose algorithm, updates, averaging, sampling, arithmetic | [`Options`] |
//! | solve, stop early, measure, go on later | [`Solver`], [`Checkpoint`] |
//! | ask, store, export, measure and match strategies | [`Strategy`], [`head_to_head`], [`head_to_head_sampled`] |
//! | solve hold'em spots, on several GPUs | [`Spot`], [`spot`] |
//! | push or fold before the flop, exact chances of winning between classes of hands | [`preflop`] |
//! | solve the rest of a hand anew, from a strategy for the whole game | [`Subgame`], [`subgame`] |
//! | solve another game | [`Game`], [`Tree`] |
//! | merge hands that are alike, and solve a game of them | [`Abstraction`], [`Problem::abstracted`], [`abstraction`] |
//! | solve many small games at once, or with buckets of one's own | [`engines`] |
//! | know how tables are laid out | [`layout`] |
//!
//! # Papers
//! Reis, "A GPU implementation of Counterfactual Regret Minimization" (2015). Zinkevich et al., "Regret Minimization in Games with Incomplete Information"
//! (2007), and the papers named at [`Algorithm`] and [`Sampling`].

pub mod abstraction;
mod dispatch;
pub mod engines;
pub mod game;
pub mod layout;
mod options;
pub mod preflop;
mod problem;
mod report;
mod solver;
pub mod spot;
pub mod strategy;
pub mod subgame;

pub use abstraction::{Abstraction, Recipe};
pub use dispatch::Plan;
pub use game::{BettingTree, CardSet, Counts, Game, GameDef, MatrixGame, Poker, Ranking, Tree};
pub use options::{Algorithm, Averaging, Engine, Options, Sampling, Updates};
pub use problem::Problem;
pub use report::{Point, Report};
pub use solver::{Solver, SolverBuilder};
pub use spot::{Aggregate, Boards, SolvedSpot, Spot, SpotReport, SpotRun, SpotSolver, solve_boards, solve_spots};
pub use strategy::{
    Answer, Checkpoint, HeadToHead, LowerBound, Profile, SampledDeals, Strategy, head_to_head, head_to_head_sampled,
};
pub use subgame::Subgame;
