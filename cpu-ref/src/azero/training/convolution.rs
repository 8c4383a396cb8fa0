//! Convolutions and linear layers, forward and backward: products of weights with [`patches`](super::super::pieces::patches). A linear layer is a 1×1
//! convolution of a board of one square.

use std::borrow::Cow;

use nalgebra::{DMatrixView, DMatrixViewMut, Dyn};

use super::super::pieces::{self, Affine};
use super::super::{Program, Shape};
use crate::mlp::Real;

/// The shape of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Rows and columns.
    pub board: (usize, usize),
    /// 3 or 1.
    pub side: usize,
    /// What its products read and leave.
    pub operands: Operands,
}

/// Numbers that products read: inputs, weights and gradients of outputs; and those they leave: outputs, and gradients of inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operands {
    /// As they are.
    #[default]
    Exact,
    /// Those that are read are rounded to TF32: the nearest number of 11 significant bits, of two the even one.
    Tf32,
    /// All are rounded to bfloat16, 8 significant bits; sums of products once they are complete.
    Bfloat16,
}

impl Operands {
    /// Rounds what products leave, in place.
    pub(super) fn round_results<T: Real>(self, values: &mut [T]) {
        if let Cow::Owned(rounded) = self.results(values) {
            values.copy_from_slice(&rounded);
        }
    }

    /// What is kept of numbers that products left.
    pub(super) fn results<T: Real>(self, values: &[T]) -> Cow<'_, [T]> {
        if self == Self::Bfloat16 { self.of(values) } else { Cow::Borrowed(values) }
    }

    /// What products read of numbers.
    pub(super) fn of<T: Real>(self, values: &[T]) -> Cow<'_, [T]> {
        match self {
            Self::Exact => Cow::Borrowed(values),
            Self::Tf32 => values.iter().map(|&value| rounded::<T, 13>(value)).collect(),
            Self::Bfloat16 => values.iter().map(|&value| rounded::<T, 16>(value)).collect(),
        }
    }
}

/// A number of single precision without its last bits, rounded to the nearest, of two to the even one.
fn rounded<T: Real, const BITS: u32>(value: T) -> T {
    let single = value.widened() as f32;
    if single.is_nan() {
        return T::rounded(f64::NAN);
    }
    let bits = single.to_bits();
    let bits = bits + ((1 << (BITS - 1)) - 1) + (bits >> BITS & 1);
    T::rounded(f32::from_bits(bits >> BITS << BITS).into())
}

/// Sides of a product below which plain loops do it, as in [`pieces::matmul`].
const LEAST_SIDE: usize = 8;
/// Number of outputs whose weights' gradient is one part of the work.
const OUTPUTS: usize = 16;

impl Layer {
    /// A 3×3 convolution of a network's board.
    pub const fn conv_3x3(shape: Shape, operands: Operands) -> Self {
        Self { board: (shape.rows, shape.columns), side: 3, operands }
    }

    /// A 1×1 convolution of a network's board.
    pub const fn conv_1x1(shape: Shape) -> Self {
        Self { board: (shape.rows, shape.columns), side: 1, operands: Operands::Exact }
    }

    /// A linear layer.
    pub const fn linear() -> Self {
        Self { board: (1, 1), side: 1, operands: Operands::Exact }
    }

    const fn cells(&self) -> usize {
        self.board.0 * self.board.1
    }

    const fn taps(&self) -> usize {
        self.side * self.side
    }

    /// For each position, the values of each square and its neighbours, `[n, channels · taps, cells]`.
    fn patches<T: Real, P: Program>(&self, x: &[T], channels: usize) -> Vec<T> {
        if self.side == 1 {
            return x.to_vec();
        }
        let own = channels * self.cells();
        let mut patches = vec![T::zero(); x.len() * self.taps()];
        P::parts(&mut patches, own * self.taps(), |position, patches| {
            pieces::patches(&x[position * own..][..own], self.board, patches);
        });
        patches
    }

    /// Outputs `[n, n_outputs, cells]` of `x`, `[n, n_inputs, cells]`.
    pub fn forward<T: Real, P: Program>(&self, x: &[T], layer: Affine<'_, T>) -> Vec<T> {
        let (outputs, cells) = (layer.bias.len(), self.cells());
        let k = layer.weight.len() / outputs;
        let patches = self.patches::<T, P>(&self.operands.of(x), k / self.taps());
        let weight = self.operands.of(layer.weight);
        let mut out = vec![T::zero(); patches.len() / k * outputs];
        P::parts(&mut out, outputs * cells, |position, out| {
            pieces::matmul(&weight, &patches[position * k * cells..][..k * cells], out, (outputs, cells, k));
            pieces::add_bias(out, layer.bias, cells);
        });
        out
    }

    /// Gradient with respect to the inputs: the convolution of the outputs' gradient with the weights rotated by 180°, inputs and outputs exchanged.
    pub fn input_gradient<T: Real, P: Program>(&self, output_gradient: &[T], layer: Affine<'_, T>) -> Vec<T> {
        let (outputs, taps) = (layer.bias.len(), self.taps());
        let inputs = layer.weight.len() / (outputs * taps);
        let mut turned = vec![T::zero(); layer.weight.len()];
        for output in 0..outputs {
            for input in 0..inputs {
                for tap in 0..taps {
                    turned[(input * outputs + output) * taps + tap] =
                        layer.weight[(output * inputs + input) * taps + taps - 1 - tap];
                }
            }
        }
        self.forward::<T, P>(output_gradient, Affine { weight: &turned, bias: &vec![T::zero(); inputs] })
    }

    /// Gradient with respect to the weights: the products of the outputs' gradient and the inputs' patches, summed over squares and positions.
    pub fn weight_gradient<T: Real, P: Program>(&self, x: &[T], output_gradient: &[T], outputs: usize) -> Vec<T> {
        let cells = self.cells();
        let n = output_gradient.len() / (outputs * cells);
        let inputs = x.len() / (n * cells);
        let k = inputs * self.taps();
        let patches = self.patches::<T, P>(&self.operands.of(x), inputs);
        let output_gradient = self.operands.of(output_gradient);
        let mut gradient = vec![T::zero(); outputs * k];
        P::parts(&mut gradient, OUTPUTS * k, |part, gradient| {
            let rows = gradient.len() / k;
            for position in 0..n {
                let a = &output_gradient[(position * outputs + part * OUTPUTS) * cells..][..rows * cells];
                add_product(a, &patches[position * k * cells..][..k * cells], gradient, (rows, k, cells));
            }
        });
        gradient
    }

    /// Gradient with respect to the bias: the outputs' gradient summed over squares and positions.
    pub fn bias_gradient<T: Real>(&self, output_gradient: &[T], outputs: usize) -> Vec<T> {
        let mut gradient = vec![T::zero(); outputs];
        for (number, values) in output_gradient.chunks_exact(self.cells()).enumerate() {
            for &value in values {
                gradient[number % outputs] += value;
            }
        }
        gradient
    }
}

/// `out += a bᵀ`: `a` is `[m, k]`, `b` `[n, k]`, `out` `[m, n]`.
fn add_product<T: Real>(a: &[T], b: &[T], out: &mut [T], (m, n, k): (usize, usize, usize)) {
    if m.min(n).min(k) < LEAST_SIDE {
        for (a, out) in a.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
            for (b, out) in b.chunks_exact(k).zip(out) {
                *out = a.iter().zip(b).fold(*out, |sum, (&a, &b)| sum + a * b);
            }
        }
        return;
    }
    let a = DMatrixView::<T, Dyn, Dyn>::from_slice_with_strides(a, m, k, k, 1);
    let b = DMatrixView::<T, Dyn, Dyn>::from_slice_with_strides(b, k, n, 1, k);
    DMatrixViewMut::<T, Dyn, Dyn>::from_slice_with_strides_mut(out, m, n, n, 1).gemm(T::one(), &a, &b, T::one());
}
