//! Average strategies: asked by history and hand, kept in files, exported, measured and played against each other; and checkpoints of solvers.

mod checkpoint;
mod export;
mod file;
mod measure;
mod query;
mod sampled;
mod sets;

pub use checkpoint::{Checkpoint, State};
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
    /// By seat, in the layout's order; all 0 in sets never reached.
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
            probabilities.push(layout.normalised(seat, sums));
        }
        Ok(Self { problem: problem.clone(), layout, options: *options, iteration: tables.iteration, probabilities })
    }

    /// What it is a strategy of.
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
