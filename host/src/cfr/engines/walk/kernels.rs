//! The walk's kernels, resolved, with a safe function for each launch; and the device arrays they work on.

use bytemuck::Pod;
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::cfr::walk::links::{self, cfr_walk_links};
use warpplay_gpu::cfr::walk::walk::{
    ACTIONS, Change, Walk, WalkArgs, cfr_walk_2_f32, cfr_walk_2_f64, cfr_walk_3_f32, cfr_walk_3_f64, cfr_walk_5_f32,
    cfr_walk_5_f64, cfr_walk_8_f32, cfr_walk_8_f64, cfr_walk_10_f32, cfr_walk_10_f64, shape,
};
use warpplay_gpu::cuda::memory::Vec4;
use warpplay_gpu::kernel::Kernel;
use warpplay_gpu::launch::LaunchShape;
use warpplay_gpu::ptx::embedded::CFR_WALK;

use super::pieces::{Pieces, Stage};
use crate::cfr::layout::Number;
use crate::{Buffer, Device, Function, Memory, Module, Result, Stream};

/// Deals of a full batch, a lane each.
pub(super) const LANES: usize = 32;
/// Batches that are on the device at a time.
pub(super) const BATCHES: usize = 128;

/// The walk for one number of seats.
type Launch<T> = Box<dyn Fn(&Stream, LaunchShape, WalkArgs<'_, T>) -> Result<()> + Send>;

fn launch<T: 'static, K: Kernel<Params = (Walk<T>,)>>(function: Function<K>) -> Launch<T> {
    // SAFETY: the only caller is `Kernels::walk`, which vouches for the task.
    Box::new(move |stream, shape, task| unsafe { stream.launch(&function, shape, (task,)) })
}

/// The walks of each precision.
pub(super) trait WalkKernels: Real + Number {
    /// The kernel for at least so many seats, and for how many it is.
    fn walk(module: &Module, n_players: usize) -> Result<(u32, Launch<Self>)>;
}

macro_rules! kernels {
    ($type:ty, $($n:literal $name:ident),+) => {
        impl WalkKernels for $type {
            fn walk(module: &Module, n_players: usize) -> Result<(u32, Launch<Self>)> {
                $(if n_players <= $n {
                    return Ok(($n, launch(module.function($name)?)));
                })+
                Err(crate::Error::option("numPlayers", n_players, "at most 10 where deals are sampled"))
            }
        }
    };
}
kernels!(f32, 2 cfr_walk_2_f32, 3 cfr_walk_3_f32, 5 cfr_walk_5_f32, 8 cfr_walk_8_f32, 10 cfr_walk_10_f32);
kernels!(f64, 2 cfr_walk_2_f64, 3 cfr_walk_3_f64, 5 cfr_walk_5_f64, 8 cfr_walk_8_f64, 10 cfr_walk_10_f64);

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
    pub fn set_batches(&mut self, stream: &Stream, batches: &Batches<T>) -> Result<()> {
        stream.write(&mut self.buckets, 0, &batches.buckets)?;
        stream.write(&mut self.beats, 0, &batches.beats)?;
        stream.write(&mut self.changes, 0, &batches.changes)?;
        stream.zero(&mut self.next)
    }
}

/// The kernels.
pub(super) struct Kernels<T> {
    links: Function<cfr_walk_links>,
    walk: Launch<T>,
    n_players: u32,
}

impl<T: WalkKernels> Kernels<T> {
    /// Loads the module, for a number of seats.
    pub fn load(device: &Device, n_players: usize) -> Result<Self> {
        let module = Module::load(device, &CFR_WALK)?;
        let (n_players, walk) = T::walk(&module, n_players)?;
        Ok(Self { links: module.function(cfr_walk_links)?, walk, n_players })
    }

    /// Finds which deals share buckets, in the first `n` batches of `n_deals` deals.
    pub fn links(&self, stream: &Stream, arrays: &mut Arrays<T>, n: usize, n_deals: u32) -> Result<()> {
        let n = n.min(BATCHES) as u32 * arrays.n_slots;
        // SAFETY: the shape is the kernel's own; both arrays hold all batches' slots.
        unsafe { stream.launch(&self.links, links::shape(n), (&arrays.buckets, &mut arrays.links, n, n_deals)) }
    }

    /// Walks a stage's pieces for the batch at hand: `seats` learn; `ends` says that this is the last pass of the batch. The uploaded batches must not be used up.
    pub fn walk(&self, stream: &Stream, arrays: &mut Arrays<T>, stage: &Stage, seats: u32, ends: bool) -> Result<()> {
        let task = WalkArgs {
            ops: arrays.ops.view(),
            pieces: arrays.pieces.view(),
            regrets: arrays.regrets.view_mut(),
            averages: arrays.averages.view_mut(),
            values: arrays.values.view_mut(),
            buckets: arrays.buckets.view(),
            links: arrays.links.view(),
            beats: arrays.beats.view(),
            changes: arrays.changes.view(),
            sums: arrays.sums.view_mut(),
            next: arrays.next.view_mut(),
            n_slots: arrays.n_slots,
            n_players: arrays.n_players,
            first: stage.first,
            seats,
            root: if ends { arrays.n_pieces - 1 } else { u32::MAX },
            depth: stage.depth,
            n_ops: arrays.n_ops,
            n_pieces: arrays.n_pieces,
            n_rows: arrays.n_rows,
            n_batches: BATCHES as u32,
        };
        let launch = shape(stage.n, stage.depth, self.n_players, size_of::<T>() as u32);
        // What the operations name is within this game's arrays.
        (self.walk)(stream, launch, task)
    }
}
