//! The kernels of the abstraction, resolved, with a safe function for each; and the device arrays they work on.

use warpplay_gpu::cfr::abstraction::strength::TaskArgs;
use warpplay_gpu::cfr::abstraction::{self, cluster};
use warpplay_gpu::ptx::embedded::CFR_ABSTRACTION;

use crate::cfr::game::cards::{CardSet, Deck};
use crate::{Buffer, Device, Error, Module, Result, Stream};

/// Blocks of a launch that fill a GPU several times over.
const BLOCKS: usize = 4096;

/// What strengths are computed over.
pub(super) struct Table<'a> {
    pub deck: Deck,
    /// All sets of private cards.
    pub hands: &'a [CardSet],
    /// Run-outs as numbers of the cards left.
    pub runouts: &'a [u64],
    /// Twice the hands that an opponent can have.
    pub most: u32,
    pub n_bins: u32,
}

/// Points of k-means on the device.
pub(super) struct PointArrays {
    points: Buffer<u32>,
    weights: Buffer<u32>,
    pub distances: Buffer<u32>,
    pub nearest: Buffer<u32>,
    sums: Buffer<u64>,
    n: u32,
    n_bins: u32,
}

impl PointArrays {
    /// Uploads points `[bin, point]` and their weights.
    pub fn new(stream: &Stream, points: &[u32], weights: &[u32], n_bins: u32) -> Result<Self> {
        let n = u32::try_from(weights.len()).map_err(|_| Error::shape("points", "fewer than 2³²", weights.len()))?;
        if points.len() != weights.len() * n_bins as usize {
            return Err(Error::shape("points", weights.len() * n_bins as usize, points.len()));
        }
        Ok(Self {
            points: stream.upload(points)?,
            weights: stream.upload(weights)?,
            distances: stream.alloc(weights.len())?,
            nearest: stream.upload(&vec![u32::MAX; weights.len()])?,
            sums: stream.alloc(cluster::n_blocks(n) as usize)?,
            n,
            n_bins,
        })
    }
}

/// The kernels.
pub(super) struct Kernels {
    set: abstraction::Kernels<Module>,
}

impl Kernels {
    /// Loads the module.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &CFR_ABSTRACTION)?;
        Ok(Self { set: abstraction::Kernels::load(&module)? })
    }

    /// Sums of values `[board, hand]` and histograms `[board, hand, bin]`.
    pub fn strengths(&self, stream: &Stream, table: &Table<'_>, boards: &[CardSet]) -> Result<(Vec<u64>, Vec<u32>)> {
        let rows = boards.len() * table.hands.len();
        let hands = stream.upload(table.hands)?;
        let device_boards = stream.upload(boards)?;
        let runouts = stream.upload(table.runouts)?;
        let mut sums: Buffer<u64> = stream.alloc(rows)?;
        let mut histograms: Buffer<u32> = stream.alloc(rows * table.n_bins as usize)?;
        stream.zero(&mut sums)?;
        stream.zero(&mut histograms)?;
        let task = TaskArgs {
            hands: hands.view(),
            boards: device_boards.view(),
            runouts: runouts.view(),
            histograms: histograms.view_mut(),
            sums: sums.view_mut(),
            deck: table.deck.all(),
            n_hands: table.hands.len() as u32,
            n_runouts: table.runouts.len() as u32,
            n_bins: table.n_bins,
            most: table.most.max(1),
            n_suits: table.deck.n_suits.into(),
            has_ace: u32::from(table.deck.n_ranks == 13),
            n_boards: boards.len() as u32,
        };
        let n_parts = (BLOCKS / boards.len().max(1)).clamp(1, table.runouts.len().max(1));
        let launch = (boards.len() as u32, n_parts as u32);
        // SAFETY: the boards are as many; sums and histograms are read after the launch alone.
        unsafe { stream.run_unchecked_with(&self.set.cfr_abstraction_strength, launch, (task,)) }?;
        Ok((stream.read(&sums)?, stream.read(&histograms)?))
    }

    /// Lowers the points' distances to that to one more centre; sums of weight · distance² by block.
    pub fn lower(&self, stream: &Stream, arrays: &mut PointArrays, centre: &[u32], first: bool) -> Result<Vec<u64>> {
        let PointArrays { points, weights, distances, sums, n, n_bins, .. } = arrays;
        if centre.len() != *n_bins as usize {
            return Err(Error::shape("centre", *n_bins, centre.len()));
        }
        let centre = stream.upload(centre)?;
        let arguments = (&*points, &*weights, &centre, distances, &mut *sums, *n, *n_bins, u32::from(first));
        stream.run(&self.set.cfr_abstraction_nearest, arguments)?;
        stream.read(sums)
    }

    /// Finds the nearest of `centres` (`[centre, bin]`, as many as the kernel wants). Gives whether any changed, and the sums by centre.
    pub fn assign(&self, stream: &Stream, arrays: &mut PointArrays, centres: &[u32]) -> Result<(bool, Vec<u64>)> {
        let PointArrays { points, weights, nearest, n, n_bins, .. } = arrays;
        let n_centres = (centres.len() / *n_bins as usize) as u32;
        if !n_centres.is_multiple_of(cluster::TILE) || centres.len() != (n_centres * *n_bins) as usize {
            return Err(Error::shape(
                "centres",
                format!("a multiple of {} of {} bins each", cluster::TILE, n_bins),
                centres.len(),
            ));
        }
        let centres = stream.upload(centres)?;
        let mut sums: Buffer<u64> = stream.alloc((n_centres * (*n_bins + 1)) as usize)?;
        let mut changed: Buffer<u32> = stream.alloc(1)?;
        stream.zero(&mut sums)?;
        stream.zero(&mut changed)?;
        let arguments = (&*points, &*weights, &centres, nearest, &mut sums, &mut changed, *n, *n_bins, n_centres);
        stream.run(&self.set.cfr_abstraction_assign, arguments)?;
        Ok((stream.read(&changed)?[0] > 0, stream.read(&sums)?))
    }
}
