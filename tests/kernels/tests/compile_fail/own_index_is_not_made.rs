//! An index that another thread may have too.
use warpplay_gpu::cuda::thread::OwnIndex;
use warpplay_gpu::cuda::view::Disjoint;

fn fill(mut values: Disjoint<f32>, own: &OwnIndex) {
    let other = OwnIndex(own.get() + 1, Default::default());
    values.set(&other, 0.0);
}

fn main() {
    let _ = fill;
}
