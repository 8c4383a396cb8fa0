//! Memory: vectors of 16 bytes, rows, asynchronous copies, static and dynamic shared memory.

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::cuda::memory::{self, Vec4};
use warpplay_gpu::cuda::shared::{self, Shared};
use warpplay_gpu::cuda::{kernel, shared_array, sync, thread};

/// Threads of the kernels in this module that use static shared memory.
pub const BLOCK: u32 = 96;

/// Copies `n` vectors in reverse, and adds up each of the rows of `row_stride` words they make.
///
/// * Launch: a thread a vector.
///
/// # Safety
/// `from` and `to` hold `n` vectors (16 bytes, as words), `sums` a value a row of `row_stride` words.
#[kernel]
pub unsafe fn test_vectors(from: *const u32, to: *mut u32, sums: *mut u32, n: u32, row_stride: u32) {
    let Some(index) = thread::index_1d_below(n) else { return };
    // SAFETY: index < n; buffers are aligned to 16 bytes; each entry has one thread.
    unsafe {
        let vector = memory::load_vec4(from.cast::<Vec4>().add((n - 1 - index) as usize));
        memory::store_vec4(to.cast::<Vec4>().add(index as usize), vector);
        if index < 4 * n / row_stride {
            let row = memory::row(from, index, row_stride);
            let mut sum = 0u32;
            let mut at = 0;
            while at < row.len() {
                sum = sum.wrapping_add(row[at]);
                at += 1;
            }
            memory::row_mut(sums, index, 1)[0] = sum;
        }
    }
}

/// Two groups of asynchronous copies; `out` gets the second half of the block's vectors first.
///
/// * Launch: one block of [`BLOCK`] threads.
///
/// # Safety
/// One block of [`BLOCK`] threads; `from` holds `2 * BLOCK` vectors (as words), `out` as many.
#[kernel]
pub unsafe fn test_copy_async(from: *const u32, out: *mut u32) {
    let tile = shared_array![Vec4; 2 * BLOCK as usize];
    let me = thread::thread_idx_x();
    // SAFETY: inside the arrays; barriers stand between one thread's copy and another's read.
    unsafe {
        let from = from.cast::<Vec4>();
        memory::copy_async(tile, me, from.add(me as usize));
        memory::async_commit();
        memory::copy_async(tile, BLOCK + me, from.add((BLOCK + me) as usize));
        memory::async_commit();
        memory::async_wait::<1>();
        // The first group of every thread must be there.
        sync::sync_threads();
        let first = tile.get((me + 1) % BLOCK);
        memory::async_wait_all();
        // Now the second too.
        sync::sync_threads();
        let second = tile.get(BLOCK + (me + 1) % BLOCK);
        memory::store_vec4(out.cast::<Vec4>().add(me as usize), second);
        memory::store_vec4(out.cast::<Vec4>().add((BLOCK + me) as usize), first);
    }
}

/// Twelve bytes aligned to four.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Twelve(pub u32, pub u16, pub u16, pub u32);

/// Six bytes aligned to two.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Six(pub u16, pub [u8; 2], pub u16);

/// Sixteen bytes aligned to eight.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Sixteen(pub u64, pub u32, pub u32);

/// Forty bytes aligned to eight.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Forty(pub u64, pub [u32; 6], pub u64);

/// Every thread puts its value into shared memory and takes its neighbour's out.
#[inline(always)]
unsafe fn through<T: Copy>(values: *const T, out: *mut T, array: Shared<T>) {
    let me = thread::thread_idx_x();
    // SAFETY: an entry for each thread, as the kernels promise.
    unsafe {
        array.set(me, memory::load(values, me as usize));
        // All must have written.
        sync::sync_threads();
        memory::store(out, me as usize, array.get((me + 1) % array.len()));
    }
}

macro_rules! through_shared {
    ($($name:ident, $type:ty;)*) => {$(
        /// Values through a static shared array.
        ///
        /// * Launch: one block of [`BLOCK`] threads.
        ///
        /// # Safety
        /// One block of [`BLOCK`] threads; both arrays have an entry a thread.
        #[kernel]
        pub unsafe fn $name(values: *const $type, out: *mut $type) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { through(values, out, shared_array![$type; BLOCK as usize]) }
        }
    )*};
}

through_shared! {
    test_shared_1, u8;
    test_shared_2, u16;
    test_shared_4, f32;
    test_shared_8, u64;
    test_shared_3, [u8; 3];
    test_shared_6, Six;
    test_shared_12, Twelve;
    test_shared_16, Sixteen;
    test_shared_40, Forty;
}

/// Values of 16 bytes aligned to 16 through a static shared array, each given as four words.
///
/// * Launch: one block of [`BLOCK`] threads.
///
/// # Safety
/// One block of [`BLOCK`] threads; both arrays have an entry a thread.
#[kernel]
pub unsafe fn test_shared_vec4(values: *const [u32; 4], out: *mut [u32; 4]) {
    // SAFETY: buffers are aligned to 16 bytes; the rest is the kernel's contract.
    unsafe { through(values.cast::<Vec4>(), out.cast::<Vec4>(), shared_array![Vec4; BLOCK as usize]) }
}

/// Two arrays in dynamic shared memory, the second 8-byte values after `n` words; beside a static one.
///
/// * Launch: one block of `n` threads, with at least `12 * n` bytes of dynamic shared memory.
///
/// # Safety
/// One block of `n` threads, `n` even, with at least `12 * n` bytes of dynamic shared memory; the arrays have an entry a thread.
#[kernel]
pub unsafe fn test_dynamic(values: *const u32, out: *mut u64, n: u32) {
    let beside = shared_array![u32; 1024];
    let words = shared::dynamic::<u32>(0, n);
    let longs = shared::dynamic::<u64>(4 * n, n);
    let me = thread::thread_idx_x();
    // SAFETY: an entry for each thread.
    let value = unsafe { memory::load(values, me as usize) };
    words.set(me, value);
    longs.set(me, value as u64 * 3);
    beside.set(me, value.wrapping_mul(5));
    // All must have written.
    sync::sync_threads();
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);
    let sum = words.get(left) as u64 + longs.get(right) + beside.get(left) as u64;
    // SAFETY: an entry for each thread.
    unsafe { memory::store(out, me as usize, sum) };
}
