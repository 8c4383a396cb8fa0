//! Losses of a regression and their gradient.
//!
//! One warp, one sample; lane `l` has the outputs `l`, `l + 32`, … Both losses are `factor Σ h(z - t)` of a sample, where `h(d) = d² / 2` for `|d| <= delta` and `delta (|d| - delta / 2)` beyond:
//!
//! ```text
//! mean squared error   delta infinite, factor 2 / n_outputs
//! Huber                delta,          factor 1 / n_outputs
//! ```

use super::loss::{BLOCK, MAX_CLASSES, ROWS, StepRow, n_blocks, shape};
use super::parts::{self, Parts};
use super::view::{Rows, line_length};
use crate::cuda::{block, kernel, memory, shared_array, sync, thread, warp};
use crate::unroll::unroll;

/// Warps of a block.
const WARPS: usize = ROWS as usize;

/// `h` of a difference, and its derivative. What is no number stays none.
#[device_inline]
pub fn value_and_slope(d: f32, delta: f32) -> (f32, f32) {
    let size = if d < 0.0 { -d } else { d };
    if size <= delta {
        (0.5 * d * d, d)
    } else {
        let slope = if d < 0.0 {
            -delta
        } else if d > 0.0 {
            delta
        } else {
            d
        };
        (delta * (size - 0.5 * delta), slope)
    }
}

/// Gradient of the loss by the outputs, and the losses' sum of each block.
///
/// `gradient = factor h'(z - t) / divisor * loss_scale`, where `divisor` is the batch's size for `mean = 1`, else 1, and the loss scale is 1 without `control`.
///
/// * Launch: [`shape`], a warp a sample, 8 samples a block.
/// * Reads: `outputs`, `targets`, the loss scale in `control`.
/// * Writes: the gradient, with zeros in rows for which there is no sample: `short`, in parts `[parts, batch, parts::line_length]`, or `gradient` where that is not there; `partial_losses`.
/// * Shared: 32 bytes: a loss of each warp.
/// * Cost: ⌈outputs / 32⌉ values a lane, a reduction of the block.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::regression_gradient`, `warpplay_cpu_ref::mlp::pieces::regression_losses`.
/// * Source: PyTorch's `MSELoss`, `HuberLoss`.
///
/// # Safety
/// `targets` has `n_outputs` numbers for each sample that `rows` names; `control` is null or the step's; `short` or `gradient` has lines for the batch.
#[kernel(shape = shape(rows.batch).overlapping(), max_threads = BLOCK, require = (1..=MAX_CLASSES).contains(&n_outputs))]
pub unsafe fn mlp_layers_regression_gradient(
    #[len(rows.batch as usize * line_length(n_outputs) as usize)] outputs: *const f32,
    #[len(if short.values.is_null() { rows.batch as usize * line_length(n_outputs) as usize } else { 0 })]
    gradient: *mut f32,
    #[len(rows.n_samples() * n_outputs as usize)] targets: *const f32,
    #[len(n_blocks(rows.batch))] partial_losses: *mut f32,
    control: *const u32,
    short: Parts,
    rows: Rows,
    n_outputs: u32,
    mean: u32,
    delta: f32,
    factor: f32,
) {
    let scratch = shared_array![f32; WARPS];
    sync::follow();
    // SAFETY: arrays are as long as the kernel asks; an active row is one of the step's, whose targets exist, and its elements are below `line_length(n_outputs)`.
    unsafe {
        let StepRow { row, active, sample, divisor, scale } = StepRow::own(&rows, control, mean);
        let start = row as usize * line_length(n_outputs) as usize;
        let short_start = row as usize * parts::line_length(n_outputs) as usize;
        let mut loss = 0.0;
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            let output = thread::lane() + thread::WARP * J as u32;
            if row < rows.batch && output < n_outputs {
                let mut slope = 0.0;
                if active {
                    let target = memory::load(targets, sample * n_outputs as usize + output as usize);
                    let (value, of_value) =
                        value_and_slope(memory::load(outputs, start + output as usize) - target, delta);
                    loss += value;
                    slope = factor * of_value / divisor * scale;
                }
                if short.values.is_null() {
                    memory::store(gradient, start + output as usize, slope);
                } else {
                    short.put(short_start + output as usize, slope);
                }
            }
        });
        let of_block = block::sum(loss * factor, scratch);
        if thread::thread_idx_x() == 0 {
            memory::store(partial_losses, thread::block_idx_x() as usize, of_block);
        }
    }
}

/// The loss of each sample.
///
/// * Launch: [`shape`], a warp a sample, 8 samples a block.
/// * Reads: `outputs`, `targets`.
/// * Writes: `losses`.
/// * Shared: none.
/// * Cost: ⌈outputs / 32⌉ values a lane, a reduction of a warp.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::regression_losses`.
/// * Source: PyTorch's `MSELoss`, `HuberLoss`.
///
/// # Safety
/// `rows` has no order and no step.
#[kernel(shape = shape(rows.batch), max_threads = BLOCK, require = (1..=MAX_CLASSES).contains(&n_outputs))]
pub unsafe fn mlp_layers_regression_losses(
    #[len(rows.batch as usize * line_length(n_outputs) as usize)] outputs: *const f32,
    #[len(rows.n_samples() * n_outputs as usize)] targets: *const f32,
    #[len(rows.n_samples())] losses: *mut f32,
    rows: Rows,
    n_outputs: u32,
    delta: f32,
    factor: f32,
) {
    // SAFETY: arrays are as long as the kernel asks; an active row is a sample of the set, and its elements are below `line_length(n_outputs)`.
    unsafe {
        let offset = rows.offset();
        let row = thread::block_idx_x() * ROWS + thread::warp_index();
        let active = row < rows.count(offset);
        let sample = if active { rows.sample(offset, row) as usize } else { 0 };
        let start = row as usize * line_length(n_outputs) as usize;
        let mut loss = 0.0;
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            let output = thread::lane() + thread::WARP * J as u32;
            if active && output < n_outputs {
                let target = memory::load(targets, sample * n_outputs as usize + output as usize);
                loss += value_and_slope(memory::load(outputs, start + output as usize) - target, delta).0;
            }
        });
        let loss = warp::reduce_sum(loss);
        if active && thread::lane() == 0 {
            memory::store(losses, sample, loss * factor);
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn losses_are_quadratic_and_then_linear() {
        for (d, delta, expected) in [
            (3.0, f32::INFINITY, (4.5, 3.0)),
            (-0.5, 1.0, (0.125, -0.5)),
            (1.0, 1.0, (0.5, 1.0)),
            (3.0, 1.0, (2.5, 1.0)),
            (-3.0, 2.0, (4.0, -2.0)),
            (f32::INFINITY, f32::INFINITY, (f32::INFINITY, f32::INFINITY)),
        ] {
            assert_eq!(value_and_slope(d, delta), expected, "{d}, {delta}");
        }
        for delta in [1.0, f32::INFINITY] {
            let (value, slope) = value_and_slope(f32::NAN, delta);
            assert!(value.is_nan() && slope.is_nan());
        }
    }
}
