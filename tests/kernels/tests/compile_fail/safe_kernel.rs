//! No compiler checks a kernel's contract, so it is an `unsafe fn`.
use warpplay_gpu::cuda::kernel;

#[kernel]
pub fn fill(values: *mut f32) {
    unsafe { values.write(0.0) };
}

fn main() {}
