//! Powers of two by which numbers are multiplied before they are written in parts of half precision.
//!
//! Half precision has 11 significant bits from 2⁻¹⁴ to 65,504, and steps of 2⁻²⁴ below. The values of an array have a bound `b`, known before they are written; their scale puts it between 2¹³ and 2¹⁴. So a value `x` is off by at most `2⁻¹¹ |x|` in one
//! part and `2⁻²³ |x|` in two, or by `2⁻³⁸ b` if that is more.
//!
//! | values | bound |
//! | --- | --- |
//! | filters | the largest |
//! | outputs of a norm | `r · weight + bias` of a channel, and the residual's: normalised over `n` pixels no value is beyond the reach `r = √n`. By running statistics values may be anywhere: then `r` is [`REACH`], and what is beyond four times that is infinite, as if the training had diverged |
//! | gradients by what is before a norm | `weight · inverse · (largest g + mean of g + √n · mean of g · normalised)` of a channel |
//!
//! ```text
//! scales   [n_convs, SCALES]   single precision, see the constants
//! ```

use crate::cuda::memory::{load, store};
use crate::cuda::sync::follow;
use crate::cuda::{kernel, memory, shared_array, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// What is known of a convolution and the norm behind it.
pub const SCALES: u32 = 8;
/// Scale of the filters.
pub const FILTERS: usize = 0;
/// Scale of the norm's outputs.
pub const OUTPUTS: usize = 1;
/// Inverse of the inputs' scale; 1 for observations.
pub const INPUTS: usize = 2;
/// Factor of the sums of filters times inputs: the inverse of both scales.
pub const FORWARD: usize = 3;
/// Bound of the gradient by what is before the norm; not negative, so that the largest of its bits as a whole number is that of the largest bound.
pub const GRADIENT: usize = 4;
/// Factor of the sums of that gradient times filters.
pub const BACKWARD: usize = 5;
/// Factor of the sums of that gradient times inputs.
pub const FILTER_GRADIENT: usize = 6;

/// Threads of a block.
pub const BLOCK: u32 = 1024;
const WARPS: u32 = BLOCK / thread::WARP;

/// The reach of values that are normalised by running statistics: two parts are off by at most 2⁻²² of the norms' factors, added up along the residuals, or 2⁻²³ of the value.
pub const REACH: f32 = 65_536.0;

/// Offsets of the parameters of a convolution of 3 × 3 and its norm, and of its filters.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Conv {
    /// Offset and number of its weights, multiples of 4.
    pub weights: u32,
    /// See `weights`.
    pub n_weights: u32,
    /// Offsets of the norm's factor and term.
    pub norm_weight: u32,
    /// See `norm_weight`.
    pub norm_bias: u32,
    /// Inputs and outputs, multiples of 4.
    pub n_inputs: u32,
    /// See `n_inputs`.
    pub n_outputs: u32,
    /// Offsets of its filters among those of the way forward, and of the way back; multiples of 8.
    pub filters: u32,
    /// See `filters`.
    pub turned: u32,
    /// 1 where the outputs of the norm before the last are added.
    pub has_residual: u32,
}

/// The power of two that puts a bound between 2¹³ and 2¹⁴; at most 2⁷³ for smaller bounds, at least 2⁻¹⁰⁰ for larger ones, whose training has diverged.
#[device_inline]
pub fn scale_of(bound: f32) -> f32 {
    let exponent = bound.to_bits() >> 23 & 0xFF;
    let exponent = if exponent < 67 { 67 } else { exponent };
    let exponent = if exponent > 240 { 240 } else { exponent };
    f32::from_bits((267 - exponent) << 23)
}

/// One over a power of two that [`scale_of`] gave.
#[device_inline]
pub fn inverse_of(scale: f32) -> f32 {
    f32::from_bits((254 << 23) - scale.to_bits())
}

/// Largest value of a channel after a norm, of normalised values up to `reach`.
///
/// # Safety
/// The convolution and those whose outputs are added exist, and so does the channel.
#[device_inline]
#[track_caller]
unsafe fn bound_of(parameters: *const f32, convs: *const Conv, number: u32, channel: u32, reach: f32) -> f32 {
    let (mut bound, mut at) = (0.0, number);
    loop {
        // SAFETY: the caller's.
        let (conv, weight, bias) = unsafe {
            let conv = load(convs, at as usize);
            let of = |first: u32| load(parameters, (first + channel) as usize).abs();
            (conv, of(conv.norm_weight), of(conv.norm_bias))
        };
        bound += reach * weight + bias;
        if conv.has_residual == 0 || at < 2 {
            return bound;
        }
        at -= 2;
    }
}

/// Scales of filters and outputs of all convolutions of 3 × 3, and what follows from them; bounds of gradients begin at 0.
///
/// * Launch: a block of 1,024 threads a convolution.
/// * Reads: `parameters`, `convs`.
/// * Writes: `scales`.
/// * Shared: 384 bytes: three maxima of each warp.
/// * Cost: the weights, read once, and the factors and terms of all norms along the residuals, twice; so one launch is enough.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Operands`, whose numbers have the range of single precision and need no scales.
/// * Source: our own.
///
/// # Safety
/// `convs` are of `parameters`, which begin at a multiple of 16 bytes; all whose outputs are added up have as many channels.
#[kernel(shape = LaunchShape::new(n_convs, BLOCK).overlapping(), max_threads = BLOCK, require = n_convs >= 1)]
pub unsafe fn azero_train_scales(
    #[len(n_parameters)] parameters: *const f32,
    #[len(n_convs)] convs: *const Conv,
    #[len(n_convs * SCALES)] scales: *mut f32,
    n_convs: u32,
    n_parameters: u32,
    reach: f32,
) {
    follow();
    let most = shared_array![u32; (3 * WARPS) as usize];
    let number = thread::block_idx_x();
    // Of numbers from 0 on the larger has the larger bits.
    let mut own = [0u32; 3];
    // SAFETY: convolutions, weights and channels exist, as the caller vouches; the scales are this block's.
    unsafe {
        let conv = load(convs, number as usize);
        let n_quads = conv.n_weights / 4;
        let mut first = thread::thread_idx_x();
        while first < n_quads {
            // Four on their way together; one that is not there is the last.
            unroll!(J in [0, 1, 2, 3] {
                let quad = first + J as u32 * BLOCK;
                let quad = if quad < n_quads { quad } else { n_quads - 1 };
                let values = memory::load_quad(parameters, (conv.weights + 4 * quad) as usize);
                unroll!(C in [0, 1, 2, 3] {
                    let bits = values[C].abs().to_bits();
                    own[0] = if bits > own[0] { bits } else { own[0] };
                });
            });
            first += 4 * BLOCK;
        }
        let bounds = |number: u32| {
            let channels = load(convs, number as usize).n_outputs;
            let (mut most, mut channel) = (0, thread::thread_idx_x());
            while channel < channels {
                let bits = bound_of(parameters, convs, number, channel, reach).to_bits();
                most = if bits > most { bits } else { most };
                channel += BLOCK;
            }
            most
        };
        own[1] = bounds(number);
        if number > 0 {
            own[2] = bounds(number - 1);
        }
        unroll!(I in [0, 1, 2] {
            let of_warp = warp::reduce_max_u32(own[I]);
            if thread::lane() == 0 {
                most.set(I as u32 * WARPS + thread::warp_index(), of_warp);
            }
        });
        // All warps' maxima must be there.
        sync::sync_threads();
        if thread::warp_index() == 0 {
            let of = |which: u32| f32::from_bits(warp::reduce_max_u32(most.get(which * WARPS + thread::lane())));
            let [filters, outputs, inputs] = [scale_of(of(0)), scale_of(of(1)), inverse_of(scale_of(of(2)))];
            // Observations are as they are.
            let inputs = if number == 0 { 1.0 } else { inputs };
            if thread::lane() == 0 {
                let own = scales.add((number * SCALES) as usize);
                store(own, FILTERS, filters);
                store(own, OUTPUTS, outputs);
                store(own, INPUTS, inputs);
                store(own, FORWARD, inverse_of(filters) * inputs);
                store(own, GRADIENT, 0.0);
            }
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn scales_are_powers_of_two_and_put_a_bound_where_half_precision_holds_it() {
        for exponent in -59..=100 {
            for mantissa in [1.0f32, 1.5, 1.999_999] {
                let bound = mantissa * 2f32.powi(exponent);
                let scale = scale_of(bound);
                assert!((8192.0..16_384.0).contains(&(bound * scale)), "{bound}: {scale}");
                assert_eq!(scale.to_bits() & 0x007F_FFFF, 0);
                assert_eq!(scale * inverse_of(scale), 1.0);
            }
        }
        for bound in [0.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN] {
            let scale = scale_of(bound);
            assert!((2f32.powi(-100)..=2f32.powi(73)).contains(&scale), "{bound}: {scale}");
            assert!(inverse_of(scale) * inverse_of(2f32.powi(73)) > 0.0);
        }
    }
}
