//! Learnt weights, in memory and in files.

use std::collections::BTreeMap;
use std::path::Path;

use crate::runtime::tensors::{self, Tensor};
use crate::runtime::{atomic_file, input_file};
use crate::shogi::evaluator::{Evaluator, check_weights};
use crate::shogi::features::FeatureSet;
use crate::shogi::objective::Values;
use crate::{Error, Result};

/// Name of the tensor.
const WEIGHTS: &str = "weights";
/// Key of the metadata that names the set of features.
const FEATURES: &str = "features";

/// Weights of an evaluation, in pawns.
///
/// The file is in safetensors format with one tensor `weights` `[features.len()]` F32, and the metadata `features` with the set's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    features: FeatureSet,
    values: Vec<f32>,
}

impl Weights {
    /// Weights of a set of features.
    ///
    /// # Errors
    /// [`Error::Shape`] if their number is not the set's; [`Error::Option`] for a weight that is not finite, or of size 1024 or more.
    pub fn new(features: FeatureSet, values: Vec<f32>) -> Result<Self> {
        check_weights(features, &values)?;
        match values.first() {
            Some(1.0) => Ok(Self { features, values }),
            pawn => Err(Error::option("weight", pawn.copied().unwrap_or(0.0), "1 for the pawn, which comes first")),
        }
    }

    /// The set of features.
    pub fn features(&self) -> FeatureSet {
        self.features
    }

    /// All weights, in the set's order.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Values of the pieces on the board: L N S G B R +P +L +N +S +B +R; the pawn's is 1.
    pub fn material(&self) -> Values {
        material(&self.values)
    }

    /// Values in hand, P L N S G B R, if the features distinguish them from those on the board.
    pub fn hand(&self) -> Option<[f64; 7]> {
        hand(self.features, &self.values)
    }

    /// Writes the weights to a new file beside `path`, syncs that file, and then renames it to `path`.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let tensor = Tensor::single(WEIGHTS.into(), vec![self.values.len()], self.values.iter().copied());
        let metadata = BTreeMap::from([(FEATURES.to_string(), self.features.name().to_string())]);
        atomic_file::write(path, &tensors::to_bytes_described(path, &[tensor], metadata)?)
    }

    /// Reads weights from a file.
    ///
    /// # Errors
    /// [`Error::File`] if the file has another format, is truncated, or holds weights that [`Weights::new`] refuses.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let wrong = |reason: String| Error::file(path, None, reason);
        let bytes = input_file::read(path)?;
        let file = tensors::parse(path, &bytes)?;
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).map_err(|error| wrong(error.to_string()))?;
        let name = header.metadata().as_ref().and_then(|entries| entries.get(FEATURES));
        let name = name.ok_or_else(|| wrong(format!("the metadata {FEATURES} is missing: no shogi weights")))?;
        let features: FeatureSet = name.parse().map_err(|error: Error| wrong(error.to_string()))?;
        let tensor = tensors::find(path, &file, WEIGHTS)?;
        if tensor.dtype() != safetensors::Dtype::F32 || tensor.shape() != [features.len()] {
            let (dtype, shape, n) = (tensor.dtype(), tensor.shape(), features.len());
            return Err(wrong(format!("tensor {WEIGHTS} is {dtype} {shape:?}, expected F32 [{n}] for {features}")));
        }
        Self::new(features, tensors::singles(&tensor)).map_err(|error| wrong(error.to_string()))
    }
}

impl From<Weights> for Evaluator {
    fn from(weights: Weights) -> Self {
        Self::of_checked(weights.features, weights.values)
    }
}

/// The twelve learnt values on the board.
pub(super) fn material(weights: &[f32]) -> Values {
    std::array::from_fn(|value| weights.get(value + 1).map_or(0.0, |&weight| weight.into()))
}

/// The seven values in hand, of [`FeatureSet::MaterialHand`].
pub(super) fn hand(features: FeatureSet, weights: &[f32]) -> Option<[f64; 7]> {
    let value = |kind: usize| weights.get(13 + kind).map_or(0.0, |&weight| weight.into());
    (features == FeatureSet::MaterialHand).then(|| std::array::from_fn(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_and_bad_ones_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights.safetensors");
        let values: Vec<f32> = (0..20).map(|weight| 1.0 + weight as f32 / 8.0).collect();
        let weights = Weights::new(FeatureSet::MaterialHand, values.clone()).unwrap();
        weights.save(&path).unwrap();
        assert_eq!(Weights::load(&path).unwrap(), weights);
        assert_eq!(weights.material()[0], 1.125);
        assert_eq!(weights.hand().unwrap()[0], 1.0 + 13.0 / 8.0);
        let error = |text: &str| {
            let error = Weights::load(&path).unwrap_err().to_string();
            assert!(error.starts_with(&path.display().to_string()) && error.contains(text), "{error}");
        };
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        error("not a safetensors file, or a damaged one");
        let text = |from: &str, to: &str| {
            let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
            let mut bytes = bytes.clone();
            bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
            std::fs::write(&path, bytes).unwrap();
        };
        text("material_hand", "material_hnad");
        error("option features: material_hnad is not allowed");
        text("features", "feathers");
        error("the metadata features is missing");
        let mut nan = bytes.clone();
        let end = nan.len();
        nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        std::fs::write(&path, nan).unwrap();
        error("option weight: NaN is not allowed");
        assert!(Weights::new(FeatureSet::Material, values.clone()).is_err());
        assert!(Weights::new(FeatureSet::MaterialHand, [&[2.0], &values[1..]].concat()).is_err());
        assert!(Weights::load(folder.path().join("none")).is_err());
    }
}
