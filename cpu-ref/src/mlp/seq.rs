//! The sequential program: the formulas as they stand, one after the other.

use super::pieces::{self, Product};
use super::{Layer, Program, Real, Update};

/// Plain loops on one thread; every sum runs in the order of its index.
#[derive(Clone, Copy, Debug)]
pub enum Sequential {}

impl Program for Sequential {
    fn matmul<T: Real>(a: &[T], b: &[T], out: &mut [T], shape: Product) {
        pieces::matmul(a, b, out, shape);
    }

    fn column_sums<T: Real>(values: &[T], out: &mut [T]) {
        pieces::column_sums(values, out);
    }

    fn square_sum<T: Real>(values: &[T]) -> f64 {
        pieces::square_sum(values)
    }

    fn panels<T: Real>(values: &mut [T], _: usize, work: impl Fn(usize, &mut [T]) + Sync) {
        work(0, values);
    }

    fn update<T: Real>(update: &Update<T>, layer: &mut Layer<T>, gradient: &Layer<T>, mut moments: Vec<&mut Layer<T>>) {
        let mut weights: Vec<&mut [T]> = moments.iter_mut().map(|moment| &mut moment.weights[..]).collect();
        update.apply(&mut layer.weights, &gradient.weights, &mut weights);
        let mut biases: Vec<&mut [T]> = moments.iter_mut().map(|moment| &mut moment.bias[..]).collect();
        update.apply(&mut layer.bias, &gradient.bias, &mut biases);
        let mut gains: Vec<&mut [T]> = moments.iter_mut().map(|moment| &mut moment.gain[..]).collect();
        update.apply(&mut layer.gain, &gradient.gain, &mut gains);
        let mut shifts: Vec<&mut [T]> = moments.iter_mut().map(|moment| &mut moment.shift[..]).collect();
        update.apply(&mut layer.shift, &gradient.shift, &mut shifts);
    }
}
