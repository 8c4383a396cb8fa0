//! A data set as the deviating programs take it.

use warpplay::mlp::Dataset;

/// A labelled set, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// `[n, n_inputs]`.
    pub images: &'a [u8],
    /// `[n]`, below `n_classes`.
    pub labels: &'a [u8],
    /// Bytes of an image.
    pub n_inputs: usize,
    /// Number of classes.
    pub n_classes: usize,
}

impl<'a> Samples<'a> {
    /// All of a set.
    pub fn of(set: &'a Dataset) -> Self {
        Self {
            images: set.images(),
            labels: set.labels(),
            n_inputs: set.n_inputs() as usize,
            n_classes: set.n_classes() as usize,
        }
    }
}
