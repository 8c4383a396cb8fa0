//! Batches: pixels and labels of the samples that an order names.
//!
//! One thread a value.
//! Launch  grid ceil(n / block), block `block`, no shared memory; n is `n_rows * n_inputs` pixels or `n_rows` labels.
//! Reads   `pixels` `[n_samples, n_inputs]` u8, `labels` `[n_samples]` u8, `order` `[n_order]` u32.
//! Writes  `x` `[n_rows, n_inputs]` f32, pixel / 255; `classes` `[n_rows]` u32. An entry of the order that is no sample gives NaN and [`NO_CLASS`].
//! Twin    `warpplay_cpu_ref::mlp::pieces::scale_pixels`.   Source  Ha and Beqaj, section on data.

use warpplay_gpu::cuda::{kernel, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// The label of no sample.
pub const NO_CLASS: u32 = u32::MAX;

/// Launch shape of [`mlp_paper_gather`] for a batch of `n_values` pixels and of [`mlp_paper_gather_labels`] for `n_values` samples.
pub const fn shape(n_values: u32, block: u32) -> LaunchShape {
    LaunchShape::linear(n_values, block)
}

/// A pixel as the network's input.
#[inline(always)]
pub fn scaled(pixel: u8) -> f32 {
    pixel as f32 / 255.0
}

/// Row i of `x` becomes the pixels of sample `order[first + i]`, divided by 255.
///
/// # Safety
/// Launched with [`shape`]`(n_rows * n_inputs, …)`. `pixels` holds `n_samples * n_inputs` bytes, `order` at least `first + n_rows` entries, `x` at
/// least `n_rows * n_inputs` values;
/// they do not overlap; `n_inputs >= 1`.
#[kernel]
pub unsafe fn mlp_paper_gather(
    pixels: *const u8,
    order: *const u32,
    first: u32,
    n_samples: u32,
    x: *mut f32,
    n_rows: u32,
    n_inputs: u32,
) {
    let Some(value) = thread::index_1d_below(n_rows * n_inputs) else { return };
    let (row, input) = (value / n_inputs, value % n_inputs);
    // SAFETY: row < n_rows, so the order has the entry; the sample is checked; no other thread has this value.
    unsafe {
        let sample = memory::load(order, first as usize + row as usize);
        let scaled = if sample < n_samples {
            scaled(memory::load(pixels, sample as usize * n_inputs as usize + input as usize))
        } else {
            f32::NAN
        };
        memory::store(x, value as usize, scaled);
    }
}

/// `classes[i]` becomes the label of sample `order[first + i]`.
///
/// # Safety
/// Launched with [`shape`]`(n_rows, …)`. `labels` holds `n_samples` bytes, `order` at least `first + n_rows` entries, `classes` at least `n_rows`;
/// they do not overlap.
#[kernel]
pub unsafe fn mlp_paper_gather_labels(
    labels: *const u8,
    order: *const u32,
    first: u32,
    n_samples: u32,
    classes: *mut u32,
    n_rows: u32,
) {
    let Some(row) = thread::index_1d_below(n_rows) else { return };
    // SAFETY: row < n_rows, so the order has the entry; the sample is checked; no other thread has this row.
    unsafe {
        let sample = memory::load(order, first as usize + row as usize);
        let class = if sample < n_samples { memory::load(labels, sample as usize) as u32 } else { NO_CLASS };
        memory::store(classes, row as usize, class);
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn white_is_one_and_black_is_zero() {
        assert_eq!((scaled(0), scaled(255), scaled(51)), (0.0, 1.0, 0.2));
    }
}
