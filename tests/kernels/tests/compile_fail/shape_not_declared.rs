//! A kernel without a shape, launched by it.
use warpplay::{Buffer, Error, Function, Stream};
use warpplay_gpu::cuda::{kernel, memory, thread};

/// # Safety
/// `values` holds `n` values.
#[kernel]
pub unsafe fn fill(values: *mut f32, n: u32) {
    let Some(i) = thread::index_1d_below(n) else { return };
    // SAFETY: i < n, and no other thread has this i.
    unsafe { memory::store(values, i as usize, 1.0) };
}

fn launch(stream: &Stream, function: &Function<fill>, values: &mut Buffer<f32>) -> Result<(), Error> {
    // SAFETY: 32 values.
    unsafe { stream.run_unchecked(function, (values, 32)) }
}

fn main() {
    let _ = launch;
}
