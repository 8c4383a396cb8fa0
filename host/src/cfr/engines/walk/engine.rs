//! The walk as an engine.

use std::sync::Arc;

use warpplay_gpu::cfr::walk::walk::ACTIONS;

use super::cpu::{self, Reading};
use super::draws::Draws;
use super::information::Information;
use super::kernels::{Arrays, BATCHES, Batches, Kernels, LANES, Walk, WalkKernels};
use super::measure::measure;
use super::plan::Plan;
use crate::cfr::engines::Solve;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::layout::{Measured, Tables};
use crate::cfr::options::{Algorithm, Options, Sampling};
use crate::{Backend, Buffer, Device, Error, Memory, Precision, Result, Stream};

/// The error about an algorithm that does not learn from sampled deals.
pub(in crate::cfr) fn no_sampled_deals(algorithm: Algorithm) -> Error {
    let allowed = "cfr, cfr_plus or lcfr where deals are sampled: the others change every set in every iteration, and a batch meets only some; sampling none walks all deals of a game that fits in memory";
    Error::option("algorithm", algorithm, allowed)
}

/// Checks that the walk supports the options, and returns the memory that it needs.
///
/// # Errors
/// [`Error::Option`] with the option that it does not support.
pub(super) fn needed(device: &Device, plan: &Plan, options: &Options) -> Result<Memory> {
    if options.sampling != Sampling::Chance {
        return Err(Error::option("sampling", options.sampling, "chance, where deals are sampled"));
    }
    if !options.algorithm.takes_sampled_deals() {
        return Err(no_sampled_deals(options.algorithm));
    }
    if options.precision == Precision::I16 {
        return Err(Error::option("precision", options.precision, "f32 or f64 where deals are sampled"));
    }
    if !(1..=LANES as u32).contains(&options.batch) {
        return Err(Error::option("batch", options.batch, format!("1 to {LANES} deals")));
    }
    Ok(match device.backend() {
        Backend::Cpu => cpu::memory(plan, options),
        _ => plan.memory(options.precision),
    })
}

/// Checks that the walk supports the game and the options, before memory is allocated.
///
/// # Errors
/// [`Error::Option`] with the option that it does not support.
pub(in crate::cfr) fn fits(
    device: &Device,
    game: &GameDef,
    information: &Information,
    options: &Options,
) -> Result<Memory> {
    needed(device, &Plan::of(game, information)?, options)
}

/// The engine of a game.
///
/// # Errors
/// As [`fits`], and errors of the device.
pub(in crate::cfr) fn build(
    device: &Device,
    game: &GameDef,
    information: &Information,
    options: &Options,
) -> Result<Box<dyn Solve>> {
    let plan = Arc::new(Plan::of(game, information)?);
    with_plan(device, &plan, options).map(|engine| engine as Box<dyn Solve>)
}

/// The same for a game with a plan.
pub(super) fn with_plan(device: &Device, plan: &Arc<Plan>, options: &Options) -> Result<Box<dyn Reading>> {
    needed(device, plan, options)?;
    Ok(match (device.backend(), options.precision) {
        (Backend::Cpu, Precision::F64) => Box::new(cpu::OnCpu::<f64>::new(plan, options)?),
        (Backend::Cpu, _) => Box::new(cpu::OnCpu::<f32>::new(plan, options)?),
        (_, Precision::F64) => Box::new(OnDevice::<f64>::new(device, plan, options)?),
        _ => Box::new(OnDevice::<f32>::new(device, plan, options)?),
    })
}

/// The walk on a device. The stream is the last field, so that arrays and graphs are dropped before it.
struct OnDevice<T: WalkKernels> {
    plan: Arc<Plan>,
    options: Options,
    walk: Walk<T>,
    draws: Draws,
    iteration: u64,
    stream: Stream,
}

impl<T: WalkKernels> OnDevice<T> {
    fn new(device: &Device, plan: &Arc<Plan>, options: &Options) -> Result<Self> {
        let stream = device.stream()?;
        let draws = Draws::new(plan, options)?;
        let arrays = Arrays::new(&stream, &plan.pieces, plan.sequences.n_players, plan.n_slots())?;
        let walk = Walk::new(&stream, Kernels::load(device)?, arrays, &plan.pieces, &draws.passes())?;
        Ok(Self { plan: Arc::clone(plan), options: *options, walk, draws, iteration: 0, stream })
    }
}

impl<T: WalkKernels> Solve for OnDevice<T> {
    fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n as usize;
        let mut drawn: Batches<T> = self.draws.draw(self.iteration, left.min(BATCHES));
        while left > 0 {
            let n = drawn.changes.len();
            self.walk.run(&self.stream, &drawn, self.options.batch)?;
            self.iteration += n as u64;
            left -= n;
            // The next deals are drawn while the device works on these.
            drawn = self.draws.draw(self.iteration, left.min(BATCHES));
            self.stream.synchronize()?;
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<Measured> {
        measure(&self.plan, || Ok(self.stream.read(&self.walk.arrays.averages)?.into_iter().map(T::to_f64).collect()))
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        let deals = self.iteration * u64::from(self.options.batch);
        Ok(self.plan.winnings(&self.stream.read(&self.walk.arrays.sums)?, deals))
    }

    fn tables(&mut self) -> Result<Tables> {
        Ok(Tables {
            iteration: self.iteration,
            regrets: self.plan.by_seat(&self.stream.read(&self.walk.arrays.regrets)?),
            averages: self.plan.by_seat(&self.stream.read(&self.walk.arrays.averages)?),
            predictions: Vec::new(),
            utilities: self.stream.read(&self.walk.arrays.sums)?,
            random: vec![self.draws.state()],
            choice: Vec::new(),
        })
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let &[state] = tables.random.as_slice() else {
            return Err(Error::shape("state of the generator", 1, tables.random.len()));
        };
        self.walk.arrays.sums.expect_len("utilities", tables.utilities.len())?;
        let regrets: Vec<T> = self.plan.in_rows("regrets", &tables.regrets)?;
        let averages: Vec<T> = self.plan.in_rows("averages", &tables.averages)?;
        self.draws.set_state(state)?;
        self.stream.write(&mut self.walk.arrays.regrets, 0, &regrets)?;
        self.stream.write(&mut self.walk.arrays.averages, 0, &averages)?;
        self.stream.write(&mut self.walk.arrays.sums, 0, &tables.utilities)?;
        self.iteration = tables.iteration;
        Ok(())
    }
}

impl<T: WalkKernels> Reading for OnDevice<T> {
    fn row(&self, row: usize) -> Result<[[f64; ACTIONS]; 2]> {
        let read = |buffer: &Buffer<T>| {
            let mut values = [T::ZERO; ACTIONS];
            self.stream.read_into(buffer, row * ACTIONS, &mut values)?;
            Ok::<_, Error>(values.map(T::to_f64))
        };
        Ok([read(&self.walk.arrays.regrets)?, read(&self.walk.arrays.averages)?])
    }
}
