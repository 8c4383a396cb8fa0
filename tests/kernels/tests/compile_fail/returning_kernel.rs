//! There is nobody to return a value to.
use warpplay_gpu::cuda::kernel;

#[kernel]
pub unsafe fn largest(values: *const f32) -> f32 {
    unsafe { values.read() }
}

fn main() {}
