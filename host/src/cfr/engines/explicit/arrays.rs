//! What stands on the device: the tree, the tables, and the arrays of a pass over all nodes.

use std::sync::Arc;

use warpplay_gpu::cfr::explicit::update;
use warpplay_gpu::cfr::explicit::view::{SeatRange, TreeViewArgs};
use warpplay_gpu::cfr::regret::{Real, Step};

use super::matching::probabilities_of;
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::{Number, Tables, Values};
use crate::cfr::options::{Algorithm, Options};
use crate::runtime::launch::views;
use crate::{Buffer, Error, Result, Stream};

/// Number of iterations whose steps are on the device at a time.
pub(in crate::cfr) const STEPS: u32 = 1024;

/// A tree on the device.
pub(in crate::cfr) struct DeviceTree {
    pub tree: Arc<Tree>,
    parents: Buffer<u32>,
    rows: Buffer<u32>,
    first: Buffer<u32>,
    members: Buffer<u32>,
    set_members: Buffer<u32>,
    set_rows: Buffer<u32>,
    seats: Buffer<SeatRange>,
    /// `[n_seats][n_levels + 1]` First set of each level.
    pub set_levels: Buffer<u32>,
    /// The same on the host.
    pub set_levels_here: Vec<u32>,
    /// Threads per set.
    pub lanes: u32,
    /// Largest number of sets, and of histories, of a seat.
    pub most_sets: u32,
    pub most_members: u32,
}

impl DeviceTree {
    /// Uploads a tree.
    pub fn new(stream: &Stream, tree: &Arc<Tree>) -> Result<Self> {
        let ranges: Vec<SeatRange> = (0..tree.n_players)
            .map(|seat| {
                let (sets, rows) = (tree.seat_range(seat), tree.seat_rows(seat));
                SeatRange {
                    members: tree.set_members[sets.start],
                    members_end: tree.set_members[sets.end],
                    sets: sets.start as u32,
                    sets_end: sets.end as u32,
                    rows: rows.start as u32,
                    rows_end: rows.end as u32,
                }
            })
            .collect();
        let mut set_levels = Vec::with_capacity(tree.n_players * (tree.n_levels() + 1));
        for seat in 0..tree.n_players {
            let sets = tree.seat_range(seat);
            let of_seat = &tree.sets[sets.clone()];
            let first = |level: usize| of_seat.partition_point(|set| (set.level as usize) < level);
            set_levels.extend((0..=tree.n_levels()).map(|level| (sets.start + first(level)) as u32));
        }
        Ok(Self {
            parents: stream.upload(&tree.parents)?,
            rows: stream.upload(&tree.rows)?,
            first: stream.upload(&tree.first)?,
            members: stream.upload(&tree.members)?,
            set_members: stream.upload(&tree.set_members)?,
            set_rows: stream.upload(&tree.set_rows)?,
            seats: stream.upload(&ranges)?,
            set_levels: stream.upload(&set_levels)?,
            set_levels_here: set_levels,
            lanes: update::lanes(tree.members.len() as u32, tree.sets.len() as u32),
            most_sets: ranges.iter().map(|range| range.sets_end - range.sets).max().unwrap_or(0),
            most_members: ranges.iter().map(|range| range.members_end - range.members).max().unwrap_or(0),
            tree: Arc::clone(tree),
        })
    }

    /// Bytes on the device.
    pub fn bytes(tree: &Tree) -> u64 {
        let words = 3 * tree.n_nodes() + 1 + tree.members.len() + 2 * (tree.sets.len() + 1);
        let per_seat = size_of::<SeatRange>() + 4 * (tree.n_levels() + 1);
        (4 * words + per_seat * tree.n_players) as u64
    }

    /// Arguments of the kernels.
    pub fn args(&self) -> TreeViewArgs<'_> {
        views! { TreeViewArgs {
            self reads parents, rows, first, members, set_members, set_rows, seats;
            n_nodes: self.tree.n_nodes() as u32,
            n_sets: self.tree.sets.len() as u32,
            n_seats: self.tree.n_players as u32,
            reserved: 0,
            n_decisions: self.n_decisions(),
        } }
    }

    /// Number of histories in which a player acts.
    pub fn n_decisions(&self) -> u32 {
        self.tree.members.len() as u32
    }

    /// Rows of the sets' actions.
    pub fn n_rows(&self) -> u32 {
        self.tree.n_rows() as u32
    }

    /// Rows of the sets' actions, and of chance.
    pub fn n_probabilities(&self) -> u32 {
        self.n_rows() + self.tree.outcomes.len() as u32
    }

    /// The largest number of sets that one of the seats has on a level; 0 if none acts there.
    pub fn most_sets_on(&self, level: usize, seats: std::ops::Range<usize>) -> u32 {
        let stride = self.tree.n_levels() + 1;
        let n_sets = |seat: usize| {
            let at = seat * stride + level;
            self.set_levels_here[at + 1] - self.set_levels_here[at]
        };
        seats.map(n_sets).max().unwrap_or(0)
    }
}

/// Values of all nodes and reach of all decisions.
pub(in crate::cfr) struct Pass<T> {
    /// `[n_seats][n_nodes]`; ends always hold their payoffs.
    pub values: Buffer<T>,
    /// `[n_decisions]` Reach of chance and the other seats.
    pub others: Buffer<T>,
    /// `[n_decisions]` Reach of the seat itself.
    pub own: Buffer<T>,
}

impl<T: Real + Number> Pass<T> {
    /// Allocates the memory and writes the payoffs.
    pub fn new(stream: &Stream, tree: &Tree) -> Result<Self> {
        let n_decisions = tree.members.len();
        Ok(Self { values: payoffs(stream, tree)?, others: stream.alloc(n_decisions)?, own: stream.alloc(n_decisions)? })
    }

    /// Bytes on the device.
    pub fn bytes(tree: &Tree) -> u64 {
        (size_of::<T>() * (tree.n_players * tree.n_nodes() + 2 * tree.members.len())) as u64
    }

    /// Values of the root, by seat, after all queued work.
    pub fn root_values(&self, stream: &Stream, tree: &Tree) -> Result<Vec<f64>> {
        (0..tree.n_players)
            .map(|seat| {
                let mut value = [T::ZERO];
                stream.read_into(&self.values, seat * tree.n_nodes(), &mut value)?;
                Ok(value[0].to_f64())
            })
            .collect()
    }
}

/// Payoffs of all ends, `[n_seats][n_nodes]`, 0 elsewhere.
pub(in crate::cfr) fn payoffs<T: Real + Number>(stream: &Stream, tree: &Tree) -> Result<Buffer<T>> {
    let mut buffer = stream.alloc(tree.n_players * tree.n_nodes())?;
    for seat in 0..tree.n_players {
        let of_node = |node| T::from_f64(tree.payoffs_of(node).get(seat).copied().unwrap_or(0.0));
        let values: Vec<T> = (0..tree.n_nodes()).map(of_node).collect();
        stream.write(&mut buffer, seat * tree.n_nodes(), &values)?;
    }
    Ok(buffer)
}

/// The tables of a solve, on the device.
pub(in crate::cfr) struct Learnt<T> {
    /// `[n_rows + n_outcomes]` Probabilities of the strategies, then of chance.
    pub strategies: Buffer<T>,
    /// `[n_rows]` Cumulative regrets.
    pub regrets: Buffer<T>,
    /// `[n_rows]` Weighted sums of strategies.
    pub averages: Buffer<T>,
    /// `[n_rows]` Last regrets, if the algorithm predicts.
    pub predictions: Option<Buffer<T>>,
    /// `[n_seats]` Sums of the root's values.
    pub utilities: Buffer<f64>,
    /// Steps of the next iterations.
    pub steps: Buffer<Step<T>>,
    /// The iteration, and iterations before the first of `steps`.
    pub clock: Buffer<u64>,
    /// Iterations done.
    pub iteration: u64,
}

impl<T: Real + Number> Learnt<T> {
    /// Allocates the memory; the strategies are uniform.
    pub fn new(stream: &Stream, tree: &Tree, options: &Options) -> Result<Self> {
        let n_rows = tree.n_rows();
        let predicts = options.algorithm == Algorithm::PcfrPlus;
        Ok(Self {
            strategies: stream.upload(&probabilities_of(tree, &vec![T::ZERO; n_rows], &[]))?,
            regrets: stream.alloc(n_rows)?,
            averages: stream.alloc(n_rows)?,
            predictions: predicts.then(|| stream.alloc(n_rows)).transpose()?,
            utilities: stream.alloc(tree.n_players)?,
            steps: stream.alloc(STEPS as usize)?,
            clock: stream.alloc(2)?,
            iteration: 0,
        })
    }

    /// Bytes on the device.
    pub fn bytes(tree: &Tree, options: &Options) -> u64 {
        let tables = if options.algorithm == Algorithm::PcfrPlus { 4 } else { 3 };
        let values = tables * tree.n_rows() + tree.outcomes.len() + 4 * STEPS as usize;
        (size_of::<T>() * values + 8 * (tree.n_players + 2)) as u64
    }

    /// Prepares the next `n` iterations, at most [`STEPS`].
    pub fn begin(&mut self, stream: &Stream, options: &Options, n: u32) -> Result<()> {
        let next = self.iteration + 1..=self.iteration + u64::from(n);
        let steps: Vec<Step<T>> = next.map(|t| options.step(t).rounded()).collect();
        stream.write(&mut self.steps, 0, &steps)?;
        stream.write(&mut self.clock, 0, &[self.iteration; 2])?;
        self.iteration += u64::from(n);
        Ok(())
    }

    /// Reads the complete state.
    pub fn read(&self, stream: &Stream, tree: &Tree) -> Result<Tables> {
        let by_seat = |buffer: &Buffer<T>| -> Result<Vec<Values>> {
            let all = stream.read(buffer)?;
            Ok((0..tree.n_players).map(|seat| T::wrap(all[tree.seat_rows(seat)].to_vec())).collect())
        };
        Ok(Tables {
            iteration: self.iteration,
            regrets: by_seat(&self.regrets)?,
            averages: by_seat(&self.averages)?,
            predictions: self.predictions.as_ref().map_or(Ok(Vec::new()), by_seat)?,
            utilities: stream.read(&self.utilities)?,
            random: Vec::new(),
            choice: Vec::new(),
        })
    }

    /// Restores the state that was read.
    pub fn write(&mut self, stream: &Stream, tree: &Tree, tables: &Tables) -> Result<()> {
        let regrets = whole::<T>(tree, "regrets", &tables.regrets)?;
        let averages = whole::<T>(tree, "averages", &tables.averages)?;
        let predicts = self.predictions.is_some();
        let last = if predicts { whole::<T>(tree, "predictions", &tables.predictions)? } else { Vec::new() };
        if !predicts && !tables.predictions.is_empty() {
            return Err(Error::shape("predictions", "none with this algorithm", tables.predictions.len()));
        }
        if tables.utilities.len() != tree.n_players {
            return Err(Error::shape("utilities", format!("{} values", tree.n_players), tables.utilities.len()));
        }
        stream.write(&mut self.strategies, 0, &probabilities_of(tree, &regrets, &last))?;
        stream.write(&mut self.regrets, 0, &regrets)?;
        stream.write(&mut self.averages, 0, &averages)?;
        if let Some(predictions) = &mut self.predictions {
            stream.write(predictions, 0, &last)?;
        }
        stream.write(&mut self.utilities, 0, &tables.utilities)?;
        self.iteration = tables.iteration;
        Ok(())
    }
}

/// One table of all seats' values.
fn whole<T: Number>(tree: &Tree, what: &str, tables: &[Values]) -> Result<Vec<T>> {
    let expected = || format!("a table of {} for each of {} seats", T::PRECISION, tree.n_players);
    if tables.len() != tree.n_players {
        return Err(Error::shape(what, expected(), format!("{} tables", tables.len())));
    }
    let mut all = Vec::with_capacity(tree.n_rows());
    for (seat, table) in tables.iter().enumerate() {
        let values = T::unwrap(table).ok_or_else(|| Error::shape(what, expected(), "another precision"))?;
        if values.len() != tree.table_len(seat) {
            let what = format!("{what} of seat {seat}");
            return Err(Error::shape(what, format!("{} values", tree.table_len(seat)), values.len()));
        }
        all.extend_from_slice(values);
    }
    Ok(all)
}
