//! A pointer that no declaration describes.
use warpplay_gpu::cuda::kernel;
use warpplay_gpu::launch::LaunchShape;

#[kernel(shape = LaunchShape::new(1, 32))]
pub fn fill(values: *mut f32) {
    let _ = values;
}

fn main() {}
