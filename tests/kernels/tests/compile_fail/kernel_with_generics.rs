//! An entry point has one name, so no generics.
use warpplay_gpu::cuda::kernel;

#[kernel]
pub unsafe fn fill<T: Copy>(values: *mut T, value: T) {
    unsafe { values.write(value) };
}

fn main() {}
