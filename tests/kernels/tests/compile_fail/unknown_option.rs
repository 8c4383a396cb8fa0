//! A misspelt option is not passed over.
use warpplay_gpu::cuda::kernel;

#[kernel(maxthreads = 256)]
pub unsafe fn nothing() {}

fn main() {}
