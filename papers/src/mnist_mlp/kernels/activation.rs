//! Bias, ReLU and its gradient, and which units are alive.
//!
//! One thread a value; for the units one thread a column.

use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_gpu::cuda::{kernel, thread};
use warpplay_gpu::launch::LaunchShape;

/// ReLU. What is not a number stays so, lest a training that has diverged look sound.
#[inline(always)]
pub fn relu(z: f32) -> f32 {
    if z <= 0.0 { 0.0 } else { z }
}

/// The gradient before ReLU from the one behind it; 0 at z = 0.
#[inline(always)]
pub fn relu_gradient(z: f32, gradient: f32) -> f32 {
    if z <= 0.0 { 0.0 } else { gradient }
}

/// Adds the bias of its column to every value.
///
/// * Launch: a thread a value, blocks of `block` threads.
/// * Reads: `z` `[n_rows, n_columns]`, `bias`.
/// * Writes: `z`.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::add_bias`.
/// * Source: Ha and Beqaj, section 1.1 (z₁, z₂) and section 1.2 (1D grid).
#[kernel(shape = |block: u32| LaunchShape::linear(n_rows * n_columns, block))]
pub fn mlp_paper_bias_add(
    #[len((n_rows * n_columns) as usize)] mut z: Disjoint<f32>,
    #[len(n_columns as usize)] bias: Slice<f32>,
    n_rows: u32,
    n_columns: u32,
) {
    let Some(own) = thread::own_index_below(n_rows * n_columns) else { return };
    z.set(&own, z.get(&own) + bias.get((own.get() % n_columns) as usize));
}

/// `h = max(z, 0)`.
///
/// * Launch: a thread a value, blocks of `block` threads.
/// * Reads: `z`.
/// * Writes: `h`; NaN stays NaN.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::relu`.
/// * Source: Ha and Beqaj, section 1.1 (h) and section 1.2 (1D grid).
#[kernel(shape = |block: u32| LaunchShape::linear(n, block))]
pub fn mlp_paper_relu(#[len(n as usize)] z: Slice<f32>, #[len(n as usize)] mut h: Disjoint<f32>, n: u32) {
    let Some(own) = thread::own_index_below(n) else { return };
    h.set(&own, relu(z.get(own.get() as usize)));
}

/// Sets the gradient to 0 where `z` is not above 0.
///
/// * Launch: a thread a value, blocks of `block` threads.
/// * Reads: `z`, `gradient`.
/// * Writes: `gradient`.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::relu_backward`.
/// * Source: Ha and Beqaj, section 1.1 (∂L/∂z₁) and section 1.2 (1D grid).
#[kernel(shape = |block: u32| LaunchShape::linear(n, block))]
pub fn mlp_paper_relu_backward(
    #[len(n as usize)] z: Slice<f32>,
    #[len(n as usize)] mut gradient: Disjoint<f32>,
    n: u32,
) {
    let Some(own) = thread::own_index_below(n) else { return };
    gradient.set(&own, relu_gradient(z.get(own.get() as usize), gradient.get(&own)));
}

/// Sets `active[unit]` to 1 where some row makes the unit positive, and leaves it where none does: flags gather over several batches.
///
/// * Launch: a thread a unit, blocks of `block` threads.
/// * Reads: `h` `[n_rows, n_columns]`.
/// * Writes: `active` `[n_columns]`.
/// * Shared: none.
/// * Cost: rows steps a thread, fewer where a row makes the unit positive.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::mark_active`.
/// * Source: our own, to count dead units.
#[kernel(shape = |block: u32| LaunchShape::linear(n_columns, block))]
pub fn mlp_paper_units_active(
    #[len(n_rows as usize * n_columns as usize)] h: Slice<f32>,
    #[len(n_columns as usize)] mut active: Disjoint<u32>,
    n_rows: u32,
    n_columns: u32,
) {
    let Some(own) = thread::own_index_below(n_columns) else { return };
    let value = |row: u32| h.get(row as usize * n_columns as usize + own.get() as usize);
    if (0..n_rows).any(|row| value(row) > 0.0) {
        active.set(&own, 1);
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn relu_is_flat_at_zero_and_keeps_nan() {
        assert_eq!((relu(-1.0), relu(0.0), relu(2.0)), (0.0, 0.0, 2.0));
        assert!(relu(-0.0).is_sign_positive() && relu(f32::NAN).is_nan());
        assert_eq!((relu_gradient(0.0, 3.0), relu_gradient(1e-30, 3.0)), (0.0, 3.0));
    }
}
