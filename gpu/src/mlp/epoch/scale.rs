//! The powers of two by which operands are multiplied before they are split into halves, found from the weights at the beginning of a launch.
//!
//! Half precision has 11 bits between 2⁻¹⁴ and 65,504. The two halves of a weight, a hidden value or a gradient keep what single precision keeps only where the number
//! lies high enough in that range, and not above it. So every hidden unit `j` has a scale η, every class `k` a scale τ, all powers of two, and
//!
//! ```text
//!   what is split         largest at the beginning of a launch
//!   W1[., j] 2⁸ η         2⁹ to 2¹⁰, the bias counted as a weight: this makes η
//!   h[j] η                below 2¹²: the weights above, times pixels from 0 to 1, added up
//!   W2[j, k] τ / η        2 to 4 over all j: this makes τ; less where the rules below end it
//!   dz2[k] 2¹⁴ τ' / τ     2¹⁴; τ' is the least τ
//!   dz1[j] ½ τ' / η       4: it is at most Σ |dz2| max |W2| ≤ 2 max |W2|
//! ```
//!
//! A hidden unit whose weights are multiplied by a power of two, and whose row of `W2` is divided by it, has η divided by it, and everything that is split, and so every logit, keeps its bits. Since h η is
//! mostly between 2⁻¹ and 2⁵, a class adds little to its logit by weights below 2⁻¹² η, and τ stops growing at 2¹³; it stops at 2⁸ τ' too. So weights that begin at 0 have room to grow.
//!
//! # Bounds
//! A number `a` (scaled as above) is `a₁ + 2⁻¹¹ a₂`, two halves ([`split_f16_apart`](crate::cuda::mma::split_f16_apart)): what is lost is at most 2⁻²³ |a|, or 2⁻³⁶ where that is more. Of a
//! product three of four parts are summed, the fourth is at most 2⁻²² |a| |b|. `W1` alone is `a₁ + a₂`: 2⁻²³ |a|, or 2⁻²⁵; pixels are one half, exactly. Sums of `n` terms are in single
//! precision, and lose at most 2⁻²³ of the sum of absolute values a term. So, with `c = (4 + n) 2⁻²³`,
//!
//! ```text
//!   |error of z1[j]|    ≤ c Σ x |W1[., j]|  +  2⁻³⁴ max |W1[., j]| Σ x
//!   |error of Σ a b|    ≤ c Σ |a| |b|  +  2⁻³⁵ Σ (|a| + |b|)  +  2⁻⁵⁰ n       of the others, scaled
//! ```
//!
//! With one half a number, half precision as it is, at most 2⁻¹¹ |a| is lost, or 2⁻²⁵ where that is more, and with `c = 2⁻¹¹ + 2⁻²³ n`
//!
//! ```text
//!   |error of z1[j]|    ≤ c Σ x |W1[., j]|  +  2⁻³⁴ max |W1[., j]| Σ x
//!   |error of Σ a b|    ≤ 2.001 c Σ |a| |b|  +  2⁻²⁴ Σ (|a| + |b|)  +  2⁻⁵⁰ n    of the others, scaled
//! ```
//!
//! The second terms matter where a row has weights 2¹² (`W1`; of one half 2²³) or 2¹⁵ (of one half 2¹³) times as large as those that decide its sum, or falls so far below what it was at the beginning.
//!
//! # What leaves the range
//! Scales are those of the launch's beginning. A weight that grows past 2⁶ (`W1`) or 2¹⁴ (`W2`) times the largest of the beginning, or a scale beyond what single precision can undo ([`MOST`]), becomes an infinite half or a scale that
//! is no number: 0 · ∞ is none either, and minus infinity is made none where it would be rectified, so every logit of the batch and all that follows is none. The launch sees it at its end and raises a flag; the host makes
//! the epoch again from the weights before it. Nothing is lost to this in the loop over the steps.

use crate::cuda::shared::Shared;

use super::{CLASSES, Four, HIDDEN, TABLE_BYTES, TABLES};

/// `W1`'s scale by that of the hidden values.
pub(super) const W1_BY_HIDDEN: f32 = 256.0;
/// dz2's scale in the class with the least τ.
const GRADIENT: f32 = 16_384.0;
/// What dz1 is multiplied by after the product, which has the scales of dz2 and of `W2`.
pub(super) const DZ1_BY_PRODUCT: f32 = 1.0 / 32_768.0;
/// What `W2` of two hidden layers is multiplied by beside τ / η.
pub(super) const W2_BY_SCALES: f32 = 256.0;
/// What the second halves are worth.
pub(super) const SECOND: f32 = 1.0 / 2048.0;
/// Largest exponent, up or down, of a unit's weights, and largest of `|W2| / η`, that scales are made for.
pub const MOST: i32 = 32;
/// The exponent of `|W2| / η` below which a class is not scaled up.
const LEAST_CLASS: i32 = -12;
/// The exponent of the weights of the output layer below which the gradients of a second hidden layer are not scaled up.
const LEAST_OUTPUT: i32 = -6;
/// How much further than the largest class another one is scaled up, as an exponent.
const CLASS_SPREAD: i32 = 8;
/// Words of what a launch finds out about a network: whether it left the range, then the bits of each class's largest `|W2| / η`.
pub const RANGE_WORDS: usize = 1 + CLASSES as usize;

/// Exponent of the float whose bits these are, its sign aside: 128 for what is not finite, -127 below the normal numbers.
#[device_inline]
fn exponent(bits: u32) -> i32 {
    (bits >> 23 & 0xFF) as i32 - 127
}

/// `2^exponent`; not a number where a float has no such exponent.
#[device_inline]
pub(super) fn power(exponent: i32) -> f32 {
    f32::from_bits(if exponent.unsigned_abs() <= 126 { ((exponent + 127) as u32) << 23 } else { 0x7FC0_0000 })
}

/// log2 of η of a unit whose largest weight has these bits; far out of range if that cannot be scaled.
#[device_inline]
pub(super) fn unit_exponent(bits: u32) -> i32 {
    let largest = exponent(bits);
    match bits {
        // A unit without weights is 0 and stays so.
        0 => 1,
        _ if largest.unsigned_abs() <= MOST as u32 => 1 - largest,
        _ => i32::MAX / 2,
    }
}

/// log2 of the least τ, of all classes, by the largest of their `|W2| / η`.
#[device_inline]
fn least_class_exponent(largest: u32) -> i32 {
    let largest = exponent(largest);
    if largest > MOST { i32::MAX / 2 } else { 1 - largest.max(LEAST_CLASS) }
}

/// log2 of τ of a class with this largest `|W2| / η`; `least` is that of the least τ.
#[device_inline]
fn class_exponent(bits: u32, least: i32) -> i32 {
    (1 - exponent(bits).max(LEAST_CLASS)).min(least + CLASS_SPREAD)
}

/// 1 / τ of a unit of a second hidden layer by the largest of its `|W2| / η`, where `largest` is that of all units; not a number if those cannot be scaled.
#[device_inline]
pub(super) fn second_unscale(bits: u32, largest: u32) -> f32 {
    let least = least_class_exponent(largest);
    if power(least).is_nan() { f32::NAN } else { power(-class_exponent(bits, least)) }
}

/// Scale of the gradients of a second hidden layer, but for 1 / τ, by the largest `|W3| / τ`; not a number if that cannot be scaled.
#[device_inline]
pub(super) fn second_gradient_scale(largest: u32) -> f32 {
    let largest = exponent(largest);
    if largest > MOST { f32::NAN } else { power(7 - largest) }
}

/// The least weight of the output layer that a second hidden layer's gradients are scaled for.
#[device_inline]
pub(super) fn least_output() -> f32 {
    power(LEAST_OUTPUT)
}

/// Factors in shared memory, `[HIDDEN]` or `[CLASSES]` f32 each.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Table {
    /// η.
    Unit,
    /// From the sum of x dz1 to the change of `W1`, both scaled, but for the rate.
    FirstStep,
    /// From the sum of h dz2 to the change of `W2`, both scaled, but for the rate: times [`Table::SecondStepClass`].
    SecondStep,
    /// The class's part of it.
    SecondStepClass,
    /// 1 / τ.
    Logit,
    /// Scale of dz2.
    Gradient,
}

const _: () = assert!(CLASSES == HIDDEN && Table::Gradient as u32 + 1 == TABLES, "all tables have one length");

/// The tables of a block.
#[derive(Clone, Copy)]
pub(super) struct Scales(pub Shared<f32>);

impl Scales {
    /// The value of a unit or class below 16.
    #[device_inline]
    pub fn get(self, table: Table, number: u32) -> f32 {
        // SAFETY: six tables of 16 values.
        unsafe { self.0.get_unchecked(table as u32 * CLASSES + number) }
    }

    /// Those of classes 4 `quad` to 4 `quad` + 3.
    #[device_inline]
    pub fn four(self, table: Table, quad: u32) -> Four {
        // SAFETY: a table has a value for each of 16 numbers, of which four lie here from a multiple of four on; the tables are aligned to 16 bytes.
        unsafe { Shared::<Four>::from_address(self.0.base(), TABLE_BYTES / 16).get_unchecked(table as u32 * 4 + quad) }
    }

    /// Those of `number` (even) and `number + 1`.
    #[device_inline]
    pub fn pair(self, table: Table, number: u32) -> [f32; 2] {
        // SAFETY: a table has a value for each of 16 numbers, of which two lie here from an even one on.
        let pair = unsafe {
            Shared::<u64>::from_address(self.0.base(), TABLE_BYTES / 8)
                .get_unchecked((table as u32 * CLASSES + number) / 2)
        };
        [f32::from_bits(pair as u32), f32::from_bits((pair >> 32) as u32)]
    }

    #[device_inline]
    fn set(self, table: Table, number: u32, value: f32) {
        self.0.set(table as u32 * CLASSES + number, value);
    }

    /// Writes the values of unit and class `number`.
    #[device_inline]
    pub fn make(self, number: u32, unit: u32, class: u32, largest_class: u32) {
        let unit = unit_exponent(unit);
        let least = least_class_exponent(largest_class);
        let class = class_exponent(class, least);
        let (eta, least_tau, tau) = (power(unit), power(least), power(class));
        self.set(Table::Unit, number, eta);
        self.set(Table::FirstStep, number, (W1_BY_HIDDEN / (GRADIENT * DZ1_BY_PRODUCT)) * eta * eta / least_tau);
        self.set(Table::SecondStep, number, 1.0 / (eta * eta));
        self.set(Table::SecondStepClass, number, tau * tau / (GRADIENT * least_tau));
        self.set(Table::Logit, number, 1.0 / tau);
        self.set(Table::Gradient, number, GRADIENT * least_tau / tau);
    }

    /// Writes the values of unit `number` of the first of two hidden layers, and what units of the second have in common; `gradient` is that of [`second_gradient_scale`].
    #[device_inline]
    pub fn make_deep(self, number: u32, unit: u32, gradient: f32) {
        let eta = power(unit_exponent(unit));
        self.set(Table::Unit, number, eta);
        self.set(Table::FirstStep, number, (W1_BY_HIDDEN / (W2_BY_SCALES * DZ1_BY_PRODUCT)) * eta * eta / gradient);
        self.set(Table::SecondStep, number, 1.0 / (eta * eta));
        self.set(Table::SecondStepClass, number, W2_BY_SCALES / gradient);
        self.set(Table::Gradient, number, gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::mma::{pack_f16, split_f16, split_f16_apart, unpack_f16};

    /// The two halves of `a` as `W1` has them, and as the others do.
    fn halves(a: f32) -> [[f64; 2]; 2] {
        let of = |[large, small]: [u32; 2], worth: f64| {
            [f64::from(unpack_f16(large)[0]), f64::from(unpack_f16(small)[0]) * worth]
        };
        [of(split_f16(a, 0.0), 1.0), of(split_f16_apart(a, 0.0), f64::from(SECOND))]
    }

    /// One half of `a`.
    fn one_half(a: f32) -> f64 {
        f64::from(unpack_f16(pack_f16(a, 0.0))[0])
    }

    /// Floats of all exponents from -60 to 15, with fractions that are hard to halve.
    fn floats() -> impl Iterator<Item = f32> {
        let fractions =
            (0..512u32).map(|n| n.wrapping_mul(0x9E37_79B9) >> 9).chain([0, 1, 0x7F_FFFF, 0x00_1000, 0x00_1001]);
        fractions.flat_map(|fraction| (-60..=15).map(move |e| f32::from_bits(((e + 127) as u32) << 23 | fraction)))
    }

    #[test]
    fn halves_and_products_keep_the_bounds_of_the_page() {
        for a in floats().filter(|&a| a <= 65_504.0) {
            let exact = f64::from(a);
            let [near, apart] = halves(a);
            let lost = (near[0] + near[1] - exact).abs();
            assert!(lost <= (exact * 2f64.powi(-23)).max(2f64.powi(-25)), "{a}: {lost}");
            let lost = (apart[0] + apart[1] - exact).abs();
            assert!(lost <= (exact * 2f64.powi(-23)).max(2f64.powi(-36)), "{a}: {lost}");
            let lost = (one_half(a) - exact).abs();
            assert!(lost <= (exact * 2f64.powi(-11)).max(2f64.powi(-25)), "{a}: {lost}");
            let b = f32::from_bits(a.to_bits().wrapping_mul(0x85EB_CA6B) & 0x007F_FFFF | 127 << 23);
            for b in [b, b * 1e-3, b * 1e4, b * 1e-9] {
                let [_, other] = halves(b);
                let found = apart[0] * other[0] + apart[1] * other[0] + apart[0] * other[1];
                let (exact, size) = (exact * f64::from(b), f64::from(a) + f64::from(b));
                let bound = exact * 2f64.powi(-21) + size * 2f64.powi(-35) + 2f64.powi(-50);
                assert!((found - exact).abs() <= bound, "{a} times {b}: {found} for {exact}");
                let found = one_half(a) * one_half(b);
                let bound = 2.001 * 2f64.powi(-11) * exact + size * 2f64.powi(-24) + 2f64.powi(-50);
                assert!((found - exact).abs() <= bound, "{a} times {b}: {found} for {exact} by one half");
            }
        }
    }

    #[test]
    fn scales_are_exact_and_put_the_largest_where_the_page_says() {
        for e in -MOST..=MOST {
            for largest in [power(e), power(e) * 1.999] {
                let eta = power(unit_exponent(largest.to_bits()));
                assert!((512.0..1024.0).contains(&(largest * W1_BY_HIDDEN * eta)), "2^{e}: {eta}");
                let least = least_class_exponent(largest.to_bits());
                let tau = power(class_exponent(largest.to_bits(), least));
                assert_eq!(tau, power(least));
                let scaled = largest * tau;
                assert!(scaled < 4.0 && (scaled >= 2.0 || e < LEAST_CLASS), "2^{e}: {tau}");
                // A small class beside it.
                let small = power(class_exponent((largest * power(-20)).to_bits(), least));
                assert_eq!(small, (tau * power(CLASS_SPREAD)).min(power(1 - LEAST_CLASS)));
                assert_eq!(power(class_exponent(0, least)), small, "a class without weights");
            }
        }
        // A unit without weights has a scale; what is too large, too small or no number has none.
        assert_eq!(power(unit_exponent(0)), 2.0);
        for bits in
            [power(MOST + 1).to_bits(), f32::INFINITY.to_bits(), f32::NAN.to_bits(), 1, power(-MOST - 1).to_bits()]
        {
            assert!(power(unit_exponent(bits)).is_nan() && power(-unit_exponent(bits)).is_nan(), "{bits:x}");
        }
        for bits in [power(MOST + 1).to_bits(), f32::INFINITY.to_bits(), f32::NAN.to_bits()] {
            let least = least_class_exponent(bits);
            assert!(power(least).is_nan(), "{bits:x}");
        }
        assert_eq!(power(least_class_exponent(0)), power(1 - LEAST_CLASS));
    }

    #[test]
    fn scales_of_a_second_layer_put_the_largest_where_the_page_says() {
        for e in -MOST..=MOST {
            for largest in [power(e), power(e) * 1.999] {
                let unscale = second_unscale(largest.to_bits(), largest.to_bits());
                let scaled = largest / unscale * W2_BY_SCALES;
                assert!(scaled < 1024.0 && (scaled >= 512.0 || e < LEAST_CLASS), "2^{e}: {scaled}");
                // A unit that is much smaller is not scaled up by more than the spread.
                let small = second_unscale((largest * power(-20)).to_bits(), largest.to_bits());
                assert!(small <= unscale && small >= unscale * power(-CLASS_SPREAD), "2^{e}: {small} beside {unscale}");
                // |dz2| is at most twice the largest weight.
                let gradient = 2.0 * largest * second_gradient_scale(largest.to_bits());
                assert!((256.0..512.0).contains(&gradient), "2^{e}: {gradient}");
            }
        }
        for bits in [power(MOST + 1).to_bits(), f32::INFINITY.to_bits(), f32::NAN.to_bits()] {
            assert!(
                second_unscale(1.0f32.to_bits(), bits).is_nan() && second_gradient_scale(bits).is_nan(),
                "{bits:x}"
            );
        }
        assert_eq!(least_output(), 1.0 / 64.0);
    }
}
