//! The sigmoid of the objective, T(x) = 1 / (1 + exp(−a x)), in f64 with the bits of `libm`.
//!
//! A branch or a table costs a GPU more than it spares, so the exponential has one path here: the same operations as `libm::exp` in the same order, with
//! the steps that do nothing left in. Twin: `warpplay_cpu_ref::shogi::sigmoid`, which calls `libm`.

use super::fixed::fixed;

/// exp(x), the bits of `libm::exp` for |x| ≤ 708; beyond, infinity or 0. Not for NaN.
///
/// Source: FreeBSD's `e_exp.c` (Sun Microsystems, 2004), from which `libm`'s is.
#[device_inline]
pub fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const PER_LN2: f64 = core::f64::consts::LOG2_E;
    const P1: f64 = 1.666_666_666_666_660_2e-1;
    const P2: f64 = -2.777_777_777_701_559_3e-3;
    const P3: f64 = 6.613_756_321_437_934e-5;
    const P4: f64 = -1.653_390_220_546_525_2e-6;
    const P5: f64 = 4.138_136_797_057_238_5e-8;
    let high = (x.to_bits() >> 32) as u32;
    let size = high & 0x7fff_ffff;
    // 708: beyond it the result leaves the normal numbers.
    if size >= 0x4086_2000 {
        return if x > 0.0 { f64::INFINITY } else { 0.0 };
    }
    // Below 2^-28.
    if size <= 0x3e30_0000 {
        return 1.0 + x;
    }
    let sign = (high >> 31) as i32;
    // How many times ln 2, for which 0 and 1 have ranges of their own.
    let k = if size >= 0x3ff0_a2b2 {
        let half = if sign == 0 { 0.5 } else { -0.5 };
        let turns = PER_LN2 * x + half;
        // SAFETY: |x| is below 708, so the number is below 2^10.
        unsafe { turns.to_int_unchecked::<i32>() }
    } else if size > 0x3fd6_2e42 {
        1 - 2 * sign
    } else {
        0
    };
    let turns = k as f64;
    let high = x - turns * LN2_HIGH;
    let low = turns * LN2_LOW;
    let x = high - low;
    let square = x * x;
    let c = x - square * (P1 + square * (P2 + square * (P3 + square * (P4 + square * P5))));
    let y = 1.0 + (x * c / (2.0 - c) - low + high);
    y * f64::from_bits(((1023 + k) as u64) << 52)
}

/// T(x) = 1 / (1 + exp(−a x)).
#[device_inline]
pub fn sigmoid(a: f64, x: f64) -> f64 {
    1.0 / (1.0 + exp(-a * x))
}

/// T(x) as a number of 2⁻³⁶.
#[device_inline]
pub fn term(a: f64, x: f64) -> i64 {
    fixed(sigmoid(a, x))
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_has_the_bits_of_libm() {
        let mut state = 1u64;
        let check = |x: f64| assert_eq!(exp(x).to_bits(), libm::exp(x).to_bits(), "{x}");
        for n in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            check(unit * [1e-9, 1e-3, 0.5, 1.0, 3.0, 20.0, 200.0, 1400.0][n % 8]);
        }
        for x in
            [0.0, -0.0, 0.34, -0.34, 0.3466, -0.3466, 1.0397, -1.0397, 1.04, 3.0, -3.0, 2f64.powi(-28), 707.9, -707.9]
        {
            check(x);
        }
        assert_eq!((exp(709.0), exp(-709.0)), (f64::INFINITY, 0.0));
        assert_eq!((exp(f64::INFINITY), exp(f64::NEG_INFINITY)), (f64::INFINITY, 0.0));
    }

    #[test]
    fn terms_are_symmetric() {
        assert_eq!((term(3.0, 0.0), term(3.0, 1e6), term(3.0, -1e6)), (1 << 35, 1 << 36, 0));
        assert_eq!(term(3.0, 0.25) + term(3.0, -0.25), 1 << 36);
    }
}
