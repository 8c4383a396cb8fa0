//! Activations of hidden layers where they are not part of the products, as rectifiers without layer norm are: a launch behind each forward product, and one behind each backward product.
//!
//! Products leave their sums in single precision, `[n_rows, line_length(n_units)]`; what these kernels write is what the next product reads, in parts of 16 bits or in single precision.

use super::parts::{BLOCK, Parts};
use super::view::line_length;
use crate::cuda::{kernel, math, memory, sync, thread};
use crate::launch::LaunchShape;

/// The activations.
pub mod kind {
    /// `tanh z`.
    pub const TANH: u32 = 0;
    /// `1 / (1 + exp(-z))`.
    pub const SIGMOID: u32 = 1;
    /// `z (1 + erf(z / √2)) / 2`.
    pub const GELU: u32 = 2;
    /// `max(z, 0)`, behind a layer norm.
    pub const RELU: u32 = 3;
}

/// Quads of all rows.
pub(super) const fn n_quads(n_rows: u32, n_units: u32) -> u64 {
    n_rows as u64 * (line_length(n_units) / 4) as u64
}

/// Launch shape of both kernels, a thread four units of a row; for up to 2³¹ quads.
pub const fn shape(n_rows: u32, n_units: u32) -> LaunchShape {
    LaunchShape::new(n_quads(n_rows, n_units).div_ceil(BLOCK as u64) as u32, BLOCK).overlapping()
}

/// The activation `of` at `z`, and its derivative there.
#[device_inline]
pub fn value_and_slope(of: u32, z: f32) -> (f32, f32) {
    if of == kind::TANH {
        let value = libm::tanhf(z);
        (value, 1.0 - value * value)
    } else if of == kind::SIGMOID {
        let value = 1.0 / (1.0 + math::exp(-z));
        (value, value * (1.0 - value))
    } else if of == kind::RELU {
        if z <= 0.0 { (0.0, 0.0) } else { (z, 1.0) }
    } else {
        let share = 0.5 * (1.0 + libm::erff(z * core::f32::consts::FRAC_1_SQRT_2));
        // 1 / √(2 π)
        const PEAK: f32 = 0.398_942_3;
        (z * share, share + z * (PEAK * math::exp(-0.5 * z * z)))
    }
}

/// Where a thread's four units are, of those below their number: the row and the first one.
#[device_inline]
pub(super) fn own_quad(n_rows: u32, n_units: u32) -> Option<(usize, u32)> {
    let quad = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
    let of_row = line_length(n_units) / 4;
    if of_row == 0 {
        return None;
    }
    let row = quad / of_row;
    if row < n_rows { Some((row as usize, quad % of_row * 4)) } else { None }
}

/// Writes a quad to `short`, or to `single` where that is not there; nothing behind the last unit, where the inputs of a layer have a 1.
///
/// # Safety
/// The one of both has lines of `line` numbers, of which no other thread writes these four.
#[device_inline]
#[track_caller]
pub(super) unsafe fn put(
    short: Parts,
    single: *mut f32,
    row: usize,
    line: u32,
    unit: u32,
    n_units: u32,
    quad: [f32; 4],
) {
    let at = row * line as usize + unit as usize;
    // SAFETY: as the caller vouches; a line has a multiple of four numbers.
    unsafe {
        if unit + 4 <= n_units {
            if short.values.is_null() {
                memory::store_quad(single, at, quad);
            } else {
                short.put_quad(at, quad);
            }
            return;
        }
        crate::unroll::unroll!(J in [0, 1, 2] {
            if unit + (J as u32) < n_units {
                if short.values.is_null() {
                    memory::store(single, at + J, quad[J]);
                } else {
                    short.put(at + J, quad[J]);
                }
            }
        });
    }
}

/// Outputs of a hidden layer from the sums of its product.
///
/// * Launch: [`shape`], a thread four units, blocks of 256.
/// * Reads: `sums` `[n_rows, line_length(n_units)]`, with bias.
/// * Writes: the activation: `short`, in parts `[parts, n_rows, line]`, or `single` `[n_rows, line]` where that is not there; its derivative to `slopes` `[n_kept, line_length(n_units)]`; `n_kept` is `n_rows`, or 0 where none are kept.
/// * Shared: none.
/// * Cost: four bytes read, four written for the derivative, and those of the output; an exponential or two a unit.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::activate`.
/// * Source: PyTorch's `Tanh`, `Sigmoid`, `GELU`, `ReLU`.
///
/// # Safety
/// After the product of the same layer; the lines of `short` or `single` have room for the units.
#[kernel(shape = shape(n_rows, n_units), max_threads = BLOCK, require = n_quads(n_rows, n_units) <= 1 << 31 && n_units <= line && line.is_multiple_of(4) && of <= kind::RELU && (n_kept == 0 || n_kept == n_rows))]
pub unsafe fn mlp_layers_activate(
    #[len(n_rows as usize * line_length(n_units) as usize)] sums: *const f32,
    #[len(n_kept as usize * line_length(n_units) as usize)] slopes: *mut f32,
    #[len(if short.values.is_null() { n_rows as usize * line as usize } else { 0 })] single: *mut f32,
    short: Parts,
    n_rows: u32,
    n_units: u32,
    line: u32,
    of: u32,
    n_kept: u32,
) {
    sync::follow();
    let Some((row, unit)) = own_quad(n_rows, n_units) else { return };
    let at = row * line_length(n_units) as usize + unit as usize;
    // SAFETY: the quad is one of the sums and this thread's alone; arrays are as the kernel asks.
    unsafe {
        let mut sums = memory::load_quad(sums, at);
        let (mut values, mut derivatives) = ([0.0; 4], [0.0; 4]);
        // The code is long, so it is there once; turned by one each time, the quads stay in registers.
        let (mut j, four) = (0, math::opaque(4));
        while j < four {
            let (value, derivative) = value_and_slope(of, sums[0]);
            sums = [sums[1], sums[2], sums[3], sums[0]];
            values = [values[1], values[2], values[3], value];
            derivatives = [derivatives[1], derivatives[2], derivatives[3], derivative];
            j += 1;
        }
        put(short, single, row, line, unit, n_units, values);
        if n_kept != 0 {
            memory::store_quad(slopes, at, derivatives);
        }
    }
}

/// Gradient of a hidden layer's sums from that of its outputs.
///
/// * Launch: [`shape`], a thread four units, blocks of 256.
/// * Reads: `gradient` of the outputs and `slopes`, `[n_rows, line_length(n_units)]` both.
/// * Writes: their products: `short`, in parts `[parts, n_rows, line]`, or `single` `[n_rows, line]` where that is not there.
/// * Shared: none.
/// * Cost: eight bytes read and those of the gradient written a unit.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::activate_backward`.
/// * Source: the chain rule.
///
/// # Safety
/// After the product whose gradient it is; the lines of `short` or `single` have room for the units.
#[kernel(shape = shape(n_rows, n_units), max_threads = BLOCK, require = n_quads(n_rows, n_units) <= 1 << 31 && n_units <= line && line.is_multiple_of(4))]
pub unsafe fn mlp_layers_slope(
    #[len(n_rows as usize * line_length(n_units) as usize)] gradient: *const f32,
    #[len(n_rows as usize * line_length(n_units) as usize)] slopes: *const f32,
    #[len(if short.values.is_null() { n_rows as usize * line as usize } else { 0 })] single: *mut f32,
    short: Parts,
    n_rows: u32,
    n_units: u32,
    line: u32,
) {
    sync::follow();
    let Some((row, unit)) = own_quad(n_rows, n_units) else { return };
    let at = row * line_length(n_units) as usize + unit as usize;
    // SAFETY: the quad is one of both arrays and this thread's alone; arrays are as the kernel asks.
    unsafe {
        let (gradient, slopes) = (memory::load_quad(gradient, at), memory::load_quad(slopes, at));
        let mut products = [0.0; 4];
        crate::unroll::unroll!(J in [0, 1, 2, 3] {
            products[J] = gradient[J] * slopes[J];
        });
        put(short, single, row, line, unit, n_units, products);
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    /// Against double precision, within a few roundings of the value; of 1 for derivatives, which are differences of numbers about 1.
    #[test]
    fn activations_are_those_of_double_precision() {
        let share = |z: f64| 0.5 * (1.0 + libm::erf(z / 2.0f64.sqrt()));
        let exact = |of: u32, z: f64| match of {
            kind::TANH => (z.tanh(), 1.0 - z.tanh().powi(2)),
            kind::SIGMOID => (1.0 / (1.0 + (-z).exp()), 1.0 / (1.0 + (-z).exp()) / (1.0 + z.exp())),
            _ => (z * share(z), share(z) + z * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()),
        };
        let rounding = f64::from(f32::EPSILON);
        for of in [kind::TANH, kind::SIGMOID, kind::GELU] {
            for step in -400..=400 {
                let z = step as f32 * 0.025;
                let (value, slope) = value_and_slope(of, z);
                let (exact_value, exact_slope) = exact(of, z.into());
                // The share of a negative number is a difference of numbers about 1, too.
                let size = if of == kind::GELU { f64::from(z.abs()) } else { exact_value.abs() };
                assert!((f64::from(value) - exact_value).abs() <= 4.0 * rounding * size, "{of} at {z}: {value}");
                assert!((f64::from(slope) - exact_slope).abs() <= 8.0 * rounding, "{of}' at {z}: {slope}");
            }
            assert!(value_and_slope(of, f32::NAN).0.is_nan());
        }
        assert_eq!(value_and_slope(kind::SIGMOID, -1e3), (0.0, 0.0));
        assert_eq!(value_and_slope(kind::TANH, 1e3), (1.0, 0.0));
        assert_eq!(value_and_slope(kind::GELU, 1e3), (1e3, 1.0));
        assert_eq!([-1.0, 0.0, 0.5].map(|z| value_and_slope(kind::RELU, z)), [(0.0, 0.0), (0.0, 0.0), (0.5, 1.0)]);
        assert!(value_and_slope(kind::RELU, f32::NAN).0.is_nan());
    }
}
