//! An index that another thread may have too.
use warpplay_gpu::cuda::view::{Disjoint, OwnIndex};

fn fill(mut values: Disjoint<f32>, own: &OwnIndex) {
    let other = OwnIndex::new(own.get() + 1);
    values.set(&other, 0.0);
    let again = own.clone();
    values.set(&again, 0.0);
}

fn main() {
    let _ = fill;
}
