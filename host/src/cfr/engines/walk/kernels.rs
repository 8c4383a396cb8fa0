//! The walk's kernels, resolved, with a safe function for each launch; and the device arrays they work on.

use bytemuck::Pod;
use warpplay_gpu::cfr::walk;
use warpplay_gpu::cfr::walk::walk::{ACTIONS, Change, WalkArgs};
use warpplay_gpu::cuda::memory::Vec4;
use warpplay_gpu::ptx::embedded::CFR_WALK;

use super::pieces::{Pieces, Stage};
use crate::cfr::layout::Number;
use crate::runtime::launch::views;
use crate::{Buffer, Device, Error, Graph, Memory, Module, Result, Stream};

/// Deals of a full batch, a lane each.
pub(super) const LANES: usize = 32;
/// Batches that are on the device at a time.
pub(super) const BATCHES: usize = 128;

/// A precision of the kernels.
pub(super) trait WalkKernels: walk::WalkKernels + Number {}

impl<T: walk::WalkKernels + Number> WalkKernels for T {}

/// Deals of some batches, as they lie on the device.
#[derive(Clone, Debug, Default)]
pub(super) struct Batches<T> {
    /// `[batch][n_slots][32]`.
    pub buckets: Vec<u32>,
    /// `[batch][n_players][32]`.
    pub beats: Vec<u32>,
    /// `[batch]`.
    pub changes: Vec<Change<T>>,
}

/// Everything on the device.
pub(super) struct Arrays<T: Pod> {
    ops: Buffer<Vec4>,
    pieces: Buffer<u32>,
    pub regrets: Buffer<T>,
    pub averages: Buffer<T>,
    values: Buffer<T>,
    buckets: Buffer<u32>,
    links: Buffer<u32>,
    beats: Buffer<u32>,
    changes: Buffer<Change<T>>,
    pub sums: Buffer<f64>,
    next: Buffer<u32>,
    n_ops: u32,
    n_pieces: u32,
    n_rows: u32,
    n_players: u32,
    n_slots: u32,
}

/// Memory that [`Arrays::new`] takes.
pub(super) fn memory(pieces: &Pieces, n_players: usize, n_slots: usize, value: u64) -> Memory {
    let rows = u64::from(pieces.rows.last().copied().unwrap_or(0));
    let deals = (BATCHES * LANES) as u64 * 4 * (2 * n_slots + n_players) as u64;
    let values = (pieces.starts.len() * n_players * LANES) as u64 * value;
    Memory::default()
        .on_device("regrets and averages", 2 * rows * ACTIONS as u64 * value)
        .on_device("values", values)
        .on_device("deals", deals)
        .on_device("lists of operations", (pieces.ops.len() * 16 + pieces.starts.len() * 4) as u64)
}

impl<T: WalkKernels> Arrays<T> {
    /// Takes the memory and uploads the game.
    pub fn new(stream: &Stream, pieces: &Pieces, n_players: usize, n_slots: usize) -> Result<Self> {
        let n_rows = pieces.rows.last().copied().unwrap_or(0);
        let table = n_rows as usize * ACTIONS;
        Ok(Self {
            ops: stream.upload(&pieces.ops)?,
            pieces: stream.upload(&pieces.starts)?,
            regrets: stream.alloc(table)?,
            averages: stream.alloc(table)?,
            values: stream.alloc(pieces.starts.len() * n_players * LANES)?,
            buckets: stream.alloc(BATCHES * n_slots * LANES)?,
            links: stream.alloc(BATCHES * n_slots * LANES)?,
            beats: stream.alloc(BATCHES * n_players * LANES)?,
            changes: stream.alloc(BATCHES)?,
            sums: stream.alloc(n_players)?,
            next: stream.alloc(1)?,
            n_ops: pieces.ops.len() as u32,
            n_pieces: pieces.starts.len() as u32,
            n_rows,
            n_players: n_players as u32,
            n_slots: n_slots as u32,
        })
    }

    /// Uploads at most [`BATCHES`] batches; the next walk takes the first.
    fn set_batches(&mut self, stream: &Stream, batches: &Batches<T>) -> Result<()> {
        stream.write(&mut self.buckets, 0, &batches.buckets)?;
        stream.write(&mut self.beats, 0, &batches.beats)?;
        stream.write(&mut self.changes, 0, &batches.changes)?;
        stream.zero(&mut self.next)
    }
}

/// The kernels.
pub(super) struct Kernels<T: WalkKernels> {
    links: walk::Kernels<Module>,
    set: walk::RealKernels<Module, T>,
}

impl<T: WalkKernels> Kernels<T> {
    /// Loads the module.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &CFR_WALK)?;
        Ok(Self { links: walk::Kernels::load(&module)?, set: walk::RealKernels::load(&module)? })
    }

    /// Finds which deals share buckets, in the first `n` batches of `n_deals` deals.
    fn links(&self, stream: &Stream, arrays: &mut Arrays<T>, n: usize, n_deals: u32) -> Result<()> {
        let n = n.min(BATCHES) as u32 * arrays.n_slots;
        stream.run(&self.links.cfr_walk_links, (&arrays.buckets, &mut arrays.links, n, n_deals))
    }

    /// Walks a stage's pieces for the batch at hand: `seats` learn; `ends` says that this is the last pass of the batch.
    ///
    /// # Safety
    /// `stage` is one of the pieces that the arrays were made for, and the launch comes after those of all earlier stages of its pass. Whenever it runs, also as part of a recorded graph,
    /// `next` is below [`BATCHES`], and the batch that it names was uploaded and has its links.
    unsafe fn walk(
        &self,
        stream: &Stream,
        arrays: &mut Arrays<T>,
        stage: &Stage,
        seats: u32,
        ends: bool,
    ) -> Result<()> {
        let task = views! { WalkArgs {
            arrays reads ops, pieces, buckets, links, beats, changes;
            arrays writes regrets, averages, values, sums, next;
            arrays has n_slots, n_players, n_ops, n_pieces, n_rows;
            stage has first, depth;
            seats,
            root: if ends { arrays.n_pieces - 1 } else { u32::MAX },
            n_batches: BATCHES as u32,
        } };
        let (set, n) = (&self.set, (stage.n,));
        // SAFETY: the caller vouches for the order of the stages and for the batch at hand. The shape has a warp for each of the stage's pieces; `Pieces` and `Arrays::new` make operations that
        // name pieces, rows and slots of these arrays only, and `Buckets` of `Information::of` stay below the rows of their round.
        unsafe {
            match arrays.n_players {
                ..=2 => stream.run_unchecked_with(&set.cfr_walk_2, n, (task,)),
                3 => stream.run_unchecked_with(&set.cfr_walk_3, n, (task,)),
                4..=5 => stream.run_unchecked_with(&set.cfr_walk_5, n, (task,)),
                6..=8 => stream.run_unchecked_with(&set.cfr_walk_8, n, (task,)),
                9..=10 => stream.run_unchecked_with(&set.cfr_walk_10, n, (task,)),
                n => Err(Error::option("numPlayers", n, "at most 10 where deals are sampled")),
            }
        }
    }
}

/// Iterations of the longer of the two graphs.
const GRAPH: usize = 8;

/// A game's walk on a device: one iteration, and [`GRAPH`] of them, recorded once.
pub(super) struct Walk<T: WalkKernels> {
    kernels: Kernels<T>,
    pub arrays: Arrays<T>,
    one: Graph,
    many: Graph,
}

impl<T: WalkKernels> Walk<T> {
    /// Records the iterations of `pieces`; `passes` has the seats that learn in each pass of one.
    pub fn new(
        stream: &Stream,
        kernels: Kernels<T>,
        mut arrays: Arrays<T>,
        pieces: &Pieces,
        passes: &[u32],
    ) -> Result<Self> {
        let mut record = |n: usize| {
            stream.capture(|stream| {
                for _ in 0..n {
                    for (number, &seats) in passes.iter().enumerate() {
                        let ends = number + 1 == passes.len();
                        for stage in &pieces.stages {
                            // SAFETY: all stages of a pass are launched in their order, and graphs run in the stream's order. The graphs are private: `run` alone launches them, for as many
                            // iterations as it has uploaded batches, at most `BATCHES`, after finding their links. Each iteration advances `next` by one, in its last stage.
                            unsafe { kernels.walk(stream, &mut arrays, stage, seats, ends) }?;
                        }
                    }
                }
                Ok(())
            })
        };
        let (one, many) = (record(1)?, record(GRAPH)?);
        Ok(Self { kernels, arrays, one, many })
    }

    /// Starts an iteration for each of these batches of `n_deals` deals.
    ///
    /// # Errors
    /// [`Error::Shape`] for more than [`BATCHES`], or arrays that do not belong to as many.
    pub fn run(&mut self, stream: &Stream, batches: &Batches<T>, n_deals: u32) -> Result<()> {
        let Self { kernels, arrays, one, many } = self;
        let n = batches.changes.len();
        if n > BATCHES {
            return Err(Error::shape("batches", format!("at most {BATCHES}"), n));
        }
        let of_batch = |rows: u32| n * rows as usize * LANES;
        for (what, found, expected) in [
            ("buckets", batches.buckets.len(), of_batch(arrays.n_slots)),
            ("beats", batches.beats.len(), of_batch(arrays.n_players)),
        ] {
            if found != expected {
                return Err(Error::shape(what, expected, found));
            }
        }
        arrays.set_batches(stream, batches)?;
        kernels.links(stream, arrays, n, n_deals)?;
        (0..n / GRAPH).try_for_each(|_| stream.launch_graph(many))?;
        (0..n % GRAPH).try_for_each(|_| stream.launch_graph(one))
    }
}
