//! What standardises features.

use super::features::expect_finite;
use crate::{Error, Result};

/// What standardises features: of each the mean and the standard deviation over the samples of a training set.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// `[n_features]`
    pub mean: Vec<f64>,
    /// `[n_features]` Above 0; 1 for a feature that is the same for all samples.
    pub deviation: Vec<f64>,
}

impl Scaling {
    /// The features of whole samples, `[n, n_features]`, of single or double precision, standardised: `(feature - mean) / deviation` in double precision.
    ///
    /// ```
    /// use warpplay::mlp::Scaling;
    ///
    /// let scaling = Scaling { mean: vec![1.0, -2.0], deviation: vec![0.5, 4.0] };
    /// assert_eq!(scaling.scaled(&[2.0, 2.0, 1.0, -6.0])?, [2.0, 1.0, 0.0, -1.0]);
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] unless the features are those of whole samples; for means and deviations of different numbers, means that are not finite or deviations that are not above 0; and for numbers that leave single precision.
    pub fn scaled<T: Copy + Into<f64>>(&self, features: &[T]) -> Result<Vec<f32>> {
        let width = self.mean.len();
        self.check(width as u32)?;
        if !features.len().is_multiple_of(width) {
            return Err(Error::shape("features", format!("a multiple of {width}"), features.len()));
        }
        self.applied(features.iter().map(|&value| value.into()))
    }

    /// The features of whole samples standardised, by a scaling that was checked.
    ///
    /// # Errors
    /// [`Error::Shape`] for numbers that leave single precision.
    pub(super) fn applied(&self, features: impl Iterator<Item = f64> + Clone) -> Result<Vec<f32>> {
        let Self { mean, deviation } = self;
        let of_feature = mean.iter().zip(deviation).cycle();
        let exact = features.zip(of_feature).map(|(value, (mean, deviation))| (value - mean) / deviation);
        let scaled: Vec<f32> = exact.clone().map(|value| value as f32).collect();
        let given = |at| exact.clone().nth(at).unwrap_or(f64::NAN);
        expect_finite("standardised feature", &scaled, mean.len(), given)?;
        Ok(scaled)
    }

    /// Checks that it is one of `n_features` features.
    pub(super) fn check(&self, n_features: u32) -> Result<()> {
        let Self { mean, deviation } = self;
        if n_features == 0 {
            return Err(Error::shape("means of the scaling", "at least 1", 0));
        }
        for (what, values) in [("means", mean), ("deviations", deviation)] {
            if values.len() != n_features as usize {
                return Err(Error::shape(format!("{what} of the scaling"), n_features, values.len()));
            }
        }
        if let Some(at) = mean.iter().position(|value| !value.is_finite()) {
            return Err(Error::shape(format!("mean {at} of the scaling"), "a finite number", mean[at]));
        }
        match deviation.iter().position(|value| !(value.is_finite() && *value > 0.0)) {
            Some(at) => {
                Err(Error::shape(format!("deviation {at} of the scaling"), "a finite number above 0", deviation[at]))
            }
            None => Ok(()),
        }
    }

    /// Itself and then another one, as one.
    pub(super) fn then(&self, next: &Self) -> Self {
        let means = self.mean.iter().zip(&self.deviation).zip(&next.mean);
        let deviations = self.deviation.iter().zip(&next.deviation);
        Self {
            mean: means.map(|((mean, deviation), next)| mean + deviation * next).collect(),
            deviation: deviations.map(|(own, next)| own * next).collect(),
        }
    }
}
