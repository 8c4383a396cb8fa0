//! Atomic operations on global memory (relaxed: they order nothing but themselves) and on shared memory.
//!
//! Threads that count into the same words, or race for a slot, cannot simply load and store. An atomic operation does both at once and returns what was there. Whole
//! numbers are added in any order with the same result; sums of floats depend on it, so no kernel of the library adds floats atomically.
//!
//! ```
//! use warpplay_gpu::cuda::{atomic, kernel, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Counts the remainders of the threads' indices by 3.
//! ///
//! /// # Safety
//! /// `counts` holds three values, which are only used atomically meanwhile.
//! #[kernel]
//! pub unsafe fn count_remainders(counts: *mut u32) {
//!     let remainder = thread::thread_idx_x() % 3;
//!     // SAFETY: below 3.
//!     unsafe { atomic::add_u32(counts.add(remainder as usize), 1) };
//! }
//!
//! let mut counts = [0u32; 3];
//! let _registered = register(counts.as_mut_ptr() as usize, size_of_val(&counts));
//! // SAFETY: three values, which nobody else uses.
//! unsafe { simt::launch(count_remainders, LaunchShape::new(1, 64), (counts.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(counts, [22, 21, 21]);
//! ```
//!
//! | functions | where |
//! | --- | --- |
//! | [`add_u32`], [`add_i32`], [`add_u64`], [`max_u32`], [`min_u32`] and others, [`exchange_u32`] | global memory, by a pointer |
//! | [`compare_exchange_u32`], [`compare_exchange_u64`] | the same, where an expected value is there |
//! | [`load_u64`] | the same, without a change |
//! | [`add_f32`] | the same for a float: the last bits depend on the order |
//! | `shared_add_u32` and others, [`shared_compare_exchange_u64`], [`shared_add_f32`] | a [`Shared`](super::shared::Shared) array, by an index that is checked |
//!
//! A safe kernel takes an [`Atomic`](super::view::Atomic) view instead.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

macro_rules! global {
    ($($(#[$doc:meta])* $name:ident, $type:ty, $atomic:ty, $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `at` is valid, aligned global memory that is only accessed atomically meanwhile.
        #[device_inline]
        #[track_caller]
        pub unsafe fn $name(at: *mut $type, value: $type) -> $type {
            #[cfg(not(target_arch = "nvptx64"))]
            crate::simt::hooks::check_global(at as usize, size_of::<$type>(), crate::simt::Access::Update);
            // SAFETY: the caller vouches for `at`.
            unsafe { <$atomic>::from_ptr(at) }.$method(value, Relaxed)
        }
    )*};
}

global! {
    /// Adds (wrapping) and returns the old value.
    add_u32, u32, AtomicU32, fetch_add;
    /// Adds (wrapping) and returns the old value.
    add_i32, i32, AtomicI32, fetch_add;
    /// Adds (wrapping) and returns the old value.
    add_u64, u64, AtomicU64, fetch_add;
    /// Stores the larger and returns the old value.
    max_u32, u32, AtomicU32, fetch_max;
    /// Stores the smaller and returns the old value.
    min_u32, u32, AtomicU32, fetch_min;
    /// Stores the larger and returns the old value.
    max_i32, i32, AtomicI32, fetch_max;
    /// Stores the smaller and returns the old value.
    min_i32, i32, AtomicI32, fetch_min;
    /// Stores the larger and returns the old value.
    max_u64, u64, AtomicU64, fetch_max;
    /// Stores the smaller and returns the old value.
    min_u64, u64, AtomicU64, fetch_min;
    /// Stores the value and returns the old value.
    exchange_u32, u32, AtomicU32, swap;
}

/// Returns the value.
///
/// # Safety
/// `at` is valid, aligned global memory that is only accessed atomically meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn load_u64(at: *const u64) -> u64 {
    #[cfg(not(target_arch = "nvptx64"))]
    crate::simt::hooks::check_global(at as usize, 8, crate::simt::Access::Update);
    // SAFETY: the caller vouches for `at`.
    unsafe { AtomicU64::from_ptr(at.cast_mut()) }.load(Relaxed)
}

/// Stores `new` if the value is `expected`; returns the old value.
///
/// # Safety
/// `at` is valid, aligned global memory that is only accessed atomically meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn compare_exchange_u32(at: *mut u32, expected: u32, new: u32) -> u32 {
    #[cfg(not(target_arch = "nvptx64"))]
    crate::simt::hooks::check_global(at as usize, 4, crate::simt::Access::Update);
    // SAFETY: the caller vouches for `at`.
    match unsafe { AtomicU32::from_ptr(at) }.compare_exchange(expected, new, Relaxed, Relaxed) {
        Ok(was) | Err(was) => was,
    }
}

/// Stores `new` if the value is `expected`; returns the old value.
///
/// # Safety
/// `at` is valid, aligned global memory that is only accessed atomically meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn compare_exchange_u64(at: *mut u64, expected: u64, new: u64) -> u64 {
    #[cfg(not(target_arch = "nvptx64"))]
    crate::simt::hooks::check_global(at as usize, 8, crate::simt::Access::Update);
    // SAFETY: the caller vouches for `at`.
    match unsafe { AtomicU64::from_ptr(at) }.compare_exchange(expected, new, Relaxed, Relaxed) {
        Ok(was) | Err(was) => was,
    }
}

/// Adds to a float and returns the old value. The order of several additions is not fixed, so neither are the sum's last bits.
///
/// # Safety
/// `at` is valid, aligned global memory that is only accessed atomically meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn add_f32(at: *mut f32, value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let was: f32;
        // SAFETY: the caller vouches for `at`.
        unsafe {
            core::arch::asm!("atom.global.add.f32 {0}, [{1}], {2};", out(reg32) was, in(reg64) at, in(reg32) value, options(nostack, preserves_flags))
        };
        was
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        crate::simt::hooks::check_global(at as usize, 4, crate::simt::Access::Update);
        // SAFETY: the caller vouches for `at`.
        let bits = unsafe { AtomicU32::from_ptr(at.cast()) };
        let add = |was: u32| Some((f32::from_bits(was) + value).to_bits());
        match bits.fetch_update(Relaxed, Relaxed, add) {
            Ok(was) | Err(was) => f32::from_bits(was),
        }
    }
}

macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident, $type:ty, $register:ident, $instruction:literal, $combine:expr;)*) => {$(
        $(#[$doc])*
        #[device_inline]
        #[track_caller]
        pub fn $name(array: super::shared::Shared<$type>, index: u32, value: $type) -> $type {
            let address = array.address_of(index);
            #[cfg(target_arch = "nvptx64")]
            {
                let was: $type;
                // SAFETY: `address_of` checked the bounds.
                unsafe {
                    core::arch::asm!(concat!($instruction, " {0}, [{1}], {2};"), out($register) was, in(reg32) address, in($register) value, options(nostack, preserves_flags))
                };
                was
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let combine: fn($type, $type) -> $type = $combine;
                let mut was = 0;
                crate::simt::hooks::shared_update(address, size_of::<$type>() as u32, &mut |bytes| {
                    if let Ok(word) = <[u8; size_of::<$type>()]>::try_from(&*bytes) {
                        was = <$type>::from_ne_bytes(word);
                        bytes.copy_from_slice(&combine(was, value).to_ne_bytes());
                    }
                });
                was
            }
        }
    )*};
}

shared! {
    /// Adds (wrapping) to a value in shared memory and returns the old value.
    shared_add_u32, u32, reg32, "atom.shared.add.u32", u32::wrapping_add;
    /// Adds (wrapping) to a value in shared memory and returns the old value.
    shared_add_u64, u64, reg64, "atom.shared.add.u64", u64::wrapping_add;
    /// Stores the larger in shared memory and returns the old value.
    shared_max_u32, u32, reg32, "atom.shared.max.u32", u32::max;
    /// Stores the smaller in shared memory and returns the old value.
    shared_min_u32, u32, reg32, "atom.shared.min.u32", u32::min;
}

/// Stores `new` in shared memory if the value is `expected`; returns the old value.
#[device_inline]
#[track_caller]
pub fn shared_compare_exchange_u64(array: super::shared::Shared<u64>, index: u32, expected: u64, new: u64) -> u64 {
    let address = array.address_of(index);
    #[cfg(target_arch = "nvptx64")]
    {
        let was: u64;
        // SAFETY: `address_of` checked the bounds.
        unsafe {
            core::arch::asm!("atom.shared.cas.b64 {0}, [{1}], {2}, {3};", out(reg64) was, in(reg32) address, in(reg64) expected, in(reg64) new, options(nostack, preserves_flags))
        };
        was
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let mut was = 0;
        crate::simt::hooks::shared_update(address, 8, &mut |bytes| {
            if let Ok(word) = <[u8; 8]>::try_from(&*bytes) {
                was = u64::from_ne_bytes(word);
                if was == expected {
                    bytes.copy_from_slice(&new.to_ne_bytes());
                }
            }
        });
        was
    }
}

/// Adds to a float in shared memory and returns the old value. The order of several additions is not fixed, so neither are the sum's last bits.
///
/// There is no such instruction: the assembler generates a compare-and-exchange loop, so lanes that access the same address take turns.
#[device_inline]
#[track_caller]
pub fn shared_add_f32(array: super::shared::Shared<f32>, index: u32, value: f32) -> f32 {
    let address = array.address_of(index);
    #[cfg(target_arch = "nvptx64")]
    {
        let was: f32;
        // SAFETY: `address_of` checked the bounds.
        unsafe {
            core::arch::asm!("atom.shared.add.f32 {0}, [{1}], {2};", out(reg32) was, in(reg32) address, in(reg32) value, options(nostack, preserves_flags))
        };
        was
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let mut was = 0.0;
        crate::simt::hooks::shared_update(address, 4, &mut |bytes| {
            if let Ok(word) = <[u8; 4]>::try_from(&*bytes) {
                was = f32::from_ne_bytes(word);
                bytes.copy_from_slice(&(was + value).to_ne_bytes());
            }
        });
        was
    }
}
