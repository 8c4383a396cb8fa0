//! Steps of the optimisers, and scaling.
//!
//! One thread, one weight. Every product, sum, quotient and root is rounded by itself in `f32`, so the bits are the twin's.

use crate::cuda::view::{Atomic, Disjoint, Slice};
use crate::cuda::{kernel, math, thread};
use crate::launch::LaunchShape;
use crate::shogi::fixed::ONE;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Launch shape for `n` weights.
const fn shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n, BLOCK)
}

/// Which optimiser.
pub mod kind {
    /// `w -= rate sign(g)`.
    pub const SIGN: u32 = 0;
    /// `w -= rate g`.
    pub const GD: u32 = 1;
    /// `m = b1 m + g; w -= rate m`.
    pub const MOMENTUM: u32 = 2;
    /// `s += g²; w -= rate g / (√s + epsilon)`.
    pub const ADA_GRAD: u32 = 3;
    /// Kingma and Ba, 2015.
    pub const ADAM: u32 = 4;
}

/// A step.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Children that counted.
    pub children: f64,
    /// One of [`kind`].
    pub kind: u32,
    /// Learning rate.
    pub rate: f32,
    /// Weight of Σ|w|.
    pub l1: f32,
    /// Weight of Σw²/2.
    pub l2: f32,
    /// β₁.
    pub beta1: f32,
    /// β₂.
    pub beta2: f32,
    /// ε.
    pub epsilon: f32,
    /// Adam: 1 - β₁ᵗ.
    pub correction1: f32,
    /// Adam: 1 - β₂ᵗ.
    pub correction2: f32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Rule>() == 48);

impl Rule {
    /// Whether the optimiser remembers a number of each weight.
    pub const fn has_first(&self) -> bool {
        self.kind >= kind::MOMENTUM
    }

    /// Whether it remembers a second one.
    pub const fn has_second(&self) -> bool {
        self.kind >= kind::ADAM
    }
}

/// The nearest multiple of 2⁻³⁰, of two as near the even one.
#[device_inline]
pub fn rounded(weight: f32) -> f32 {
    const UNITS: f32 = (1u32 << 30) as f32;
    let scaled = weight * UNITS;
    #[cfg(target_arch = "nvptx64")]
    {
        let whole: f32;
        // SAFETY: a conversion of registers.
        unsafe {
            core::arch::asm!("cvt.rni.f32.f32 {0}, {1};", out(reg32) whole, in(reg32) scaled, options(pure, nomem, nostack, preserves_flags))
        };
        whole / UNITS
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        scaled.round_ties_even() / UNITS
    }
}

/// -1, 0 or 1.
#[device_inline]
const fn sign(x: f32) -> f32 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// A weight after a step along `gradient`; `first` and `second` are what the optimiser remembers of it.
#[device_inline]
pub fn stepped(rule: &Rule, weight: f32, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
    let mut g = gradient;
    g += rule.l2 * weight;
    g += rule.l1 * sign(weight);
    let down = match rule.kind {
        kind::SIGN => rule.rate * sign(g),
        kind::GD => rule.rate * g,
        kind::MOMENTUM => {
            *first = rule.beta1 * *first + g;
            rule.rate * *first
        }
        kind::ADA_GRAD => {
            *first += g * g;
            rule.rate * g / (math::sqrt(*first) + rule.epsilon)
        }
        _ => {
            *first = rule.beta1 * *first + (1.0 - rule.beta1) * g;
            *second = rule.beta2 * *second + (1.0 - rule.beta2) * g * g;
            rule.rate * (*first / rule.correction1) / (math::sqrt(*second / rule.correction2) + rule.epsilon)
        }
    };
    rounded(weight - down)
}

/// A step of any optimiser: moves all weights but weight 0. `largest` gets the bits of the largest size of a weight, or of what is no number.
///
/// * Launch: a thread a weight, blocks of 256.
/// * Reads: `gradient`; `weights`, `first` and `second`.
/// * Writes: `weights`, `first`, `second`; `largest`, by an atomic maximum.
/// * Shared: none.
/// * Cost: a step of the optimiser a thread.
/// * Twin: `warpplay_cpu_ref::shogi::sparse::update::update`.
/// * Source: the shogi paper of 2009 (`papers/src/shogi_bonanza`), equation (3) (sign); Kingma and Ba 2015 (Adam), Duchi et al. 2011 (AdaGrad).
#[kernel(shape = shape(n), max_threads = BLOCK)]
pub fn shogi_sparse_update(
    #[len(n as usize)] mut weights: Disjoint<f32>,
    #[len(n as usize)] gradient: Slice<i64>,
    #[len(if rule.has_first() { n as usize } else { 0 })] mut first: Disjoint<f32>,
    #[len(if rule.has_second() { n as usize } else { 0 })] mut second: Disjoint<f32>,
    #[len(1)] largest: Atomic<u32>,
    n: u32,
    rule: Rule,
) {
    let Some(own) = thread::own_index_below(n) else { return };
    if own.get() == 0 {
        return;
    }
    // All loads before anything is decided, so that all are on their way at once: none is moved across a branch.
    let (weight, sum) = (weights.get(&own), gradient.get(own.get() as usize));
    let (mut m, mut v) = (first.get_or(&own, 0.0), second.get_or(&own, 0.0));
    let g = (sum as f64 / ONE / rule.children) as f32;
    let weight = stepped(&rule, weight, g, &mut m, &mut v);
    weights.set(&own, weight);
    first.set_if_there(&own, m);
    second.set_if_there(&own, v);
    note(&largest, weight);
}

/// Multiplies all weights but weight 0, and rounds; `largest` as in [`shogi_sparse_update`].
///
/// * Launch: a thread a weight, blocks of 256.
/// * Reads: `weights`.
/// * Writes: `weights`; `largest`, by an atomic maximum.
/// * Shared: none.
/// * Cost: a product a thread.
/// * Twin: `warpplay_cpu_ref::shogi::sparse::update::scale`.
/// * Source: our own.
#[kernel(shape = shape(n), max_threads = BLOCK)]
pub fn shogi_sparse_scale(
    #[len(n as usize)] mut weights: Disjoint<f32>,
    #[len(1)] largest: Atomic<u32>,
    n: u32,
    factor: f32,
) {
    let Some(own) = thread::own_index_below(n) else { return };
    if own.get() == 0 {
        return;
    }
    let weight = rounded(weights.get(&own) * factor);
    weights.set(&own, weight);
    note(&largest, weight);
}

/// Sizes up to this need no notice.
pub const UNNOTICED: f32 = 512.0;

/// Notes the size of a large weight. Bits without the sign order as sizes do, and what is no number comes last. Few weights are large, so few threads meet there.
#[device_inline]
fn note(largest: &Atomic<u32>, weight: f32) {
    let size = weight.to_bits() & 0x7FFF_FFFF;
    if size > UNNOTICED.to_bits() {
        largest.max(0, size);
    }
}
