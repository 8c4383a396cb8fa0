//! A kernel that writes an array has it alone.

use warpplay::{Buffer, InOut};
use warpplay_test_kernels::index::ScaleArgs;

fn main() {}

pub fn task(values: &mut Buffer<f32>, factors: &Buffer<f32>) {
    let task = ScaleArgs {
        values: values.view_mut(),
        factors: factors.view(),
        before: values.view_mut(),
        n_rows: 1,
        n_columns: 1,
    };
    let _: InOut<'_, f32> = task.values;
}
