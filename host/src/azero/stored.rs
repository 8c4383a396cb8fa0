//! Tensors as files have them, whatever the form of the file.

use std::path::Path;

use crate::{Error, Result};

/// A tensor as stored in a file.
pub(super) struct Found {
    pub dims: Vec<usize>,
    pub values: Vec<f32>,
}

/// Suffix of a tensor that libtorch saves with each norm and that inference does not need.
pub(super) const BATCH_COUNT: &str = ".num_batches_tracked";

/// Converts values to single precision and checks that all are finite.
///
/// # Errors
/// [`Error::File`] naming tensor and element.
pub(super) fn narrowed(path: &Path, name: &str, values: Vec<f64>) -> Result<Vec<f32>> {
    if let Some(at) = values.iter().position(|&value| !(value as f32).is_finite()) {
        let reason = format!("tensor {name}, element {at} is {}, expected a finite F32", values[at]);
        return Err(Error::file(path, None, reason));
    }
    Ok(values.into_iter().map(|value| value as f32).collect())
}
