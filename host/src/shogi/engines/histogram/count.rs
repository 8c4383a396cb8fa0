//! Differences of material in a device's memory, to be counted there.

use std::time::Duration;

use warpplay_gpu::cuda::memory::Vec4;

use crate::shogi::engines::kernels::{MaterialKernels, Table};
use crate::shogi::histogram::Histogram;
use crate::shogi::positions::check_number;
use crate::shogi::shard::Shard;
use crate::{Backend, Buffer, Device, Event, Result, Stream};

/// Number of slots of the initial table, which grows if necessary.
const SLOTS: usize = 1 << 13;

/// The differences of children in the memory of a device that runs kernels.
pub struct Differences {
    kernels: MaterialKernels,
    pairs: Buffer<Vec4>,
    table: Table,
    stream: Stream,
    children: u64,
    counting: Duration,
}

impl Differences {
    /// Uploads the differences of shards, one shard after the other; 8 bytes per child.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) on the CPU, where [`Histogram::from_shards`] counts; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if they do
    /// not fit; [`Error::Shape`](crate::Error::Shape) for 2³¹ or more; errors of the driver.
    pub fn upload(device: &Device, shards: &[&Shard]) -> Result<Self> {
        let stream = device.stream()?;
        let kernels = MaterialKernels::load(device)?;
        let children: usize = shards.iter().map(|shard| shard.n_children()).sum();
        check_number(children)?;
        let mut pairs = stream.alloc::<Vec4>(children.div_ceil(2))?;
        // A shard with an odd number begins or ends in the middle of a pair: its neighbours' words go with it, the last one's with a 0.
        let mut half: Option<u64> = None;
        let mut at = 0;
        for shard in shards {
            let mut differences = &shard.differences[..];
            if let (Some(first), Some((&second, rest))) = (half, differences.split_first()) {
                stream.write(&mut pairs, at, &[pair(first, second)])?;
                (half, differences, at) = (None, rest, at + 1);
            }
            let (whole, odd) = differences.as_chunks::<2>();
            const PIECE: usize = 1 << 20;
            for piece in whole.chunks(PIECE) {
                let piece: Vec<Vec4> = piece.iter().map(|&[first, second]| pair(first, second)).collect();
                stream.write(&mut pairs, at, &piece)?;
                at += piece.len();
            }
            if let Some(&odd) = odd.first() {
                half = Some(odd);
            }
        }
        if let Some(first) = half {
            stream.write(&mut pairs, at, &[pair(first, 0)])?;
        }
        let table = Table::new(&stream, SLOTS)?;
        stream.synchronize()?;
        Ok(Self { kernels, pairs, table, stream, children: children as u64, counting: Duration::ZERO })
    }

    /// Children.
    pub fn children(&self) -> u64 {
        self.children
    }

    /// Counts them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if a table for very many distinct differences does not fit; errors of the driver.
    pub fn histogram(&mut self) -> Result<Histogram> {
        loop {
            let (start, end) = (self.stream.event()?, self.stream.event()?);
            self.table.clear(&self.stream)?;
            self.stream.record(&start)?;
            self.kernels.count(&self.stream, &self.pairs, &mut self.table)?;
            self.stream.record(&end)?;
            if let Some(rows) = self.table.read(&self.stream)? {
                self.counting = Duration::from_secs_f64(f64::from(Event::elapsed_ms(&start, &end)?) / 1e3);
                let counted: u64 = rows.iter().map(|row| row.1).sum();
                let zeros = self.children.saturating_sub(counted);
                return Ok(Histogram::from_rows(rows.into_iter().chain([(0, zeros)])));
            }
            // Too many distinct differences for it.
            self.table = Table::new(&self.stream, self.table.len() * 8)?;
        }
    }

    /// The device's time of the last counting: the kernel alone, without clearing and reading the table.
    pub fn counting(&self) -> Duration {
        self.counting
    }
}

impl Histogram {
    /// Counts on a device that runs kernels; on the CPU like [`from_shards`](Self::from_shards).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the differences do not fit; [`Error::Shape`](crate::Error::Shape) for 2³¹ children or more; errors of the driver.
    pub fn on_device(device: &Device, shards: &[&Shard]) -> Result<Self> {
        if device.backend() == Backend::Cpu {
            return Ok(Self::from_shards(shards));
        }
        Differences::upload(device, shards)?.histogram()
    }
}

/// Two words in the layout that the kernel reads.
fn pair(first: u64, second: u64) -> Vec4 {
    Vec4([first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32])
}
