//! Four neighbouring values, moved by one instruction; every array of this module has lines of whole quads.

use crate::cuda::memory::{self, Vec4};

/// Values of a line of `channels` channels in memory: rounded up to whole quads. What is beyond the channels is 0, and its weights are 0 and stay so.
pub const fn line_length(channels: u32) -> u32 {
    channels.next_multiple_of(4)
}

/// # Safety
/// The array at `base` has the quad, aligned, and nobody writes it meanwhile.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn load_quad(base: *const f32, at: usize) -> [f32; 4] {
    // SAFETY: the caller's promise.
    unsafe { memory::load_vec4(base.add(at).cast::<Vec4>()) }.0.map(f32::from_bits)
}

/// # Safety
/// The array at `base` has the quad, aligned, and nobody else uses it meanwhile.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn store_quad(base: *mut f32, at: usize, quad: [f32; 4]) {
    // SAFETY: the caller's promise.
    unsafe { memory::store_vec4(base.add(at).cast::<Vec4>(), Vec4(quad.map(f32::to_bits))) }
}

/// The sum of two quads.
#[inline(always)]
pub(super) fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}
