//! Sampled traversals on the CPU: the plain program of `cpu-ref`, on the tree's own nodes.
//!
//! One traversal a seat and iteration, from the strategies as they are then; the plain method only: regrets and averages are not weighted.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::{mccfr as plain, tree as plain_tree};

use crate::cfr::engines::Solve;
use crate::cfr::engines::explicit::{self, Order, Walked};
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::{Measured, Tables, Values};
use crate::cfr::options::{Algorithm, Averaging, Options, Sampling, Updates};
use crate::{Error, Precision, Result};

/// Whether the plain program does this.
pub(super) fn fits(options: &Options) -> Result<()> {
    let refuse = |name, value: String, allowed| Err(Error::option(name, value, format!("{allowed}, on the CPU")));
    if options.algorithm != Algorithm::Cfr {
        return refuse("algorithm", options.algorithm.to_string(), "cfr with external, outcome or chance sampling");
    }
    if options.updates != Updates::Alternating {
        return refuse("updates", options.updates.to_string(), "alternating with external, outcome or chance sampling");
    }
    if !matches!(options.averaging, Averaging::Auto | Averaging::Uniform) {
        return refuse("averaging", options.averaging.to_string(), "auto or uniform with sampled traversals");
    }
    if options.batch != 1 {
        return refuse("batch", options.batch.to_string(), "1 with sampled traversals");
    }
    if options.precision == Precision::I16 {
        return refuse("precision", options.precision.to_string(), "f32 or f64 on a tree");
    }
    Ok(())
}

/// Bytes here.
pub(super) fn bytes(tree: &Tree) -> u64 {
    explicit::plain_bytes(tree)
}

/// The engine: one thread, tables in double precision.
pub(super) struct Cpu {
    solver: plain::Solver<u32>,
    order: Order,
    tree: Arc<Tree>,
}

impl Cpu {
    pub fn new(tree: &Arc<Tree>, options: &Options) -> Self {
        let walked = Arc::new(plain_tree::Tree::new(&Walked(tree)));
        let sampling = match options.sampling {
            Sampling::Outcome => plain::Sampling::Outcome { exploration: options.exploration },
            Sampling::Chance => plain::Sampling::Chance,
            _ => plain::Sampling::External,
        };
        let order = Order::new(tree, &walked);
        Self { solver: plain::Solver::new(walked, sampling, options.seed), order, tree: Arc::clone(tree) }
    }
}

impl Solve for Cpu {
    fn run(&mut self, n: u32) -> Result<()> {
        self.solver.iterate(n.into());
        Ok(())
    }

    fn measure(&mut self) -> Result<Measured> {
        let (average, tree) = (self.solver.average(), self.solver.tree());
        Ok(Measured { values: average.values(tree), best_responses: average.best_responses(tree) })
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        Ok(self.solver.state().utilities.clone())
    }

    fn tables(&mut self) -> Result<Tables> {
        let state = self.solver.state();
        Ok(Tables {
            iteration: state.iteration,
            regrets: self.order.ours(&state.regrets),
            averages: self.order.ours(&state.averages),
            predictions: Vec::<Values>::new(),
            utilities: state.utilities.clone(),
            random: vec![state.random],
        })
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let n_players = self.tree.n_players;
        if tables.utilities.len() != n_players {
            return Err(Error::shape("utilities", format!("{n_players} values"), tables.utilities.len()));
        }
        let [random] = tables.random[..] else {
            return Err(Error::shape("state of the generator", "1 value", tables.random.len()));
        };
        let state = plain::State {
            iteration: tables.iteration,
            regrets: self.order.theirs("regrets", &tables.regrets)?,
            averages: self.order.theirs("averages", &tables.averages)?,
            utilities: tables.utilities.clone(),
            random,
        };
        self.solver.set_state(state);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        bytes(&self.tree)
    }
}
