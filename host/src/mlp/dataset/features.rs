//! Sets whose samples have numbers in place of pixels, as they are or standardised.

use std::path::Path;

use super::{Dataset, most_classes};
use crate::mlp::csv_file::{self, CsvFormat};
use crate::mlp::features::Features;
use crate::mlp::inputs::Inputs;
use crate::mlp::scaling::Scaling;
use crate::mlp::source::Source;
use crate::mlp::{npy, sample_files};
use crate::{Error, Precision, Result};

impl Dataset {
    /// A set of `labels.len()` samples of `n_features` numbers, `features` `[n, n_features]`, which networks take as they are, in single precision; labels are below `n_classes`. With [`Precision::F16`](crate::Precision::F16) they are rounded to
    /// half precision, so a set with one beyond 65,504 is refused by trainers and classifiers: see [`scaled`](Self::scaled).
    ///
    /// # Errors
    /// As [`Dataset::new`]; [`Error::Shape`] also for a feature that is not finite in single precision.
    ///
    /// ```
    /// use warpplay::mlp::Dataset;
    ///
    /// let set = Dataset::of_features(vec![0.5f32, -2.0, 0.25, 1e3], vec![0, 1], 2, 2, "two pairs")?;
    /// let scaled = set.scaled(&set.scaling()?)?;
    /// assert_eq!(scaled.features(), Some(&[1.0, -1.0, -1.0, 1.0][..]));
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    pub fn of_features(
        features: impl Into<Features>,
        labels: Vec<u8>,
        n_features: u32,
        n_classes: u32,
        source: impl Into<String>,
    ) -> Result<Self> {
        let features = features.into();
        features.check(labels.len(), n_features)?;
        // The labels are checked as those of images without pixels.
        let n = labels.len();
        let set = Self::new(vec![0; n], labels, 1, 1, n_classes, source)?;
        Ok(Self { images: Vec::new(), features, cols: n_features, ..set })
    }

    /// A set of samples of `n_features` numbers, as [`of_features`](Self::of_features), with targets as [`with_targets`](Self::with_targets).
    ///
    /// # Errors
    /// As both.
    pub fn of_features_with_targets(
        features: impl Into<Features>,
        targets: Vec<f32>,
        n_features: u32,
        n_targets: u32,
        source: impl Into<String>,
    ) -> Result<Self> {
        let n = targets.len().checked_div(n_targets as usize).unwrap_or(0);
        let set = Self::with_targets(vec![0; n], targets, 1, 1, n_targets, source)?;
        let features = features.into();
        features.check(n, n_features)?;
        Ok(Self { images: Vec::new(), features, cols: n_features, ..set })
    }

    /// All features, `[n, n_inputs]`, in place of images, as networks take them.
    pub fn features(&self) -> Option<&[f32]> {
        Some(self.features.single()).filter(|features| !features.is_empty())
    }

    /// Mean and standard deviation of each feature over the samples of this set, in double precision. A feature whose numbers differ by the rounding of their last digits at most has a deviation of 1, as one that is the same for all samples.
    ///
    /// # Errors
    /// [`Error::Shape`] for a set of images.
    pub fn scaling(&self) -> Result<Scaling> {
        self.expect_features()?;
        let (n, width) = (self.len() as f64, self.n_inputs() as usize);
        let numbered = || self.features.iter().enumerate().map(|(at, value)| (at % width, value));
        // The sum of large numbers loses digits: distances from a mean that is nearly right correct it, and the mean of their squares.
        let mut mean = vec![0.0; width];
        numbered().for_each(|(feature, value)| mean[feature] += value / n);
        let (mut rest, mut deviation) = (vec![0.0; width], vec![0.0; width]);
        for (feature, value) in numbered() {
            let distance = value - mean[feature];
            rest[feature] += distance / n;
            deviation[feature] += distance.powi(2) / n;
        }
        for ((mean, deviation), rest) in mean.iter_mut().zip(&mut deviation).zip(rest) {
            *mean += rest;
            let found = (*deviation - rest.powi(2)).max(0.0).sqrt();
            *deviation = if found > 2.0 * f64::EPSILON * mean.abs() { found } else { 1.0 };
        }
        Ok(Scaling { mean, deviation })
    }

    /// The same set with standardised features, `(feature - mean) / deviation`: of a training set its own [`scaling`](Self::scaling), of a test set the training set's. They are in single precision, of which a further scaling is made.
    ///
    /// # Errors
    /// [`Error::Shape`] for a set of images, a scaling of other features or with a deviation that is not above 0, or numbers that leave single precision.
    pub fn scaled(&self, scaling: &Scaling) -> Result<Self> {
        self.expect_features()?;
        scaling.check(self.n_inputs())?;
        let applied = match &self.scaling {
            Some(before) => before.then(scaling),
            None => scaling.clone(),
        };
        applied.check(self.n_inputs())?;
        let features = scaling.applied(self.features.iter())?.into();
        Ok(Self {
            images: Vec::new(),
            features,
            labels: self.labels.clone(),
            targets: self.targets.clone(),
            rows: self.rows,
            cols: self.cols,
            n_classes: self.n_classes,
            columns: self.columns.clone(),
            scaling: Some(applied),
            source: self.source.clone(),
        })
    }

    /// What a network takes that is trained on this set: pixels, or features, and what they were standardised with by [`scaled`](Self::scaled), several times as once.
    pub fn inputs(&self) -> Inputs {
        match self.features() {
            Some(_) => Inputs::Features(self.scaling.clone()),
            None => Inputs::Pixels,
        }
    }

    /// Checks that the features are standardised as those of `train`.
    ///
    /// # Errors
    /// [`Error::Shape`] if they are not.
    pub(in crate::mlp) fn expect_scaling_of(&self, train: &Self) -> Result<()> {
        match self.scaling == train.scaling {
            true => Ok(()),
            false => Err(Error::shape(
                format!("scaling of {}", self.source()),
                format!("that of {}", train.source()),
                if self.scaling.is_some() { "another" } else { "none" },
            )),
        }
    }

    /// Reads a file of features, an `.npy` file of `[n, n_features]` floating-point numbers (of more dimensions, the last ones are one), and one of labels as [`load`](Self::load).
    ///
    /// # Errors
    /// As [`load`](Self::load); [`Error::File`] for a feature that is not finite in single precision.
    pub fn load_features(features: impl AsRef<Path>, labels: impl AsRef<Path>, n_classes: Option<u32>) -> Result<Self> {
        let (path, labels_path) = (features.as_ref(), labels.as_ref());
        let most = most_classes(n_classes)?;
        let (features, n_features) = npy::read_features(Source::open(path)?)?;
        let labels = sample_files::read_labels(labels_path)?;
        let n = features.single().len() / n_features as usize;
        if labels.len() != n {
            let reason = format!("{} labels for the {n} samples of {}", labels.len(), path.display());
            return Err(Error::file(labels_path, None, reason));
        }
        if let Some(at) = labels.iter().position(|&label| u32::from(label) >= most) {
            let reason = format!("label {at} is {}, below {most} is expected", labels[at]);
            return Err(Error::file(labels_path, None, reason));
        }
        let n_classes = n_classes.unwrap_or_else(|| classes_of(&labels));
        Self::of_features(features, labels, n_features, n_classes, path.display().to_string())
    }

    /// Reads a file of features as [`load_features`](Self::load_features), and one of targets as [`load_with_targets`](Self::load_with_targets).
    ///
    /// # Errors
    /// As both.
    pub fn load_features_with_targets(features: impl AsRef<Path>, targets: impl AsRef<Path>) -> Result<Self> {
        let (path, targets_path) = (features.as_ref(), targets.as_ref());
        let (features, n_features) = npy::read_features(Source::open(path)?)?;
        let (targets, n_targets) = npy::read_targets(Source::open(targets_path)?)?;
        let (n, n_of_targets) = (features.single().len() / n_features as usize, targets.len() / n_targets as usize);
        if n != n_of_targets {
            let reason = format!("targets of {n_of_targets} samples for the {n} samples of {}", path.display());
            return Err(Error::file(targets_path, None, reason));
        }
        Self::of_features_with_targets(features, targets, n_features, n_targets, path.display().to_string())
    }

    /// Reads a CSV file as [`load_csv`](Self::load_csv), whose columns but that of the labels have numbers, finite in single precision.
    ///
    /// # Errors
    /// As [`load_csv`](Self::load_csv).
    pub fn load_csv_features(path: impl AsRef<Path>, format: &CsvFormat, n_classes: Option<u32>) -> Result<Self> {
        let path = path.as_ref();
        let (columns, n_features, features, labels) = csv_file::read_features(path, format, most_classes(n_classes)?)?;
        let n_classes = n_classes.unwrap_or_else(|| classes_of(&labels));
        let set = Self::of_features(features, labels, n_features, n_classes, path.display().to_string())?;
        Ok(Self { columns, ..set })
    }

    /// Reads a CSV file as [`load_csv_features`](Self::load_csv_features), whose column of labels has the target of a regression, a finite number.
    ///
    /// # Errors
    /// As [`load_csv_features`](Self::load_csv_features).
    pub fn load_csv_features_with_targets(path: impl AsRef<Path>, format: &CsvFormat) -> Result<Self> {
        let path = path.as_ref();
        let (columns, n_features, features, targets) = csv_file::read_features_and_targets(path, format)?;
        let source = path.display().to_string();
        Ok(Self { columns, ..Self::of_features_with_targets(features, targets, n_features, 1, source)? })
    }

    /// Checks that a precision holds all features: half precision rounds them to its own numbers.
    ///
    /// # Errors
    /// [`Error::Shape`] for the first that it does not hold.
    pub(in crate::mlp) fn expect_precision(&self, precision: Precision) -> Result<()> {
        let features = self.features.single();
        let Some(at) = beyond(features, precision) else { return Ok(()) };
        let (sample, number) = (at / self.n_inputs() as usize, at % self.n_inputs() as usize);
        let what = format!("feature {number} of sample {sample} of {}", self.source());
        Err(Error::shape(what, WITHIN_HALF, features[at]))
    }

    fn expect_features(&self) -> Result<()> {
        match self.features() {
            Some(_) => Ok(()),
            None => Err(Error::shape(self.source(), "samples with features", "images")),
        }
    }
}

/// What features of half precision are, as errors say it.
pub(in crate::mlp) const WITHIN_HALF: &str = "-65504 to 65504 with precision f16";

/// The offset of the first feature that the precision does not hold.
pub(in crate::mlp) fn beyond(features: &[f32], precision: Precision) -> Option<usize> {
    features.iter().position(|value| precision == Precision::F16 && value.abs() > 65_504.0)
}

/// The number of classes where none is given.
fn classes_of(labels: &[u8]) -> u32 {
    (u32::from(labels.iter().copied().max().unwrap_or_default()) + 1).max(2)
}
