//! A product whose lanes have not met.
use warpplay_gpu::cuda::mma;
use warpplay_gpu::cuda::sync::WholeWarp;

fn multiply(c: [f32; 4]) -> [f32; 4] {
    let whole = WholeWarp(Default::default());
    mma::f16(&whole, c, [0; 4], [0; 2])
}

fn main() {
    let _ = multiply;
}
