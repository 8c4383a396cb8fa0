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
/// whose columns are all features. A column that `format` names, of labels or targets, is passed over. They have all the digits of the file, with which [`Scaling::scaled`](super::Scaling::scaled) takes them; a network without a scaling takes them rounded to single precision.
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
/// [`Error::File`] for a damaged file, a feature that is not finite in single precision, or samples of another number of features; [`Error::Option`] for a named column without a header, and a named column or header of an `.npy` file.
pub fn read_features(path: impl AsRef<Path>, format: &CsvFormat, n_features: u32) -> Result<Vec<f64>> {
    let path = path.as_ref();
    let mut source = Source::open(path)?;
    let (found, features) = match source.starts_with(npy::MAGIC)? {
        true => {
            expect_no_columns(format)?;
            let (features, found) = npy::read_features(source)?;
            (found, features.iter().collect())
        }
        false if source.starts_with(&idx::IMAGES_MAGIC.to_be_bytes())? => {
            return Err(source.wrong("is an IDX file of bytes, expected features: CSV or .npy".to_string()));
        }
        false => csv_file::read_features_alone(path, format)?,
    };
    expect_width(path, found, n_features, "features")?;
    Ok(features)
}

/// Reads the pixels of samples without labels, `[n, n_pixels]`, for [`Classifier::logits`](super::Classifier::logits): a file of images, IDX or `.npy`, or a CSV file whose columns are all pixels, whole numbers
/// of 0 to 255. A column that `format` names is passed over.
///
/// # Errors
/// As [`read_features`]; [`Error::File`] for what is no pixel.
pub fn read_pixels(path: impl AsRef<Path>, format: &CsvFormat, n_pixels: u32) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let mut source = Source::open(path)?;
    let is_array = source.starts_with(npy::MAGIC)? || source.starts_with(&idx::IMAGES_MAGIC.to_be_bytes())?;
    let (found, pixels) = match is_array {
        true => {
            expect_no_columns(format)?;
            let images = read_images(path)?;
            (images.n_pixels() as u32, images.pixels)
        }
        false => csv_file::read_pixels_alone(path, format)?,
    };
    expect_width(path, found, n_pixels, "pixels")?;
    Ok(pixels)
}

/// Arrays have no columns with names.
fn expect_no_columns(format: &CsvFormat) -> Result<()> {
    match (&format.label, format.header) {
        (Some(label), _) => Err(Error::option("label", label, "none of a file that is not CSV")),
        (None, Some(header)) => Err(Error::option("header", header, "only for CSV files")),
        (None, None) => Ok(()),
    }
}

fn expect_width(path: &Path, found: u32, expected: u32, what: &str) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::file(path, None, format!("holds samples of {found} {what}, {expected} are expected"))),
    }
}
