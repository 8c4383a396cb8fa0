//! Sums that do not depend on their order: every term is rounded once to a multiple of 2⁻³⁶ and added as a whole number.

/// One, as a sum's unit.
pub const ONE: f64 = (1u64 << 36) as f64;

/// The nearest multiple of 2⁻³⁶, as their number; of two as near the even one. For |`value`| below 2²⁶.
#[device_inline]
pub fn fixed(value: f64) -> i64 {
    let scaled = value * ONE;
    #[cfg(target_arch = "nvptx64")]
    {
        let rounded: i64;
        // SAFETY: a conversion of registers.
        unsafe {
            core::arch::asm!("cvt.rni.s64.f64 {0}, {1};", out(reg64) rounded, in(reg64) scaled, options(pure, nomem, nostack, preserves_flags))
        };
        rounded
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        scaled.round_ties_even() as i64
    }
}
