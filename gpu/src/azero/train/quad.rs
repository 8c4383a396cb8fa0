//! Four neighbouring values, moved by one instruction; every array of this module has lines of whole quads.

pub(super) use crate::cuda::memory::{load_quad, store_quad};

/// Values of a line of `channels` channels in memory: rounded up to whole quads. What is beyond the channels is 0, and its weights are 0 and stay so.
pub const fn line_length(channels: u32) -> u32 {
    channels.next_multiple_of(4)
}

/// The sum of two quads.
#[device_inline]
pub(super) fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}
