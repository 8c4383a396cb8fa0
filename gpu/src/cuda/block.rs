//! Reductions of a block that extends along x: a tree over warps by shuffles, then over the warps' results in shared memory.
//!
//! Every thread gives a value and gets the result of all: a sum, a maximum, the index of the largest, or the sum up to its own. All threads of the block call them; the block is a
//! whole number of warps, at most 32. `scratch` is shared memory for one value a warp.
//!
//! ```
//! use warpplay_gpu::cuda::{block, kernel, memory, shared_array, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Writes which of 96 threads has the largest value of a curve.
//! ///
//! /// # Safety
//! /// Launched as one block of 96 threads; `peak` holds a value.
//! #[kernel]
//! pub unsafe fn find_peak(peak: *mut u32) {
//!     let own = thread::thread_idx_x();
//!     let height = 100.0 - (own as f32 - 70.0) * (own as f32 - 70.0);
//!     let (_, best) = block::argmax(height, own, shared_array![f32; 3], shared_array![u32; 3]);
//!     if own == 0 {
//!         // SAFETY: the one value, and one thread writes it.
//!         unsafe { memory::store(peak, 0, best) };
//!     }
//! }
//!
//! let mut peak = [0u32];
//! let _registered = register(peak.as_mut_ptr() as usize, size_of_val(&peak));
//! // SAFETY: one block of 96 threads, and room for a value.
//! unsafe { simt::launch(find_peak, LaunchShape::new(1, 96), (peak.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(peak, [70]);
//! ```
//!
//! | function | what every thread gets |
//! | --- | --- |
//! | [`sum`], [`max`], [`reduce`] | the result over all threads |
//! | [`argmax`] | the largest value and its index; of equal ones the smallest index |
//! | [`inclusive_sum`] | the sum up to its own value, and that of all |
//!
//! Each ends with a barrier, so that `scratch` may be used again at once.

use super::shared::Shared;
use super::sync::sync_threads;
use super::thread::{WARP, block_dim_x, lane, thread_idx_x, warp_index};
use super::warp::{self, Word};

/// Most warps of a block.
pub const MAX_WARPS: u32 = 32;

/// Combines the values of all threads; every thread gets the result. `identity` is the neutral element of `combine`.
#[device_inline]
#[track_caller]
pub fn reduce<T: Word>(value: T, identity: T, scratch: Shared<T>, combine: impl Fn(T, T) -> T + Copy) -> T {
    let of_warp = warp::reduce(value, combine);
    let warps = block_dim_x() / WARP;
    if warps == 1 {
        return of_warp;
    }
    if lane() == 0 {
        scratch.set(warp_index(), of_warp);
    }
    // Every warp's value must be there before any thread reads them.
    sync_threads();
    let value = if lane() < warps { scratch.get(lane()) } else { identity };
    let result = warp::reduce(value, combine);
    // All have read: the scratch may be written again.
    sync_threads();
    result
}

/// Sum over the block, on every thread.
#[device_inline]
#[track_caller]
pub fn sum<T: Word + core::ops::Add<Output = T> + Default>(value: T, scratch: Shared<T>) -> T {
    reduce(value, T::default(), scratch, |a, b| a + b)
}

/// Largest value of the block, on every thread; `least` is no larger than any value.
#[device_inline]
#[track_caller]
pub fn max<T: Word + PartialOrd>(value: T, least: T, scratch: Shared<T>) -> T {
    reduce(value, least, scratch, |a, b| if b > a { b } else { a })
}

/// The largest value of the block and the smallest index that has it, on every thread. No value is NaN.
#[device_inline]
#[track_caller]
pub fn argmax(value: f32, index: u32, values: Shared<f32>, indices: Shared<u32>) -> (f32, u32) {
    let (of_warp, index) = warp::reduce_argmax(value, index);
    let warps = block_dim_x() / WARP;
    if warps == 1 {
        return (of_warp, index);
    }
    if lane() == 0 {
        values.set(warp_index(), of_warp);
        indices.set(warp_index(), index);
    }
    // Every warp's best must be there before any thread reads them.
    sync_threads();
    let (value, index) =
        if lane() < warps { (values.get(lane()), indices.get(lane())) } else { (f32::NEG_INFINITY, u32::MAX) };
    let result = warp::reduce_argmax(value, index);
    // All have read: the scratch may be written again.
    sync_threads();
    result
}

/// Sum of the values of this thread and all threads before it, and the sum over the block.
#[device_inline]
#[track_caller]
pub fn inclusive_sum<T: Word + core::ops::Add<Output = T> + Default>(value: T, scratch: Shared<T>) -> (T, T) {
    let in_warp = warp::inclusive_sum(value);
    let warps = block_dim_x() / WARP;
    if warps == 1 {
        return (in_warp, warp::shuffle(warp::ALL, in_warp, WARP - 1));
    }
    if lane() == WARP - 1 {
        scratch.set(warp_index(), in_warp);
    }
    // Every warp's total must be there before any thread reads them.
    sync_threads();
    let totals = if lane() < warps { scratch.get(lane()) } else { T::default() };
    let up_to = warp::inclusive_sum(totals);
    let before = warp::shuffle(warp::ALL, up_to, warp_index().wrapping_sub(1) % WARP);
    let all = warp::shuffle(warp::ALL, up_to, WARP - 1);
    // All have read: the scratch may be written again.
    sync_threads();
    let in_block = if thread_idx_x() < WARP { in_warp } else { before + in_warp };
    (in_block, all)
}
