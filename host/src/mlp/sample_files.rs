//! Files of images and of labels, in the formats that their first bytes tell.

use std::path::Path;

use super::source::{Images, Source};
use super::{idx, npy};
use crate::Result;

/// Reads a file of images: IDX or `.npy`.
///
/// # Errors
/// [`Error::File`](crate::Error::File).
pub(super) fn read_images(path: &Path) -> Result<Images> {
    let mut source = Source::open(path)?;
    if source.starts_with(npy::MAGIC)? { npy::read_images(source) } else { idx::read_images(source) }
}

/// Reads a file of labels: IDX or `.npy`.
///
/// # Errors
/// As [`read_images`].
pub(super) fn read_labels(path: &Path) -> Result<Vec<u8>> {
    let mut source = Source::open(path)?;
    if source.starts_with(npy::MAGIC)? { npy::read_labels(source) } else { idx::read_labels(source) }
}
