//! The published program's kernels, resolved, with a safe function for each phase; and the device arrays they work on.

use std::ops::Range;

use bytemuck::Pod;
use warpplay::cfr::game::{ACTIONS, Child, Sequences};
use warpplay::{Buffer, Device, Function, Memory, Module, Result, Stream};
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::kernel::Kernel;
use warpplay_gpu::launch::LaunchShape;

use super::kernels::down::{
    cfr_thesis_down_global_f32, cfr_thesis_down_global_f64, cfr_thesis_down_registers_f32,
    cfr_thesis_down_registers_f64, cfr_thesis_down_shared_f32, cfr_thesis_down_shared_f64,
};
use super::kernels::sequence::{self as device, Deal, Phase, child, way};
use super::kernels::shape;
use super::kernels::up::{
    cfr_thesis_up_global_f32, cfr_thesis_up_global_f64, cfr_thesis_up_registers_f32, cfr_thesis_up_registers_f64,
    cfr_thesis_up_shared_f32, cfr_thesis_up_shared_f64,
};
use super::options::{Lists, Rows};

/// Deals that are on the device at a time.
pub(super) const DEALS: usize = 1024;

/// A phase's kernel for one way of keeping rows.
type Launch<T> = Box<dyn Fn(&Stream, LaunchShape, Phase<T>) -> Result<()> + Send>;

fn launch<T: 'static, K: Kernel<Params = (Phase<T>,)>>(function: Function<K>) -> Launch<T>
where
    Phase<T>: Copy,
{
    // SAFETY: the only callers are `Kernels::down` and `Kernels::up`, which vouch for the phase.
    Box::new(move |stream, shape, phase| unsafe { stream.launch(&function, shape, (phase,)) })
}

/// A number type that the kernels are made for.
pub(super) trait Number: Real + Pod {
    /// Both phases.
    fn phases(module: &Module, rows: Rows) -> Result<[Launch<Self>; 2]>;
}

macro_rules! number {
    ($type:ty, $($rows:ident $down:ident $up:ident),+) => {
        impl Number for $type {
            fn phases(module: &Module, rows: Rows) -> Result<[Launch<Self>; 2]> {
                Ok(match rows {
                    $(Rows::$rows => [launch(module.function($down)?), launch(module.function($up)?)],)+
                })
            }
        }
    };
}
number!(f32, Shared cfr_thesis_down_shared_f32 cfr_thesis_up_shared_f32, Global cfr_thesis_down_global_f32 cfr_thesis_up_global_f32,
    Registers cfr_thesis_down_registers_f32 cfr_thesis_up_registers_f32);
number!(f64, Shared cfr_thesis_down_shared_f64 cfr_thesis_up_shared_f64, Global cfr_thesis_down_global_f64 cfr_thesis_up_global_f64,
    Registers cfr_thesis_down_registers_f64 cfr_thesis_up_registers_f64);

/// How the phases are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ways {
    /// Threads of a block.
    pub block: u32,
    /// Where rows and utilities are kept while they are worked on.
    pub rows: Rows,
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
        + (DEALS * size_of::<Deal>()) as u64;
    Memory::default()
        .on_device("regrets and sums of strategies", 2 * n * u64::from(n_buckets) * actions * value)
        .on_device("one iteration", n * (actions + 2 * seats) * value)
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
    /// Takes the memory and uploads the game. `numbers` are the sequences' numbers on the device; `flattened` says whether their lists are one array.
    pub fn new(stream: &Stream, game: &Sequences, numbers: &[u32], n_buckets: u32, flattened: bool) -> Result<Self> {
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
        let parts = if flattened { std::slice::from_ref(&whole) } else { &game.levels };
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
            n_players: game.n_players as u32,
            n_buckets,
        })
    }

    /// Uploads deals, at most [`DEALS`], the first of which is the next one's.
    pub fn set_deals(&mut self, stream: &Stream, deals: &[Deal]) -> Result<()> {
        stream.write(&mut self.deals, 0, deals)?;
        stream.zero(&mut self.next)
    }

    /// Copies the lists of the levels to the device again: a copy an array.
    pub fn copy_lists(&mut self, stream: &Stream, numbers: &[u32]) -> Result<()> {
        let mut first = 0;
        for list in &mut self.lists {
            let part = &numbers[first..first + list.len()];
            first += part.len();
            stream.write(list, 0, part)?;
        }
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
    pub fn strides(&self, ways: Ways) -> (u64, u64) {
        let actions = ACTIONS as u64;
        if ways.by_bucket {
            (actions, self.sequences.len() as u64 * actions)
        } else {
            (u64::from(self.n_buckets) * actions, actions)
        }
    }

    fn phase(&mut self, ways: Ways, number: usize, level: &Range<u32>, deal: &Deal) -> Phase<T> {
        let (sequence_stride, bucket_stride) = self.strides(ways);
        let is_apart = !ways.flattened && ways.lists != Lists::Computed;
        let list = if self.lists.len() > 1 { number } else { 0 };
        Phase {
            sequences: self.sequences.as_ptr(),
            ends: self.ends.as_ptr(),
            stakes: self.stakes.as_ptr(),
            regrets: self.regrets.as_mut_ptr(),
            averages: self.averages.as_mut_ptr(),
            strategies: self.strategies.as_mut_ptr(),
            reaches: self.reaches.as_mut_ptr(),
            utilities: self.utilities.as_mut_ptr(),
            sums: self.sums.as_mut_ptr(),
            order: self.lists[list].as_ptr(),
            deals: self.deals.as_ptr(),
            next: self.next.as_mut_ptr(),
            sequence_stride,
            bucket_stride,
            n_sequences: self.sequences.len() as u32,
            n_ends: self.ends.len() as u32,
            n_players: self.n_players,
            first: if is_apart { 0 } else { level.start },
            n: level.end - level.start,
            ways: ways.bits(),
            deal: *deal,
        }
    }
}

/// The kernels.
pub(super) struct Kernels<T> {
    down: Launch<T>,
    up: Launch<T>,
}

impl<T: Number> Kernels<T> {
    /// Loads the module.
    pub fn load(device: &Device, rows: Rows) -> Result<Self> {
        let [down, up] = T::phases(&Module::load(device, &crate::ptx::CFR_THESIS)?, rows)?;
        Ok(Self { down, up })
    }

    /// First phase at a level: its number and its sequences. The deals uploaded last must not be used up.
    pub fn down(
        &self,
        stream: &Stream,
        arrays: &mut Arrays<T>,
        ways: Ways,
        (number, level): (usize, &Range<u32>),
        deal: &Deal,
    ) -> Result<()> {
        let phase = arrays.phase(ways, number, level, deal);
        // The shape is the kernel's own. `Arrays::new` made every array for this game, of different buffers, and lists as `flattened` says; they are dropped with
        // the stream's owner, after its work. Callers go through the levels in their order.
        (self.down)(stream, launch_shape::<T>(&phase, ways), phase)
    }

    /// Second phase at a level.
    pub fn up(
        &self,
        stream: &Stream,
        arrays: &mut Arrays<T>,
        ways: Ways,
        (number, level): (usize, &Range<u32>),
        deal: &Deal,
    ) -> Result<()> {
        let phase = arrays.phase(ways, number, level, deal);
        // As above.
        (self.up)(stream, launch_shape::<T>(&phase, ways), phase)
    }
}

fn launch_shape<T>(phase: &Phase<T>, ways: Ways) -> LaunchShape {
    shape(phase.n, ways.block, phase.n_players, size_of::<T>() as u32, ways.rows != Rows::Global)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_their_option_says() {
        let bits = |lists| {
            Ways { block: 64, rows: Rows::Shared, constant: false, lists, flattened: true, by_bucket: false }.bits()
        };
        let expected = [way::LISTED | way::READ_ONLY, way::LISTED, 0];
        assert_eq!([Lists::ReadOnly, Lists::Global, Lists::Computed].map(bits), expected);
    }
}
