//! The kernels over all deals, resolved, with a safe function for each stage; and the device arrays they work on.

use warpplay_gpu::cfr::regret::Step;
use warpplay_gpu::cfr::subset;
use warpplay_gpu::cfr::subset::layout::{CARDS, Node, OwnNode, Row, TablesArgs, mode};
use warpplay_gpu::ptx::embedded::CFR_SUBSET;

use super::plan::Plan;
use crate::cfr::layout::Number;
use crate::runtime::launch::views;
use crate::{Buffer, Device, Graph, InOut, Module, Result, Stream};

/// Iterations whose steps are uploaded together.
pub(super) const MAX_ITERATIONS: u32 = 1 << 12;

/// A precision of the kernels.
pub(super) trait SubsetKernels: subset::SubsetKernels + Number {}

impl<T: subset::SubsetKernels + Number> SubsetKernels for T {}

/// Tables that outlive an iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Regrets,
    Averages,
    Last,
}

/// The game on the device.
pub(super) struct Arrays<T: SubsetKernels> {
    kernels: subset::Kernels<Module, T>,
    nodes: Buffer<Node>,
    own: Buffer<OwnNode>,
    terminals: Buffer<u32>,
    rows: Buffer<[u32; CARDS]>,
    payoffs: Buffer<[T; 2]>,
    values: Buffer<Row<T>>,
    strategy: Buffer<Row<T>>,
    regrets: Buffer<Row<T>>,
    averages: Buffer<Row<T>>,
    last: Option<Buffer<Row<T>>>,
    reach: Buffer<Row<T>>,
    steps: Buffer<Step<T>>,
    step: Buffer<u32>,
    sums: Buffer<f64>,
    levels: Vec<u32>,
    own_from: Vec<u32>,
    n_terminals: u32,
    n_cards: u32,
    factor: T,
}

impl<T: SubsetKernels> Arrays<T> {
    /// Uploads a plan and makes the first strategies.
    pub fn new(device: &Device, stream: &Stream, plan: &Plan, predicts: bool) -> Result<Self> {
        let module = Module::load(device, &CFR_SUBSET)?;
        let kernels = subset::Kernels::load(&module)?;
        let n = plan.nodes.len();
        let root = std::array::from_fn(|card| if card < plan.n_cards { T::ONE } else { T::ZERO });
        let payoffs: Vec<[T; 2]> = plan.payoffs.iter().map(|payoffs| payoffs.map(T::from_f64)).collect();
        let mut reach = stream.alloc(n + 1)?;
        stream.write(&mut reach, 0, &[Row([T::ONE; CARDS]), Row(root)])?;
        Ok(Self {
            kernels,
            nodes: stream.upload(&plan.nodes)?,
            own: stream.upload(&plan.own)?,
            terminals: stream.upload(&plan.terminals)?,
            rows: stream.upload(&plan.rows)?,
            payoffs: stream.upload(&payoffs)?,
            values: stream.alloc(n)?,
            strategy: stream.alloc(n)?,
            regrets: stream.alloc(n)?,
            averages: stream.alloc(n)?,
            last: predicts.then(|| stream.alloc(n)).transpose()?,
            reach,
            steps: stream.alloc(MAX_ITERATIONS as usize)?,
            step: stream.alloc(1)?,
            sums: stream.alloc(3 * plan.n_players)?,
            levels: plan.levels.clone(),
            own_from: plan.own_from.clone(),
            n_terminals: plan.terminals.len() as u32,
            n_cards: plan.n_cards as u32,
            factor: T::from_f64(1.0 / plan.deals),
        })
    }

    fn n_players(&self) -> u32 {
        self.own_from.len() as u32 - 1
    }

    /// The kernels, and what they work on.
    fn split(&mut self) -> (&subset::Kernels<Module, T>, TablesArgs<'_, T>) {
        let (n_players, n_own) = (self.n_players(), self.own_from.last().copied().unwrap_or(0));
        let tables = views! { TablesArgs {
            self reads nodes, own, terminals, rows, payoffs, steps;
            self writes values, strategy, regrets, averages, reach, step, sums;
            self has n_terminals, n_cards, factor;
            last: self.last.as_mut().map_or_else(InOut::none, Buffer::view_mut),
            n_nodes: self.levels.last().copied().unwrap_or(0),
            n_own,
            n_players,
            n_steps: MAX_ITERATIONS,
        } };
        (&self.kernels, tables)
    }

    /// 1 where the algorithm predicts.
    fn predicts(&self) -> u32 {
        u32::from(self.last.is_some())
    }

    fn own(&self, seat: u32) -> (u32, u32) {
        let from = self.own_from[seat as usize];
        (from, self.own_from[seat as usize + 1] - from)
    }

    /// Queues a seat's strategies from regrets or averages, and its reaches.
    pub fn renew(&mut self, stream: &Stream, seat: u32, averages: bool) -> Result<()> {
        let (from, n) = self.own(seat);
        let predicts = self.predicts();
        let (kernels, tables) = self.split();
        let arguments = (tables, from, n, u32::from(averages), predicts);
        // SAFETY: the tables are the plan's, and so are the seat's nodes; the last regrets are there where the algorithm predicts.
        unsafe { stream.run_unchecked(&kernels.cfr_subset_strategy, arguments)? };
        self.reach(stream, seat)
    }

    /// Queues a seat's reaches.
    fn reach(&mut self, stream: &Stream, seat: u32) -> Result<()> {
        let (from, n) = self.own(seat);
        let (kernels, tables) = self.split();
        // SAFETY: as in `renew`.
        unsafe { stream.run_unchecked(&kernels.cfr_subset_reach, (tables, from, n)) }
    }

    /// Queues the terminals' values for a seat.
    fn terminals(&mut self, stream: &Stream, seat: u32) -> Result<()> {
        let (kernels, tables) = self.split();
        // SAFETY: as in `renew`.
        unsafe { stream.run_unchecked(&kernels.cfr_subset_terminals, (tables, seat)) }
    }

    /// Queues values of all nodes for a seat, the deepest level first.
    fn values(&mut self, stream: &Stream, seat: u32, what: u32) -> Result<()> {
        for level in (0..self.levels.len() - 1).rev() {
            let (first, end) = (self.levels[level], self.levels[level + 1]);
            let (n, predicts) = (end - first, self.predicts());
            let (kernels, tables) = self.split();
            // SAFETY: as in `renew`.
            unsafe { stream.run_unchecked(&kernels.cfr_subset_values, (tables, first, n, seat, what, predicts))? };
        }
        Ok(())
    }

    fn finish(&mut self, stream: &Stream, sum: u32, replaces: bool, advances: bool) -> Result<()> {
        let (kernels, tables) = self.split();
        let arguments = (tables, sum, u32::from(replaces), u32::from(advances));
        // SAFETY: as in `renew`; there are three sums for each seat.
        unsafe { stream.run_unchecked(&kernels.cfr_subset_finish, arguments) }
    }

    /// Records one iteration.
    pub fn record(&mut self, stream: &Stream, simultaneous: bool) -> Result<Graph> {
        stream.capture(|stream| {
            let n = self.n_players();
            for seat in 0..n {
                self.terminals(stream, seat)?;
                self.values(stream, seat, if simultaneous { mode::LEARN_LATER } else { mode::LEARN })?;
                self.finish(stream, seat, false, seat + 1 == n)?;
                if !simultaneous {
                    self.reach(stream, seat)?;
                }
            }
            if simultaneous {
                (0..n).try_for_each(|seat| self.renew(stream, seat, false))?;
            }
            Ok(())
        })
    }

    /// Writes the steps of a run to the device, and begins with the first.
    pub fn write_steps(&mut self, stream: &Stream, steps: &[Step<T>]) -> Result<()> {
        stream.write(&mut self.steps, 0, steps)?;
        stream.zero(&mut self.step)
    }

    /// Values and best responses of the averages, `[seat, value or best response]`; waits for them.
    pub fn measure(&mut self, stream: &Stream) -> Result<Vec<f64>> {
        let n = self.n_players();
        (0..n).try_for_each(|seat| self.renew(stream, seat, true))?;
        for seat in 0..n {
            self.terminals(stream, seat)?;
            for (column, what) in [(0, mode::VALUE), (1, mode::BEST)] {
                self.values(stream, seat, what)?;
                self.finish(stream, n + 2 * seat + column, true, false)?;
            }
        }
        (0..n).try_for_each(|seat| self.renew(stream, seat, false))?;
        Ok(stream.read(&self.sums)?.split_off(n as usize))
    }

    /// Sums of utilities by seat.
    pub fn utilities(&self, stream: &Stream) -> Result<Vec<f64>> {
        let mut sums = stream.read(&self.sums)?;
        sums.truncate(self.n_players() as usize);
        Ok(sums)
    }

    /// Replaces them.
    pub fn set_utilities(&mut self, stream: &Stream, sums: &[f64]) -> Result<()> {
        stream.write(&mut self.sums, 0, sums)
    }

    fn kept(&mut self, which: Kept) -> Option<&mut Buffer<Row<T>>> {
        match which {
            Kept::Regrets => Some(&mut self.regrets),
            Kept::Averages => Some(&mut self.averages),
            Kept::Last => self.last.as_mut(),
        }
    }

    /// A whole table, a row of cards an action; nothing where there is none.
    pub fn read(&mut self, stream: &Stream, which: Kept) -> Result<Vec<Row<T>>> {
        self.kept(which).map_or(Ok(Vec::new()), |table| stream.read(table))
    }

    /// Replaces a whole table, where there is one.
    pub fn write(&mut self, stream: &Stream, which: Kept, rows: &[Row<T>]) -> Result<()> {
        self.kept(which).map_or(Ok(()), |table| stream.write(table, 0, rows))
    }
}
