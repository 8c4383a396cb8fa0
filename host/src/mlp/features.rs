//! Numbers of samples, in the place of pixels.

use std::fmt;

use crate::{Error, Result};

/// Features of samples, `[n, n_features]`, from numbers of single or of double precision: both are [`Into`] this. Networks take them rounded to single precision; [`Dataset::scaling`](super::Dataset::scaling) and
/// [`Dataset::scaled`](super::Dataset::scaled) take them with all their digits, without which two Unix times of one minute are the same number.
///
/// ```
/// use warpplay::mlp::Dataset;
///
/// let seconds: Vec<f64> = vec![1_700_000_001.0, 1_700_000_003.0];
/// let set = Dataset::of_features(seconds, vec![0, 1], 1, 2, "two moments")?;
/// assert_eq!(set.features(), Some(&[1.7e9, 1.7e9][..]));
/// assert_eq!(set.scaled(&set.scaling()?)?.features(), Some(&[-1.0, 1.0][..]));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Features {
    single: Vec<f32>,
    /// The same numbers; empty where single precision had all digits of those that were given.
    double: Vec<f64>,
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = if self.double.is_empty() { "single" } else { "double" };
        write!(f, "Features({} of {precision} precision)", self.single.len())
    }
}

impl From<Vec<f32>> for Features {
    fn from(single: Vec<f32>) -> Self {
        Self { single, double: Vec::new() }
    }
}

impl From<Vec<f64>> for Features {
    fn from(double: Vec<f64>) -> Self {
        let single: Vec<f32> = double.iter().map(|&value| value as f32).collect();
        let is_rounded = double.iter().zip(&single).any(|(&value, &rounded)| value != f64::from(rounded));
        Self { single, double: if is_rounded { double } else { Vec::new() } }
    }
}

impl Features {
    /// All of them in single precision.
    pub(super) fn single(&self) -> &[f32] {
        &self.single
    }

    /// The same, alone.
    pub(super) fn into_single(self) -> Vec<f32> {
        self.single
    }

    /// The one at an offset, with all its digits.
    pub(super) fn at(&self, at: usize) -> f64 {
        self.double.get(at).copied().unwrap_or_else(|| self.single[at].into())
    }

    /// All of them with all their digits.
    pub(super) fn iter(&self) -> impl Iterator<Item = f64> + Clone {
        (0..self.single.len()).map(|at| self.at(at))
    }

    /// Those before an offset, and the others.
    pub(super) fn split_at(&self, at: usize) -> [Self; 2] {
        let (single, double) =
            (self.single.split_at(at.min(self.single.len())), self.double.split_at(at.min(self.double.len())));
        let of = |single: &[f32], double: &[f64]| Self { single: single.to_vec(), double: double.to_vec() };
        [of(single.0, double.0), of(single.1, double.1)]
    }

    /// Checks that these are `n` samples of numbers that single precision holds, at least one.
    ///
    /// # Errors
    /// [`Error::Shape`] if not.
    pub(super) fn check(&self, n: usize, n_features: u32) -> Result<()> {
        if n == 0 || n_features == 0 {
            let got = format!("{n} of {n_features} features");
            return Err(Error::shape("samples", "at least 1 of at least 1 feature", got));
        }
        let expected = n as u128 * u128::from(n_features);
        if expected != self.single.len() as u128 {
            return Err(Error::shape("features of the samples", expected, self.single.len()));
        }
        expect_finite("feature", &self.single, n_features as usize, |at| self.at(at))
    }
}

/// Checks that features, `n_features` of each sample, are finite; an error shows the number that `given` has at that offset.
///
/// # Errors
/// [`Error::Shape`] with the first that is not.
pub(super) fn expect_finite(
    what: &str,
    features: &[f32],
    n_features: usize,
    given: impl Fn(usize) -> f64,
) -> Result<()> {
    let Some(at) = features.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let what = format!("{what} {} of sample {}", at % n_features, at / n_features);
    Err(Error::shape(what, finite_in_single(given(at)), format!("{:?}", given(at))))
}

/// What is allowed in the place of a number that is not finite in single precision, as errors say it.
pub(super) fn finite_in_single(value: f64) -> &'static str {
    if value.is_finite() { "a number of at most 3.4028235e38 in size" } else { "a finite number" }
}
