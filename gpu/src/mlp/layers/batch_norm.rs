//! Batch norm of hidden layers, instead of [`layer_norm`](super::layer_norm), a launch before each activation and one behind each backward product.
//!
//! ```text
//! sums, slopes, normalised   [n_rows, line_length(n_units)] f32
//! gain, shift                two lines more behind the bias of a layer's parameters, and of its gradient
//! running                    [2, line_length(n_units)] f32: means, then variances
//! ```
//!
//! A block has 32 units and all rows of the batch; a thread has four units of each 32nd row, and a thread adds up those of a quad in order. So sums are in one order whatever the device is. The mean is known before squares are added up, so nothing cancels.
//! A step's last rows, for which there is no sample, are in no sum, and 0 in each result.

use super::activate::{n_quads, own_quad, put};
use super::control;
use super::layer_norm::of_units;
use super::parts::Parts;
use super::update::add;
use super::view::line_length;
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::Shared;
use crate::cuda::{kernel, math, shared_array, sync, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Quads of units of a block: 128 bytes of a row.
const QUADS: u32 = 8;
/// Rows that a block takes at a time.
const ROWS: u32 = BLOCK / QUADS;
/// Added to the variance.
const EPSILON: f32 = 1e-5;
/// The share of the present batch in running moments.
const MOMENTUM: f32 = 0.1;

/// Launch shape of the kernels that go unit by unit.
pub const fn shape(n_units: u32) -> LaunchShape {
    LaunchShape::new(n_units.div_ceil(4 * QUADS), BLOCK).overlapping()
}

/// Launch shape of [`mlp_layers_batch_norm_apply`], a thread four units of a row; for up to 2³¹ quads.
pub const fn apply_shape(n_rows: u32, n_units: u32) -> LaunchShape {
    LaunchShape::new(n_quads(n_rows, n_units).div_ceil(BLOCK as u64) as u32, BLOCK).overlapping()
}

/// What a thread has: its first row and its first unit.
#[device_inline]
fn own() -> (u32, u32) {
    let (quad, row) = (thread::thread_idx_x() % QUADS, thread::thread_idx_x() / QUADS);
    (row, (thread::block_idx_x() * QUADS + quad) * 4)
}

/// Samples of the step: a full batch but at the end.
///
/// # Safety
/// `control` has the step.
#[device_inline]
#[track_caller]
unsafe fn count(control: *const u32, n: u32, batch: u32) -> u32 {
    // SAFETY: as the caller vouches.
    let left = n.saturating_sub(unsafe { memory::load(control, control::STEP) } * batch);
    if left < batch { left } else { batch }
}

/// The sums of a quad over all threads that have it, on each of them; called by all threads of a block.
///
/// # Safety
/// `values` has an element for each thread, `totals` one for each quad; both are used for nothing else.
#[device_inline]
#[track_caller]
unsafe fn total(values: Shared<Vec4>, totals: Shared<Vec4>, own: [f32; 4]) -> [f32; 4] {
    let (quad, row) = (thread::thread_idx_x() % QUADS, thread::thread_idx_x() / QUADS);
    // SAFETY: as the caller vouches.
    unsafe {
        values.set_unchecked(thread::thread_idx_x(), Vec4(own.map(f32::to_bits)));
        // All must be there; by then all have read the totals before.
        sync::sync_threads();
        if row == 0 {
            let mut sum = [0.0; 4];
            let mut of_row = 0;
            while of_row < ROWS {
                sum = add(sum, values.get_unchecked(of_row * QUADS + quad).0.map(f32::from_bits));
                of_row += 1;
            }
            totals.set_unchecked(quad, Vec4(sum.map(f32::to_bits)));
        }
        // The totals must be there.
        sync::sync_threads();
        totals.get_unchecked(quad).0.map(f32::from_bits)
    }
}

/// `1 / √(variance + 1e-5)` of four units.
#[device_inline]
fn inverses_of(variance: [f32; 4]) -> [f32; 4] {
    let mut inverses = [0.0; 4];
    unroll!(J in [0, 1, 2, 3] {
        inverses[J] = 1.0 / math::sqrt(variance[J] + EPSILON);
    });
    inverses
}

/// `gain x + shift` of four units.
#[device_inline]
fn scaled(x: [f32; 4], gain: [f32; 4], shift: [f32; 4]) -> [f32; 4] {
    let mut y = [0.0; 4];
    unroll!(J in [0, 1, 2, 3] {
        y[J] = gain[J] * x[J] + shift[J];
    });
    y
}

/// Replaces each column of a hidden layer's sums by its batch norm, `gain (z - mean) / √(variance + 1e-5) + shift`, with mean and variance of the step's samples, and moves the running moments a tenth of the way to them.
///
/// * Launch: [`shape`], a block 32 units, a thread four units of each 32nd row.
/// * Reads: `sums`; `parameters`: a line of gains and one of shifts; the step in `control`.
/// * Writes: `sums`; for the backward pass `normalised`, the same without gain and shift, and `inverses`, a line, `1 / √(variance + 1e-5)`; `running`, whose variance is that of the population: a sum of squares by the number of samples less 1.
/// * Shared: 4,224 bytes: a quad of each thread, and one of each quad of units.
/// * Cost: three passes over the sums, of which two are read from the cache where they fit.
/// * Twin: `warpplay_cpu_ref::mlp::norm::Moments::normalise`, `warpplay_cpu_ref::mlp::norm::Moments::follow`.
/// * Source: Ioffe and Szegedy 2015; epsilon, momentum and variances as PyTorch's `BatchNorm1d`.
///
/// # Safety
/// After the product of the same layer, of the step that `control` says, which has at least two samples; `control` has its words.
#[kernel(shape = shape(n_units), max_threads = BLOCK, require = n_units >= 1)]
pub unsafe fn mlp_layers_batch_norm(
    #[len(batch as usize * line_length(n_units) as usize)] sums: *mut f32,
    #[len(2 * line_length(n_units) as usize)] parameters: *const f32,
    #[len(batch as usize * line_length(n_units) as usize)] normalised: *mut f32,
    #[len(line_length(n_units))] inverses: *mut f32,
    #[len(2 * line_length(n_units) as usize)] running: *mut f32,
    #[len(control::WORDS)] control: *const u32,
    n: u32,
    batch: u32,
    n_units: u32,
) {
    let (values, totals) = (shared_array![Vec4; BLOCK as usize], shared_array![Vec4; QUADS as usize]);
    sync::follow();
    let (first, unit) = own();
    let line = line_length(n_units) as usize;
    let is_there = unit < n_units;
    // SAFETY: rows and units are below their numbers where they are read; a quad of a row is one thread's, and one of a line that of the thread of the first row; arrays are as the kernel asks.
    unsafe {
        let n_rows = count(control, n, batch);
        let (end, all) = if is_there { (n_rows, batch) } else { (0, 0) };
        let load = |row: u32| memory::load_quad(sums.cast_const(), row as usize * line + unit as usize);
        let mut sum = [0.0; 4];
        let mut row = first;
        while row < end {
            sum = add(sum, load(row));
            row += ROWS;
        }
        let mean = total(values, totals, sum).map(|sum| sum / n_rows as f32);
        let mut squares = [0.0; 4];
        let mut row = first;
        while row < end {
            let z = load(row);
            unroll!(J in [0, 1, 2, 3] {
                let d = z[J] - mean[J];
                squares[J] += d * d;
            });
            row += ROWS;
        }
        let variance = total(values, totals, squares).map(|sum| sum / n_rows as f32);
        if !is_there {
            return;
        }
        let inverse = inverses_of(variance);
        let at = unit as usize;
        let (gain, shift) = (memory::load_quad(parameters, at), memory::load_quad(parameters, line + at));
        let mut row = first;
        while row < all {
            let at = row as usize * line + unit as usize;
            let (mut x, mut y) = ([0.0; 4], [0.0; 4]);
            if row < end {
                let z = load(row);
                unroll!(J in [0, 1, 2, 3] {
                    x[J] = (z[J] - mean[J]) * inverse[J];
                });
                x = of_units(x, unit, n_units);
                y = scaled(x, gain, shift);
            }
            memory::store_quad(normalised, at, x);
            memory::store_quad(sums, at, y);
            row += ROWS;
        }
        if first == 0 {
            memory::store_quad(inverses, at, inverse);
            let unbiased = n_rows as f32 / (n_rows as f32 - 1.0);
            let [mut of_mean, mut of_variance] = [at, line + at].map(|at| memory::load_quad(running.cast_const(), at));
            unroll!(J in [0, 1, 2, 3] {
                of_mean[J] = (1.0 - MOMENTUM) * of_mean[J] + MOMENTUM * mean[J];
                of_variance[J] = (1.0 - MOMENTUM) * of_variance[J] + MOMENTUM * (variance[J] * unbiased);
            });
            memory::store_quad(running, at, of_units(of_mean, unit, n_units));
            memory::store_quad(running, line + at, of_units(of_variance, unit, n_units));
        }
    }
}

/// Replaces a hidden layer's sums by their batch norm with running moments, for evaluations.
///
/// * Launch: [`apply_shape`], a thread four units, blocks of 256.
/// * Reads: `sums`; `parameters`: a line of gains and one of shifts; `running`.
/// * Writes: `sums`.
/// * Shared: none.
/// * Cost: four bytes read and written a unit.
/// * Twin: `warpplay_cpu_ref::mlp::norm::Moments::normalise`.
/// * Source: as [`mlp_layers_batch_norm`].
///
/// # Safety
/// After the product of the same layer.
#[kernel(shape = apply_shape(n_rows, n_units), max_threads = BLOCK, require = n_quads(n_rows, n_units) <= 1 << 31)]
pub unsafe fn mlp_layers_batch_norm_apply(
    #[len(n_rows as usize * line_length(n_units) as usize)] sums: *mut f32,
    #[len(2 * line_length(n_units) as usize)] parameters: *const f32,
    #[len(2 * line_length(n_units) as usize)] running: *const f32,
    n_rows: u32,
    n_units: u32,
) {
    sync::follow();
    let Some((row, unit)) = own_quad(n_rows, n_units) else { return };
    let (line, own) = (line_length(n_units) as usize, unit as usize);
    let at = row * line + own;
    // SAFETY: the quad is one of the sums and this thread's alone; arrays are as the kernel asks.
    unsafe {
        let z = memory::load_quad(sums.cast_const(), at);
        let (mean, variance) = (memory::load_quad(running, own), memory::load_quad(running, line + own));
        let (gain, shift) = (memory::load_quad(parameters, own), memory::load_quad(parameters, line + own));
        let inverse = inverses_of(variance);
        let mut x = [0.0; 4];
        unroll!(J in [0, 1, 2, 3] {
            x[J] = (z[J] - mean[J]) * inverse[J];
        });
        memory::store_quad(sums, at, scaled(of_units(x, unit, n_units), gain, shift));
    }
}

/// Gradient of a hidden layer's sums from that of its outputs, through activation and batch norm, `gain inverse (dy - mean(dy) - x mean(dy x))` with `dy = f' dh`, and gradients of gains and shifts, the columns' sums of `dy x` and of `dy`.
///
/// * Launch: [`shape`], a block 32 units, a thread four units of each 32nd row.
/// * Reads: `gradient` of the outputs, `slopes`, `normalised`, `inverses`; `gain`, a line; the step in `control`.
/// * Writes: `short`, in parts `[parts, batch, line]`, or `single` `[batch, line]` where that is not there, with 0 in rows for which there is no sample; `result`, which begins at the gains of the first part: a line of gains and one of shifts, in further parts, `part_stride` values from one to the next, 0. 1 to the overflow in `control` where a sum is not finite, if `scaled` is not 0.
/// * Shared: 4,224 bytes: a quad of each thread, and one of each quad of units.
/// * Cost: two passes over gradient, derivatives and results, of which one is read from the cache where they fit.
/// * Twin: `warpplay_cpu_ref::mlp::norm::Moments::normalise_backward`.
/// * Source: the chain rule.
///
/// # Safety
/// After the product whose gradient it is; `normalised` and `inverses` are those of the same step, which `control` says; the lines of `short` or `single` have room for the units.
#[kernel(shape = shape(n_units), max_threads = BLOCK, require = n_units >= 1 && n_units <= line && line.is_multiple_of(4) && n_parts >= 1 && part_stride.is_multiple_of(4) && part_stride >= 2 * line_length(n_units))]
pub unsafe fn mlp_layers_batch_norm_back(
    #[len(batch as usize * line_length(n_units) as usize)] gradient: *const f32,
    #[len(batch as usize * line_length(n_units) as usize)] slopes: *const f32,
    #[len(batch as usize * line_length(n_units) as usize)] normalised: *const f32,
    #[len(line_length(n_units))] inverses: *const f32,
    #[len(line_length(n_units))] gain: *const f32,
    #[len(if short.values.is_null() { batch as usize * line as usize } else { 0 })] single: *mut f32,
    short: Parts,
    #[len((n_parts - 1) as usize * part_stride as usize + 2 * line_length(n_units) as usize)] result: *mut f32,
    #[len(control::WORDS)] control: *mut u32,
    scaled: u32,
    n: u32,
    batch: u32,
    n_units: u32,
    line: u32,
    n_parts: u32,
    part_stride: u32,
) {
    let (values, totals) = (shared_array![Vec4; BLOCK as usize], shared_array![Vec4; QUADS as usize]);
    sync::follow();
    let (first, unit) = own();
    let of_row = line_length(n_units) as usize;
    let is_there = unit < n_units;
    // SAFETY: rows and units are below their numbers where they are read; a quad of a row is one thread's, and one of a line that of the thread of the first row; arrays are as the kernel asks.
    unsafe {
        let n_rows = count(control.cast_const(), n, batch);
        let (end, all) = if is_there { (n_rows, batch) } else { (0, 0) };
        let load = |row: u32| {
            let at = row as usize * of_row + unit as usize;
            let (dh, slope) = (memory::load_quad(gradient, at), memory::load_quad(slopes, at));
            let mut dy = [0.0; 4];
            unroll!(J in [0, 1, 2, 3] {
                dy[J] = dh[J] * slope[J];
            });
            (of_units(dy, unit, n_units), memory::load_quad(normalised, at))
        };
        let (mut of_gain, mut of_shift) = ([0.0; 4], [0.0; 4]);
        let mut row = first;
        while row < end {
            let (dy, x) = load(row);
            of_gain = add(of_gain, [dy[0] * x[0], dy[1] * x[1], dy[2] * x[2], dy[3] * x[3]]);
            of_shift = add(of_shift, dy);
            row += ROWS;
        }
        let of_gain = total(values, totals, of_gain);
        let of_shift = total(values, totals, of_shift);
        if !is_there {
            return;
        }
        let at = unit as usize;
        let (gain, inverse) = (memory::load_quad(gain, at), memory::load_quad(inverses, at));
        let mut row = first;
        while row < all {
            let mut dz = [0.0; 4];
            if row < end {
                let (dy, x) = load(row);
                unroll!(J in [0, 1, 2, 3] {
                    let [mean, along] = [of_shift[J], of_gain[J]].map(|sum| sum / n_rows as f32);
                    dz[J] = gain[J] * inverse[J] * (dy[J] - mean - x[J] * along);
                });
            }
            put(short, single, row as usize, line, unit, n_units, dz);
            row += ROWS;
        }
        if first == 0 {
            let mut part = 0;
            while part < n_parts {
                let start = part as usize * part_stride as usize + at;
                memory::store_quad(result, start, if part == 0 { of_gain } else { [0.0; 4] });
                memory::store_quad(result, start + of_row, if part == 0 { of_shift } else { [0.0; 4] });
                part += 1;
            }
            // Each sum that is not finite makes this no number.
            let sum = add(of_gain.map(|sum| sum * 0.0), of_shift.map(|sum| sum * 0.0));
            if scaled != 0 && (sum[0] + sum[1] + sum[2] + sum[3]).is_nan() {
                memory::store(control, control::OVERFLOW, 1);
            }
        }
    }
}
