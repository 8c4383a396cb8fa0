//! A safe kernel, launched safely.
use warpplay::{Buffer, Error, Function, LaunchShape, Stream};
use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_gpu::cuda::{kernel, thread};

#[kernel(shape = LaunchShape::linear(n, 256))]
pub fn scale(#[len(n as usize)] mut values: Disjoint<f32>, #[len(n as usize)] factors: Slice<f32>, n: u32) {
    let Some(own) = thread::own_index_below(n) else { return };
    values.set(&own, values.get(&own) * factors.get(own.get() as usize));
}

fn launch(stream: &Stream, function: &Function<scale>, values: &mut Buffer<f32>, factors: &Buffer<f32>) -> Result<(), Error> {
    stream.run(function, (values, factors, 32))
}

fn main() {
    let _ = launch;
}
