//! A kernel that declares its shape and is still `unsafe`, launched as a safe one.
use warpplay::{Buffer, Error, Function, LaunchShape, Stream};
use warpplay_gpu::cuda::{kernel, memory, thread};

/// # Safety
/// Rows are below `n`.
#[kernel(shape = LaunchShape::linear(n, 256))]
pub unsafe fn take(#[len(n)] to: *mut f32, #[len(n)] from: *const f32, #[len(n)] rows: *const u32, n: u32) {
    let Some(i) = thread::index_1d_below(n) else { return };
    // SAFETY: the contract.
    unsafe { memory::store(to, i as usize, memory::load(from, memory::load(rows, i as usize) as usize)) };
}

fn launch(
    stream: &Stream,
    function: &Function<take>,
    to: &mut Buffer<f32>,
    from: &Buffer<f32>,
    rows: &Buffer<u32>,
) -> Result<(), Error> {
    stream.run(function, (to, from, rows, 32))
}

fn main() {
    let _ = launch;
}
