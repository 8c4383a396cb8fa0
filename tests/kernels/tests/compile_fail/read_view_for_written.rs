//! What a kernel writes is borrowed exclusively.

use warpplay::{Buffer, InOut};
use warpplay_test_kernels::index::ScaleArgs;

fn main() {}

pub fn task<'a>(values: &'a Buffer<f32>, factors: &'a Buffer<f32>) -> ScaleArgs<'a> {
    ScaleArgs { values: values.view(), factors: factors.view(), before: InOut::none(), n_rows: 1, n_columns: 1 }
}
