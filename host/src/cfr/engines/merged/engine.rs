//! The engine: solvers of the trees, and a meter.

use std::sync::Arc;

use super::meter::{self, Meter};
use super::offsets::Offsets;
use super::trees::{Learning, Trees};
use crate::cfr::engines::{Solve, explicit, mccfr};
use crate::cfr::layout::{Buckets, Measured, Tables, Values};
use crate::cfr::options::{Options, Sampling};
use crate::{Device, Error, Memory, Result};

/// Checks what does not depend on the trees.
///
/// # Errors
/// [`Error::Option`] with what the engine of the trees does not support.
pub(in crate::cfr) fn check(device: &Device, n_players: usize, options: &Options) -> Result<()> {
    match options.sampling {
        Sampling::None => explicit::check(n_players, options),
        _ => mccfr::check(device, options),
    }
}

/// Checks that the options suit the trees, and returns the memory that a solve needs.
///
/// * `n_values`: values of all seats' tables in the layout.
///
/// # Errors
/// As `explicit::fits`, or `mccfr::fits` where something is sampled.
pub(in crate::cfr) fn fits(device: &Device, trees: &Trees, n_values: u64, options: &Options) -> Result<Memory> {
    let (mut on_device, mut on_host) = (0, trees.exact.bytes());
    for Learning { tree, .. } in &trees.learning {
        let memory = match options.sampling {
            Sampling::None => explicit::learning(device, tree, options)?,
            _ => mccfr::learning(device, tree, options)?,
        };
        on_device += memory.device();
        on_host += memory.host() + tree.bytes();
    }
    let measuring = meter::memory(device, &trees.exact);
    // Regrets, averages and last regrets, when they are read or measured.
    let tables = n_values.saturating_mul(3 * 8);
    Ok(Memory::default()
        .on_device("trees, tables and values", on_device)
        .on_device("measuring", measuring.device())
        .on_host("trees", on_host)
        .on_host("tables", tables)
        .on_host("measuring", measuring.host()))
}

/// The engine of a game in buckets.
///
/// # Errors
/// As [`fits`], and errors of the device.
pub(in crate::cfr) fn build(
    device: &Device,
    trees: &Trees,
    layout: &Arc<Buckets>,
    options: &Options,
) -> Result<Box<dyn Solve>> {
    let learner = |learning: &Learning| Learner::new(device, learning, layout, options);
    Ok(Box::new(Merged {
        learners: trees.learning.iter().map(learner).collect::<Result<_>>()?,
        meter: Meter::new(device, &trees.exact, layout)?,
        table_lens: (0..layout.rules.n_players).map(|seat| layout.table_len(seat)).collect(),
    }))
}

struct Merged {
    learners: Vec<Learner>,
    meter: Meter,
    /// Values of each seat's table in the layout.
    table_lens: Vec<usize>,
}

/// The solver of a tree.
struct Learner {
    engine: Box<dyn Solve>,
    /// Seats of the game, below the lengths of all that is by seat.
    seats: std::ops::Range<usize>,
    /// Lengths of the tree's tables, by seat.
    lens: Vec<usize>,
    /// By seat that learns.
    offsets: Vec<Offsets>,
}

impl Learner {
    fn new(device: &Device, learning: &Learning, layout: &Buckets, options: &Options) -> Result<Self> {
        let Learning { tree, seats } = learning;
        let engine = match options.sampling {
            Sampling::None => explicit::learner(device, tree, options, seats.clone())?,
            _ => mccfr::learner(device, tree, options)?,
        };
        Ok(Self {
            engine,
            seats: seats.clone(),
            lens: (0..tree.n_players()).map(|seat| tree.table_len(seat)).collect(),
            offsets: seats.clone().map(|seat| Offsets::new(tree, seat, layout)).collect::<Result<_>>()?,
        })
    }

    /// The layout's tables of the seats that learn, from the tree's.
    fn layout_from_tree(&self, tables: &[Values]) -> Vec<Values> {
        // No table at all, if the algorithm has no such tables.
        let of_seats = tables.iter().skip(self.seats.start);
        self.offsets.iter().zip(of_seats).map(|(offsets, table)| offsets.layout_from_tree(table)).collect()
    }

    /// The tree's tables from the layout's: zeros for seats that do not learn.
    fn tree_from_layout(&self, tables: &[Values]) -> Vec<Values> {
        let of_seat = |(seat, table): (usize, &Values)| match self.seats.contains(&seat) {
            true => self.offsets[seat - self.seats.start].tree_from_layout(table),
            false => table.zeros(self.lens[seat]),
        };
        tables.iter().enumerate().map(of_seat).collect()
    }
}

impl Merged {
    /// Joins what the learners have for their seats.
    fn joined<T>(&mut self, mut of: impl FnMut(&mut Learner) -> Result<Vec<T>>) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for learner in &mut self.learners {
            all.extend(of(learner)?);
        }
        Ok(all)
    }
}

impl Solve for Merged {
    fn run(&mut self, n: u32) -> Result<()> {
        self.learners.iter_mut().try_for_each(|learner| learner.engine.run(n))
    }

    fn measure(&mut self) -> Result<Measured> {
        let averages = self.joined(|learner| {
            let tables = learner.engine.tables()?;
            Ok(learner.layout_from_tree(&tables.averages))
        })?;
        self.meter.measure(&averages)
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        self.joined(|learner| Ok(learner.engine.utilities()?[learner.seats.clone()].to_vec()))
    }

    fn tables(&mut self) -> Result<Tables> {
        let mut all = Tables::default();
        for learner in &mut self.learners {
            let tables = learner.engine.tables()?;
            all.iteration = tables.iteration;
            all.regrets.extend(learner.layout_from_tree(&tables.regrets));
            all.averages.extend(learner.layout_from_tree(&tables.averages));
            all.predictions.extend(learner.layout_from_tree(&tables.predictions));
            all.utilities.extend_from_slice(&tables.utilities[learner.seats.clone()]);
            // Only sampled traversals have some, and there is one tree of them.
            all.random.extend(tables.random);
        }
        Ok(all)
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let Tables { iteration, regrets, averages, predictions, utilities, random, .. } = tables;
        for (what, of_seats) in [("regrets", regrets), ("averages", averages), ("predictions", predictions)] {
            let lens: Vec<usize> = of_seats.iter().map(Values::len).collect();
            let may_miss = what == "predictions" && lens.is_empty();
            if lens != self.table_lens && !may_miss {
                return Err(Error::shape(what, format!("{:?} values", self.table_lens), format!("{lens:?}")));
            }
        }
        if utilities.len() != self.table_lens.len() {
            return Err(Error::shape("utilities", format!("{} values", self.table_lens.len()), utilities.len()));
        }
        for learner in &mut self.learners {
            learner.engine.set_tables(&Tables {
                iteration: *iteration,
                regrets: learner.tree_from_layout(regrets),
                averages: learner.tree_from_layout(averages),
                predictions: learner.tree_from_layout(predictions),
                utilities: utilities.clone(),
                random: random.clone(),
                choice: Vec::new(),
            })?;
        }
        Ok(())
    }
}
