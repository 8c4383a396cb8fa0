//! The programs of the GPU: the paper's, and ours for one deal at a time.

use std::sync::Arc;

use warpplay::cfr::engines::walk::{Checksums, Set};
use warpplay::cfr::game::{ACTIONS, Dealer};
use warpplay::{Device, Error, Event, Result, Stream};

use super::kernels::sequence::Deal;
use super::launch::{Arrays, DEALS, Kernels, Number, Recorded, Table, Ways};
use super::options::{Lists, Options, Program, Rows};
use super::plan::{Plan, Profile, Running};

/// Iterations of the longer of the two graphs.
const GRAPH: usize = 8;
/// Values of a table that are read at a time for their sums.
const PIECE: usize = 1 << 20;

/// A program on a device. Field order: the stream last, so that arrays and graphs go before it.
pub(super) struct OnDevice<T: Number> {
    plan: Arc<Plan>,
    kernels: Kernels<T>,
    arrays: Arrays<T>,
    /// Number of each sequence on the device.
    numbers: Vec<u32>,
    dealer: Dealer,
    /// One iteration, and [`GRAPH`] of them.
    graphs: Option<[Recorded; 2]>,
    stream: Stream,
}

impl<T: Number> OnDevice<T> {
    /// Takes the memory.
    pub fn new(device: &Device, plan: &Arc<Plan>, options: &Options) -> Result<Self> {
        let too_large = |chips: f64| f64::from(chips as f32) != chips;
        if let Some(end) = plan.sequences.ends.iter().find(|end| too_large(end.pots[0].chips)) {
            return Err(Error::option("blind", end.pots[0].chips, "pots that single precision holds exactly"));
        }
        let ours = options.program == Program::Graph;
        let theirs = Ways {
            block: options.block,
            constant: options.constant,
            lists: options.lists,
            flattened: options.flattened,
            by_bucket: false,
        };
        let (ways, rows) = match ours {
            true => {
                let lists = Lists::Computed;
                (Ways { constant: false, lists, flattened: true, by_bucket: true, ..theirs }, Rows::Registers)
            }
            false => (theirs, options.rows),
        };
        let n = plan.sequences.sequences.len() as u32;
        let numbers = if ours || options.renumbered { (0..n).collect() } else { plan.sequences.depth_first() };
        let stream = device.stream()?;
        let kernels = Kernels::load(device, rows)?;
        let mut arrays = Arrays::new(&stream, &plan.sequences, &numbers, plan.n_buckets, ways)?;
        let graphs = match ours {
            true => Some([kernels.record(&stream, &mut arrays, 1)?, kernels.record(&stream, &mut arrays, GRAPH)?]),
            false => None,
        };
        let dealer = Dealer::new(&plan.game, options.seed)?;
        Ok(Self { plan: Arc::clone(plan), kernels, arrays, numbers, dealer, graphs, stream })
    }

    /// Draws deals and puts them on the device.
    fn deal(&mut self, n: usize) -> Result<()> {
        let mut deals = Vec::with_capacity(n);
        for _ in 0..n {
            let cards = self.dealer.next();
            let mut deal = Deal { beats: self.dealer.beats(&cards), ..Deal::default() };
            let board = cards.boards.last().copied().unwrap_or(0);
            for (bucket, &hole) in deal.buckets.iter_mut().zip(&cards.holes) {
                *bucket = self.plan.buckets.bucket(0, hole, board);
            }
            deals.push(deal);
        }
        self.arrays.set_deals(&self.stream, deals)
    }

    /// Offset of a set's first action in the tables.
    fn row(&self, sequence: u32, bucket: u32) -> usize {
        let (sequence_stride, bucket_stride) = self.arrays.strides();
        let number = u64::from(self.numbers[sequence as usize]);
        (number * sequence_stride + u64::from(bucket) * bucket_stride) as usize
    }
}

impl<T: Number> Running for OnDevice<T> {
    fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n as usize;
        while left > 0 {
            let n = left.min(DEALS);
            self.deal(n)?;
            left -= n;
            let Self { stream, kernels, arrays, graphs, .. } = self;
            if let Some([one, many]) = graphs {
                (0..n / GRAPH).try_for_each(|_| many.launch(stream, arrays))?;
                (0..n % GRAPH).try_for_each(|_| one.launch(stream, arrays))?;
            } else {
                (0..n).try_for_each(|_| kernels.iterate(stream, arrays))?;
            }
            // The deals of the next turn overwrite these.
            stream.synchronize()?;
        }
        Ok(())
    }

    fn utilities(&self) -> Result<Vec<f64>> {
        self.arrays.sums(&self.stream)
    }

    fn set(&self, sequence: u32, bucket: u32) -> Result<Set> {
        let row = self.row(sequence, bucket);
        let read = |table| {
            let mut values = [T::ZERO; ACTIONS];
            self.arrays.read(&self.stream, table, row, &mut values)?;
            Ok::<_, Error>(values.map(T::to_f64))
        };
        Ok(Set { regrets: read(Table::Regrets)?, averages: read(Table::Averages)? })
    }

    fn checksums(&self) -> Result<Checksums> {
        let mut sums = Checksums::default();
        let mut values = vec![T::ZERO; PIECE.min(self.arrays.table_len())];
        for first in (0..self.arrays.table_len()).step_by(PIECE) {
            let n = PIECE.min(self.arrays.table_len() - first);
            self.arrays.read(&self.stream, Table::Regrets, first, &mut values[..n])?;
            for value in &values[..n] {
                sums.regrets += value.to_f64();
                sums.regret_sizes += value.to_f64().abs();
            }
            self.arrays.read(&self.stream, Table::Averages, first, &mut values[..n])?;
            sums.averages += values[..n].iter().map(|value| value.to_f64()).sum::<f64>();
        }
        Ok(sums)
    }

    fn copy_lists(&mut self) -> Result<usize> {
        let Self { stream, arrays, numbers, .. } = self;
        let n = arrays.copy_lists(stream, numbers)?;
        stream.synchronize()?;
        Ok(n)
    }

    fn profile(&mut self, n: u32) -> Result<Profile> {
        let sequences = self.plan.sequences.levels.iter().map(|level| level.end - level.start).collect();
        let n_levels = self.arrays.n_levels();
        let mut profile = Profile { down_ms: vec![0.0; n_levels], up_ms: vec![0.0; n_levels], sequences };
        let events = (0..=2 * n_levels).map(|_| self.stream.event()).collect::<Result<Vec<Event>>>()?;
        for _ in 0..n {
            self.deal(1)?;
            let Self { stream, kernels, arrays, .. } = self;
            stream.record(&events[0])?;
            for (level, event) in (0..n_levels).zip(&events[1..]) {
                kernels.down(stream, arrays, level)?;
                stream.record(event)?;
            }
            for (level, event) in (0..n_levels).rev().zip(&events[1 + n_levels..]) {
                kernels.up(stream, arrays, level)?;
                stream.record(event)?;
            }
            stream.synchronize()?;
            let took =
                |at: usize| Event::elapsed_ms(&events[at], &events[at + 1]).map(|ms| f64::from(ms) / f64::from(n));
            for level in 0..n_levels {
                profile.down_ms[level] += took(level)?;
                profile.up_ms[level] += took(2 * n_levels - 1 - level)?;
            }
        }
        Ok(profile)
    }
}
