//! The parallel program: the same formulas in blocks under rayon, products by nalgebra.
//!
//! Blocks are partitioned by the shape alone, and no sum is split at an index that depends on the threads: one thread and many give the same
//! bits. They differ from the sequential program's in the last bits, for nalgebra's product adds in another order and may fuse
//! multiplication and addition.

use nalgebra::{DMatrixView, DMatrixViewMut, Dyn};
use rayon::prelude::*;

use super::pieces::{self, Product};
use super::{Layer, Program, Real, Update};

/// Maximum number of multiplications of a block of a product: about 50 µs of work, against about 2 µs for scheduling it on a thread.
const BLOCK_MULTIPLICATIONS: usize = 1 << 21;

/// Blocks begin at rows and columns that are multiples of this: the largest tile of nalgebra's product.
const BLOCK_STEP: usize = 16;

/// Values of a panel or of a part of an update.
const PANEL_VALUES: usize = 1 << 14;

/// Number of rows whose column sums are added up separately.
const PANEL_ROWS: usize = 256;

/// Blocks distributed by rayon over the caller's thread pool, if there is one, else over all cores. In a pool of one thread it is a sequential program with the same results.
#[derive(Clone, Copy, Debug)]
pub enum Parallel {}

type View<'a, T> = DMatrixView<'a, T, Dyn, Dyn>;
type ViewMut<'a, T> = DMatrixViewMut<'a, T, Dyn, Dyn>;

/// Sides below which a block is computed by plain loops: for these, nalgebra replaces its fast product by one that assumes unit strides.
const LEAST_SIDE: usize = 8;

/// `out = a b` by plain loops.
fn small_product<T: Real>(a: &View<'_, T>, b: &View<'_, T>, out: &mut ViewMut<'_, T>) {
    for row in 0..out.nrows() {
        for column in 0..out.ncols() {
            out[(row, column)] = (0..a.ncols()).fold(T::zero(), |sum, l| sum + a[(row, l)] * b[(l, column)]);
        }
    }
}

/// `out = a b`, halved along the longer side of `out` until the blocks are small.
fn product<T: Real>(a: View<'_, T>, b: View<'_, T>, mut out: ViewMut<'_, T>) {
    let (m, n, k) = (out.nrows(), out.ncols(), a.ncols());
    let half = |side: usize| side.div_ceil(2).next_multiple_of(BLOCK_STEP);
    if m * n * k <= BLOCK_MULTIPLICATIONS || half(m.max(n)) >= m.max(n) {
        if m.min(n).min(k) < LEAST_SIDE {
            small_product(&a, &b, &mut out);
        } else {
            out.gemm(T::one(), &a, &b, T::zero());
        }
    } else if m >= n {
        let at = half(m);
        let (first, second) = out.rows_range_pair_mut(..at, at..);
        rayon::join(|| product(a.rows(0, at), b, first), || product(a.rows(at, m - at), b, second));
    } else {
        let at = half(n);
        let (first, second) = out.columns_range_pair_mut(..at, at..);
        rayon::join(|| product(a, b.columns(0, at), first), || product(a, b.columns(at, n - at), second));
    }
}

impl Program for Parallel {
    fn matmul<T: Real>(a: &[T], b: &[T], out: &mut [T], shape: Product) {
        shape.check(a, b, out);
        let Product { m, n, k, transpose_a, transpose_b } = shape;
        let strides = |transposed: bool, rows: usize, columns: usize| if transposed { (1, rows) } else { (columns, 1) };
        let (a_strides, b_strides) = (strides(transpose_a, m, k), strides(transpose_b, k, n));
        product(
            View::from_slice_with_strides(a, m, k, a_strides.0, a_strides.1),
            View::from_slice_with_strides(b, k, n, b_strides.0, b_strides.1),
            ViewMut::from_slice_with_strides_mut(out, m, n, n, 1),
        );
    }

    fn column_sums<T: Real>(values: &[T], out: &mut [T]) {
        let n = out.len();
        let sums: Vec<Vec<T>> = values
            .par_chunks(PANEL_ROWS * n)
            .map(|rows| {
                let mut sums = vec![T::zero(); n];
                pieces::column_sums(rows, &mut sums);
                sums
            })
            .collect();
        pieces::column_sums(&sums.concat(), out);
    }

    fn square_sum<T: Real>(values: &[T]) -> f64 {
        let sums: Vec<f64> = values.par_chunks(PANEL_VALUES).map(pieces::square_sum).collect();
        sums.iter().sum()
    }

    fn panels<T: Real>(values: &mut [T], n: usize, work: impl Fn(usize, &mut [T]) + Sync) {
        let length = (PANEL_VALUES / n).max(1) * n;
        values.par_chunks_mut(length).enumerate().for_each(|(panel, values)| work(panel * length, values));
    }

    fn update<T: Real>(update: &Update<T>, layer: &mut Layer<T>, gradient: &Layer<T>, mut moments: Vec<&mut Layer<T>>) {
        let parts = layer.weights.par_chunks_mut(PANEL_VALUES).zip(gradient.weights.par_chunks(PANEL_VALUES));
        match &mut moments[..] {
            [] => parts.for_each(|(weights, gradients)| update.apply(weights, gradients, &mut [])),
            [only] => parts
                .zip(only.weights.par_chunks_mut(PANEL_VALUES))
                .for_each(|((weights, gradients), only)| update.apply(weights, gradients, &mut [only])),
            [first, second, ..] => parts
                .zip(first.weights.par_chunks_mut(PANEL_VALUES))
                .zip(second.weights.par_chunks_mut(PANEL_VALUES))
                .for_each(|(((weights, gradients), first), second)| {
                    update.apply(weights, gradients, &mut [first, second]);
                }),
        }
        let mut biases: Vec<&mut [T]> = moments.iter_mut().map(|moment| &mut moment.bias[..]).collect();
        update.apply(&mut layer.bias, &gradient.bias, &mut biases);
        let mut gains: Vec<&mut [T]> = moments.iter_mut().map(|moment| &mut moment.gain[..]).collect();
        update.apply(&mut layer.gain, &gradient.gain, &mut gains);
        let mut shifts: Vec<&mut [T]> = moments.iter_mut().map(|moment| &mut moment.shift[..]).collect();
        update.apply(&mut layer.shift, &gradient.shift, &mut shifts);
    }
}
