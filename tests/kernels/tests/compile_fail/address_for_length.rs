//! An address, whose length nobody knows, for a pointer with a declared length.
use warpplay::{Error, Function, LaunchShape, Stream};
use warpplay_gpu::cuda::{kernel, memory, thread};

/// # Safety
/// None beside the declaration.
#[kernel(shape = LaunchShape::linear(n, 256))]
pub unsafe fn fill(#[len(n)] values: *mut f32, n: u32) {
    let Some(i) = thread::index_1d_below(n) else { return };
    // SAFETY: i < n, and no other thread has this i.
    unsafe { memory::store(values, i as usize, 1.0) };
}

fn launch(stream: &Stream, function: &Function<fill>, address: *mut f32) -> Result<(), Error> {
    // SAFETY: 32 values.
    unsafe { stream.run_unchecked(function, (address, 32)) }
}

fn main() {
    let _ = launch;
}
