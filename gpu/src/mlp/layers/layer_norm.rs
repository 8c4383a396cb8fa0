//! Layer norm of hidden layers: a launch between each product and its activation, and two behind each backward product.
//!
//! ```text
//! sums, slopes, normalised   [n_rows, line_length(n_units)] f32
//! gain, shift                two lines more behind the bias of a layer's parameters, and of its gradient
//! ```
//!
//! A warp has a row; a lane has each 32nd quad of it, so sums are in one order whatever the device is. The mean is known before squares are added up, so nothing cancels.

use super::activate::put;
use super::parts::Parts;
use super::update::add;
use super::view::line_length;
use crate::cuda::memory::{self, Vec4};
use crate::cuda::{kernel, math, shared_array, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: u32 = BLOCK / thread::WARP;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

/// Launch shape of the kernels that go row by row.
pub const fn shape(n_rows: u32) -> LaunchShape {
    LaunchShape::new(n_rows.div_ceil(WARPS), BLOCK).overlapping()
}

/// Launch shape of [`mlp_layers_layer_norm_parameters`].
pub const fn parameters_shape(n_units: u32, n_parts: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_units.div_ceil(4 * thread::WARP), n_parts, BLOCK).overlapping()
}

/// What a lane has of a row: where the row begins, the lane's first quad and how many quads the row has; none where there is no row, so that all lanes of all warps shuffle.
#[device_inline]
fn own_row(n_rows: u32, n_units: u32) -> (u32, u32) {
    let row = thread::block_idx_x() * WARPS + thread::warp_index();
    (row, if row < n_rows { line_length(n_units) / 4 } else { 0 })
}

/// A quad, with 0 beyond the last unit.
#[device_inline]
pub(super) fn of_units(mut quad: [f32; 4], unit: u32, n_units: u32) -> [f32; 4] {
    unroll!(J in [1, 2, 3] {
        if unit + J as u32 >= n_units {
            quad[J] = 0.0;
        }
    });
    quad
}

/// Replaces each row of a hidden layer's sums by its layer norm: `gain (z - mean) / √(variance + 1e-5) + shift`.
///
/// * Launch: [`shape`], a warp a row, 8 rows a block.
/// * Reads: `sums`; `parameters`: a line of gains and one of shifts.
/// * Writes: `sums`; for the backward pass `normalised` `[n_kept, line_length(n_units)]`, the same without gain and shift, and `inverses` `[n_kept]`, `1 / √(variance + 1e-5)`; `n_kept` is `n_rows`, or 0 where nothing is kept.
/// * Shared: none.
/// * Cost: three passes over a row, of which two are read from the cache; two reductions of a warp.
/// * Twin: `warpplay_cpu_ref::mlp::norm::normalise`, `warpplay_cpu_ref::mlp::norm::scale_and_shift`.
/// * Source: Ba et al. 2016; epsilon and variance as PyTorch's `LayerNorm`.
///
/// # Safety
/// After the product of the same layer.
#[kernel(shape = shape(n_rows), max_threads = BLOCK, require = n_units >= 1 && (n_kept == 0 || n_kept == n_rows))]
pub unsafe fn mlp_layers_layer_norm(
    #[len(n_rows as usize * line_length(n_units) as usize)] sums: *mut f32,
    #[len(2 * line_length(n_units) as usize)] parameters: *const f32,
    #[len(n_kept as usize * line_length(n_units) as usize)] normalised: *mut f32,
    #[len(n_kept)] inverses: *mut f32,
    n_rows: u32,
    n_units: u32,
    n_kept: u32,
) {
    sync::follow();
    let (row, n_quads) = own_row(n_rows, n_units);
    let line = line_length(n_units) as usize;
    let start = row as usize * line;
    // SAFETY: quads are those of a row that there is, and each is one lane's; arrays are as the kernel asks.
    unsafe {
        let load =
            |quad: u32| of_units(memory::load_quad(sums.cast_const(), start + quad as usize * 4), quad * 4, n_units);
        let mut sum = 0.0;
        let mut quad = thread::lane();
        while quad < n_quads {
            let z = load(quad);
            sum += z[0] + z[1] + z[2] + z[3];
            quad += thread::WARP;
        }
        let mean = warp::reduce_sum(sum) / n_units as f32;
        let mut squares = 0.0;
        let mut quad = thread::lane();
        while quad < n_quads {
            let z = load(quad);
            let d = of_units([z[0] - mean, z[1] - mean, z[2] - mean, z[3] - mean], quad * 4, n_units);
            squares += d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3];
            quad += thread::WARP;
        }
        let inverse = 1.0 / math::sqrt(warp::reduce_sum(squares) / n_units as f32 + EPSILON);
        let mut quad = thread::lane();
        while quad < n_quads {
            let unit = quad as usize * 4;
            let z = load(quad);
            let x = of_units(z.map(|z| (z - mean) * inverse), quad * 4, n_units);
            let (gain, shift) = (memory::load_quad(parameters, unit), memory::load_quad(parameters, line + unit));
            let mut y = [0.0; 4];
            unroll!(J in [0, 1, 2, 3] {
                y[J] = gain[J] * x[J] + shift[J];
            });
            memory::store_quad(sums, start + unit, y);
            if n_kept != 0 {
                memory::store_quad(normalised, start + unit, x);
            }
            quad += thread::WARP;
        }
        if n_kept != 0 && n_quads > 0 && thread::lane() == 0 {
            memory::store(inverses, row as usize, inverse);
        }
    }
}

/// Gradient of a hidden layer's sums from that of its outputs, through activation and layer norm: `(a - mean(a) - x mean(a x)) inverse` with `a = gain dy`, `dy = f' dh`.
///
/// * Launch: [`shape`], a warp a row, 8 rows a block.
/// * Reads: `gradient` of the outputs, `slopes`, `normalised`, `inverses`; `gain`, a line.
/// * Writes: `slopes`: `dy`, the gradient of the norm's results; the result: `short`, in parts `[parts, n_rows, line]`, or `single` `[n_rows, line]` where that is not there.
/// * Shared: none.
/// * Cost: two passes over a row; two reductions of a warp.
/// * Twin: `warpplay_cpu_ref::mlp::norm::normalise_backward`.
/// * Source: the chain rule.
///
/// # Safety
/// After the product whose gradient it is; `normalised` and `inverses` are those of the same step; the lines of `short` or `single` have room for the units.
#[kernel(shape = shape(n_rows), max_threads = BLOCK, require = n_units >= 1 && n_units <= line && line.is_multiple_of(4))]
pub unsafe fn mlp_layers_layer_norm_back(
    #[len(n_rows as usize * line_length(n_units) as usize)] gradient: *const f32,
    #[len(n_rows as usize * line_length(n_units) as usize)] slopes: *mut f32,
    #[len(n_rows as usize * line_length(n_units) as usize)] normalised: *const f32,
    #[len(n_rows)] inverses: *const f32,
    #[len(line_length(n_units))] gain: *const f32,
    #[len(if short.values.is_null() { n_rows as usize * line as usize } else { 0 })] single: *mut f32,
    short: Parts,
    n_rows: u32,
    n_units: u32,
    line: u32,
) {
    sync::follow();
    let (row, n_quads) = own_row(n_rows, n_units);
    let start = row as usize * line_length(n_units) as usize;
    // SAFETY: quads are those of a row that there is, and each is one lane's; arrays are as the kernel asks.
    unsafe {
        let (mut of_a, mut of_ax) = (0.0, 0.0);
        let mut quad = thread::lane();
        while quad < n_quads {
            let (unit, at) = (quad * 4, start + quad as usize * 4);
            let (dh, slope) = (memory::load_quad(gradient, at), memory::load_quad(slopes.cast_const(), at));
            let (x, gain) = (memory::load_quad(normalised, at), memory::load_quad(gain, unit as usize));
            let mut dy = [0.0; 4];
            unroll!(J in [0, 1, 2, 3] {
                dy[J] = dh[J] * slope[J];
            });
            let dy = of_units(dy, unit, n_units);
            unroll!(J in [0, 1, 2, 3] {
                let a = gain[J] * dy[J];
                of_a += a;
                of_ax += a * x[J];
            });
            memory::store_quad(slopes, at, dy);
            quad += thread::WARP;
        }
        let mean = warp::reduce_sum(of_a) / n_units as f32;
        let along = warp::reduce_sum(of_ax) / n_units as f32;
        let inverse = if n_quads > 0 { memory::load(inverses, row as usize) } else { 0.0 };
        let mut quad = thread::lane();
        while quad < n_quads {
            let (unit, at) = (quad * 4, start + quad as usize * 4);
            let dy = memory::load_quad(slopes.cast_const(), at);
            let (x, gain) = (memory::load_quad(normalised, at), memory::load_quad(gain, unit as usize));
            let mut dz = [0.0; 4];
            unroll!(J in [0, 1, 2, 3] {
                dz[J] = (gain[J] * dy[J] - mean - x[J] * along) * inverse;
            });
            put(short, single, row as usize, line, unit, n_units, dz);
            quad += thread::WARP;
        }
    }
}

/// Gradients of gains and shifts, of each part of the batch: column sums of `dy x` and of `dy`.
///
/// * Launch: [`parameters_shape`], a block 128 units of a part's rows, a thread four units of each eighth row.
/// * Reads: `gradient`: the `dy` of [`mlp_layers_layer_norm_back`]; `normalised`.
/// * Writes: `result`, which begins at the gains of the first part: a line of gains and one of shifts in each part, `part_stride` values from one to the next; 0 behind the units. 1 to `overflow` where a sum is not finite, unless it is null.
/// * Shared: 8,192 bytes: four gains and four shifts of each thread.
/// * Cost: eight bytes read a unit of a row.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: the chain rule.
///
/// # Safety
/// After [`mlp_layers_layer_norm_back`] of the same layer; `overflow` is null or one valid word.
#[kernel(shape = parameters_shape(n_units, n_parts), max_threads = BLOCK, require = n_units >= 1 && (1..=65_535).contains(&n_parts) && part.checked_mul(n_parts).is_some() && part_stride.is_multiple_of(4) && part_stride >= 2 * line_length(n_units))]
pub unsafe fn mlp_layers_layer_norm_parameters(
    #[len(n_rows as usize * line_length(n_units) as usize)] gradient: *const f32,
    #[len(n_rows as usize * line_length(n_units) as usize)] normalised: *const f32,
    #[len((n_parts - 1) as usize * part_stride as usize + 2 * line_length(n_units) as usize)] result: *mut f32,
    overflow: *mut u32,
    n_rows: u32,
    n_units: u32,
    part: u32,
    n_parts: u32,
    part_stride: u32,
) {
    let (gains, shifts) = (shared_array![Vec4; BLOCK as usize], shared_array![Vec4; BLOCK as usize]);
    sync::follow();
    let line = line_length(n_units);
    let unit = (thread::block_idx_x() * thread::WARP + thread::lane()) * 4;
    let is_there = unit < n_units;
    let from = thread::block_idx_y() * part;
    let end = if !is_there {
        0
    } else if from + part < n_rows {
        from + part
    } else {
        n_rows
    };
    // SAFETY: rows and units are below their numbers where they are read; the block has an element of both arrays for each thread; a quad of a part is one thread's.
    unsafe {
        let (mut of_gain, mut of_shift) = ([0.0; 4], [0.0; 4]);
        let mut row = from + thread::warp_index();
        while row < end {
            let at = row as usize * line as usize + unit as usize;
            let (dy, x) = (memory::load_quad(gradient, at), memory::load_quad(normalised, at));
            of_gain = add(of_gain, [dy[0] * x[0], dy[1] * x[1], dy[2] * x[2], dy[3] * x[3]]);
            of_shift = add(of_shift, dy);
            row += WARPS;
        }
        gains.set_unchecked(thread::thread_idx_x(), Vec4(of_gain.map(f32::to_bits)));
        shifts.set_unchecked(thread::thread_idx_x(), Vec4(of_shift.map(f32::to_bits)));
        // The sums of all warps must be there.
        sync::sync_threads();
        // The first warp adds up gains, the second shifts.
        let number = thread::warp_index();
        if number < 2 && is_there {
            let mut sum = [0.0; 4];
            let mut of_warp = 0;
            while of_warp < WARPS {
                let at = of_warp * thread::WARP + thread::lane();
                let quad = if number == 0 { gains.get_unchecked(at) } else { shifts.get_unchecked(at) };
                sum = add(sum, quad.0.map(f32::from_bits));
                of_warp += 1;
            }
            let at = thread::block_idx_y() as usize * part_stride as usize + (number * line + unit) as usize;
            memory::store_quad(result, at, of_units(sum, unit, n_units));
            // Each sum that is not finite makes this no number.
            let sum = sum[0] * 0.0 + sum[1] * 0.0 + sum[2] * 0.0 + sum[3] * 0.0;
            if sum.is_nan() && !overflow.is_null() {
                memory::store(overflow, 0, 1);
            }
        }
    }
}
