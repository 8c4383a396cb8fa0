//! A solver's whole state in a file.
//!
//! ```text
//! safetensors   __metadata__   warpplay_cfr_checkpoint: the problem, the options, times, and everything that is no table
//!               regrets.0, …   cumulative regrets by seat, F32 or F64 as the solver has them
//!               averages.0, …  weighted sums of strategies
//!               predictions.0, …   last regrets, where the algorithm predicts
//!               buckets.0, …   with strengths.0, …: the tensors of an abstraction, where there is one
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::cfr::abstraction::Abstraction;
use crate::cfr::dispatch::Plan;
use crate::cfr::layout::{Tables, Values};
use crate::cfr::options::{Engine, Options};
use crate::cfr::problem::{Problem, Stored};
use crate::cfr::report::Point;
use crate::runtime::sealed::Kind;
use crate::runtime::tensors::{self, Tensor};
use crate::{Error, Result};

const KIND: Kind = Kind { key: "warpplay_cfr_checkpoint", name: "checkpoint of cfr", version: 1 };

/// Everything needed to continue a solve as if it had never stopped: [`SolverBuilder::resume`](crate::cfr::SolverBuilder::resume).
pub type Checkpoint = crate::Checkpoint<State>;

/// The content of a [`Checkpoint`].
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    head: Head,
    tables: Tables,
    abstraction: Option<Arc<Abstraction>>,
}

/// Everything except the tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    problem: Stored,
    layout: u64,
    engine: Engine,
    isomorphism: bool,
    options: Options,
    iteration: u64,
    utilities: Vec<f64>,
    random: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    choice: Vec<[f64; 2]>,
    seconds: (f64, f64),
    trajectory: Vec<Point>,
}

impl State {
    pub(in crate::cfr) fn new(
        problem: &Problem,
        plan: &Plan,
        options: &Options,
        tables: Tables,
        seconds: (f64, f64),
        trajectory: Vec<Point>,
    ) -> Checkpoint {
        let head = Head {
            problem: problem.stored(),
            layout: plan.layout.fingerprint(),
            engine: plan.engine,
            isomorphism: options.isomorphism,
            options: *options,
            iteration: tables.iteration,
            utilities: tables.utilities.clone(),
            random: tables.random.clone(),
            choice: tables.choice.clone(),
            seconds,
            trajectory,
        };
        let abstraction = match problem {
            Problem::Abstracted(_, abstraction) => Some(Arc::clone(abstraction)),
            Problem::Poker(_) | Problem::Spot(_) | Problem::Subgame(_) | Problem::Tree(_) => None,
        };
        crate::Checkpoint(Self { head, tables, abstraction })
    }

    /// The problem that was solved. A tree is built again by its name, which takes as long as the first time; `None` for a tree of another game than
    /// [`LiarsDice`](crate::cfr::game::LiarsDice) and [`Goofspiel`](crate::cfr::game::Goofspiel), and if it does not fit.
    pub fn problem(&self) -> Option<Problem> {
        self.head.problem.with(self.abstraction.as_ref()).ok().flatten()
    }

    /// The options of the solve.
    pub fn options(&self) -> &Options {
        &self.head.options
    }

    /// Iterations done.
    pub fn iteration(&self) -> u64 {
        self.head.iteration
    }

    /// The measurements of exploitability.
    pub fn trajectory(&self) -> &[Point] {
        &self.head.trajectory
    }

    /// Whether another checkpoint holds the same iterations with the same bits; times and measurements may differ.
    pub fn same_tables(&self, other: &Self) -> bool {
        self.head.layout == other.head.layout && self.tables == other.tables
    }

    pub(in crate::cfr) fn engine(&self) -> Engine {
        self.head.engine
    }

    /// Seconds of the iterations and of the measurements.
    pub(in crate::cfr) fn seconds(&self) -> (f64, f64) {
        self.head.seconds
    }

    pub(in crate::cfr) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Checks that a solve may continue from this checkpoint.
    pub(in crate::cfr) fn check_fits(&self, plan: &Plan) -> Result<()> {
        if plan.engine != self.head.engine {
            let expected = format!("engine {}, which wrote it", self.head.engine);
            return Err(Error::shape("resuming a checkpoint", expected, format!("engine {}", plan.engine)));
        }
        let found = plan.layout.fingerprint();
        if found != self.head.layout {
            let text = |fingerprint: u64| format!("a game with fingerprint {fingerprint:016x}");
            return Err(Error::shape("resuming a checkpoint", text(self.head.layout), text(found)));
        }
        for (name, tables) in [("regrets", &self.tables.regrets), ("averages", &self.tables.averages)] {
            for (seat, values) in tables.iter().enumerate() {
                let expected = plan.layout.table_len(seat);
                if values.len() != expected {
                    return Err(Error::shape(format!("{name} of seat {seat}"), expected, values.len()));
                }
            }
        }
        let (expected, found) = (plan.layout.n_choices(), self.tables.choice.len());
        if found != expected {
            return Err(Error::shape("regrets of the choice", expected, found));
        }
        Ok(())
    }
}

impl crate::runtime::checkpoint::State for State {
    const KIND: Kind = KIND;

    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let Tables { regrets, averages, predictions, .. } = &self.tables;
        let mut tensors = Vec::new();
        for (name, tables) in [("regrets", regrets), ("averages", averages), ("predictions", predictions)] {
            for (seat, values) in tables.iter().enumerate() {
                let (name, shape) = (format!("{name}.{seat}"), vec![values.len()]);
                tensors.push(match values {
                    Values::F32(values) => Tensor::single(name, shape, values.iter().copied()),
                    Values::F64(values) => Tensor::double(name, shape, values.iter().copied()),
                });
            }
        }
        tensors.extend(self.abstraction.iter().flat_map(|abstraction| abstraction.tensors()));
        KIND.to_bytes(path, &self.head, &tensors, BTreeMap::new())
    }

    fn from_bytes(path: &Path, bytes: &mut [u8]) -> Result<Self> {
        let (mut head, file): (Head, _) = KIND.parse(path, bytes)?;
        // Older files have it beside the options only.
        head.options.isomorphism = head.isomorphism;
        let abstraction = head.problem.buckets(path, &file)?;
        let n_seats = head.utilities.len();
        let table = |name: &str| {
            let names = (0..n_seats).map(|seat| format!("{name}.{seat}"));
            names.map(|name| values(path, &name, &file)).collect::<Result<Vec<_>>>()
        };
        let predicts = head.options.step(1).predicts;
        let tables = Tables {
            iteration: head.iteration,
            regrets: table("regrets")?,
            averages: table("averages")?,
            predictions: if predicts { table("predictions")? } else { Vec::new() },
            utilities: head.utilities.clone(),
            random: head.random.clone(),
            choice: head.choice.clone(),
        };
        Ok(Self { head, tables, abstraction })
    }
}

fn values(path: &Path, name: &str, file: &SafeTensors<'_>) -> Result<Values> {
    let wrong = |reason: String| Error::file(path, None, reason);
    let view = tensors::find(path, file, name)?;
    let values = match view.dtype() {
        Dtype::F32 => Values::F32(tensors::singles(&view)),
        Dtype::F64 => Values::F64(tensors::doubles(&view)),
        other => return Err(wrong(format!("tensor {name} is of type {other}, expected F32 or F64"))),
    };
    tensors::check_values(name, (0..values.len()).map(|at| values.get(at)), true).map_err(wrong)?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use crate::Device;
    use crate::cfr::game::GameDef;
    use crate::cfr::options::{Engine, Sampling};
    use crate::cfr::solver::Solver;

    #[test]
    fn a_solve_goes_on_with_the_engine_that_the_rule_took_then() {
        let game = GameDef::parse(
            "GAMEDEF\nlimit\nnumPlayers = 3\nnumRounds = 1\nblind = 1 1 1\nraiseSize = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 4\n\
             numHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
        )
        .expect("a game");
        let solve = |iterations| {
            let builder =
                Solver::builder(&game).sampling(Sampling::Chance).engine(Engine::Mccfr).iterations(iterations);
            let mut solver = builder.measure_at([]).build(&Device::cpu()).expect("a solver");
            solver.run(|_| ControlFlow::Continue(())).expect("runs");
            solver.checkpoint().expect("a checkpoint")
        };
        let mut old = solve(4);
        // As it was written where the rule gave the engine.
        old.0.head.options.engine = Engine::Auto;
        let mut solver =
            Solver::builder(&game).resume(old).iterations(9).measure_at([]).build(&Device::cpu()).expect("goes on");
        solver.run(|_| ControlFlow::Continue(())).expect("runs");
        assert!(solver.checkpoint().expect("a checkpoint").same_tables(&solve(9)));
    }
}
