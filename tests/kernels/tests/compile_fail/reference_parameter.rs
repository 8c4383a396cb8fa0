//! References of the host mean nothing on the device.
use warpplay_gpu::cuda::kernel;

#[kernel]
pub unsafe fn fill(values: &mut f32) {
    *values = 0.0;
}

fn main() {}
