//! The walk as an engine.

use std::sync::Arc;

use bytemuck::Pod;
use warpplay_gpu::cfr::beats::MAX_PLAYERS;
use warpplay_gpu::cfr::walk::walk::{ACTIONS, Change};

use super::information::Information;
use super::kernels::{Arrays, BATCHES, Batches, Kernels, LANES, WalkKernels};
use super::measure::measure;
use super::plan::Plan;
use crate::cfr::engines::Solve;
use crate::cfr::game::dealer::Dealer;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::layout::{Measured, Tables, Values};
use crate::cfr::options::{Algorithm, Options, Sampling, Updates};
use crate::{Backend, Buffer, Device, Error, Graph, Memory, Precision, Result, Stream};

/// Iterations of the longer of the two graphs.
const GRAPH: u32 = 8;

/// Whether the options are those of the walk, and the memory that it needs.
fn check(device: &Device, plan: &Plan, options: &Options) -> Result<Memory> {
    if device.backend() == Backend::Cpu {
        return Err(Error::Unsupported {
            what: "sampling of batches of deals".into(),
            backend: device.backend().to_string(),
            remedy: "use a CUDA device".into(),
        });
    }
    if options.sampling != Sampling::Chance {
        return Err(Error::option("sampling", options.sampling, "chance, where deals are sampled"));
    }
    if !matches!(options.algorithm, Algorithm::Cfr | Algorithm::CfrPlus | Algorithm::Lcfr) {
        return Err(Error::option("algorithm", options.algorithm, "cfr, cfr_plus or lcfr where deals are sampled"));
    }
    if options.precision == Precision::I16 {
        return Err(Error::option("precision", options.precision, "f32 or f64 where deals are sampled"));
    }
    if !(1..=LANES as u32).contains(&options.batch) {
        return Err(Error::option("batch", options.batch, format!("1 to {LANES} deals")));
    }
    Ok(plan.memory(options.precision))
}

/// Whether the walk can do it, before memory is taken.
///
/// # Errors
/// [`Error::Option`] with the option that it cannot do; [`Error::Unsupported`] on the CPU back end.
pub(in crate::cfr) fn fits(
    device: &Device,
    game: &GameDef,
    information: &Information,
    options: &Options,
) -> Result<Memory> {
    check(device, &Plan::of(game, information)?, options)
}

/// The engine of a game.
///
/// # Errors
/// As [`fits`], and as the device says.
pub(in crate::cfr) fn build(
    device: &Device,
    game: &GameDef,
    information: &Information,
    options: &Options,
) -> Result<Box<dyn Solve>> {
    let plan = Arc::new(Plan::of(game, information)?);
    with_plan(device, &plan, options).map(|engine| engine as Box<dyn Solve>)
}

/// The same for a game that is laid out.
pub(super) fn with_plan(device: &Device, plan: &Arc<Plan>, options: &Options) -> Result<Box<dyn Reading>> {
    check(device, plan, options)?;
    Ok(match options.precision {
        Precision::F64 => Box::new(OnDevice::<f64>::new(device, plan, options)?),
        _ => Box::new(OnDevice::<f32>::new(device, plan, options)?),
    })
}

/// An engine whose tables can be read in parts.
pub(super) trait Reading: Solve {
    /// Regrets and averages of a row.
    fn row(&self, row: usize) -> Result<[[f64; ACTIONS]; 2]>;
}

/// The walk on a device. Field order: the stream last, so that arrays and graphs go before it.
struct OnDevice<T: WalkKernels>
where
    Change<T>: Pod,
{
    plan: Arc<Plan>,
    options: Options,
    kernels: Kernels<T>,
    arrays: Arrays<T>,
    dealer: Dealer,
    /// One iteration, and [`GRAPH`] of them.
    graphs: Vec<Graph>,
    iteration: u64,
    stream: Stream,
}

impl<T: WalkKernels> OnDevice<T>
where
    Change<T>: Pod,
{
    fn new(device: &Device, plan: &Arc<Plan>, options: &Options) -> Result<Self> {
        let stream = device.stream()?;
        let n_players = plan.sequences.n_players;
        let mut made = Self {
            options: *options,
            kernels: Kernels::load(device, n_players)?,
            arrays: Arrays::new(&stream, &plan.pieces, n_players, plan.n_slots())?,
            dealer: Dealer::new(&plan.game, options.seed)?,
            graphs: Vec::new(),
            iteration: 0,
            stream,
            plan: Arc::clone(plan),
        };
        for n in [1, GRAPH] {
            let graph = made.record(n)?;
            made.graphs.push(graph);
        }
        Ok(made)
    }

    fn record(&mut self, n: u32) -> Result<Graph> {
        let Self { stream, kernels, arrays, plan, options, .. } = self;
        let all = (1 << plan.sequences.n_players) - 1;
        let passes: Vec<u32> = match options.updates {
            Updates::Simultaneous => vec![all],
            Updates::Alternating => (0..plan.sequences.n_players).map(|seat| 1 << seat).collect(),
        };
        stream.capture(|stream| {
            for _ in 0..n {
                for (number, &seats) in passes.iter().enumerate() {
                    let ends = number + 1 == passes.len();
                    let mut stages = plan.pieces.stages.iter();
                    stages.try_for_each(|stage| kernels.walk(stream, arrays, stage, seats, ends))?;
                }
            }
            Ok(())
        })
    }

    /// Draws the deals of iterations `first..first + n`.
    fn draw(&mut self, first: u64, n: usize) -> Batches<T> {
        let (n_players, n_rounds) = (self.plan.sequences.n_players, self.plan.sequences.n_rounds);
        let n_slots = self.plan.n_slots();
        let mut drawn = Batches {
            buckets: vec![0; n * n_slots * LANES],
            beats: vec![0; n * n_players * LANES],
            changes: (first..).take(n).map(|iteration| self.change(iteration)).collect(),
        };
        for batch in 0..n {
            for lane in 0..self.options.batch as usize {
                let cards = self.dealer.next();
                let words: [u32; MAX_PLAYERS] = self.dealer.beats(&cards);
                for (seat, &word) in words.iter().enumerate().take(n_players) {
                    drawn.beats[(batch * n_players + seat) * LANES + lane] = word;
                    for round in 0..n_rounds {
                        let bucket = self.plan.buckets.bucket(round, cards.holes[seat], cards.boards[round]);
                        drawn.buckets[(batch * n_slots + seat * n_rounds + round) * LANES + lane] = bucket;
                    }
                }
            }
        }
        drawn
    }

    /// What iteration `iteration`, from 0, does with the tables.
    fn change(&self, iteration: u64) -> Change<T> {
        let step = self.options.step(iteration + 1);
        let (gain, negative) = match self.options.algorithm {
            Algorithm::Lcfr => ((iteration + 1) as f64, 1.0),
            _ => (1.0, step.negative),
        };
        Change {
            gain: T::from_f64(gain),
            negative: T::from_f64(negative),
            weight: T::from_f64(step.weight),
            reserved: T::ZERO,
        }
    }

    /// A table by seat.
    fn table(&self, buffer: &Buffer<T>) -> Result<Vec<Values>> {
        let all = self.stream.read(buffer)?;
        let of_seat = |seat| T::wrap(self.plan.rows(seat).flat_map(|rows| &all[rows]).copied().collect());
        Ok((0..self.plan.sequences.n_players).map(of_seat).collect())
    }

    /// The same back in the order of the device.
    fn device_order(&self, name: &str, table: &[Values]) -> Result<Vec<T>> {
        let n_players = self.plan.sequences.n_players;
        if table.len() != n_players {
            return Err(Error::shape(name, format!("{n_players} seats"), table.len()));
        }
        let mut all = vec![T::ZERO; self.arrays.regrets.len()];
        for (seat, values) in table.iter().enumerate() {
            let n: usize = self.plan.rows(seat).map(|rows| rows.len()).sum();
            if values.len() != n {
                return Err(Error::shape(format!("{name} of seat {seat}"), n, values.len()));
            }
            let mut at = 0;
            for rows in self.plan.rows(seat) {
                for value in &mut all[rows] {
                    *value = T::from_f64(values.get(at));
                    at += 1;
                }
            }
        }
        Ok(all)
    }
}

impl<T: WalkKernels> Solve for OnDevice<T>
where
    Change<T>: Pod,
{
    fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n as usize;
        let mut drawn = self.draw(self.iteration, left.min(BATCHES));
        while left > 0 {
            let n = drawn.changes.len();
            self.arrays.set_batches(&self.stream, &drawn)?;
            self.kernels.links(&self.stream, &mut self.arrays, n, self.options.batch)?;
            let (many, one) = (n as u32 / GRAPH, n as u32 % GRAPH);
            (0..many).try_for_each(|_| self.stream.launch_graph(&self.graphs[1]))?;
            (0..one).try_for_each(|_| self.stream.launch_graph(&self.graphs[0]))?;
            self.iteration += n as u64;
            left -= n;
            // The next deals are drawn while the device works on these.
            drawn = self.draw(self.iteration, left.min(BATCHES));
            self.stream.synchronize()?;
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<Measured> {
        let averages: Vec<f64> = self.stream.read(&self.arrays.averages)?.into_iter().map(T::to_f64).collect();
        measure(&self.plan, &averages)
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        let deals = self.iteration as f64 * f64::from(self.options.batch);
        let sums = self.stream.read(&self.arrays.sums)?;
        // The walk counts what is won and put in from the first action on.
        Ok(sums.iter().zip(&self.plan.sequences.blinds).map(|(sum, blind)| sum - blind * deals).collect())
    }

    fn tables(&mut self) -> Result<Tables> {
        Ok(Tables {
            iteration: self.iteration,
            regrets: self.table(&self.arrays.regrets)?,
            averages: self.table(&self.arrays.averages)?,
            predictions: Vec::new(),
            utilities: self.stream.read(&self.arrays.sums)?,
            random: vec![self.dealer.state()],
        })
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let &[state] = tables.random.as_slice() else {
            return Err(Error::shape("state of the generator", 1, tables.random.len()));
        };
        self.arrays.sums.expect_len("utilities", tables.utilities.len())?;
        let regrets = self.device_order("regrets", &tables.regrets)?;
        let averages = self.device_order("averages", &tables.averages)?;
        self.dealer = Dealer::new(&self.plan.game, state)?;
        self.stream.write(&mut self.arrays.regrets, 0, &regrets)?;
        self.stream.write(&mut self.arrays.averages, 0, &averages)?;
        self.stream.write(&mut self.arrays.sums, 0, &tables.utilities)?;
        self.iteration = tables.iteration;
        Ok(())
    }
}

impl<T: WalkKernels> Reading for OnDevice<T>
where
    Change<T>: Pod,
{
    fn row(&self, row: usize) -> Result<[[f64; ACTIONS]; 2]> {
        let read = |buffer: &Buffer<T>| {
            let mut values = [T::ZERO; ACTIONS];
            self.stream.read_into(buffer, row * ACTIONS, &mut values)?;
            Ok::<_, Error>(values.map(T::to_f64))
        };
        Ok([read(&self.arrays.regrets)?, read(&self.arrays.averages)?])
    }
}
