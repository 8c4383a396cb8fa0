//! Sampled traversals on the CPU: the reference of `cpu-ref`, on the tree's own nodes.
//!
//! One traversal a seat and iteration, from the strategies as they are then; the plain method only: regrets and averages are not weighted.

use warpplay_cpu_ref::cfr::{mccfr as plain, tree as plain_tree};

use crate::cfr::engines::explicit::{Cpu, Order, Traversals};
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::Tables;
use crate::cfr::options::{Algorithm, Averaging, Options, Sampling, Updates};
use crate::{Error, Precision, Result};

/// Checks that the reference supports the options.
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

/// Sampled traversals of a tree: one thread, tables in double precision.
pub(super) fn sampled(tree: &Tree, options: &Options) -> Cpu<Sampled> {
    let sampling = match options.sampling {
        Sampling::Outcome => plain::Sampling::Outcome { exploration: options.exploration },
        Sampling::Chance => plain::Sampling::Chance,
        _ => plain::Sampling::External,
    };
    Cpu::new(tree, |walked| Sampled(plain::Solver::new(walked, sampling, options.seed)))
}

/// One sampled line per seat and iteration.
pub(super) struct Sampled(plain::Solver<u32>);

impl Traversals for Sampled {
    fn iterate(&mut self, n: u64) {
        self.0.iterate(n);
    }

    fn average(&self) -> (&plain_tree::Tree<u32>, plain_tree::Profile) {
        (self.0.tree().as_ref(), self.0.average())
    }

    fn utilities(&self) -> &[f64] {
        &self.0.state().utilities
    }

    fn tables(&self, order: &Order) -> Tables {
        let state = self.0.state();
        Tables {
            iteration: state.iteration,
            regrets: order.ours(&state.regrets),
            averages: order.ours(&state.averages),
            predictions: Vec::new(),
            utilities: state.utilities.clone(),
            random: vec![state.random],
            choice: Vec::new(),
        }
    }

    fn set_tables(&mut self, order: &Order, tables: &Tables) -> Result<()> {
        let [random] = tables.random[..] else {
            return Err(Error::shape("state of the generator", "1 value", tables.random.len()));
        };
        let state = plain::State {
            iteration: tables.iteration,
            regrets: order.theirs("regrets", &tables.regrets)?,
            averages: order.theirs("averages", &tables.averages)?,
            utilities: tables.utilities.clone(),
            random,
        };
        self.0.set_state(state);
        Ok(())
    }
}
