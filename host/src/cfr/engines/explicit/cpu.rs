//! Full traversals on the CPU: the reference of `cpu-ref`, on the tree's own nodes.

use std::ops::Range;
use std::sync::Arc;

use warpplay_cpu_ref::cfr as plain;

use crate::cfr::engines::Solve;
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::{Measured, Tables, Values};
use crate::cfr::options::{Algorithm, Averaging, Options, Updates};
use crate::{Error, Memory, Result};

/// A tree in the form that the reference walks: a state is a node, a key is a set.
pub(in crate::cfr) struct Walked<'a>(pub &'a Tree);

impl plain::tree::Game for Walked<'_> {
    type State = u32;
    type Key = u32;

    fn n_players(&self) -> usize {
        self.0.n_players
    }

    fn root(&self) -> u32 {
        0
    }

    fn turn(&self, &node: &u32) -> plain::tree::Turn {
        let (tree, node) = (self.0, node as usize);
        let children = tree.children(node);
        if children.is_empty() {
            return plain::tree::Turn::End(tree.payoffs_of(node).to_vec());
        }
        match tree.set_of(node) {
            Some(set) => plain::tree::Turn::Player { seat: tree.sets[set].seat, n_actions: children.len() },
            None => {
                let outcome = |child: usize| tree.outcomes[tree.rows[child] as usize - tree.n_rows()];
                plain::tree::Turn::Chance(children.map(outcome).collect())
            }
        }
    }

    fn after(&self, &node: &u32, action: usize) -> u32 {
        self.0.first[node as usize] + action as u32
    }

    fn key(&self, &node: &u32) -> u32 {
        self.0.end_or_set[node as usize]
    }
}

/// Host memory, estimated from what the reference stores per history and per action.
pub(in crate::cfr) fn memory(tree: &Tree) -> Memory {
    const NODE: usize = 48;
    let of_tree = tree.n_nodes() * NODE + 8 * tree.payoffs.len() + tree.sets.len() * 80;
    Memory::default()
        .on_host("tree", of_tree as u64)
        .on_host("regrets, averages and strategies", (8 * 5 * tree.n_rows()) as u64)
}

/// The order of the reference's tables, whose sets are numbered by a depth-first walk, relative to that of a tree.
pub(in crate::cfr) struct Order {
    /// For each set: its seat, its offset in the reference's table, its offset in ours, and its number of actions.
    offsets: Vec<[usize; 4]>,
    table_lens: Vec<usize>,
}

impl Order {
    pub fn new(tree: &Tree, theirs: &plain::tree::Tree<u32>) -> Self {
        let offsets = |set: &plain::tree::InformationSet<u32>| {
            let ours = &tree.sets[set.key as usize];
            [ours.seat, set.offset, ours.offset, set.n_actions]
        };
        let table_lens = (0..tree.n_players).map(|seat| tree.table_len(seat)).collect();
        Self { offsets: theirs.sets().iter().map(offsets).collect(), table_lens }
    }

    /// Converts the reference's tables to our order.
    pub fn ours(&self, tables: &[Vec<f64>]) -> Vec<Values> {
        let mut ours: Vec<Vec<f64>> = tables.iter().map(|table| vec![0.0; table.len()]).collect();
        for &[seat, theirs, at, n] in &self.offsets {
            ours[seat][at..at + n].copy_from_slice(&tables[seat][theirs..theirs + n]);
        }
        ours.into_iter().map(Values::F64).collect()
    }

    /// Converts our tables to the reference's order.
    pub fn theirs(&self, what: &str, tables: &[Values]) -> Result<Vec<Vec<f64>>> {
        let lengths: Vec<usize> = tables.iter().map(Values::len).collect();
        if lengths != self.table_lens || tables.iter().any(|table| !matches!(table, Values::F64(_))) {
            let expected = format!("tables of f64 with lengths {:?}", self.table_lens);
            return Err(Error::shape(what, expected, format!("lengths {lengths:?}, or another precision")));
        }
        let mut theirs: Vec<Vec<f64>> = lengths.iter().map(|&len| vec![0.0; len]).collect();
        for &[seat, there, at, n] in &self.offsets {
            (0..n).for_each(|action| theirs[seat][there + action] = tables[seat].get(at + action));
        }
        Ok(theirs)
    }

    /// Tables of zeros in the reference's order.
    fn zeros(&self) -> Vec<Vec<f64>> {
        self.table_lens.iter().map(|&len| vec![0.0; len]).collect()
    }
}

/// The interface of a reference solver for [`Cpu`].
pub(in crate::cfr) trait Traversals: Send {
    /// Runs `n` more iterations.
    fn iterate(&mut self, n: u64);

    /// The tree that it walks, and the average strategies.
    fn average(&self) -> (&plain::tree::Tree<u32>, plain::tree::Profile);

    /// Sums of utilities by seat.
    fn utilities(&self) -> &[f64];

    /// The complete state, in the order of a tree.
    fn tables(&self, order: &Order) -> Tables;

    /// Restores the state that was read.
    ///
    /// # Errors
    /// [`Error::Shape`] if the tables belong to another tree.
    fn set_tables(&mut self, order: &Order, tables: &Tables) -> Result<()>;
}

/// The engine: one thread, tables in double precision.
pub(in crate::cfr) struct Cpu<S> {
    solver: S,
    order: Order,
    n_players: usize,
}

impl<S: Traversals> Cpu<S> {
    /// Makes an engine from a function that makes a solver of a walked tree.
    pub fn new(tree: &Tree, solver: impl FnOnce(Arc<plain::tree::Tree<u32>>) -> S) -> Self {
        let walked = Arc::new(plain::tree::Tree::new(&Walked(tree)));
        let order = Order::new(tree, &walked);
        Self { solver: solver(walked), order, n_players: tree.n_players }
    }
}

impl<S: Traversals> Solve for Cpu<S> {
    fn run(&mut self, n: u32) -> Result<()> {
        self.solver.iterate(n.into());
        Ok(())
    }

    fn measure(&mut self) -> Result<Measured> {
        let (tree, average) = self.solver.average();
        Ok(Measured { values: average.values(tree), best_responses: average.best_responses(tree) })
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        Ok(self.solver.utilities().to_vec())
    }

    fn tables(&mut self) -> Result<Tables> {
        Ok(self.solver.tables(&self.order))
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        if tables.utilities.len() != self.n_players {
            return Err(Error::shape("utilities", format!("{} values", self.n_players), tables.utilities.len()));
        }
        self.solver.set_tables(&self.order, tables)
    }
}

/// Full traversals of a tree, from which some seats learn.
pub(super) fn full(tree: &Tree, options: &Options, seats: Range<usize>) -> Cpu<Full> {
    let predicts = options.algorithm == Algorithm::PcfrPlus;
    let solver = |walked| plain::tree::Solver::of_seats(walked, reference_options(options), seats);
    Cpu::new(tree, |walked| Full { solver: solver(walked), predicts })
}

/// Every history in every iteration.
pub(super) struct Full {
    solver: plain::tree::Solver<u32>,
    predicts: bool,
}

impl Traversals for Full {
    fn iterate(&mut self, n: u64) {
        self.solver.iterate(n);
    }

    fn average(&self) -> (&plain::tree::Tree<u32>, plain::tree::Profile) {
        (self.solver.tree().as_ref(), self.solver.average())
    }

    fn utilities(&self) -> &[f64] {
        &self.solver.state().utilities
    }

    fn tables(&self, order: &Order) -> Tables {
        let state = self.solver.state();
        Tables {
            iteration: state.iteration,
            regrets: order.ours(&state.regrets),
            averages: order.ours(&state.averages),
            predictions: if self.predicts { order.ours(&state.last) } else { Vec::new() },
            utilities: state.utilities.clone(),
            random: Vec::new(),
            choice: Vec::new(),
        }
    }

    fn set_tables(&mut self, order: &Order, tables: &Tables) -> Result<()> {
        let last = if self.predicts { order.theirs("predictions", &tables.predictions)? } else { order.zeros() };
        let state = plain::tree::State {
            iteration: tables.iteration,
            regrets: order.theirs("regrets", &tables.regrets)?,
            averages: order.theirs("averages", &tables.averages)?,
            last,
            utilities: tables.utilities.clone(),
        };
        self.solver.set_state(state);
        Ok(())
    }
}

/// Converts the options to those of the reference.
pub(in crate::cfr) fn reference_options(options: &Options) -> plain::Options {
    plain::Options {
        algorithm: match options.algorithm {
            Algorithm::Cfr => plain::Algorithm::Cfr,
            Algorithm::CfrPlus => plain::Algorithm::CfrPlus,
            Algorithm::Lcfr => plain::Algorithm::Lcfr,
            Algorithm::Dcfr => plain::Algorithm::Dcfr,
            Algorithm::PcfrPlus => plain::Algorithm::PcfrPlus,
            Algorithm::CfrBr => plain::Algorithm::CfrBr,
        },
        updates: match options.updates {
            Updates::Alternating => plain::Updates::Alternating,
            Updates::Simultaneous => plain::Updates::Simultaneous,
        },
        averaging: match options.averaging {
            Averaging::Auto => plain::Averaging::Auto,
            Averaging::Uniform => plain::Averaging::Uniform,
            Averaging::Linear => plain::Averaging::Linear,
            Averaging::Quadratic => plain::Averaging::Quadratic,
        },
        discounts: options.discounts,
    }
}
