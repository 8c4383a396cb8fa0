//! The engine: solvers of the trees, and a meter.

use std::sync::Arc;

use super::meter::{self, Meter};
use super::places::Places;
use super::trees::{Learning, Trees};
use crate::cfr::engines::{Solve, explicit, mccfr};
use crate::cfr::layout::{Buckets, Measured, Tables, Values};
use crate::cfr::options::{Options, Sampling};
use crate::{Device, Error, Memory, Result};

/// Checks that the options suit the trees, and returns the memory that a solve needs.
///
/// # Errors
/// As `explicit::fits`, or `mccfr::fits` where something is sampled.
pub(in crate::cfr) fn fits(device: &Device, trees: &Trees, options: &Options) -> Result<Memory> {
    let (mut on_device, mut on_host) = (0, 0);
    for Learning { tree, .. } in &trees.learning {
        let memory = match options.sampling {
            Sampling::None => explicit::learning(device, tree, options)?,
            _ => mccfr::learning(device, tree, options)?,
        };
        on_device += memory.device();
        on_host += memory.host();
    }
    let measuring = meter::memory(device, &trees.exact);
    Ok(Memory::default()
        .on_device("trees, tables and values", on_device)
        .on_device("measuring", measuring.device())
        .on_host("trees and tables", on_host)
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
    seats: std::ops::Range<usize>,
    /// Lengths of the tree's tables, by seat.
    lens: Vec<usize>,
    /// By seat that learns.
    places: Vec<Places>,
}

impl Learner {
    fn new(device: &Device, learning: &Learning, layout: &Buckets, options: &Options) -> Result<Self> {
        let Learning { tree, seats } = learning;
        let engine = match options.sampling {
            Sampling::None => explicit::learner(device, Arc::clone(tree), options, seats.clone())?,
            _ => mccfr::learner(device, Arc::clone(tree), options)?,
        };
        Ok(Self {
            engine,
            seats: seats.clone(),
            lens: (0..tree.n_players()).map(|seat| tree.table_len(seat)).collect(),
            places: seats.clone().map(|seat| Places::new(tree, seat, layout)).collect(),
        })
    }

    /// The layout's tables of the seats that learn, from the tree's.
    fn out_of_tree(&self, tables: &[Values]) -> Vec<Values> {
        // No table at all, if the algorithm has no such tables.
        let of_seats = tables.iter().skip(self.seats.start);
        self.places.iter().zip(of_seats).map(|(places, table)| places.out_of_tree(table)).collect()
    }

    /// The tree's tables from the layout's: zeros for seats that do not learn.
    fn to_tree(&self, tables: &[Values]) -> Vec<Values> {
        let of_seat = |(seat, table): (usize, &Values)| match self.seats.contains(&seat) {
            true => self.places[seat - self.seats.start].to_tree(table),
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
            Ok(learner.out_of_tree(&tables.averages))
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
            all.regrets.extend(learner.out_of_tree(&tables.regrets));
            all.averages.extend(learner.out_of_tree(&tables.averages));
            all.predictions.extend(learner.out_of_tree(&tables.predictions));
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
                regrets: learner.to_tree(regrets),
                averages: learner.to_tree(averages),
                predictions: learner.to_tree(predictions),
                utilities: utilities.clone(),
                random: random.clone(),
                choice: Vec::new(),
            })?;
        }
        Ok(())
    }
}
