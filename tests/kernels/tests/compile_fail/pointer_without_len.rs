//! A structure of pointers says how many values the kernel uses.

use warpplay_gpu::cuda::DeviceArgs;

/// Values.
#[repr(C)]
#[derive(Clone, Copy, DeviceArgs)]
pub struct Values {
    /// `[n]`.
    #[len(n)]
    pub sums: *mut f32,
    pub factors: *const f32,
    pub n: u32,
}

fn main() {}
