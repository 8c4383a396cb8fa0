//! Arithmetic.

use warpplay_gpu::cuda::{kernel, math, memory, thread};

/// Bits of ln, exp, sqrt, `x * y + x` and `x / y`.
///
/// * Launch: a thread a value.
///
/// # Safety
/// All arrays hold `n` values.
#[kernel]
pub unsafe fn test_exact(x: *const f32, y: *const f32, out: *mut [u32; 5], n: u32) {
    let Some(index) = thread::index_1d_below(n) else { return };
    // SAFETY: index < n.
    unsafe {
        let (x, y) = (memory::load(x, index as usize), memory::load(y, index as usize));
        let results = [math::ln(x), math::exp(x), math::sqrt(x), x * y + x, x / y];
        memory::store(out, index as usize, results.map(f32::to_bits));
    }
}

/// Approximate log2, exp2, reciprocal, reciprocal square root and tanh.
///
/// * Launch: a thread a value.
///
/// # Safety
/// Both arrays hold `n` values.
#[kernel]
pub unsafe fn test_approximate(x: *const f32, out: *mut [f32; 5], n: u32) {
    let Some(index) = thread::index_1d_below(n) else { return };
    // SAFETY: index < n.
    unsafe {
        let x = memory::load(x, index as usize);
        let results = [
            math::log2_approx(x),
            math::exp2_approx(x),
            math::recip_approx(x),
            math::rsqrt_approx(x),
            math::tanh_approx(x),
        ];
        memory::store(out, index as usize, results);
    }
}
