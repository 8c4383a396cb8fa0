//! Files of images, of labels and of features, in the formats that their first bytes tell.

use std::path::Path;

use super::csv_file::{self, CsvFormat};
use super::source::{Images, Source};
use super::{idx, npy};
use crate::{Error, Result};

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

/// Reads the features of samples without labels, `[n, n_features]`, for [`Classifier::outputs`](super::Classifier::outputs): an `.npy` file of `[n, n_features]` floating-point numbers, or a CSV file
/// whose columns are all features. A column that `format` names, of labels or targets, is passed over. Numbers are rounded to single precision.
///
/// ```
/// use warpplay::mlp::{CsvFormat, read_features};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("new.csv");
/// std::fs::write(&path, "width,height\n0.5,2\n-1,1e3\n")?;
/// assert_eq!(read_features(&path, &CsvFormat::default(), 2)?, [0.5, 2.0, -1.0, 1000.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::File`] for a damaged file, a feature that is not finite, or samples of another number of features; [`Error::Option`] for a named column without a header, or of an `.npy` file.
pub fn read_features(path: impl AsRef<Path>, format: &CsvFormat, n_features: u32) -> Result<Vec<f32>> {
    let path = path.as_ref();
    let mut source = Source::open(path)?;
    let (found, features) = match source.starts_with(npy::MAGIC)? {
        true => {
            if let Some(label) = &format.label {
                return Err(Error::option("label-column", label, "none for an .npy file, whose columns have no names"));
            }
            let (features, found) = npy::read_features(source)?;
            (found, features)
        }
        false => csv_file::read_features_alone(path, format)?,
    };
    if found != n_features {
        let reason = format!("holds samples of {found} features, {n_features} are expected, the network's inputs");
        return Err(Error::file(path, None, reason));
    }
    Ok(features)
}
