//! Softmax, cross-entropy and its gradient; classes; units that are ever positive.
//!
//! One warp, one sample; lane `l` has the classes `l`, `l + 32`, …

use super::control;
use super::parts::{self, Parts};
use super::view::{Rows, line_length};
use crate::cuda::view::{Atomic, Slice, View};
use crate::cuda::{block, kernel, math, memory, shared_array, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Samples, so warps, of a block.
pub const ROWS: u32 = 8;
/// Threads of a block.
pub const BLOCK: u32 = ROWS * thread::WARP;
/// Most classes: eight a lane.
pub const MAX_CLASSES: u32 = thread::WARP * PER_LANE as u32;
/// Warps of a block.
const WARPS: usize = ROWS as usize;
/// Classes of a lane.
const PER_LANE: usize = 8;

/// Launch shape for `n_rows` samples.
pub const fn shape(n_rows: u32) -> LaunchShape {
    LaunchShape::new(n_blocks(n_rows), BLOCK)
}

/// Blocks of [`shape`], so partial losses of [`mlp_layers_loss_gradient`].
pub const fn n_blocks(n_rows: u32) -> u32 {
    if n_rows == 0 { 1 } else { n_rows.div_ceil(ROWS) }
}

/// A row's logits in the lanes of a warp, and what its loss is made of.
struct Softmax {
    /// `exp(z - most)`; 0 beyond the classes.
    powers: [f32; PER_LANE],
    sum: f32,
    most: f32,
}

/// The logits of one row, this lane's share; minus infinity beyond the classes.
#[device_inline]
#[track_caller]
unsafe fn lane_logits(logits: *const f32, row: u32, n_classes: u32, active: bool) -> [f32; PER_LANE] {
    let start = row as usize * line_length(n_classes) as usize;
    let mut z = [f32::NEG_INFINITY; PER_LANE];
    let mut j = 0;
    while j < PER_LANE {
        let class = thread::lane() + thread::WARP * j as u32;
        if active && class < n_classes {
            // SAFETY: the caller's row exists, and so does the class.
            z[j] = unsafe { memory::load(logits, start + class as usize) };
        }
        j += 1;
    }
    z
}

/// Stable softmax over a warp. A row that is not active has a sum of 0.
#[device_inline]
#[track_caller]
fn softmax(z: &[f32; PER_LANE], n_classes: u32, active: bool) -> Softmax {
    let mut most = z[0];
    let mut j = 1;
    while j < PER_LANE {
        if z[j] > most {
            most = z[j];
        }
        j += 1;
    }
    let most = warp::reduce_max(most);
    let mut powers = [0.0; PER_LANE];
    let mut sum = 0.0;
    let mut j = 0;
    while j < PER_LANE {
        if active && thread::lane() + thread::WARP * (j as u32) < n_classes {
            powers[j] = math::exp(z[j] - most);
            sum += powers[j];
        }
        j += 1;
    }
    Softmax { powers, sum: warp::reduce_sum(sum), most }
}

/// The logit of class `label`, on every lane.
#[device_inline]
#[track_caller]
fn logit_of(z: &[f32; PER_LANE], label: u32) -> f32 {
    let mut own = z[0];
    let mut j = 1;
    while j < PER_LANE {
        if label / thread::WARP == j as u32 {
            own = z[j];
        }
        j += 1;
    }
    warp::shuffle(warp::ALL, own, label % thread::WARP)
}

/// Sum of the row's logits, on every lane.
#[device_inline]
#[track_caller]
fn sum_of(z: &[f32; PER_LANE], n_classes: u32) -> f32 {
    let mut sum = 0.0;
    unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
        if thread::lane() + thread::WARP * (J as u32) < n_classes {
            sum += z[J];
        }
    });
    warp::reduce_sum(sum)
}

/// A warp's row of a step, and what makes a gradient of a row.
pub(super) struct StepRow {
    pub row: u32,
    /// Whether there is a sample.
    pub active: bool,
    /// 0 where there is none.
    pub sample: usize,
    /// Samples of the step, or 1 for a sum.
    pub divisor: f32,
    /// The loss scale, 1 without `control`.
    pub scale: f32,
}

impl StepRow {
    /// This warp's.
    ///
    /// # Safety
    /// Order and step of `rows` are null or valid, and so is `control`.
    #[device_inline]
    #[track_caller]
    pub unsafe fn own(rows: &Rows, control: *const u32, mean: u32) -> Self {
        let row = thread::block_idx_x() * ROWS + thread::warp_index();
        // SAFETY: as the caller vouches; an active row is below the samples that are left.
        unsafe {
            let offset = rows.offset();
            let n_rows = rows.count(offset);
            let active = row < n_rows;
            let sample = if active { rows.sample(offset, row) as usize } else { 0 };
            let scale = if control.is_null() { 1.0 } else { f32::from_bits(memory::load(control, control::SCALE)) };
            Self { row, active, sample, divisor: if mean != 0 { n_rows as f32 } else { 1.0 }, scale }
        }
    }
}

/// Gradient of the loss by the logits, and the losses' sum of each block.
///
/// `gradient = (softmax - target) / divisor * loss_scale`, where `divisor` is the batch's size for `mean = 1`, else 1, the loss scale is 1 without
/// `control`, and `target = (1 - smoothing) onehot + smoothing / n_classes`.
///
/// * Launch: [`shape`], a warp a sample, 8 samples a block.
/// * Reads: `logits`, `labels`, the loss scale in `control`.
/// * Writes: the gradient, with zeros in rows for which there is no sample: `short`, in parts `[parts, batch, parts::line_length]`, or `gradient` where that is not there; `partial_losses`.
/// * Shared: 32 bytes: a loss of each warp.
/// * Cost: ⌈classes / 32⌉ exponentials a lane, two reductions of a warp, one of the block.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::smoothed_gradient`, `warpplay_cpu_ref::mlp::pieces::smoothed_losses`.
/// * Source: Ha and Beqaj, section 1.1 (loss, ∂L/∂z₂) and section 1.3, kernels 3 and 4; smoothing as PyTorch defines it.
///
/// # Safety
/// `labels` has a byte below `n_classes` for each sample that `rows` names; `control` is null or the step's; `short` or `gradient` has lines for the batch.
#[kernel(shape = shape(rows.batch).overlapping(), max_threads = BLOCK, require = (1..=MAX_CLASSES).contains(&n_classes))]
pub unsafe fn mlp_layers_loss_gradient(
    #[len(rows.batch as usize * line_length(n_classes) as usize)] logits: *const f32,
    #[len(if short.values.is_null() { rows.batch as usize * line_length(n_classes) as usize } else { 0 })]
    gradient: *mut f32,
    labels: *const u8,
    #[len(n_blocks(rows.batch))] partial_losses: *mut f32,
    control: *const u32,
    short: Parts,
    rows: Rows,
    n_classes: u32,
    mean: u32,
    smoothing: f32,
) {
    let scratch = shared_array![f32; WARPS];
    sync::follow();
    // SAFETY: arrays are as long as the kernel asks; an active row is one of the step's, whose label exists, and its elements are below `line_length(n_classes)`.
    unsafe {
        let StepRow { row, active, sample, divisor, scale } = StepRow::own(&rows, control, mean);
        let label = if active { memory::load(labels, sample) as u32 } else { 0 };
        let z = lane_logits(logits, row, n_classes, active);
        let Softmax { powers, sum, most } = softmax(&z, n_classes, active);
        let mut of_target = logit_of(&z, label);
        let (of_label, even) = (1.0 - smoothing, smoothing / n_classes as f32);
        if smoothing > 0.0 {
            of_target = of_label * of_target + even * sum_of(&z, n_classes);
        }
        let loss = if active && thread::lane() == 0 { math::ln(sum) + most - of_target } else { 0.0 };
        let start = row as usize * line_length(n_classes) as usize;
        let short_start = row as usize * parts::line_length(n_classes) as usize;
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            let class = thread::lane() + thread::WARP * J as u32;
            if row < rows.batch && class < n_classes {
                let mut value = 0.0;
                if active {
                    // 1 and 0 without smoothing.
                    let target = if class == label { of_label + even } else { even };
                    value = (powers[J] / sum - target) / divisor * scale;
                }
                if short.values.is_null() {
                    memory::store(gradient, start + class as usize, value);
                } else {
                    short.put(short_start + class as usize, value);
                }
            }
        });
        let of_block = block::sum(loss, scratch);
        if thread::thread_idx_x() == 0 {
            memory::store(partial_losses, thread::block_idx_x() as usize, of_block);
        }
    }
}

/// The likeliest class of each sample, the lowest of equals, and its loss.
///
/// * Launch: [`shape`], a warp a sample, 8 samples a block.
/// * Reads: `logits`, `labels`.
/// * Writes: `classes`, `losses`.
/// * Shared: none.
/// * Cost: ⌈classes / 32⌉ exponentials a lane, three reductions of a warp.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::classes`, `warpplay_cpu_ref::mlp::pieces::losses`.
/// * Source: Ha and Beqaj, section 1.1 (loss) and section 2.1 (accuracy by the largest output).
///
/// # Safety
/// `labels` holds bytes below `n_classes`; `rows` has no order and no step.
#[kernel(shape = shape(rows.batch), max_threads = BLOCK, require = (1..=MAX_CLASSES).contains(&n_classes))]
pub unsafe fn mlp_layers_classify(
    #[len(rows.batch as usize * line_length(n_classes) as usize)] logits: *const f32,
    #[len(rows.n_samples())] labels: *const u8,
    #[len(rows.n_samples())] classes: *mut u32,
    #[len(rows.n_samples())] losses: *mut f32,
    rows: Rows,
    n_classes: u32,
) {
    // SAFETY: arrays are as long as the kernel asks; an active row is a sample of the set, and its elements are below `line_length(n_classes)`.
    unsafe {
        let offset = rows.offset();
        let row = thread::block_idx_x() * ROWS + thread::warp_index();
        let active = row < rows.count(offset);
        let sample = if active { rows.sample(offset, row) as usize } else { 0 };
        let label = if active { memory::load(labels, sample) as u32 } else { 0 };
        let z = lane_logits(logits, row, n_classes, active);
        let Softmax { sum, most, .. } = softmax(&z, n_classes, active);
        let of_label = logit_of(&z, label);
        let (mut best, mut class) = (z[0], thread::lane());
        let mut j = 1;
        while j < PER_LANE {
            if z[j] > best {
                best = z[j];
                class = thread::lane() + thread::WARP * j as u32;
            }
            j += 1;
        }
        let (_, class) = warp::reduce_argmax(best, class);
        if active && thread::lane() == 0 {
            memory::store(classes, sample, class);
            memory::store(losses, sample, math::ln(sum) + most - of_label);
        }
    }
}

/// Samples that one thread of [`mlp_layers_active`] and [`mlp_layers_active_parts`] looks at.
pub const ACTIVE_ROWS: u32 = 64;

/// Launch shape of both.
pub const fn active_shape(n_rows: u32, n_units: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_units.div_ceil(BLOCK), n_rows.div_ceil(ACTIVE_ROWS), BLOCK)
}

/// Sets `active[unit]` to 1 where `is_active(row, unit)` for any of the thread's rows.
#[device_inline]
#[track_caller]
fn mark_active(active: Atomic<u32>, n_rows: u32, n_units: u32, is_active: impl Fn(u32, u32) -> bool) {
    let Some(unit) = thread::index_1d_below(n_units) else { return };
    let from = thread::block_idx_y() * ACTIVE_ROWS;
    let to = if from + ACTIVE_ROWS < n_rows { from + ACTIVE_ROWS } else { n_rows };
    let mut found = false;
    let mut row = from;
    while row < to {
        found |= is_active(row, unit);
        row += 1;
    }
    if found {
        active.max(unit as usize, 1);
    }
}

/// Sets `active[unit]` to 1 where any sample makes the unit positive.
///
/// * Launch: [`active_shape`], a thread a unit and 64 samples, blocks of 256.
/// * Reads: `outputs` `[n_rows, line]`.
/// * Writes: `active` `[n_units]`, atomically: threads of other samples write to the same unit.
/// * Shared: none.
/// * Cost: 64 loads and at most one atomic operation a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::mark_active`.
/// * Source: our own.
#[kernel(shape = active_shape(n_rows, n_units), max_threads = BLOCK, require = n_units <= line)]
pub fn mlp_layers_active(
    #[len(n_rows as usize * line as usize)] outputs: Slice<f32>,
    #[len(n_units as usize)] active: Atomic<u32>,
    n_rows: u32,
    n_units: u32,
    line: u32,
) {
    let outputs = outputs.pointer();
    // SAFETY: rows are below `n_rows` and the unit below `line`, so both are inside the outputs, whose length the kernel asks for.
    mark_active(active, n_rows, n_units, |row, unit| unsafe {
        memory::load(outputs, row as usize * line as usize + unit as usize) > 0.0
    });
}

/// Sets `active[unit]` to 1 where any sample makes the unit positive: where the first part is above 0.
///
/// * Launch: [`active_shape`], a thread a unit and 64 samples, blocks of 256.
/// * Reads: `outputs` `[n_rows, line]`, the first part.
/// * Writes: `active` `[n_units]`, atomically: threads of other samples write to the same unit.
/// * Shared: none.
/// * Cost: 64 loads and at most one atomic operation a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::mark_active`.
/// * Source: our own.
#[kernel(shape = active_shape(n_rows, n_units), max_threads = BLOCK, require = n_units <= line)]
pub fn mlp_layers_active_parts(
    #[len(n_rows as usize * line as usize)] outputs: Slice<u16>,
    #[len(n_units as usize)] active: Atomic<u32>,
    n_rows: u32,
    n_units: u32,
    line: u32,
) {
    let outputs = outputs.pointer();
    // SAFETY: rows are below `n_rows` and the unit below `line`, so both are inside the outputs, whose length the kernel asks for. Numbers of both formats above 0 are integers above 0.
    mark_active(active, n_rows, n_units, |row, unit| unsafe {
        memory::load(outputs, row as usize * line as usize + unit as usize) as i16 > 0
    });
}
