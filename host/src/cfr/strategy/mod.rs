//! Average strategies: asked by history and hand, kept in files, exported, measured and played against each other; and checkpoints of solvers.
//!
//! What a solve is for is its average strategy. [`Solver::strategy`](super::Solver::strategy) gives it as a [`Strategy`], which knows its game: it answers for any hand after any
//! history, goes to a file and comes back, and says how far it is from an equilibrium. Two strategies of one game can play against each other.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::cfr::{Algorithm, GameDef, Solver, Strategy, head_to_head};
//! use warpplay::{Device, Precision};
//!
//! let game = GameDef::parse(
//!     "GAMEDEF\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 3\n\
//!      numHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
//! )?;
//! let device = Device::cpu();
//! let solved = |iterations| {
//!     let mut solver = Solver::builder(&game).algorithm(Algorithm::CfrPlus).iterations(iterations).build(&device)?;
//!     solver.run(|_| ControlFlow::Continue(()))?;
//!     solver.strategy()
//! };
//! let (good, poor) = (solved(500)?, solved(1)?);
//!
//! // Asked: the jack folds to a bet.
//! let answer = good.query("r", "", "2c")?;
//! assert_eq!((answer.seat, answer.choices[0].action.as_str()), (1, "f"));
//! assert!(answer.choices[0].probability > 0.999);
//!
//! // Measured, and played against the other.
//! assert!(good.profile(&device, Precision::F64)?.nash_conv < 0.01);
//! assert!(head_to_head(&device, &good, &poor, Precision::F64)?.value > 0.0);
//!
//! // Kept in a file.
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("kuhn.strategy");
//! good.save(&path)?;
//! assert_eq!(Strategy::load(&path)?.query("r", "", "2c")?, answer);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Strategy`] | a probability for each action of every information set |
//! | [`Answer`], [`Choice`] | what it does in one of them |
//! | [`Profile`] | its values, best responses and exploitability |
//! | [`LowerBound`] | a lower bound of the exploitability, by a local best response, where the game is too large for exact ones |
//! | [`head_to_head`], [`head_to_head_sampled`], [`HeadToHead`], [`SampledDeals`] | one strategy against another, over all deals or sampled ones |
//! | [`Checkpoint`], [`State`] | all that a solver remembers, to go on with the same bits |
//!
//! # Files
//!
//! ```text
//! strategy     safetensors: strategy.0, strategy.1, …   probabilities by seat, in the layout's order; F32, or U16 in steps of 1/65535 (save_compact)
//!              0 in sets never reached, which count as uniform; problem, options and layout stand in the metadata
//! JSON         {"key": {"actions": […], "probabilities": […], "reached": true}, …}, a line each
//! CSV          key,seat,reached,action,probability
//! key          seat:hole:board:betting, as 0:Ah:Kh7d2c/5s:rc/c; seats from 0, rounds divided by /
//! ```
//!
//! The order of probabilities is that of the tables: [`layout`](super::layout).

mod by_cards;
mod checkpoint;
mod deals;
mod export;
mod file;
mod local;
mod measure;
mod query;
mod sampled;
mod sets;

pub(in crate::cfr) use by_cards::ByCards;
pub use checkpoint::{Checkpoint, State};
pub use local::LowerBound;
pub use measure::{HeadToHead, Profile, SampledDeals, head_to_head};
pub use query::{Answer, Choice};
pub use sampled::head_to_head_sampled;

use crate::cfr::dispatch::Plan;
use crate::cfr::layout::{Layout, Tables};
use crate::cfr::options::Options;
use crate::cfr::problem::Problem;
use crate::{Error, Result};

/// The average strategy of a solve: for every information set a probability for each action.
///
/// Probabilities are kept in single precision. Information sets that the solve never reached count as uniform.
#[derive(Clone, Debug)]
pub struct Strategy {
    problem: Problem,
    layout: Layout,
    options: Options,
    iteration: u64,
    /// By seat, in the layout's order; all 0 in sets that were never reached.
    probabilities: Vec<Vec<f32>>,
}

impl Strategy {
    pub(in crate::cfr) fn from_tables(
        problem: &Problem,
        plan: &Plan,
        options: &Options,
        tables: &Tables,
    ) -> Result<Self> {
        let layout = plan.layout.clone();
        let mut probabilities = Vec::new();
        for seat in 0..layout.n_players() {
            let expected = layout.table_len(seat);
            let sums = tables.averages.get(seat).filter(|sums| sums.len() == expected);
            let sums =
                sums.ok_or_else(|| Error::shape(format!("averages of seat {seat}"), expected, "another number"))?;
            // The opponent of a subgame's seat plays a part of the solution only.
            let is_result = !matches!(problem, Problem::Subgame(subgame) if subgame.seat() != seat);
            probabilities.push(if is_result { layout.normalised(seat, sums) } else { vec![0.0; expected] });
        }
        Ok(Self { problem: problem.clone(), layout, options: *options, iteration: tables.iteration, probabilities })
    }

    /// The problem of the strategy.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The options of the solve.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Iterations of the solve.
    pub fn iterations(&self) -> u64 {
        self.iteration
    }

    /// Pairs of information set and action over all seats.
    pub fn infoset_actions(&self) -> u64 {
        self.layout.len() as u64
    }
}
