//! Dropout of hidden units in training: a launch behind each hidden layer's outputs, in place.
//!
//! Behind a rectifier the backward product masks by the outputs, so that what is 0 here has no gradient, and its factor scales the rest; behind another activation the derivatives are multiplied here too.

use super::activate::{n_quads, own_quad, shape};
use super::parts::{BLOCK, Parts};
use super::view::line_length;
use crate::cuda::{kernel, memory, sync};
use crate::mlp::random::{element, key};

/// Stream of the masks of hidden layer `layer` (from 0).
const fn stream(layer: u32) -> u32 {
    32 + layer
}

/// What [`mlp_layers_dropout`] takes the masks of hidden layer `layer` from, in an epoch before which `updates` were done.
pub const fn epoch_key(seed: u32, layer: u32, updates: u64) -> u64 {
    key(seed, stream(layer)).wrapping_add(updates.wrapping_mul(crate::split_mix::GAMMA))
}

/// Numbers below this, of 32 bits, drop a unit; `rate` is in [0, 1).
pub fn threshold(rate: f32) -> u32 {
    // The largest rate is 1 - 2^-24.
    libm::round(f64::from(rate) * 4_294_967_296.0) as u32
}

/// What a kept unit is multiplied with.
pub fn scale(rate: f32) -> f32 {
    (1.0 / (1.0 - f64::from(rate))) as f32
}

/// Factors of the four units of a row from `unit` on, a multiple of four; beyond the last unit they have no meaning.
#[device_inline]
fn factors(step_key: u64, row: usize, unit: u32, n_units: u32, threshold: u32, scale: f32) -> [f32; 4] {
    let pair = row as u64 * u64::from(n_units.div_ceil(2)) + u64::from(unit / 2) + 1;
    let numbers = [element(step_key, pair), element(step_key, pair + 1)];
    let factor = |half: u32| if half < threshold { 0.0 } else { scale };
    [
        factor(numbers[0] as u32),
        factor((numbers[0] >> 32) as u32),
        factor(numbers[1] as u32),
        factor((numbers[1] >> 32) as u32),
    ]
}

/// Multiplies the outputs of a hidden layer, and the derivatives of its activation, with 0 where a unit is dropped, else with the scale.
///
/// * Launch: [`shape`], a thread four units, blocks of 256.
/// * Reads: `step`; `keys`, of which the first is the layer's [`epoch_key`]; the outputs: `short`, in parts `[parts, n_rows, line]`, or `single` `[n_rows, line]` where that is not there; `slopes` `[n_kept, line_length(n_units)]`; `n_kept` is `n_rows`, or 0 where there are none.
/// * Writes: the outputs and `slopes`.
/// * Shared: none.
/// * Cost: the outputs read and written, and the derivatives; two random numbers of 64 bits a quad.
/// * Twin: `warpplay_cpu_ref::mlp::dropout::Dropout::factors`.
/// * Source: Srivastava et al. 2014; scaled in training, as PyTorch's `Dropout`.
///
/// # Safety
/// After the outputs of the same layer and before the product that reads them; the lines of `short` or `single` have room for the units.
#[kernel(shape = shape(n_rows, n_units), max_threads = BLOCK, require = n_quads(n_rows, n_units) <= 1 << 31 && n_units <= line && line.is_multiple_of(4) && (n_kept == 0 || n_kept == n_rows))]
pub unsafe fn mlp_layers_dropout(
    #[len(if short.values.is_null() { n_rows as usize * line as usize } else { 0 })] single: *mut f32,
    short: Parts,
    #[len(n_kept as usize * line_length(n_units) as usize)] slopes: *mut f32,
    #[len(1)] keys: *const u64,
    #[len(1)] step: *const u32,
    n_rows: u32,
    n_units: u32,
    line: u32,
    threshold: u32,
    scale: f32,
    n_kept: u32,
) {
    sync::follow();
    let Some((row, unit)) = own_quad(n_rows, n_units) else { return };
    let at = row * line as usize + unit as usize;
    // SAFETY: the quad lies in a line of each array, and is this thread's alone; arrays are as the kernel asks.
    unsafe {
        let step_key = element(memory::load(keys, 0), u64::from(memory::load(step, 0)) + 1);
        let mut factors = factors(step_key, row, unit, n_units, threshold, scale);
        // Behind the units is the 1 that the next layer's bias is multiplied with.
        crate::unroll::unroll!(J in [1, 2, 3] {
            if unit + J as u32 >= n_units {
                factors[J] = 1.0;
            }
        });
        let mut quad = if short.values.is_null() { memory::load_quad(single, at) } else { short.quad(at) };
        crate::unroll::unroll!(J in [0, 1, 2, 3] {
            quad[J] *= factors[J];
        });
        if short.values.is_null() {
            memory::store_quad(single, at, quad);
        } else {
            short.put_quad(at, quad);
        }
        if n_kept != 0 {
            let at = row * line_length(n_units) as usize + unit as usize;
            let mut quad = memory::load_quad(slopes, at);
            crate::unroll::unroll!(J in [0, 1, 2, 3] {
                quad[J] *= factors[J];
            });
            memory::store_quad(slopes, at, quad);
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    /// The share of dropped units, of 2^18 draws, is within six standard deviations of the rate; other layers, updates and rows have other masks.
    #[test]
    fn units_are_dropped_at_the_rate() {
        let of = |layer, updates, rate: f32| -> Vec<bool> {
            let key = element(epoch_key(7, layer, updates), 1);
            let row = |row| (0..256).map(move |quad| factors(key, row, 4 * quad, 1024, threshold(rate), scale(rate)));
            (0..256).flat_map(row).flatten().map(|factor| factor == 0.0).collect()
        };
        for rate in [0.05f32, 0.5, 0.9] {
            let masks = [of(0, 0, rate), of(1, 0, rate), of(0, 1, rate)];
            for (number, mask) in masks.iter().enumerate() {
                let (n, p) = (mask.len() as f64, f64::from(rate));
                let dropped = mask.iter().filter(|&&is| is).count() as f64;
                assert!((dropped - n * p).abs() < 6.0 * (n * p * (1.0 - p)).sqrt(), "{rate}: {dropped} of {n}");
                assert_ne!(mask[..1024], mask[1024..2048]);
                assert_ne!(*mask, masks[(number + 1) % 3]);
            }
        }
    }

    #[test]
    fn steps_go_on_from_the_updates_before_the_epoch() {
        for step in 0..5 {
            assert_eq!(element(epoch_key(3, 2, 0), 10 + step), element(epoch_key(3, 2, 10), step));
        }
        assert_eq!(threshold(0.0), 0);
        assert_eq!((threshold(0.5), scale(0.5)), (1 << 31, 2.0));
        assert_eq!(threshold(1.0 - f32::EPSILON / 2.0), u32::MAX - 255);
    }
}
