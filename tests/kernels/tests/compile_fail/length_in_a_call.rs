//! A length whose product would overflow before the launch compares it.

use warpplay_gpu::cuda::DeviceArgs;

/// Values.
#[repr(C)]
#[derive(Clone, Copy, DeviceArgs)]
pub struct Values {
    /// A word for 32 bits of each row.
    #[len(words(n_rows * n_columns))]
    pub sums: *mut u32,
    pub n_rows: u32,
    pub n_columns: u32,
}

const fn words(n: u32) -> u32 {
    n.div_ceil(32)
}

fn main() {}
