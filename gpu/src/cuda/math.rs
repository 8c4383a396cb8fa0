//! Arithmetic: exact forms, whose bits equal the CPU's, and approximate ones, named so.
//!
//! A search that should find the same counts on every device needs the same bits from every logarithm. These functions are those of the crate `libm`, or correctly rounded
//! instructions; where an engine may differ by a bound that its documentation states, the approximate forms take one or two instructions.
//!
//! ```
//! use warpplay_gpu::cuda::math;
//!
//! assert_eq!(math::sqrt(2.0), 2.0f32.sqrt());
//! assert_eq!(math::fma(3.0, 4.0, 5.0), 17.0); // one rounding
//! assert_eq!(math::relu(-1.5), 0.0);
//! assert!((math::exp(math::ln(10.0)) - 10.0).abs() < 1e-5);
//! ```
//!
//! | functions | bits |
//! | --- | --- |
//! | [`ln`], [`exp`], [`sqrt`], [`fma`], [`relu`] | the same on device and host |
//! | [`tanh_approx`] and the others with `approx` in their name | of the hardware's approximation |
//! | [`opaque`] | the same number, of which the compiler knows nothing |
//!
//! Plain `+ - * /` on `f32` round to nearest on both sides and are never contracted to fused forms.

/// Natural logarithm, the bits of `libm::logf` on every back end (error below 1 ulp).
#[device_inline]
pub fn ln(x: f32) -> f32 {
    libm::logf(x)
}

/// Exponential, the bits of `libm::expf` on every back end (error below 1 ulp).
#[device_inline]
pub fn exp(x: f32) -> f32 {
    libm::expf(x)
}

/// Square root in double precision, rounded to nearest.
#[device_inline]
pub fn sqrt_f64(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "C" {
            #[link_name = "llvm.nvvm.sqrt.rn.d"]
            fn sqrt_rn(x: f64) -> f64;
        }
        // SAFETY: pure arithmetic.
        unsafe { sqrt_rn(x) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    x.sqrt()
}

/// Square root, rounded to nearest.
#[device_inline]
pub fn sqrt(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "C" {
            #[link_name = "llvm.nvvm.sqrt.rn.f"]
            fn sqrt_rn(x: f32) -> f32;
        }
        // SAFETY: pure arithmetic.
        unsafe { sqrt_rn(x) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    x.sqrt()
}

/// Returns the value, hidden from the compiler: computations from it are not moved out of a loop, where they would occupy registers permanently.
#[device_inline]
pub fn opaque(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let same: u32;
        // SAFETY: pure arithmetic; not marked `pure`, since the compiler would then move it, too.
        unsafe {
            core::arch::asm!("mov.b32 {0}, {1};", out(reg32) same, in(reg32) value, options(nomem, nostack, preserves_flags))
        };
        same
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}

/// `a * b + c` rounded once: the fused multiply-add, which the compiler never generates from `a * b + c` by itself.
#[device_inline]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "C" {
            #[link_name = "llvm.fma.f32"]
            fn fma(a: f32, b: f32, c: f32) -> f32;
        }
        // SAFETY: pure arithmetic.
        unsafe { fma(a, b, c) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    a.mul_add(b, c)
}

/// The rectifier: `x` if it is positive or NaN, else 0.
#[device_inline]
pub fn relu(x: f32) -> f32 {
    at_least(x, 0.0)
}

/// `x` if it is above `least` or NaN, else `least`.
#[device_inline]
pub fn at_least(x: f32, least: f32) -> f32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        let y: f32;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("max.NaN.f32 {0}, {1}, {2};", out(reg32) y, in(reg32) x, in(reg32) least, options(pure, nomem, nostack, preserves_flags))
        };
        y
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    if x <= least { least } else { x }
}

/// 0, with its sign, in the place of a number below the normal ones.
#[cfg(not(target_arch = "nvptx64"))]
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

macro_rules! approximate {
    ($($(#[$doc:meta])* $name:ident, $instruction:literal, $host:expr;)*) => {$(
        $(#[$doc])*
        #[device_inline]
        pub fn $name(x: f32) -> f32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let y: f32;
                // SAFETY: pure arithmetic.
                unsafe {
                    core::arch::asm!(concat!($instruction, " {0}, {1};"), out(reg32) y, in(reg32) x, options(pure, nomem, nostack, preserves_flags))
                };
                y
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let host: fn(f32) -> f32 = $host;
                host(x)
            }
        }
    )*};
}

approximate! {
    /// Base-2 logarithm by `lg2.approx` (absolute error at most 2⁻²² for x in (0.5, 2), 2⁻²² relative elsewhere); exact to the host's rounding under `simt`.
    log2_approx, "lg2.approx.f32", |x| x.log2();
    /// Base-2 exponential by `ex2.approx` (relative error at most 2⁻²²).
    exp2_approx, "ex2.approx.f32", |x| x.exp2();
    /// Reciprocal by `rcp.approx` (error at most 1 ulp).
    recip_approx, "rcp.approx.f32", |x| 1.0 / x;
    /// Reciprocal square root by `rsqrt.approx` (relative error at most 2⁻²²·⁴).
    rsqrt_approx, "rsqrt.approx.f32", |x| 1.0 / x.sqrt();
    /// Reciprocal by `rcp.approx.ftz` (error at most 1 ulp); below the normal numbers, arguments and results are 0.
    recip_approx_ftz, "rcp.approx.ftz.f32", |x| flushed(1.0 / flushed(x));
    /// Square root by `sqrt.approx.ftz` (relative error at most 2⁻²³); arguments below the normal numbers are 0.
    sqrt_approx_ftz, "sqrt.approx.ftz.f32", |x| flushed(x).sqrt();
}

/// Hyperbolic tangent by `tanh.approx` (relative error at most 2⁻¹¹); before `sm_80`, whose PTX lacks it, that of `libm`.
#[device_inline]
pub fn tanh_approx(x: f32) -> f32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        let y: f32;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("tanh.approx.f32 {0}, {1};", out(reg32) y, in(reg32) x, options(pure, nomem, nostack, preserves_flags))
        };
        y
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    libm::tanhf(x)
}
