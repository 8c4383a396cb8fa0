//! The engine over all deals, and its public face.

use warpplay_gpu::cfr::regret::Step;
use warpplay_gpu::cfr::subset::layout::{CARDS, Row};

use super::kernels::{Arrays, Kept, MAX_ITERATIONS, SubsetKernels};
use super::plan::{self, Plan};
use crate::cfr::engines::Solve;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::layout::{Measured, Tables, Values};
use crate::cfr::options::{Options, Updates};
use crate::{Device, Error, Graph, Memory, Precision, Result, Stream};

/// The engine in one precision.
pub(super) struct OnDevice<T: SubsetKernels> {
    // Dropped before the arrays that it uses.
    graph: Graph,
    arrays: Arrays<T>,
    stream: Stream,
    plan: Plan,
    options: Options,
    iteration: u64,
}

impl<T: SubsetKernels> OnDevice<T> {
    /// Lays the game out and allocates the memory.
    pub fn new(device: &Device, game: &GameDef, tree: &BettingTree, options: &Options) -> Result<Self> {
        let plan = Plan::new(game, tree)?;
        let stream = device.stream()?;
        let mut arrays = Arrays::new(device, &stream, &plan, options.step(1).predicts)?;
        let graph = arrays.record(&stream, options.updates == Updates::Simultaneous)?;
        (0..plan.n_players as u32).try_for_each(|seat| arrays.renew(&stream, seat, false))?;
        stream.synchronize()?;
        Ok(Self { graph, arrays, stream, plan, options: *options, iteration: 0 })
    }

    fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n;
        while left > 0 {
            let now = left.min(MAX_ITERATIONS);
            let steps = (1..=u64::from(now)).map(|t| self.options.step(self.iteration + t).rounded());
            self.arrays.write_steps(&self.stream, &steps.collect::<Vec<Step<T>>>())?;
            for _ in 0..now {
                self.stream.launch_graph(&self.graph)?;
            }
            self.iteration += u64::from(now);
            left -= now;
        }
        self.stream.synchronize()
    }

    fn measure(&mut self) -> Result<Measured> {
        let results = self.arrays.measure(&self.stream)?;
        let every = |first: usize| results.iter().skip(first).step_by(2).copied().collect();
        Ok(Measured { values: every(0), best_responses: every(1) })
    }

    fn kept(&self) -> &'static [Kept] {
        let all = &[Kept::Regrets, Kept::Averages, Kept::Last];
        if self.options.step(1).predicts { all } else { &all[..2] }
    }

    /// Calls `visit(seat, index in the seat's table, [row, card] on the device)` for every value of all tables.
    fn each_value(&self, mut visit: impl FnMut(usize, usize, [usize; 2])) {
        for seat in 0..self.plan.n_players {
            let mut index = 0;
            for own in self.plan.own(seat) {
                let node = self.plan.nodes[own.node as usize];
                let n_actions = node.children_and_seat as usize & 0xFFFF;
                for card in 0..self.plan.n_cards {
                    for action in 0..n_actions {
                        visit(seat, index, [node.first_child as usize + action, card]);
                        index += 1;
                    }
                }
            }
        }
    }

    /// A table by seat: `[node of the seat][card][action]`, nodes in the betting tree's order.
    fn by_seat(&mut self, which: Kept) -> Result<Vec<Values>> {
        let on_device = self.arrays.read(&self.stream, which)?;
        let mut tables: Vec<Vec<T>> = vec![Vec::new(); self.plan.n_players];
        self.each_value(|seat, _, [row, card]| tables[seat].push(on_device[row].0[card]));
        Ok(tables.into_iter().map(T::wrap).collect())
    }

    fn set_by_seat(&mut self, which: Kept, tables: &[Values]) -> Result<()> {
        let mut lengths = vec![0; self.plan.n_players];
        self.each_value(|seat, _, _| lengths[seat] += 1);
        let given: Vec<&[T]> = tables.iter().filter_map(T::unwrap).collect();
        if given.len() != lengths.len() || given.iter().zip(&lengths).any(|(table, &length)| table.len() != length) {
            let expected = format!("{lengths:?} values in {}", self.options.precision);
            let got: Vec<usize> = tables.iter().map(Values::len).collect();
            return Err(Error::shape("tables by seat", expected, format!("{got:?} values")));
        }
        let mut on_device = vec![Row([T::ZERO; CARDS]); self.plan.nodes.len()];
        self.each_value(|seat, from, [row, card]| on_device[row].0[card] = given[seat][from]);
        self.arrays.write(&self.stream, which, &on_device)
    }
}

impl<T: SubsetKernels> Solve for OnDevice<T> {
    fn run(&mut self, n: u32) -> Result<()> {
        OnDevice::run(self, n)
    }

    fn measure(&mut self) -> Result<Measured> {
        OnDevice::measure(self)
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        self.arrays.utilities(&self.stream)
    }

    fn tables(&mut self) -> Result<Tables> {
        let predictions = match self.kept().contains(&Kept::Last) {
            true => self.by_seat(Kept::Last)?,
            false => Vec::new(),
        };
        Ok(Tables {
            iteration: self.iteration,
            regrets: self.by_seat(Kept::Regrets)?,
            averages: self.by_seat(Kept::Averages)?,
            predictions,
            utilities: self.arrays.utilities(&self.stream)?,
            random: Vec::new(),
            choice: Vec::new(),
        })
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        if tables.utilities.len() != self.plan.n_players {
            return Err(Error::shape("utilities", self.plan.n_players, tables.utilities.len()));
        }
        for &which in self.kept() {
            let given = match which {
                Kept::Regrets => &tables.regrets,
                Kept::Averages => &tables.averages,
                Kept::Last => &tables.predictions,
            };
            self.set_by_seat(which, given)?;
        }
        self.arrays.set_utilities(&self.stream, &tables.utilities)?;
        (0..self.plan.n_players as u32).try_for_each(|seat| self.arrays.renew(&self.stream, seat, false))?;
        self.iteration = tables.iteration;
        self.stream.synchronize()
    }
}

/// Measures of the average strategies of a game, in chips, by seat.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatMeasure {
    /// Expected winnings if all seats play the average strategy.
    pub values: Vec<f64>,
    /// Expected winnings of the best response to the others' average strategies.
    pub best_responses: Vec<f64>,
}

impl SeatMeasure {
    /// Σ over seats of (best response − value).
    pub fn nash_conv(&self) -> f64 {
        self.best_responses.iter().zip(&self.values).map(|(best, value)| best - value).sum()
    }
}

/// Poker with one hole card each, one suit, one round and no board, solved over all deals in every iteration; 2 to 8 players, up to 8 cards.
///
/// The implementation of [`Engine::Subset`](crate::cfr::Engine::Subset), with tables accessible to the caller. This is a tool for experts: [`run`](Self::run) takes a number
/// of iterations, so that the caller can read tables between calls; limit, `watch`, checkpoints and report are features of [`Solver`](crate::cfr::Solver).
pub struct SubsetSolver {
    engine: Box<dyn Solve>,
    memory: Memory,
}

impl SubsetSolver {
    /// Lays the game out and allocates the memory.
    ///
    /// # Errors
    /// [`Error::Option`] if this engine does not support the game or an option; [`Error::OutOfMemory`] if the device has too little memory; [`Error::Unsupported`] on the
    /// CPU back end.
    pub fn new(device: &Device, game: &GameDef, options: &Options) -> Result<Self> {
        let memory = plan::check(game, options)?;
        device.expect_memory(&memory)?;
        Ok(Self { engine: build(device, game, &BettingTree::new(game)?, options)?, memory })
    }

    /// Runs `n` more iterations, and waits for them.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device fails.
    pub fn run(&mut self, n: u32) -> Result<()> {
        self.engine.run(n)
    }

    /// Values and exact best responses of the average strategies.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device fails.
    pub fn measure(&mut self) -> Result<SeatMeasure> {
        let Measured { values, best_responses } = self.engine.measure()?;
        Ok(SeatMeasure { values, best_responses })
    }

    /// Sums over the iterations of the utilities of the strategies used, by seat.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device fails.
    pub fn utilities(&mut self) -> Result<Vec<f64>> {
        self.engine.utilities()
    }

    /// Cumulative regrets of a seat, `[decision node of the seat][card][action]`, nodes in the order of the betting tree.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such seat; [`Error::Driver`] if the device fails.
    pub fn regrets(&mut self, seat: usize) -> Result<Vec<f64>> {
        doubles(&self.engine.tables()?.regrets, seat)
    }

    /// Weighted sums of strategies of a seat, laid out as the regrets.
    ///
    /// # Errors
    /// As [`regrets`](Self::regrets).
    pub fn averages(&mut self, seat: usize) -> Result<Vec<f64>> {
        doubles(&self.engine.tables()?.averages, seat)
    }

    /// Memory that was requested: the most that the game takes.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }
}

impl std::fmt::Debug for SubsetSolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubsetSolver").field("memory", &self.memory).finish_non_exhaustive()
    }
}

fn doubles(tables: &[Values], seat: usize) -> Result<Vec<f64>> {
    match tables.get(seat) {
        Some(values) => Ok((0..values.len()).map(|at| values.get(at)).collect()),
        None => Err(Error::shape("seat", format!("below {}", tables.len()), seat)),
    }
}

/// The engine in the precision of the options.
pub(super) fn build(device: &Device, game: &GameDef, tree: &BettingTree, options: &Options) -> Result<Box<dyn Solve>> {
    Ok(match options.precision {
        Precision::F64 => Box::new(OnDevice::<f64>::new(device, game, tree, options)?),
        // The plan refuses 16 bits.
        _ => Box::new(OnDevice::<f32>::new(device, game, tree, options)?),
    })
}
