//! Bias, ReLU and its gradient, and which units are alive.
//!
//! One thread a value; for the units one thread a column.
//! Launch  grid ceil(n / block), block `block`, no shared memory; n is the number of values or of columns.
//! Reads   `z` `[n_rows, n_columns]` f32, `bias` `[n_columns]` f32.
//! Writes  `z` + bias in place; `h` = max(z, 0), NaN stays NaN; `gradient` in place, 0 where z is not above 0; `active` `[n_columns]` u32.
//! Twin    `warpplay_cpu_ref::mlp::pieces`: `add_bias`, `relu`, `relu_backward`, `mark_active`.   Source  Ha and Beqaj, kernels of the activation.

use warpplay_gpu::cuda::{kernel, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Launch shape for `n` values, or columns.
pub const fn shape(n: u32, block: u32) -> LaunchShape {
    LaunchShape::linear(n, block)
}

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
/// # Safety
/// Launched with [`shape`]`(n_rows * n_columns, …)`. `z` holds that many values, `bias` `n_columns`; they do not overlap; `n_columns >= 1`.
#[kernel]
pub unsafe fn mlp_paper_bias_add(z: *mut f32, bias: *const f32, n_rows: u32, n_columns: u32) {
    let Some(value) = thread::index_1d_below(n_rows * n_columns) else { return };
    // SAFETY: value < n_rows * n_columns, its remainder < n_columns; no other thread has this value.
    unsafe {
        let with_bias = memory::load(z, value as usize) + memory::load(bias, (value % n_columns) as usize);
        memory::store(z, value as usize, with_bias);
    }
}

/// `h = max(z, 0)`.
///
/// # Safety
/// Launched with [`shape`]`(n, …)`. Both buffers hold `n` values and do not overlap.
#[kernel]
pub unsafe fn mlp_paper_relu(z: *const f32, h: *mut f32, n: u32) {
    let Some(value) = thread::index_1d_below(n) else { return };
    // SAFETY: value < n; no other thread has this value.
    unsafe { memory::store(h, value as usize, relu(memory::load(z, value as usize))) };
}

/// Sets the gradient to 0 where `z` is not above 0.
///
/// # Safety
/// Launched with [`shape`]`(n, …)`. Both buffers hold `n` values and do not overlap.
#[kernel]
pub unsafe fn mlp_paper_relu_backward(z: *const f32, gradient: *mut f32, n: u32) {
    let Some(value) = thread::index_1d_below(n) else { return };
    let at = value as usize;
    // SAFETY: value < n; no other thread has this value.
    unsafe { memory::store(gradient, at, relu_gradient(memory::load(z, at), memory::load(gradient, at))) };
}

/// Sets `active[unit]` to 1 where some row makes the unit positive, and leaves it where none does: flags gather over several batches.
///
/// # Safety
/// Launched with [`shape`]`(n_columns, …)`. `h` holds `n_rows * n_columns` values, `active` `n_columns`; they do not overlap.
#[kernel]
pub unsafe fn mlp_paper_units_active(h: *const f32, active: *mut u32, n_rows: u32, n_columns: u32) {
    let Some(unit) = thread::index_1d_below(n_columns) else { return };
    let mut positive = false;
    let mut row = 0;
    while row < n_rows && !positive {
        // SAFETY: row < n_rows, unit < n_columns.
        positive = unsafe { memory::load(h, row as usize * n_columns as usize + unit as usize) } > 0.0;
        row += 1;
    }
    if positive {
        // SAFETY: unit < n_columns; no other thread has this unit.
        unsafe { memory::store(active, unit as usize, 1) };
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
