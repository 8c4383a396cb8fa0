//! The positions that are learned from, in device memory, and the batch of a step.
//!
//! ```text
//! planes    [n, words(planes · cells)] u32     bit plane · cells + cell of the observation
//! legal     [n, words(actions)] u32            a bit for each legal action
//! first     [n + 1] u32                        where a position's visits begin
//! visits    [first[n]] (action, count)         of the search; actions ascending
//! total     [n] u32                            sum of a position's counts
//! values    [n] f32                            how the game ended
//! ```
//!
//! `azero_train_gather` makes a batch's observations of them, `azero_train_gather_short` those of 16 bits. One thread, one quad of a pixel or of all its taps.

use super::quad::{line_length, store_quad};
use super::short::{Parts, short_line, store_parts};
use crate::cuda::sync::follow;
use crate::cuda::{DeviceArgs, kernel, memory, thread};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Words that hold `bits` bits.
pub const fn words(bits: u32) -> u32 {
    bits.div_ceil(32)
}

/// An action and how often the search took it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Visit {
    /// The action.
    pub action: u32,
    /// The count.
    pub count: u32,
}

/// All positions.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Positions.
    n: u32,
    /// Planes times cells of an observation.
    n_observation: u32,
    /// Actions.
    actions: u32,
    /// Visits of all positions.
    n_visits: u32,
)]
pub struct Samples {
    /// See the module.
    #[len(n * words(n_observation))]
    pub planes: *const u32,
    /// See the module.
    #[len(n * words(actions))]
    pub legal: *const u32,
    /// See the module.
    #[len(n + 1)]
    pub first: *const u32,
    /// See the module.
    #[len(n_visits)]
    pub visits: *const Visit,
    /// See the module.
    #[len(n)]
    pub total: *const u32,
    /// See the module.
    #[len(n)]
    pub values: *const f32,
}

/// Which positions a step works on. The launches of a step are the same for all steps: the step is read from device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Steps that the order is for.
    n_steps: u32
)]
pub struct Batch {
    /// Order of the positions.
    #[len(from + n_steps * n)]
    pub order: *const u32,
    /// The step, or null for step 0.
    #[len(1)]
    #[nullable]
    pub step: *const u32,
    /// Index into the order of step 0's first position.
    pub from: u32,
    /// Positions of a step.
    pub n: u32,
}

const _: () = assert!(size_of::<Samples>() == 48 && size_of::<Batch>() == 24 && size_of::<Visit>() == 8);

impl Batch {
    /// Position `number` of the step.
    ///
    /// # Safety
    /// `step` is null or valid; the order holds the step's positions; `number` is below `n`.
    #[device_inline]
    #[track_caller]
    pub unsafe fn sample(&self, number: u32) -> usize {
        // SAFETY: the step is null or there, and the order has `n` numbers for each step from `from` on, of which this is one, as is asked for.
        unsafe {
            let step = if self.step.is_null() { 0 } else { memory::load(self.step, 0) };
            memory::load(self.order, self.from as usize + step as usize * self.n as usize + number as usize) as usize
        }
    }
}

/// Launch shape of both kernels.
pub const fn shape(n: u32, cells: u32, planes: u32) -> LaunchShape {
    LaunchShape::linear(n * cells * (line_length(planes) / 4), BLOCK)
}

/// Four planes, from number `4 · quad` on, of a square of position `sample`.
///
/// # Safety
/// `samples` describes valid memory; position, square and quad exist.
#[device_inline]
#[track_caller]
unsafe fn gather(samples: &Samples, (sample, cell, quad): (usize, u32, u32), cells: u32, planes: u32) -> [f32; 4] {
    let mut values = [0.0; 4];
    // SAFETY: the position exists; its words hold all planes.
    unsafe {
        let own = sample * words(planes * cells) as usize;
        for j in 0..4 {
            let plane = quad * 4 + j;
            if plane < planes {
                let bit = plane * cells + cell;
                let word = memory::load(samples.planes, own + (bit / 32) as usize);
                values[j as usize] = (word >> (bit % 32) & 1) as f32;
            }
        }
    }
    values
}

/// Observations `[n, cells, line_length(planes)]` of a batch, 0 or 1, from the bits in which positions are stored.
///
/// * Launch: [`shape`], a thread four planes of a pixel, blocks of 256.
/// * Reads: bits of `planes` in `samples`, `order` and `step` of `batch`.
/// * Writes: `observations`.
/// * Shared: none.
/// * Cost: four bits a thread.
/// * Twin: `warpplay_cpu_ref::azero::observation::observation`.
/// * Source: our own.
///
/// # Safety
/// `samples` and `batch` describe valid memory.
#[kernel(shape = shape(batch.n, cells, planes).overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_gather(
    samples: Samples,
    batch: Batch,
    #[len(batch.n * cells * line_length(planes))] observations: *mut f32,
    cells: u32,
    planes: u32,
) {
    follow();
    let quads = line_length(planes) / 4;
    let Some(at) = thread::index_1d_below(batch.n * cells * quads) else { return };
    let (pixel, quad) = (at / quads, at % quads);
    // SAFETY: as the kernel asks; the quad is this thread's.
    unsafe {
        let values = gather(&samples, (batch.sample(pixel / cells), pixel % cells, quad), cells, planes);
        store_quad(observations, at as usize * 4, values);
    }
}

/// As [`azero_train_gather`], in bfloat16, or in half precision where `is_half` is 1: `[n, rows · columns, side², short_line(planes)]`. For each square it writes the squares that a `side` × `side` filter covers, 0 where they are off the board; with `side` 1 the square alone.
///
/// * Launch: [`shape`], a thread four planes of a pixel's taps, blocks of 256.
/// * Reads: bits of `planes` in `samples`, `order` and `step` of `batch`.
/// * Writes: `observations`; of each line the first `line_length(planes)` values, the rest stay as they are.
/// * Shared: none.
/// * Cost: four bits a tap a thread.
/// * Twin: `warpplay_cpu_ref::azero::observation::observation`.
/// * Source: our own.
///
/// # Safety
/// `samples` and `batch` describe valid memory.
#[kernel(
    shape = shape(batch.n, rows * columns, planes).overlapping(),
    max_threads = BLOCK,
    require = side == 1 || side == 3
)]
pub unsafe fn azero_train_gather_short(
    samples: Samples,
    batch: Batch,
    #[len((batch.n * rows * columns) as usize * (side * side * short_line(planes)) as usize)] observations: *mut u16,
    rows: u32,
    columns: u32,
    planes: u32,
    side: u32,
    is_half: u32,
) {
    follow();
    let (quads, taps, cells) = (line_length(planes) / 4, side * side, rows * columns);
    let Some(at) = thread::index_1d_below(batch.n * cells * quads) else { return };
    let (pixel, quad) = (at / quads, at % quads);
    let (number, cell) = (pixel / cells, pixel % cells);
    let parts = Parts { is_half: is_half != 0, ..Parts::BFLOAT16 };
    // Above the board and left of it these wrap, far beyond its size.
    let (first_row, first_column) = ((cell / columns).wrapping_sub(side / 2), (cell % columns).wrapping_sub(side / 2));
    // SAFETY: as the kernel asks; the position is one of the batch.
    let sample = unsafe { batch.sample(number) };
    let (mut down, mut right) = (0, 0);
    for tap in 0..taps {
        let (row, column) = (first_row.wrapping_add(down), first_column.wrapping_add(right));
        // SAFETY: as the kernel asks; the square is on the board, and the quads are this thread's.
        unsafe {
            let mut values = [0.0; 4];
            if row < rows && column < columns {
                values = gather(&samples, (sample, row * columns + column, quad), cells, planes);
            }
            let line = pixel as usize * taps as usize + tap as usize;
            store_parts(observations, line * short_line(planes) as usize + quad as usize * 4, parts, values);
        }
        right += 1;
        if right == side {
            (right, down) = (0, down + 1);
        }
    }
}
