//! Batches: pixels and labels of the samples that an order names.
//!
//! One thread a value.

use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_gpu::cuda::{kernel, thread};
use warpplay_gpu::launch::LaunchShape;

/// The label of no sample.
pub const NO_CLASS: u32 = u32::MAX;

/// A pixel as the network's input.
#[inline(always)]
pub fn scaled(pixel: u8) -> f32 {
    pixel as f32 / 255.0
}

/// Row i of `x` becomes the pixels of sample `order[first + i]`, divided by 255.
///
/// * Launch: a thread a pixel, blocks of `block` threads.
/// * Reads: `pixels` `[n_samples, n_inputs]`, `order`.
/// * Writes: `x` `[n_rows, n_inputs]`: pixel / 255; NaN where the order names no sample.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::scale_pixels`.
/// * Source: Ha and Beqaj, section 1.1 (images in [0, 1]); drawing from an order on the device is ours.
#[kernel(shape = |block: u32| LaunchShape::linear(n_rows * n_inputs, block))]
pub fn mlp_paper_gather(
    #[len(n_samples as usize * n_inputs as usize)] pixels: Slice<u8>,
    #[len(first as usize + n_rows as usize)] order: Slice<u32>,
    first: u32,
    n_samples: u32,
    #[len((n_rows * n_inputs) as usize)] mut x: Disjoint<f32>,
    n_rows: u32,
    n_inputs: u32,
) {
    let Some(own) = thread::own_index_below(n_rows * n_inputs) else { return };
    let (row, input) = (own.get() / n_inputs, own.get() % n_inputs);
    let sample = order.get(first as usize + row as usize);
    let is_there = sample < n_samples;
    let at = sample as usize * n_inputs as usize + input as usize;
    x.set(&own, if is_there { scaled(pixels.get(at)) } else { f32::NAN });
}

/// `classes[i]` becomes the label of sample `order[first + i]`.
///
/// * Launch: a thread a label, blocks of `block` threads.
/// * Reads: `labels` `[n_samples]`, `order`.
/// * Writes: `classes` `[n_rows]`; [`NO_CLASS`] where the order names no sample.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::mlp::training::Training::step`, which takes the labels of a batch.
/// * Source: Ha and Beqaj, section 1.3 (a batch's data); drawing from an order on the device is ours.
#[kernel(shape = |block: u32| LaunchShape::linear(n_rows, block))]
pub fn mlp_paper_gather_labels(
    #[len(n_samples as usize)] labels: Slice<u8>,
    #[len(first as usize + n_rows as usize)] order: Slice<u32>,
    first: u32,
    n_samples: u32,
    #[len(n_rows as usize)] mut classes: Disjoint<u32>,
    n_rows: u32,
) {
    let Some(own) = thread::own_index_below(n_rows) else { return };
    let sample = order.get(first as usize + own.get() as usize);
    classes.set(&own, if sample < n_samples { labels.get(sample as usize) as u32 } else { NO_CLASS });
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn white_is_one_and_black_is_zero() {
        assert_eq!((scaled(0), scaled(255), scaled(51)), (0.0, 1.0, 0.2));
    }
}
