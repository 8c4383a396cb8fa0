//! Global memory: loads and stores that `simt` checks, 16-byte vectors, asynchronous copies into shared memory.
//!
//! A kernel with pointers reads and writes through [`load`] and [`store`]: on the device they are the plain instructions, under `simt` an access outside every buffer is a
//! fault that names it. Neighbouring values are moved fastest as a [`Vec4`], 16 bytes in one instruction.
//!
//! ```
//! use warpplay_gpu::cuda::memory::{self, Vec4};
//! use warpplay_gpu::cuda::{kernel, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Adds 1 to each of 4 words a thread, moved as one vector.
//! ///
//! /// # Safety
//! /// `words` holds a vector for each thread of the one block.
//! #[kernel]
//! pub unsafe fn increment(words: *mut Vec4) {
//!     let own = thread::thread_idx_x() as usize;
//!     // SAFETY: a vector for each thread, which no other thread has.
//!     unsafe {
//!         let Vec4(four) = memory::load_vec4(words.add(own));
//!         memory::store_vec4(words.add(own), Vec4(four.map(|word| word + 1)));
//!     }
//! }
//!
//! let mut words = [Vec4([1, 2, 3, 4]); 32];
//! let _registered = register(words.as_mut_ptr() as usize, size_of_val(&words));
//! // SAFETY: one block of 32 threads, a vector each.
//! unsafe { simt::launch(increment, LaunchShape::new(1, 32), (words.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(words[31].0, [2, 3, 4, 5]);
//! ```
//!
//! | item | what it is |
//! | --- | --- |
//! | [`load`], [`store`] | a value at an index |
//! | [`load_global`], [`store_global`] | the same, for a pointer that is a field of a structure |
//! | [`Vec4`], [`load_vec4`], [`store_vec4`] | 16 bytes in one instruction |
//! | [`row`], [`row_mut`] | a row of a matrix as a slice |
//! | [`prefetch`] | brings a cache line into the second-level cache |
//! | [`copy_by_block`] | a structure, copied by all threads of a block |
//! | [`copy_async`], [`copy_async_or_zero`], [`copy_async_some`], [`async_commit`], [`async_wait`], [`async_wait_all`] | copies into shared memory that go on while the thread does (from `sm_80` on; before it they are plain copies) |
//!
//! Index arithmetic is done in `usize`, so that it cannot wrap.

use super::shared::Shared;
#[doc(inline)]
pub use super::vec4::Vec4;

/// Reads element `index` of the array at `base`.
///
/// # Safety
/// The array has more than `index` elements, all initialised, and nobody writes this one meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn load<T: Copy>(base: *const T, index: usize) -> T {
    // SAFETY: the caller vouches for the element.
    unsafe {
        let at = base.add(index);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::simt::hooks::check_global(at as usize, size_of::<T>(), crate::simt::Access::Read);
        at.read()
    }
}

/// Writes element `index` of the array at `base`.
///
/// # Safety
/// The array has more than `index` elements, and nobody else accesses this one meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn store<T: Copy>(base: *mut T, index: usize, value: T) {
    // SAFETY: the caller vouches for the element.
    unsafe {
        let at = base.add(index);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::simt::hooks::check_global(at as usize, size_of::<T>(), crate::simt::Access::Write);
        at.write(value);
    }
}

mod sealed {
    /// Of the types of [`GlobalNumber`](super::GlobalNumber) alone.
    pub trait Sealed {}
}

/// A type that [`load_global`] and [`store_global`] move: `u16`, `u32`, `f32` or `f64`.
pub trait GlobalNumber: sealed::Sealed + Copy {
    /// Reads the number at `at`.
    ///
    /// # Safety
    /// `at` is an aligned, initialised number in global memory, not in shared or local memory, and nobody writes it meanwhile.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn load_at(at: *const Self) -> Self;

    /// Writes the number at `at`.
    ///
    /// # Safety
    /// `at` is the aligned place of a number in global memory, not in shared or local memory, and nobody else accesses it meanwhile.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn store_at(at: *mut Self, value: Self);
}

macro_rules! global_number {
    ($type:ty, $register:ident, $suffix:literal) => {
        impl sealed::Sealed for $type {}
        impl GlobalNumber for $type {
            #[cfg(target_arch = "nvptx64")]
            #[device_inline]
            unsafe fn load_at(at: *const Self) -> Self {
                let value;
                // SAFETY: `at` is an initialised number in global memory, as `# Safety` says; a load changes nothing, and `pure, readonly` lets the compiler only merge or drop it between writes.
                unsafe {
                    core::arch::asm!(concat!("ld.global.", $suffix, " {0}, [{1}];"), out($register) value, in(reg64) at,
                        options(pure, readonly, nostack, preserves_flags))
                };
                value
            }

            #[cfg(target_arch = "nvptx64")]
            #[device_inline]
            unsafe fn store_at(at: *mut Self, value: Self) {
                // SAFETY: `at` is in global memory and nobody else accesses it, as `# Safety` says; without `readonly` or `pure` the compiler orders the store with all other accesses.
                unsafe {
                    core::arch::asm!(concat!("st.global.", $suffix, " [{0}], {1};"), in(reg64) at, in($register) value,
                        options(nostack, preserves_flags))
                };
            }
        }
    };
}
global_number!(u16, reg16, "b16");
global_number!(u32, reg32, "b32");
global_number!(f32, reg32, "b32");
global_number!(f64, reg64, "b64");

/// [`load`] as `ld.global`. The compiler infers global memory for a pointer that is a kernel's parameter. For a pointer from a structure it emits a generic load, which is slower and also
/// waits for earlier stores to shared memory.
///
/// # Safety
/// As [`load`]; the array is aligned and in global memory, not in shared or local memory.
#[device_inline]
#[track_caller]
pub unsafe fn load_global<T: GlobalNumber>(base: *const T, index: usize) -> T {
    // SAFETY: `# Safety` names the element: it is in the array, aligned, initialised, in global memory, and not written meanwhile.
    unsafe {
        #[cfg(target_arch = "nvptx64")]
        return T::load_at(base.add(index));
        #[cfg(not(target_arch = "nvptx64"))]
        load(base, index)
    }
}

/// [`store`] as `st.global`; see [`load_global`].
///
/// # Safety
/// As [`store`]; the array is aligned and in global memory, not in shared or local memory.
#[device_inline]
#[track_caller]
pub unsafe fn store_global<T: GlobalNumber>(base: *mut T, index: usize, value: T) {
    // SAFETY: `# Safety` names the element: it is in the array, aligned, in global memory, and nobody else accesses it meanwhile.
    unsafe {
        #[cfg(target_arch = "nvptx64")]
        T::store_at(base.add(index), value);
        #[cfg(not(target_arch = "nvptx64"))]
        store(base, index, value)
    }
}

/// Bytes of a line of the second-level cache.
pub const LINE: usize = 128;

/// Prefetches the cache line that contains `at` into the second-level cache. The thread does not wait.
///
/// # Safety
/// `at` is in global memory.
#[device_inline]
#[track_caller]
pub unsafe fn prefetch(at: *const u8) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a prefetch reads and writes no value; `at` is in global memory, as the instruction requires.
    unsafe {
        core::arch::asm!("prefetch.global.L2 [{0}];", in(reg64) at, options(readonly, nostack, preserves_flags))
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::simt::hooks::check_prefetch(at as usize);
}

/// Copies one value by all threads of a block that extends along x: one word per thread if the value consists of words, otherwise one byte per thread.
///
/// # Safety
/// Called by every thread of the block. Both values are valid global memory and do not overlap, and nobody else writes them meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn copy_by_block<T: Copy>(to: *mut T, from: *const T) {
    let first = super::thread::thread_idx_x() as usize;
    let threads = super::thread::block_dim_x() as usize;
    // SAFETY: the caller vouches for both values; each piece is copied by one thread.
    unsafe {
        if align_of::<T>().is_multiple_of(4) {
            for word in super::thread::strided(first, size_of::<T>() / 4, threads) {
                store(to.cast::<u32>(), word, load(from.cast::<u32>(), word));
            }
        } else {
            for byte in super::thread::strided(first, size_of::<T>(), threads) {
                store(to.cast::<u8>(), byte, load(from.cast::<u8>(), byte));
            }
        }
    }
}

/// Row `row` of a row-major array whose rows have `row_stride` elements.
///
/// # Safety
/// The array holds that row, initialised, and nobody writes it while the slice lives.
#[device_inline]
#[track_caller]
pub unsafe fn row<'a, T>(base: *const T, row: u32, row_stride: u32) -> &'a [T] {
    let offset = row as usize * row_stride as usize;
    // SAFETY: the caller vouches for the row.
    unsafe {
        let at = base.add(offset);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::simt::hooks::check_global(at as usize, size_of::<T>() * row_stride as usize, crate::simt::Access::Read);
        core::slice::from_raw_parts(at, row_stride as usize)
    }
}

/// Row `row` of a row-major array whose rows have `row_stride` elements, to be written.
///
/// # Safety
/// The array holds that row, initialised, and nobody else accesses it while the slice lives.
#[device_inline]
#[track_caller]
pub unsafe fn row_mut<'a, T>(base: *mut T, row: u32, row_stride: u32) -> &'a mut [T] {
    let offset = row as usize * row_stride as usize;
    // SAFETY: the caller vouches for the row.
    unsafe {
        let at = base.add(offset);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::simt::hooks::check_global(at as usize, size_of::<T>() * row_stride as usize, crate::simt::Access::Write);
        core::slice::from_raw_parts_mut(at, row_stride as usize)
    }
}

/// Reads 16 bytes with one instruction.
///
/// # Safety
/// `at` is aligned to 16 bytes; the 16 bytes are valid global memory that nobody writes meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn load_vec4(at: *const Vec4) -> Vec4 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut v = [0u32; 4];
        // SAFETY: the caller vouches for the 16 bytes.
        unsafe {
            core::arch::asm!("ld.global.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) v[0], out(reg32) v[1], out(reg32) v[2], out(reg32) v[3], in(reg64) at, options(nostack, preserves_flags, readonly))
        };
        Vec4(v)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller vouches for the 16 bytes.
    unsafe {
        load(at, 0)
    }
}

/// Writes 16 bytes with one instruction.
///
/// # Safety
/// `at` is aligned to 16 bytes; the 16 bytes are valid global memory that nobody else accesses meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn store_vec4(at: *mut Vec4, value: Vec4) {
    #[cfg(target_arch = "nvptx64")]
    {
        let v = value.0;
        // SAFETY: the caller vouches for the 16 bytes.
        unsafe {
            core::arch::asm!("st.global.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};",
                in(reg64) at, in(reg32) v[0], in(reg32) v[1], in(reg32) v[2], in(reg32) v[3], options(nostack, preserves_flags))
        };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller vouches for the 16 bytes.
    unsafe {
        store(at, 0, value)
    }
}

/// Reads the four values from element `index` of the array at `base` on with one instruction.
///
/// # Safety
/// The array has these four, initialised and aligned to 16 bytes together, and nobody writes them meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn load_quad(base: *const f32, index: usize) -> [f32; 4] {
    // SAFETY: the 16 bytes are the array's, aligned and not written meanwhile, as the caller vouches.
    unsafe { load_vec4(base.add(index).cast::<Vec4>()) }.0.map(f32::from_bits)
}

/// Writes four values from element `index` of the array at `base` on with one instruction.
///
/// # Safety
/// The array has these four, aligned to 16 bytes together, and nobody else accesses them meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn store_quad(base: *mut f32, index: usize, quad: [f32; 4]) {
    // SAFETY: the 16 bytes are the array's, aligned and nobody else's meanwhile, as the caller vouches.
    unsafe { store_vec4(base.add(index).cast::<Vec4>(), Vec4(quad.map(f32::to_bits))) }
}

/// Starts to copy 16 bytes from global to shared memory (`cp.async`); they have arrived after [`async_wait_all`] and a
/// barrier. Before `sm_80` the copy is done at once.
///
/// # Safety
/// As [`load_vec4`].
#[device_inline]
#[track_caller]
pub unsafe fn copy_async(to: Shared<Vec4>, index: u32, from: *const Vec4) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        let address = to.address_of(index);
        // SAFETY: `address_of` checked the bounds; the caller vouches for the source.
        unsafe {
            core::arch::asm!("cp.async.ca.shared.global [{0}], [{1}], 16;", in(reg32) address, in(reg64) from, options(nostack, preserves_flags))
        };
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    // SAFETY: the caller vouches for the source.
    unsafe {
        to.set(index, load_vec4(from))
    }
}

/// As [`copy_async`], without checking the bounds in shared memory (`simt` still checks them).
///
/// # Safety
/// As [`copy_async`]; and `index` is below the length.
#[device_inline]
#[track_caller]
pub unsafe fn copy_async_unchecked(to: Shared<Vec4>, index: u32, from: *const Vec4) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        // SAFETY: the caller vouches for both ends.
        unsafe {
            core::arch::asm!("cp.async.cg.shared.global [{0}], [{1}], 16;", in(reg32) to.address_of_unchecked(index), in(reg64) from, options(nostack, preserves_flags))
        };
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    // SAFETY: the caller vouches for both ends.
    unsafe {
        to.set_unchecked(index, load_vec4(from))
    }
}

/// As [`copy_async_unchecked`] where `is_there`; or else 16 bytes of 0. The second-level cache also fetches the rest of the 128 bytes (PTX 7.5 on).
///
/// # Safety
/// `index` is below the length. Where `is_there`, as [`copy_async`]; or else nothing is read.
#[device_inline]
#[track_caller]
pub unsafe fn copy_async_or_zero(to: Shared<Vec4>, index: u32, from: *const Vec4, is_there: bool) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        // SAFETY: the caller vouches for both ends.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred p; setp.eq.u32 p, {2}, 0; cp.async.cg.shared.global.L2::128B [{0}], [{1}], 16, p; }}",
                in(reg32) to.address_of_unchecked(index), in(reg64) from, in(reg32) is_there as u32, options(nostack, preserves_flags)
            )
        };
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    // SAFETY: the caller vouches for both ends.
    unsafe {
        to.set_unchecked(index, if is_there { load_vec4(from) } else { Vec4([0; 4]) })
    }
}

/// As [`copy_async_or_zero`], of the first `bytes` bytes, 16 at most; the others become 0.
///
/// # Safety
/// `index` is below the length, `bytes` at most 16. `from` is aligned to 16 bytes; so many bytes are valid global memory that nobody writes meanwhile.
#[device_inline]
#[track_caller]
pub unsafe fn copy_async_some(to: Shared<Vec4>, index: u32, from: *const Vec4, bytes: u32) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        // SAFETY: the caller vouches for both ends.
        unsafe {
            core::arch::asm!("cp.async.cg.shared.global [{0}], [{1}], 16, {2};",
                in(reg32) to.address_of_unchecked(index), in(reg64) from, in(reg32) bytes, options(nostack, preserves_flags))
        };
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    {
        let mut words = [0; 4];
        let mut at = 0;
        while at < bytes as usize && at < 16 {
            // SAFETY: one of the bytes that the caller vouches for.
            words[at / 4] |= u32::from(unsafe { load(from.cast::<u8>(), at) }) << (8 * (at % 4));
            at += 1;
        }
        // SAFETY: the caller vouches for the index.
        unsafe { to.set_unchecked(index, Vec4(words)) };
    }
}

/// Closes a group of asynchronous copies, for [`async_wait`].
#[device_inline]
pub fn async_commit() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    // SAFETY: only marks this thread's copies.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags))
    };
}

/// Waits until at most `PENDING` of this thread's newest groups are still in flight.
#[device_inline]
pub fn async_wait<const PENDING: u32>() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    // SAFETY: only waits for this thread's copies.
    unsafe {
        core::arch::asm!("cp.async.wait_group {0};", const PENDING, options(nostack, preserves_flags))
    };
}

/// Waits for all of this thread's asynchronous copies.
#[device_inline]
pub fn async_wait_all() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    // SAFETY: only waits for this thread's copies.
    unsafe {
        core::arch::asm!("cp.async.wait_all;", options(nostack, preserves_flags))
    };
}
