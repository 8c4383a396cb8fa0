//! The published program's kernels, resolved, with a safe function for each phase; and the device arrays they work on.

use std::ops::Range;

use bytemuck::Pod;
use warpplay::cfr::game::{ACTIONS, Child, Sequences};
use warpplay::{Buffer, Device, Error, Function, Graph, Memory, Module, Result, Stream};
use warpplay_gpu::kernel::Kernel;

use super::kernels::sequence::{self as device, Deal, Phase, PhaseArgs, child, way};
use super::kernels::{self, ThesisKernels, shape};
use super::options::{Lists, Rows};

/// Deals that are on the device at a time.
pub(super) const DEALS: usize = 1024;

/// A number type that the kernels are made for.
pub(super) trait Number: ThesisKernels + Pod {}

impl<T: ThesisKernels + Pod> Number for T {}

/// How the phases are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ways {
    /// Threads of a block.
    pub block: u32,
    /// The deal is a parameter of each launch.
    pub constant: bool,
    /// How a thread finds its sequence.
    pub lists: Lists,
    /// The lists of all levels are one array; else an array a level.
    pub flattened: bool,
    /// Tables `[bucket][sequence]`; else `[sequence][bucket]`.
    pub by_bucket: bool,
}

impl Ways {
    fn bits(self) -> u32 {
        let bit = |way: u32, taken: bool| if taken { way } else { 0 };
        bit(way::CONSTANT, self.constant)
            | bit(way::LISTED, self.lists != Lists::Computed)
            | bit(way::READ_ONLY, self.lists == Lists::ReadOnly)
    }
}

/// Bytes that a game of `n_buckets` buckets takes with values of `value` bytes.
pub(super) fn memory(sequences: &Sequences, n_buckets: u32, value: u64) -> Memory {
    let (n, ends, seats) = (sequences.sequences.len() as u64, sequences.ends.len() as u64, sequences.n_players as u64);
    let actions = ACTIONS as u64;
    let game = n * (size_of::<device::Sequence>() as u64 + 4)
        + ends * (size_of::<device::End>() as u64 + seats * value)
        + (DEALS * size_of::<Deal>()) as u64
        + size_of::<u32>() as u64;
    Memory::default()
        .on_device("regrets and sums of strategies", 2 * n * u64::from(n_buckets) * actions * value)
        .on_device("one iteration", n * (actions + 2 * seats) * value)
        .on_device("sums of utilities", seats * size_of::<f64>() as u64)
        .on_device("game and deals", game)
}

/// Everything on the device.
pub(super) struct Arrays<T: Pod> {
    sequences: Buffer<device::Sequence>,
    ends: Buffer<device::End>,
    stakes: Buffer<T>,
    regrets: Buffer<T>,
    averages: Buffer<T>,
    strategies: Buffer<T>,
    reaches: Buffer<T>,
    utilities: Buffer<T>,
    sums: Buffer<f64>,
    /// The list of all levels, or a list a level.
    lists: Vec<Buffer<u32>>,
    deals: Buffer<Deal>,
    next: Buffer<u32>,
    /// The deals uploaded last, and how many of them iterations have used: what `next` counts.
    dealt: Vec<Deal>,
    n_used: usize,
    ways: Ways,
    levels: Vec<Range<u32>>,
    n_players: u32,
    n_buckets: u32,
}

/// Which of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Regrets,
    Averages,
}

impl<T: Number> Arrays<T> {
    /// Takes the memory and uploads the game. `numbers` are the sequences' numbers on the device.
    pub fn new(stream: &Stream, game: &Sequences, numbers: &[u32], n_buckets: u32, ways: Ways) -> Result<Self> {
        let n = game.sequences.len();
        let code = |child: &Option<Child>| match *child {
            None => child::NONE,
            Some(Child::End(end)) => child::END | end,
            Some(Child::Sequence(sequence)) => numbers[sequence as usize],
        };
        let mut sequences = vec![device::Sequence { children: [child::NONE; ACTIONS], seat: 0 }; n];
        for (sequence, &number) in game.sequences.iter().zip(numbers) {
            let children = [0, 1, 2].map(|action| code(&sequence.children[action]));
            sequences[number as usize] = device::Sequence { children, seat: sequence.seat };
        }
        let ends: Vec<_> = game
            .ends
            .iter()
            .map(|end| device::End { pot: end.pots[0].chips as f32, eligible: end.pots[0].eligible })
            .collect();
        let stakes =
            (0..game.n_players).flat_map(|seat| game.ends.iter().map(move |end| T::from_f64(end.stakes[seat])));
        let table = n * n_buckets as usize * ACTIONS;
        let mut reaches = stream.alloc(n * game.n_players)?;
        let whole = 0..n as u32;
        let parts = if ways.flattened { std::slice::from_ref(&whole) } else { &game.levels };
        let list = |part: &Range<u32>| stream.upload(&numbers[part.start as usize..part.end as usize]);
        for seat in 0..game.n_players {
            stream.write(&mut reaches, seat * n, &[T::ONE])?;
        }
        Ok(Self {
            sequences: stream.upload(&sequences)?,
            ends: stream.upload(&ends)?,
            stakes: stream.upload(&stakes.collect::<Vec<T>>())?,
            regrets: stream.alloc(table)?,
            averages: stream.alloc(table)?,
            strategies: stream.alloc(n * ACTIONS)?,
            reaches,
            utilities: stream.alloc(n * game.n_players)?,
            sums: stream.alloc(game.n_players)?,
            lists: parts.iter().map(list).collect::<Result<_>>()?,
            deals: stream.alloc(DEALS)?,
            next: stream.alloc(1)?,
            dealt: Vec::new(),
            n_used: 0,
            ways,
            levels: game.levels.clone(),
            n_players: game.n_players as u32,
            n_buckets,
        })
    }

    /// Uploads deals, at most [`DEALS`], the first of which is the next one's.
    ///
    /// # Errors
    /// [`Error::Shape`] for a bucket that the game has not; as the device says.
    pub fn set_deals(&mut self, stream: &Stream, deals: Vec<Deal>) -> Result<()> {
        (self.dealt, self.n_used) = (Vec::new(), 0);
        if let Some(bucket) = deals.iter().flat_map(|deal| deal.buckets).find(|&bucket| bucket >= self.n_buckets) {
            return Err(Error::shape("bucket of a deal", format!("below {}", self.n_buckets), bucket));
        }
        stream.write(&mut self.deals, 0, &deals)?;
        stream.zero(&mut self.next)?;
        self.dealt = deals;
        Ok(())
    }

    /// Copies the lists of the levels to the device again, a copy an array; returns how many they are.
    pub fn copy_lists(&mut self, stream: &Stream, numbers: &[u32]) -> Result<usize> {
        let mut first = 0;
        for list in &mut self.lists {
            let part = &numbers[first..first + list.len()];
            first += part.len();
            stream.write(list, 0, part)?;
        }
        Ok(self.lists.len())
    }

    /// Levels of the game.
    pub fn n_levels(&self) -> usize {
        self.levels.len()
    }

    /// Counts `n` iterations, if there are as many deals left.
    fn use_deals(&mut self, n: usize) -> Result<()> {
        let left = self.dealt.len() - self.n_used;
        if n > left {
            return Err(Error::shape("deals of iterations", format!("at most {left}, which are left"), n));
        }
        self.n_used += n;
        Ok(())
    }

    /// Sums of the root's utilities, by seat.
    pub fn sums(&self, stream: &Stream) -> Result<Vec<f64>> {
        stream.read(&self.sums)
    }

    /// Values `first..first + values.len()` of a table as it lies on the device.
    pub fn read(&self, stream: &Stream, table: Table, first: usize, values: &mut [T]) -> Result<()> {
        let buffer = match table {
            Table::Regrets => &self.regrets,
            Table::Averages => &self.averages,
        };
        stream.read_into(buffer, first, values)
    }

    /// Length of a table.
    pub fn table_len(&self) -> usize {
        self.regrets.len()
    }

    /// Strides of a sequence and of a bucket in the tables.
    pub fn strides(&self) -> (u64, u64) {
        let actions = ACTIONS as u64;
        if self.ways.by_bucket {
            (actions, self.sequences.len() as u64 * actions)
        } else {
            (u64::from(self.n_buckets) * actions, actions)
        }
    }

    /// A phase at a level of the next deal's iteration.
    fn phase(&mut self, number: usize) -> Result<PhaseArgs<'_, T>> {
        let ways = self.ways;
        let Some(&deal) = self.dealt.get(self.n_used) else {
            return Err(Error::shape("deals of iterations", "at least one that is left", 0));
        };
        let Some(level) = self.levels.get(number).cloned() else {
            return Err(Error::shape("level", format!("below {}", self.levels.len()), number));
        };
        let (sequence_stride, bucket_stride) = self.strides();
        let is_apart = !ways.flattened && ways.lists != Lists::Computed;
        let list = if self.lists.len() > 1 { number } else { 0 };
        Ok(PhaseArgs {
            sequences: self.sequences.view(),
            ends: self.ends.view(),
            stakes: self.stakes.view(),
            regrets: self.regrets.view_mut(),
            averages: self.averages.view_mut(),
            strategies: self.strategies.view_mut(),
            reaches: self.reaches.view_mut(),
            utilities: self.utilities.view_mut(),
            sums: self.sums.view_mut(),
            order: self.lists[list].view(),
            deals: self.deals.view(),
            next: self.next.view_mut(),
            sequence_stride,
            bucket_stride,
            n_sequences: self.sequences.len() as u32,
            n_ends: self.ends.len() as u32,
            n_players: self.n_players,
            first: if is_apart { 0 } else { level.start },
            n: level.end - level.start,
            ways: ways.bits(),
            deal,
            n_buckets: self.n_buckets,
            n_deals: DEALS as u32,
        })
    }
}

/// Iterations that are launched together, by the arrays that they were recorded with.
pub(super) struct Recorded {
    graph: Graph,
    n: usize,
}

impl Recorded {
    /// Queues the iterations, by the next deals.
    ///
    /// # Errors
    /// [`Error::Shape`] where fewer deals are left; as the device says.
    pub fn launch<T: Number>(&self, stream: &Stream, arrays: &mut Arrays<T>) -> Result<()> {
        arrays.use_deals(self.n)?;
        stream.launch_graph(&self.graph)
    }
}

/// The kernels.
pub(super) struct Kernels<T: Number> {
    rows: Rows,
    set: kernels::Kernels<Module, T>,
}

impl<T: Number> Kernels<T> {
    /// Loads the module; `rows` are where rows and utilities are kept while they are worked on.
    pub fn load(device: &Device, rows: Rows) -> Result<Self> {
        let module = Module::load(device, &crate::ptx::CFR_THESIS)?;
        Ok(Self { rows, set: kernels::Kernels::load(&module)? })
    }

    /// First phase at a level.
    ///
    /// # Errors
    /// [`Error::Shape`] where there is no such level, or no deal left; as the device says.
    pub fn down(&self, stream: &Stream, arrays: &mut Arrays<T>, level: usize) -> Result<()> {
        let set = &self.set;
        match self.rows {
            Rows::Shared => self.queue(&set.cfr_thesis_down_shared, stream, arrays, level),
            Rows::Global => self.queue(&set.cfr_thesis_down_global, stream, arrays, level),
            Rows::Registers => self.queue(&set.cfr_thesis_down_registers, stream, arrays, level),
        }
    }

    /// Second phase at a level; that of the root ends the deal's iteration.
    ///
    /// # Errors
    /// As [`down`](Self::down).
    pub fn up(&self, stream: &Stream, arrays: &mut Arrays<T>, level: usize) -> Result<()> {
        let set = &self.set;
        match self.rows {
            Rows::Shared => self.queue(&set.cfr_thesis_up_shared, stream, arrays, level)?,
            Rows::Global => self.queue(&set.cfr_thesis_up_global, stream, arrays, level)?,
            Rows::Registers => self.queue(&set.cfr_thesis_up_registers, stream, arrays, level)?,
        }
        if level == 0 { arrays.use_deals(1) } else { Ok(()) }
    }

    fn queue<K: Kernel<Params = (Phase<T>,)>>(
        &self,
        kernel: &Function<K>,
        stream: &Stream,
        arrays: &mut Arrays<T>,
        level: usize,
    ) -> Result<()> {
        let block = arrays.ways.block;
        let phase = arrays.phase(level)?;
        let staged = self.rows != Rows::Global;
        let shape = shape(phase.n, block, phase.n_players, size_of::<T>() as u32, staged);
        // SAFETY: the shape is that of these kernels. `Arrays::new` made lists as its ways say. The deal that `next` counts is there, and its buckets are the game's. In another order of
        // the levels the numbers are wrong, but every address is of the game.
        unsafe { stream.launch(kernel, shape, (phase,)) }
    }

    /// One iteration, by the next deal.
    ///
    /// # Errors
    /// As [`down`](Self::down).
    pub fn iterate(&self, stream: &Stream, arrays: &mut Arrays<T>) -> Result<()> {
        (0..arrays.n_levels()).try_for_each(|level| self.down(stream, arrays, level))?;
        (0..arrays.n_levels()).rev().try_for_each(|level| self.up(stream, arrays, level))
    }

    /// Records `n` iterations.
    ///
    /// # Errors
    /// As the device says.
    pub fn record(&self, stream: &Stream, arrays: &mut Arrays<T>, n: usize) -> Result<Recorded> {
        // Nothing runs: these stand for the deals of the launches to come.
        (arrays.dealt, arrays.n_used) = (vec![Deal::default(); n], 0);
        let graph = stream.capture(|stream| (0..n).try_for_each(|_| self.iterate(stream, arrays)));
        (arrays.dealt, arrays.n_used) = (Vec::new(), 0);
        Ok(Recorded { graph: graph?, n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfr_thesis::plan::Plan;
    use crate::cfr_thesis::published::Variant;

    const WAYS: Ways = Ways { block: 64, constant: false, lists: Lists::ReadOnly, flattened: true, by_bucket: false };

    #[test]
    fn lists_are_read_as_their_option_says() {
        let bits = |lists| Ways { lists, ..WAYS }.bits();
        let expected = [way::LISTED | way::READ_ONLY, way::LISTED, 0];
        assert_eq!([Lists::ReadOnly, Lists::Global, Lists::Computed].map(bits), expected);
    }

    /// The kernels read the deal that an iteration is of, and rows of its buckets, wherever that leads.
    #[test]
    fn iterations_without_deals_are_refused() -> Result<()> {
        let (device, plan) = (Device::simt(), Plan::of(&Variant::A.game()?)?);
        let stream = device.stream()?;
        let kernels = Kernels::<f32>::load(&device, Rows::Shared)?;
        let mut arrays = Arrays::new(&stream, &plan.sequences, &[0, 1, 2, 3], plan.n_buckets, WAYS)?;
        let refused = |result: Result<()>, part: &str| {
            let error = result.expect_err("refused").to_string();
            assert!(error.contains(part), "{error}");
        };
        refused(kernels.iterate(&stream, &mut arrays), "deals of iterations: expected at least one");
        let two = kernels.record(&stream, &mut arrays, 2)?;
        refused(two.launch(&stream, &mut arrays), "at most 0");
        arrays.set_deals(&stream, vec![Deal::default(); 3])?;
        refused(kernels.down(&stream, &mut arrays, 3), "level: expected below 3");
        two.launch(&stream, &mut arrays)?;
        refused(two.launch(&stream, &mut arrays), "at most 1");
        kernels.iterate(&stream, &mut arrays)?;
        refused(kernels.down(&stream, &mut arrays, 0), "deals of iterations");
        let wrong = Deal { buckets: [4; 10], ..Deal::default() };
        refused(arrays.set_deals(&stream, vec![wrong]), "bucket of a deal: expected below 4, got 4");
        refused(arrays.set_deals(&stream, vec![Deal::default(); DEALS + 1]), "expected");
        refused(kernels.iterate(&stream, &mut arrays), "deals of iterations");
        stream.synchronize()
    }
}
