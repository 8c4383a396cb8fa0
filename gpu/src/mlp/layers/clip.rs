//! Clipping by the norm of all gradients: two launches before the update, which multiplies by the factor that they find.
//!
//! Squares are added up in double precision, in which those of all numbers in single precision are finite: the norm is a number exactly where all gradients are.

use super::control;
use super::update::{BLOCKS_AT_ONCE, LayerOffsets, layer_of, sum_of_parts};
use crate::cuda::{block, kernel, math, memory, shared_array, sync, thread};
use crate::launch::LaunchShape;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: usize = (BLOCK / thread::WARP) as usize;
/// Most sums of squares; a constant, so that results do not depend on the device.
pub const MOST_SUMS: u32 = 1024;
/// What is added to the norm before the division, as PyTorch does.
pub const EPSILON: f64 = 1e-6;

/// Blocks of [`norm_shape`], so sums of squares, for so many quads of parameters.
pub const fn n_sums(n_quads: u32) -> u32 {
    let blocks = n_quads.div_ceil(BLOCK);
    if blocks < MOST_SUMS { blocks } else { MOST_SUMS }
}

/// Launch shape of [`mlp_layers_norm`].
pub const fn norm_shape(n_quads: u32) -> LaunchShape {
    LaunchShape::new(n_sums(n_quads), BLOCK).overlapping()
}

/// Launch shape of [`mlp_layers_clip`].
pub const fn clip_shape() -> LaunchShape {
    LaunchShape::new(1, BLOCK).overlapping()
}

/// What gradients are multiplied with: `min(1, most / (norm + 1e-6))`, and no number where the norm is none or infinite.
#[device_inline]
pub fn factor(norm: f64, most: f32) -> f32 {
    let factor = f64::from(most) / (norm + EPSILON);
    if !norm.is_finite() {
        f32::NAN
    } else if factor < 1.0 {
        factor as f32
    } else {
        1.0
    }
}

/// Sums of the squares of all gradients, a block each.
///
/// * Launch: [`norm_shape`], a thread four gradients at a time, blocks of 256.
/// * Reads: `parts`, `offsets`; the loss scale in `control`, by which gradients are divided, unless it is null.
/// * Writes: `sums`.
/// * Shared: 64 bytes: a sum of each warp.
/// * Cost: parts of the gradient read once, four additions in double precision a quad.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::square_sum`.
/// * Source: PyTorch's `clip_grad_norm_`.
///
/// # Safety
/// After the gradients of the same step; `parts` and `offsets` are those of the update; `control` is null or the step's.
#[kernel(shape = norm_shape(n_quads), max_threads = BLOCK, min_blocks = BLOCKS_AT_ONCE)]
pub unsafe fn mlp_layers_norm(
    parts: *const f32,
    offsets: *const LayerOffsets,
    control: *const u32,
    #[len(n_sums(n_quads))] sums: *mut f64,
    n_quads: u32,
) {
    let scratch = shared_array![f64; WARPS];
    sync::follow();
    let mut sum = 0.0;
    let mut quad = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
    let mut number = 0;
    // SAFETY: quads are below their number, and belong to a layer with its parts, as the caller says; each block has a sum.
    unsafe {
        let scale = if control.is_null() { 1.0 } else { f32::from_bits(memory::load(control, control::SCALE)) };
        let of_scale = 1.0 / scale;
        while quad < n_quads {
            let at = quad as usize * 4;
            let layer = layer_of(offsets, &mut number, at);
            let own = at - layer.parameters as usize;
            // The unused ends of lines are 0.
            let gradient = sum_of_parts(parts.add(layer.parts as usize + own), layer.n as usize, layer.n_parts);
            let mut j = 0;
            while j < 4 {
                let value = f64::from(gradient[j] * of_scale);
                sum += value * value;
                j += 1;
            }
            quad += thread::grid_dim_x() * BLOCK;
        }
        let of_block = block::sum(sum, scratch);
        if thread::thread_idx_x() == 0 {
            memory::store(sums, thread::block_idx_x() as usize, of_block);
        }
    }
}

/// The factor of all gradients, see [`factor`].
///
/// * Launch: [`clip_shape`], a block of 256.
/// * Reads: `sums`.
/// * Writes: `clip`.
/// * Shared: 64 bytes: a sum of each warp.
/// * Cost: four sums a thread, a root and a division.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::clip_factor`.
/// * Source: PyTorch's `clip_grad_norm_`.
#[kernel(shape = clip_shape(), max_threads = BLOCK)]
pub unsafe fn mlp_layers_clip(#[len(n_sums)] sums: *const f64, #[len(1)] clip: *mut f32, n_sums: u32, most: f32) {
    let scratch = shared_array![f64; WARPS];
    sync::follow();
    let mut sum = 0.0;
    let mut at = thread::thread_idx_x();
    // SAFETY: sums are below their number, and the factor is there, as the kernel asks.
    unsafe {
        while at < n_sums {
            sum += memory::load(sums, at as usize);
            at += BLOCK;
        }
        let of_all = block::sum(sum, scratch);
        if thread::thread_idx_x() == 0 {
            memory::store(clip, 0, factor(math::sqrt_f64(of_all), most));
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn factors_shorten_long_gradients_alone() {
        assert_eq!(factor(0.0, 0.5), 1.0);
        assert_eq!(factor(0.4, 0.5), 1.0);
        assert_eq!(factor(2.0, 0.5), (0.5 / 2.000001) as f32);
        assert_eq!(factor(1e30, 0.5), 0.5e-30);
        assert!(factor(f64::INFINITY, 0.5).is_nan() && factor(f64::NAN, 0.5).is_nan());
    }
}
