//! Collectives of a warp: shuffles, votes, matches, reductions.
//!
//! The 32 lanes of a warp can read each other's registers, which needs neither memory nor a barrier of the block. Every lane named in `mask` must call the same collective with the
//! same mask; [`ALL`] names all of them.
//!
//! ```
//! use warpplay_gpu::cuda::{kernel, memory, thread, warp};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Writes of each lane the sum of all indices up to its own, and how many lanes are even.
//! ///
//! /// # Safety
//! /// Launched as one warp; `found` holds two values a lane.
//! #[kernel]
//! pub unsafe fn count_up(found: *mut u32) {
//!     let lane = thread::lane();
//!     let sum = warp::inclusive_sum(lane);
//!     let n_even = warp::ballot(warp::ALL, lane % 2 == 0).count_ones();
//!     // SAFETY: lane < 32, and each lane has its own two values.
//!     unsafe { (memory::store(found, 2 * lane as usize, sum), memory::store(found, 2 * lane as usize + 1, n_even)) };
//! }
//!
//! let mut found = [0u32; 64];
//! let _registered = register(found.as_mut_ptr() as usize, size_of_val(&found));
//! // SAFETY: one warp, two values a lane.
//! unsafe { simt::launch(count_up, LaunchShape::new(1, 32), (found.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(found[62..], [31 * 32 / 2, 16]);
//! ```
//!
//! | function | what each lane gets |
//! | --- | --- |
//! | [`shuffle`], [`shuffle_xor`], [`shuffle_down`], [`shuffle_up`] | the value of another lane |
//! | [`ballot`], [`any`], [`all`] | for which lanes something holds |
//! | [`match_any`] | which lanes have the same value |
//! | [`reduce`], [`reduce_sum`], [`reduce_max`], [`reduce_min`], [`reduce_argmax`] | one result of all values |
//! | [`reduce_max_u32`], [`reduce_min_u32`] | the same in one instruction, from `sm_80` on |
//! | [`inclusive_sum`] | the sum of the values up to its own |
//!
//! All go through LLVM's intrinsics, which the compiler knows to be convergent. [`Word`] is what a value must be.

#[cfg(not(target_arch = "nvptx64"))]
use crate::simt::hooks;

use super::thread::WARP;

/// All lanes of a warp.
pub const ALL: u32 = u32::MAX;

#[cfg(target_arch = "nvptx64")]
mod nvvm {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
        pub fn shfl_idx(mask: i32, value: i32, lane: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
        pub fn shfl_bfly(mask: i32, value: i32, lane: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
        pub fn shfl_down(mask: i32, value: i32, delta: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
        pub fn shfl_up(mask: i32, value: i32, delta: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        pub fn ballot(mask: i32, predicate: bool) -> i32;
        #[cfg(target_feature = "sm_80")]
        #[link_name = "llvm.nvvm.redux.sync.umax"]
        pub fn redux_umax(value: i32, mask: i32) -> i32;
        #[cfg(target_feature = "sm_80")]
        #[link_name = "llvm.nvvm.redux.sync.umin"]
        pub fn redux_umin(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        pub fn match_any(mask: i32, value: i32) -> i32;
    }
}

/// A value that a shuffle moves: 4 or 8 bytes.
pub trait Word: Copy {
    /// The bits, in the low end.
    fn to_bits(self) -> u64;
    /// The value of these bits.
    fn from_bits(bits: u64) -> Self;
    /// Whether the upper half of the bits is used.
    const WIDE: bool;
}

macro_rules! word {
    ($($type:ty, $wide:literal, $to:expr, $from:expr;)*) => {$(
        impl Word for $type {
            const WIDE: bool = $wide;
            #[device_inline]
            fn to_bits(self) -> u64 { let to: fn($type) -> u64 = $to; to(self) }
            #[device_inline]
            fn from_bits(bits: u64) -> Self { let from: fn(u64) -> $type = $from; from(bits) }
        }
    )*};
}

word! {
    u32, false, |v| v as u64, |b| b as u32;
    i32, false, |v| v as u32 as u64, |b| b as i32;
    f32, false, |v| v.to_bits() as u64, |b| f32::from_bits(b as u32);
    u64, true, |v| v, |b| b;
    i64, true, |v| v as u64, |b| b as i64;
    f64, true, |v| v.to_bits(), f64::from_bits;
}

#[cfg(target_arch = "nvptx64")]
#[device_inline]
fn by_halves<T: Word>(value: T, move_half: impl Fn(i32) -> i32) -> T {
    let bits = value.to_bits();
    let low = move_half(bits as i32) as u32 as u64;
    if T::WIDE {
        let high = move_half((bits >> 32) as i32) as u32 as u64;
        T::from_bits(high << 32 | low)
    } else {
        T::from_bits(low)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn from_lane<T: Word>(mask: u32, value: T, source: impl Fn(u32) -> u32) -> T {
    let lane = hooks::lane();
    let source = source(lane);
    // Like the hardware: a source outside the warp gives the lane its own value.
    let source = if source < WARP { source } else { lane } as usize;
    T::from_bits(hooks::gather(mask, &[value.to_bits()], |lanes| lanes[0][source]).unwrap_or_default())
}

/// The value of lane `source`.
#[device_inline]
#[track_caller]
pub fn shuffle<T: Word>(mask: u32, value: T, source: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a shuffle touches no memory.
    return by_halves(value, |half| unsafe { nvvm::shfl_idx(mask as i32, half, source as i32, 31) });
    #[cfg(not(target_arch = "nvptx64"))]
    from_lane(mask, value, |_| source % WARP)
}

/// The value of the lane whose index differs in the bits of `lane_mask`.
#[device_inline]
#[track_caller]
pub fn shuffle_xor<T: Word>(mask: u32, value: T, lane_mask: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a shuffle touches no memory.
    return by_halves(value, |half| unsafe { nvvm::shfl_bfly(mask as i32, half, lane_mask as i32, 31) });
    #[cfg(not(target_arch = "nvptx64"))]
    from_lane(mask, value, |lane| lane ^ lane_mask)
}

/// The value of the lane with the index higher by `delta`; a lane without such a neighbour keeps its own.
#[device_inline]
#[track_caller]
pub fn shuffle_down<T: Word>(mask: u32, value: T, delta: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a shuffle touches no memory.
    return by_halves(value, |half| unsafe { nvvm::shfl_down(mask as i32, half, delta as i32, 31) });
    #[cfg(not(target_arch = "nvptx64"))]
    from_lane(mask, value, |lane| lane + delta)
}

/// The value of the lane with the index lower by `delta`; a lane without such a neighbour keeps its own.
#[device_inline]
#[track_caller]
pub fn shuffle_up<T: Word>(mask: u32, value: T, delta: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a shuffle touches no memory. Clamp 0: the first lanes keep their own.
    return by_halves(value, |half| unsafe { nvvm::shfl_up(mask as i32, half, delta as i32, 0) });
    #[cfg(not(target_arch = "nvptx64"))]
    from_lane(mask, value, |lane| lane.wrapping_sub(delta))
}

/// One bit per lane, set where `predicate` holds.
#[device_inline]
#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a vote touches no memory.
    return unsafe { nvvm::ballot(mask as i32, predicate) as u32 };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let all = hooks::collective(mask, predicate as u64);
        (0..WARP).fold(0, |bits, lane| bits | (all[lane as usize] as u32) << lane)
    }
}

/// Whether `predicate` holds on some lane.
#[device_inline]
#[track_caller]
pub fn any(mask: u32, predicate: bool) -> bool {
    ballot(mask, predicate) != 0
}

/// Whether `predicate` holds on every lane of `mask` that exists.
#[device_inline]
#[track_caller]
pub fn all(mask: u32, predicate: bool) -> bool {
    ballot(mask, !predicate) == 0
}

/// One bit per lane, set for the lanes that hold the same value as this one.
#[device_inline]
#[track_caller]
pub fn match_any(mask: u32, value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a match touches no memory.
    return unsafe { nvvm::match_any(mask as i32, value as i32) as u32 };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // Bit 32 marks the lanes that take part, so that an absent lane equals nobody.
        let mine = value as u64 | 1 << 32;
        let all = hooks::collective(mask, mine);
        (0..WARP).fold(0, |bits, lane| bits | u32::from(all[lane as usize] == mine) << lane)
    }
}

/// Combines the values of a whole warp (all 32 lanes call it) by `combine`, which must be associative and commutative; every lane gets the result.
///
/// The order is fixed: distances 16, 8, 4, 2, 1, so that a float sum has the same bits every time.
#[device_inline]
#[track_caller]
pub fn reduce<T: Word>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut value = value;
    let mut distance = WARP / 2;
    while distance > 0 {
        value = combine(value, shuffle_xor(ALL, value, distance));
        distance /= 2;
    }
    value
}

/// Sum of a whole warp's values, on every lane.
#[device_inline]
#[track_caller]
pub fn reduce_sum<T: Word + core::ops::Add<Output = T>>(value: T) -> T {
    reduce(value, |a, b| a + b)
}

/// Largest of a whole warp's values, on every lane.
#[device_inline]
#[track_caller]
pub fn reduce_max<T: Word + PartialOrd>(value: T) -> T {
    reduce(value, |a, b| if b > a { b } else { a })
}

/// Smallest of a whole warp's values, on every lane.
#[device_inline]
#[track_caller]
pub fn reduce_min<T: Word + PartialOrd>(value: T) -> T {
    reduce(value, |a, b| if b < a { b } else { a })
}

/// Largest of a whole warp's words, on every lane; one instruction from `sm_80` on.
#[device_inline]
#[track_caller]
pub fn reduce_max_u32(value: u32) -> u32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    // SAFETY: a reduction touches no memory.
    return unsafe { nvvm::redux_umax(value as i32, ALL as i32) as u32 };
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    reduce_max(value)
}

/// Smallest of a whole warp's words, on every lane; one instruction from `sm_80` on.
#[device_inline]
#[track_caller]
pub fn reduce_min_u32(value: u32) -> u32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    // SAFETY: a reduction touches no memory.
    return unsafe { nvvm::redux_umin(value as i32, ALL as i32) as u32 };
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
    reduce_min(value)
}

/// A word that orders like the float: all bits of negative floats are inverted, of others only the sign. NaN is not allowed.
#[device_inline]
const fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The largest value of a whole warp and the smallest index that has it, on every lane. No value is NaN.
#[device_inline]
#[track_caller]
pub fn reduce_argmax(value: f32, index: u32) -> (f32, u32) {
    let mine = ordered(value);
    let largest = reduce_max_u32(mine);
    let index = reduce_min_u32(if mine == largest { index } else { u32::MAX });
    let bits = if largest >> 31 == 1 { largest & !(1 << 31) } else { !largest };
    (f32::from_bits(bits), index)
}

/// Sum of the values of this lane and the lanes before it (all 32 lanes call it).
#[device_inline]
#[track_caller]
pub fn inclusive_sum<T: Word + core::ops::Add<Output = T>>(value: T) -> T {
    let mut value = value;
    let lane = super::thread::lane();
    let mut distance = 1;
    while distance < WARP {
        let before = shuffle_up(ALL, value, distance);
        if lane >= distance {
            value = value + before;
        }
        distance *= 2;
    }
    value
}
