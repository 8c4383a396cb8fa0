//! Sets for a regression, whose samples have numbers in place of labels.

use std::path::Path;

use super::{Dataset, check_images};
use crate::mlp::csv_file::{self, CsvFormat};
use crate::mlp::features::Features;
use crate::mlp::source::Source;
use crate::mlp::{npy, sample_files};
use crate::{Error, Result};

impl Dataset {
    /// A set for a regression: images `[n, rows, cols]` of bytes with `n_targets` numbers each, `targets` `[n, n_targets]`. It is trained with the option [`Loss`](crate::mlp::Loss) `mse` or `huber`.
    ///
    /// # Errors
    /// As [`Dataset::new`]; [`Error::Shape`] also for no targets of a sample, numbers that are not whole samples', or one that is not finite.
    ///
    /// ```
    /// use warpplay::mlp::Dataset;
    ///
    /// let set = Dataset::with_targets(vec![0, 255, 51, 0], vec![0.5, -2.0], 1, 2, 1, "two pairs")?;
    /// assert_eq!((set.len(), set.targets()), (2, Some(&[0.5, -2.0][..])));
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    pub fn with_targets(
        images: Vec<u8>,
        targets: Vec<f32>,
        rows: u32,
        cols: u32,
        n_targets: u32,
        source: impl Into<String>,
    ) -> Result<Self> {
        if n_targets == 0 || !targets.len().is_multiple_of(n_targets as usize) {
            let expected = format!("a multiple of the {n_targets} of a sample, at least 1");
            return Err(Error::shape("targets", expected, targets.len()));
        }
        check_images(images.len(), targets.len() / n_targets as usize, rows, cols)?;
        if let Some(at) = targets.iter().position(|target| !target.is_finite()) {
            let (sample, number) = (at / n_targets as usize, at % n_targets as usize);
            return Err(Error::shape(format!("target {number} of sample {sample}"), "a finite number", targets[at]));
        }
        let (features, labels, columns, source) = (Features::default(), Vec::new(), Vec::new(), source.into());
        Ok(Self { images, features, labels, targets, rows, cols, n_classes: n_targets, columns, scaling: None, source })
    }

    /// Reads a file of images as [`load`](Self::load), and the targets of a regression: an `.npy` file of floating-point numbers, `[n]` or `[n, n_targets]`.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`Error::File`] for a target that is not finite.
    pub fn load_with_targets(images: impl AsRef<Path>, targets: impl AsRef<Path>) -> Result<Self> {
        let (images_path, targets_path) = (images.as_ref(), targets.as_ref());
        let images = sample_files::read_images(images_path)?;
        let (targets, n_targets) = npy::read_targets(Source::open(targets_path)?)?;
        let n = targets.len() / n_targets as usize;
        if images.len() != n {
            let reason = format!("targets of {n} samples for the {} images of {}", images.len(), images_path.display());
            return Err(Error::file(targets_path, None, reason));
        }
        let source = images_path.display().to_string();
        Self::with_targets(images.pixels, targets, images.rows, images.cols, n_targets, source)
    }

    /// Reads a CSV file as [`load_csv`](Self::load_csv), whose column of labels has the target of a regression, a finite number.
    ///
    /// # Errors
    /// As [`load_csv`](Self::load_csv).
    pub fn load_csv_with_targets(path: impl AsRef<Path>, format: &CsvFormat) -> Result<Self> {
        let path = path.as_ref();
        let (columns, images, targets) = csv_file::read_targets(path, format)?;
        let source = path.display().to_string();
        let set = Self::with_targets(images.pixels, targets, images.rows, images.cols, 1, source)?;
        Ok(Self { columns, ..set })
    }
}
