//! Four arguments for three parameters.
use warpplay::{Buffer, Error, Function, LaunchShape, Stream};
use warpplay_gpu::cuda::{kernel, thread};

/// # Safety
/// `n` values in each.
#[kernel]
pub unsafe fn scale(values: *mut f32, factors: *const f32, n: u32) {
    let Some(i) = thread::index_1d_below(n) else { return };
    unsafe { *values.add(i as usize) *= *factors.add(i as usize) };
}

fn launch(stream: &Stream, function: &Function<scale>, values: &mut Buffer<f32>, factors: &Buffer<f32>) -> Result<(), Error> {
    unsafe { stream.launch(function, LaunchShape::new(1, 32), (values, factors, 32, 1)) }
}

fn main() {
    let _ = launch;
}
