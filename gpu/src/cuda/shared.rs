//! Shared memory: one array for all threads of a block, on the multiprocessor itself.
//!
//! Threads of a block hand values to each other here, and keep what they read often; it is much nearer than global memory, and gone when the block ends. Static arrays come
//! from [`shared_array!`](super::shared_array), dynamic ones from [`dynamic`], whose size is the launch shape's `shared_bytes`.
//!
//! ```
//! use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Turns the order of 64 values round.
//! ///
//! /// # Safety
//! /// Launched as one block of 64 threads; `values` holds a value for each.
//! #[kernel]
//! pub unsafe fn reverse(values: *mut u32) {
//!     let own = thread::thread_idx_x();
//!     let tile = shared_array![u32; 64];
//!     // SAFETY: own < 64.
//!     tile.set(own, unsafe { memory::load(values, own as usize) });
//!     sync::sync_threads(); // every value is in the tile before one is taken out
//!     // SAFETY: own < 64, and no other thread has it.
//!     unsafe { memory::store(values, own as usize, tile.get(63 - own)) };
//! }
//!
//! let mut values = std::array::from_fn::<u32, 64, _>(|i| i as u32);
//! let _registered = register(values.as_mut_ptr() as usize, size_of_val(&values));
//! // SAFETY: one block of 64 threads, a value each.
//! unsafe { simt::launch(reverse, LaunchShape::new(1, 64), (values.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!((values[0], values[63]), (63, 0));
//! ```
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Shared`] | an array: its loads and stores check the bounds, those named `…_unchecked` do not |
//! | [`shared_array!`](super::shared_array) | a static array, 48 KiB a kernel at most |
//! | [`dynamic`] | a part of the launch's `shared_bytes` |
//!
//! Loads and stores are the `.shared` forms: a generic pointer would make the hardware find out at every access which memory is meant. It has 32 banks of 4-byte words, word `w` in
//! bank `w % 32`; lanes of a warp that ask one bank for different words wait for each other, and [`simt::banks`](crate::simt::banks) counts how often.

use core::marker::PhantomData;

use super::vec4::Vec4;

/// An array in the shared memory of the current block.
///
/// Copies refer to the same memory. Accesses are bounds-checked; an access out of bounds ends the kernel. After a barrier,
/// another thread may read a value that one thread has written.
pub struct Shared<T> {
    address: u32,
    len: u32,
    element: PhantomData<*mut T>,
}

impl<T> Clone for Shared<T> {
    #[device_inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 16 .b8 warpplay_dynamic_shared[];");

/// The launch's dynamic shared memory from `offset_bytes` on, as `len` values. The offset must be aligned for `T`.
#[device_inline]
#[track_caller]
pub fn dynamic<T: Copy>(offset_bytes: u32, len: u32) -> Shared<T> {
    #[cfg(target_arch = "nvptx64")]
    let (base, bytes): (u32, u32) = {
        let (base, bytes): (u32, u32);
        // SAFETY: reads an address and a special register.
        unsafe {
            core::arch::asm!("mov.u32 {0}, warpplay_dynamic_shared;", out(reg32) base, options(pure, nomem, nostack, preserves_flags));
            core::arch::asm!("mov.u32 {0}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem, nostack, preserves_flags));
        }
        (base, bytes)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    let (base, bytes) = crate::simt::hooks::shared_dynamic();
    let end = offset_bytes as u64 + len as u64 * size_of::<T>() as u64;
    if end > bytes as u64 || !(base + offset_bytes).is_multiple_of(align_of::<T>() as u32) {
        super::trap();
    }
    Shared { address: base + offset_bytes, len, element: PhantomData }
}

impl<T: Copy> Shared<T> {
    /// The array of `len` values at shared address `address`.
    ///
    /// # Safety
    /// The memory belongs to the block for the whole kernel and is aligned for `T`.
    #[device_inline]
    pub unsafe fn from_address(address: u32, len: u32) -> Self {
        Self { address, len, element: PhantomData }
    }

    /// The block's static array `name`, the expansion of [`shared_array!`](super::shared_array) on the host.
    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    pub fn declare(name: &'static str, len: u32) -> Self {
        let address = crate::simt::hooks::shared_static(name, len * size_of::<T>() as u32);
        Self { address, len, element: PhantomData }
    }

    /// Address of the first value in the shared window, also for an empty array.
    #[device_inline]
    pub fn base(self) -> u32 {
        self.address
    }

    /// Number of values.
    #[device_inline]
    #[allow(clippy::len_without_is_empty, reason = "an array's length is part of its type, not a state")]
    pub fn len(self) -> u32 {
        self.len
    }

    /// Address of a value in the shared window, for `asm!`. Traps out of bounds.
    #[device_inline]
    #[track_caller]
    pub fn address_of(self, index: u32) -> u32 {
        if index >= self.len {
            super::trap();
        }
        self.address + index * size_of::<T>() as u32
    }

    /// Address of a value in the shared window, for `asm!`, without checking the bounds.
    ///
    /// # Safety
    /// `index` is below the length.
    #[device_inline]
    pub unsafe fn address_of_unchecked(self, index: u32) -> u32 {
        self.address + index * size_of::<T>() as u32
    }

    /// Reads one value.
    #[device_inline]
    #[track_caller]
    pub fn get(self, index: u32) -> T {
        let address = self.address_of(index);
        // SAFETY: `address_of` checked the bounds.
        unsafe { Self::load(address) }
    }

    /// Reads one value without checking the bounds (`simt` still checks them).
    ///
    /// # Safety
    /// `index` is below the length.
    #[device_inline]
    #[track_caller]
    pub unsafe fn get_unchecked(self, index: u32) -> T {
        // SAFETY: the caller keeps this function's contract.
        unsafe { Self::load(self.address + index * size_of::<T>() as u32) }
    }

    /// Writes one value.
    #[device_inline]
    #[track_caller]
    pub fn set(self, index: u32, value: T) {
        let address = self.address_of(index);
        // SAFETY: `address_of` checked the bounds.
        unsafe { Self::store(address, value) }
    }

    /// Writes one value without checking the bounds (`simt` still checks them).
    ///
    /// # Safety
    /// `index` is below the length.
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_unchecked(self, index: u32, value: T) {
        // SAFETY: the caller keeps this function's contract.
        unsafe { Self::store(self.address + index * size_of::<T>() as u32, value) }
    }

    /// Writes one value in the same array of the block with `rank` in the cluster; it has arrived after the cluster's barrier. Types of 4, 8 or 16 bytes.
    ///
    /// # Safety
    /// `index` is below the length, and the cluster has that rank. (`simt` looks at both.)
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_in_cluster_unchecked(self, rank: u32, index: u32, value: T) {
        let address = self.address + index * size_of::<T>() as u32;
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: the caller vouches for index and rank; every block of a cluster has its arrays at the same addresses.
        unsafe {
            device::store_in_cluster(rank, address, value)
        };
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
        {
            let _ = (rank, address, value);
            super::trap();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            // SAFETY: the value's own bytes, as in `store`.
            let bytes = unsafe { core::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
            crate::simt::hooks::cluster_shared_write(rank, address, bytes);
        }
    }

    /// Reads one value of the same array of the block with `rank` in the cluster. Types of 16 bytes.
    ///
    /// # Safety
    /// `index` is below the length, the cluster has that rank, and the block is there until the cluster's next barrier. (`simt` looks at the first two.)
    #[device_inline]
    #[track_caller]
    pub unsafe fn get_in_cluster_unchecked(self, rank: u32, index: u32) -> T {
        const { assert!(size_of::<T>() == 16) };
        let address = self.address + index * size_of::<T>() as u32;
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: the caller vouches for index and rank; every block of a cluster has its arrays at the same addresses.
        unsafe {
            device::load_in_cluster(rank, address)
        }
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
        {
            let _ = (rank, address);
            super::trap()
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let mut value = core::mem::MaybeUninit::<T>::uninit();
            // SAFETY: exactly the value's bytes; `cluster_shared_read` fills them all or ends the launch.
            unsafe {
                let bytes = core::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), size_of::<T>());
                crate::simt::hooks::cluster_shared_read(rank, address, bytes);
                value.assume_init()
            }
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn load(address: u32) -> T {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller passes an address in bounds; the value's bytes were written as a `T` (shared memory holds no other type here).
        unsafe {
            device::load(address)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let mut value = core::mem::MaybeUninit::<T>::uninit();
            // SAFETY: exactly the value's bytes; `shared_read` fills them all or ends the launch.
            unsafe {
                let bytes = core::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), size_of::<T>());
                crate::simt::hooks::shared_read(address, bytes);
                value.assume_init()
            }
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn store(address: u32, value: T) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller passes an address in bounds.
        unsafe {
            device::store(address, value)
        };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            // SAFETY: the value's own bytes. Types used here have no padding that matters: it is copied, not interpreted.
            let bytes = unsafe { core::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
            crate::simt::hooks::shared_write(address, bytes);
        }
    }
}

impl Shared<f32> {
    /// Reads the four values from `index` on at once, without checking the bounds (`simt` still checks them).
    ///
    /// # Safety
    /// `index` is a multiple of 4, `index + 4` at most the length; the array is aligned to 16 bytes.
    #[device_inline]
    #[track_caller]
    pub unsafe fn get_quad_unchecked(self, index: u32) -> [f32; 4] {
        // SAFETY: the array's own memory, whose quads are aligned; quad `index / 4` lies inside.
        let words = unsafe { Shared::<Vec4>::from_address(self.address, self.len / 4).get_unchecked(index / 4) };
        words.0.map(f32::from_bits)
    }

    /// Writes the four values from `index` on at once, without checking the bounds (`simt` still checks them).
    ///
    /// # Safety
    /// As [`get_quad_unchecked`](Shared::get_quad_unchecked).
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_quad_unchecked(self, index: u32, quad: [f32; 4]) {
        let words = Vec4(quad.map(f32::to_bits));
        // SAFETY: the array's own memory, whose quads are aligned; quad `index / 4` lies inside.
        unsafe { Shared::<Vec4>::from_address(self.address, self.len / 4).set_unchecked(index / 4, words) };
    }
}

#[cfg(target_arch = "nvptx64")]
mod device {
    use core::arch::asm;
    use core::mem::transmute_copy;

    #[cfg(target_feature = "sm_90")]
    #[device_inline]
    pub unsafe fn store_in_cluster<T: Copy>(rank: u32, address: u32, value: T) {
        // SAFETY (whole body): the caller gives a valid address of the block and a rank of the cluster.
        unsafe {
            let at: u32;
            asm!("mapa.shared::cluster.u32 {0}, {1}, {2};", out(reg32) at, in(reg32) address, in(reg32) rank, options(pure, nomem, nostack, preserves_flags));
            match size_of::<T>() {
                4 => {
                    let v = transmute_copy::<T, u32>(&value);
                    asm!("st.shared::cluster.b32 [{0}], {1};", in(reg32) at, in(reg32) v, options(nostack, preserves_flags));
                }
                8 => {
                    let v = transmute_copy::<T, [u32; 2]>(&value);
                    asm!("st.shared::cluster.v2.b32 [{0}], {{{1}, {2}}};", in(reg32) at, in(reg32) v[0], in(reg32) v[1], options(nostack, preserves_flags));
                }
                16 => {
                    let v = transmute_copy::<T, [u32; 4]>(&value);
                    asm!("st.shared::cluster.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};",
                        in(reg32) at, in(reg32) v[0], in(reg32) v[1], in(reg32) v[2], in(reg32) v[3], options(nostack, preserves_flags));
                }
                _ => super::super::trap(),
            }
        }
    }

    #[cfg(target_feature = "sm_90")]
    #[device_inline]
    pub unsafe fn load_in_cluster<T: Copy>(rank: u32, address: u32) -> T {
        // SAFETY (whole body): the caller gives a valid address of the block, a rank of the cluster, and a type of 16 bytes.
        unsafe {
            let at: u32;
            asm!("mapa.shared::cluster.u32 {0}, {1}, {2};", out(reg32) at, in(reg32) address, in(reg32) rank, options(pure, nomem, nostack, preserves_flags));
            let mut v = [0u32; 4];
            asm!("ld.shared::cluster.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) v[0], out(reg32) v[1], out(reg32) v[2], out(reg32) v[3], in(reg32) at, options(nostack, preserves_flags));
            transmute_copy(&v)
        }
    }

    #[device_inline]
    pub unsafe fn load<T: Copy>(address: u32) -> T {
        // SAFETY (whole body): the caller gives a valid address; each arm reads size_of::<T>() bytes.
        unsafe {
            match size_of::<T>() {
                1 => {
                    let v: u16;
                    asm!("ld.shared.u8 {0}, [{1}];", out(reg16) v, in(reg32) address, options(nostack, preserves_flags));
                    transmute_copy(&(v as u8))
                }
                2 => {
                    let v: u16;
                    asm!("ld.shared.b16 {0}, [{1}];", out(reg16) v, in(reg32) address, options(nostack, preserves_flags));
                    transmute_copy(&v)
                }
                4 => {
                    let v: u32;
                    asm!("ld.shared.b32 {0}, [{1}];", out(reg32) v, in(reg32) address, options(nostack, preserves_flags));
                    transmute_copy(&v)
                }
                8 if align_of::<T>() == 8 => {
                    let v: u64;
                    asm!("ld.shared.b64 {0}, [{1}];", out(reg64) v, in(reg32) address, options(nostack, preserves_flags));
                    transmute_copy(&v)
                }
                16 if align_of::<T>() == 16 => {
                    let mut v = [0u32; 4];
                    asm!("ld.shared.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                        out(reg32) v[0], out(reg32) v[1], out(reg32) v[2], out(reg32) v[3], in(reg32) address, options(nostack, preserves_flags));
                    transmute_copy(&v)
                }
                size => {
                    let mut value = core::mem::MaybeUninit::<T>::uninit();
                    let bytes = value.as_mut_ptr().cast::<u8>();
                    let mut at = 0;
                    if align_of::<T>() % 4 == 0 {
                        while at < size {
                            *bytes.add(at).cast::<u32>() = load::<u32>(address + at as u32);
                            at += 4;
                        }
                    } else {
                        while at < size {
                            *bytes.add(at) = load::<u8>(address + at as u32);
                            at += 1;
                        }
                    }
                    value.assume_init()
                }
            }
        }
    }

    #[device_inline]
    pub unsafe fn store<T: Copy>(address: u32, value: T) {
        // SAFETY (whole body): the caller gives a valid address; each arm writes size_of::<T>() bytes.
        unsafe {
            match size_of::<T>() {
                1 => {
                    let v = transmute_copy::<T, u8>(&value) as u16;
                    asm!("st.shared.u8 [{0}], {1};", in(reg32) address, in(reg16) v, options(nostack, preserves_flags));
                }
                2 => {
                    let v = transmute_copy::<T, u16>(&value);
                    asm!("st.shared.b16 [{0}], {1};", in(reg32) address, in(reg16) v, options(nostack, preserves_flags));
                }
                4 => {
                    let v = transmute_copy::<T, u32>(&value);
                    asm!("st.shared.b32 [{0}], {1};", in(reg32) address, in(reg32) v, options(nostack, preserves_flags));
                }
                8 if align_of::<T>() == 8 => {
                    let v = transmute_copy::<T, u64>(&value);
                    asm!("st.shared.b64 [{0}], {1};", in(reg32) address, in(reg64) v, options(nostack, preserves_flags));
                }
                16 if align_of::<T>() == 16 => {
                    let v = transmute_copy::<T, [u32; 4]>(&value);
                    asm!("st.shared.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};",
                        in(reg32) address, in(reg32) v[0], in(reg32) v[1], in(reg32) v[2], in(reg32) v[3], options(nostack, preserves_flags));
                }
                size => {
                    let bytes = (&raw const value).cast::<u8>();
                    let mut at = 0;
                    if align_of::<T>() % 4 == 0 {
                        while at < size {
                            store::<u32>(address + at as u32, *bytes.add(at).cast::<u32>());
                            at += 4;
                        }
                    } else {
                        while at < size {
                            store::<u8>(address + at as u32, *bytes.add(at));
                            at += 1;
                        }
                    }
                }
            }
        }
    }
}
