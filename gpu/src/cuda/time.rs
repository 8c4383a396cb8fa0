//! The device's clock.

/// Nanoseconds of the device's global timer. Its resolution is coarse (about a microsecond on current hardware).
#[device_inline]
pub fn globaltimer() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let now: u64;
        // SAFETY: reads a special register.
        unsafe { core::arch::asm!("mov.u64 {0}, %globaltimer;", out(reg64) now, options(nostack, preserves_flags)) };
        now
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::simt::hooks::globaltimer()
}
