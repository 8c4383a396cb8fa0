//! Parameters in device memory.

use warpplay::azero::{Conv, Linear, Norm};
use warpplay::{Buffer, Error, Result, Stream};

/// Weights and biases of a convolution or a linear layer.
#[derive(Debug)]
pub struct Affine {
    /// `[n_outputs, n_inputs]`, each with the taps of a kernel.
    pub(super) weight: Buffer<f32>,
    /// `[n_outputs]`.
    pub(super) bias: Buffer<f32>,
    /// Outputs.
    pub(super) n_outputs: u32,
    /// Inputs times taps.
    pub(super) per_output: u32,
}

impl Affine {
    /// Copies a convolution.
    ///
    /// # Errors
    /// [`Error::Shape`] if the weights are not a whole number, at least one, for each bias; errors of the device.
    pub fn conv(stream: &Stream, conv: &Conv) -> Result<Self> {
        Self::new(stream, &conv.weight, &conv.bias)
    }

    /// Copies a linear layer.
    ///
    /// # Errors
    /// As [`Affine::conv`].
    pub fn linear(stream: &Stream, linear: &Linear) -> Result<Self> {
        Self::new(stream, &linear.weight, &linear.bias)
    }

    fn new(stream: &Stream, weight: &[f32], bias: &[f32]) -> Result<Self> {
        let (n_outputs, n_weights) = (bias.len(), weight.len());
        let per_output = n_weights.checked_div(n_outputs).filter(|&n| n > 0 && n * n_outputs == n_weights);
        let (Some(per_output), Ok(n_outputs)) = (per_output.and_then(|n| u32::try_from(n).ok()), n_outputs.try_into())
        else {
            return Err(Error::shape("weights", format!("a multiple of the {n_outputs} biases"), n_weights));
        };
        Ok(Self { weight: stream.upload(weight)?, bias: stream.upload(bias)?, n_outputs, per_output })
    }

    /// Outputs.
    pub fn n_outputs(&self) -> u32 {
        self.n_outputs
    }

    /// Inputs of a layer of `taps` taps: 9 for a 3×3 convolution, 1 for another.
    pub(super) fn n_inputs(&self, taps: u32) -> Result<u32> {
        if self.per_output.is_multiple_of(taps) {
            return Ok(self.per_output / taps);
        }
        Err(Error::shape("weights of an output", format!("a multiple of {taps}"), self.per_output))
    }
}

/// Parameters of a batch norm, each `[channels]`.
#[derive(Debug)]
pub struct NormArrays {
    pub(super) weight: Buffer<f32>,
    pub(super) bias: Buffer<f32>,
    pub(super) mean: Buffer<f32>,
    pub(super) variance: Buffer<f32>,
}

impl NormArrays {
    /// Copies a norm.
    ///
    /// # Errors
    /// [`Error::Shape`] if its four parameters have not the same length; errors of the device.
    pub fn new(stream: &Stream, norm: &Norm) -> Result<Self> {
        for (what, values) in [("bias", &norm.bias), ("mean", &norm.mean), ("variance", &norm.variance)] {
            if values.len() != norm.weight.len() {
                return Err(Error::shape(format!("{what} of a batch norm"), norm.weight.len(), values.len()));
            }
        }
        Ok(Self {
            weight: stream.upload(&norm.weight)?,
            bias: stream.upload(&norm.bias)?,
            mean: stream.upload(&norm.mean)?,
            variance: stream.upload(&norm.variance)?,
        })
    }
}
