//! Files of named tensors in the safetensors format.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use safetensors::tensor::{TensorInfo, TensorView};
use safetensors::{Dtype, SafeTensors};

use crate::{Error, Result};

/// A tensor to be written.
pub struct Tensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    /// Single precision.
    pub fn single(name: String, shape: Vec<usize>, values: impl Iterator<Item = f32>) -> Self {
        let bytes = bytes_of(&shape, values.map(f32::to_le_bytes));
        Self { name, dtype: Dtype::F32, shape, bytes }
    }

    /// Whole numbers of 16 bits.
    pub fn short(name: String, shape: Vec<usize>, values: impl Iterator<Item = u16>) -> Self {
        let bytes = bytes_of(&shape, values.map(u16::to_le_bytes));
        Self { name, dtype: Dtype::U16, shape, bytes }
    }

    /// Whole numbers of 32 bits.
    pub fn word(name: String, shape: Vec<usize>, values: impl Iterator<Item = u32>) -> Self {
        let bytes = bytes_of(&shape, values.map(u32::to_le_bytes));
        Self { name, dtype: Dtype::U32, shape, bytes }
    }

    /// Double precision.
    pub fn double(name: String, shape: Vec<usize>, values: impl Iterator<Item = f64>) -> Self {
        let bytes = bytes_of(&shape, values.map(f64::to_le_bytes));
        Self { name, dtype: Dtype::F64, shape, bytes }
    }

    fn planned(&self) -> Planned {
        Planned { name: self.name.clone(), dtype: self.dtype, shape: self.shape.clone() }
    }
}

/// A tensor without its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
}

impl Planned {
    /// Bytes of its values.
    pub fn n_bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8
    }
}

/// Concatenates the bytes of all values. Tables may hold gigabytes, so memory is reserved once, and each number is copied as a whole.
fn bytes_of<const N: usize>(shape: &[usize], values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    let n = shape.iter().product::<usize>();
    let mut bytes = Vec::with_capacity(n * N);
    values.for_each(|value| bytes.extend_from_slice(&value));
    bytes
}

/// Returns the bytes of a file with these tensors and one line of metadata; with a single line, equal tensors give equal bytes.
pub(crate) fn to_bytes(path: &Path, tensors: &[Tensor], key: &str, value: &str) -> Result<Vec<u8>> {
    let failed = |error| Error::file(path, None, format!("cannot be written: {error}"));
    let views = tensors.iter().map(|tensor| {
        let view = TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.bytes)?;
        Ok((tensor.name.as_str(), view))
    });
    let views = views.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let metadata = HashMap::from([(key.to_string(), value.to_string())]);
    safetensors::serialize(views, Some(metadata)).map_err(failed)
}

/// Returns the bytes of a file with these tensors and any number of lines of metadata; equal arguments give equal bytes. Tensors with wider elements come first, so that all
/// are aligned; otherwise their order is kept.
pub(crate) fn to_bytes_described(
    path: &Path,
    tensors: &[Tensor],
    metadata: BTreeMap<String, String>,
) -> Result<Vec<u8>> {
    let mut tensors: Vec<&Tensor> = tensors.iter().collect();
    tensors.sort_by_key(|tensor| Reverse(tensor.dtype.bitsize()));
    let planned: Vec<Planned> = tensors.iter().map(|tensor| tensor.planned()).collect();
    let mut bytes = header(path, &planned, metadata)?;
    bytes.reserve_exact(tensors.iter().map(|tensor| tensor.bytes.len()).sum());
    tensors.iter().for_each(|tensor| bytes.extend_from_slice(&tensor.bytes));
    Ok(bytes)
}

/// The beginning of a file up to the bytes of its tensors, which follow in this order; equal arguments give equal bytes.
pub(crate) fn header(path: &Path, tensors: &[Planned], metadata: BTreeMap<String, String>) -> Result<Vec<u8>> {
    let failed = |error: &dyn std::fmt::Display| Error::file(path, None, format!("cannot be written: {error}"));
    let mut at = 0;
    let infos = tensors.iter().map(|tensor| {
        let data_offsets = (at, at + tensor.n_bytes());
        at = data_offsets.1;
        (tensor.name.clone(), TensorInfo { dtype: tensor.dtype, shape: tensor.shape.clone(), data_offsets })
    });
    // Sorted: the crate's own map of metadata has an order that changes.
    let mut header: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    for (name, info) in infos {
        header.insert(name, serde_json::to_value(info).map_err(|error| failed(&error))?);
    }
    header.insert("__metadata__".into(), serde_json::to_value(metadata).map_err(|error| failed(&error))?);
    let mut header = serde_json::to_vec(&header).map_err(|error| failed(&error))?;
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(&header);
    Ok(bytes)
}

/// The header of a file's bytes, checked against their number.
pub(crate) fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes).map_err(|error| {
        let reason = match bytes.len() {
            0 => "the file is empty, expected a safetensors file".to_string(),
            n => format!("not a safetensors file, or a damaged one: {error} ({n} bytes)"),
        };
        Error::file(path, None, reason)
    })
}

/// A tensor of a file.
///
/// # Errors
/// [`Error::File`] names a tensor that is missing.
pub(crate) fn find<'a>(path: &Path, file: &SafeTensors<'a>, name: &str) -> Result<TensorView<'a>> {
    file.tensor(name).map_err(|_| Error::file(path, None, format!("tensor {name} is missing")))
}

/// A tensor of this type and shape.
///
/// # Errors
/// [`Error::File`] names a tensor that is missing, or has another type or shape.
pub(crate) fn find_as<'a>(
    path: &Path,
    file: &SafeTensors<'a>,
    name: &str,
    expected: Dtype,
    shape: &[usize],
) -> Result<TensorView<'a>> {
    let view = find(path, file, name)?;
    if view.dtype() != expected || view.shape() != shape {
        let (dtype, found) = (view.dtype(), view.shape());
        let reason = format!("tensor {name} is {dtype} {found:?}, expected {expected} {shape:?}");
        return Err(Error::file(path, None, reason));
    }
    Ok(view)
}

/// The values of a tensor in single precision.
pub(crate) fn singles(tensor: &TensorView<'_>) -> Vec<f32> {
    tensor.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// The values of a tensor in double precision.
pub(crate) fn doubles(tensor: &TensorView<'_>) -> Vec<f64> {
    tensor.data().as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

/// Checks that a tensor's values are not NaN and, if `finite` is set, that they are finite; returns a description of the first error.
pub(crate) fn check_values(name: &str, values: impl Iterator<Item = f64>, finite: bool) -> Result<(), String> {
    let bad = |value: f64| if finite { !value.is_finite() } else { value.is_nan() };
    match values.enumerate().find(|&(_, value)| bad(value)) {
        Some((at, value)) => {
            let expected = if finite { "a finite number" } else { "a number" };
            Err(format!("tensor {name}, element {at} is {value}, expected {expected}"))
        }
        None => Ok(()),
    }
}

/// A tensor's values. Types up to single precision and double precision are read; every value is exact.
pub(crate) fn values(path: &Path, name: &str, tensor: &TensorView<'_>) -> Result<Vec<f64>> {
    let data = tensor.data();
    Ok(match tensor.dtype() {
        Dtype::F64 => doubles(tensor),
        Dtype::F32 => data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect(),
        Dtype::BF16 => data.as_chunks().0.iter().map(|&bytes| from_bf16(u16::from_le_bytes(bytes))).collect(),
        Dtype::F16 => data.as_chunks().0.iter().map(|&bytes| from_f16(u16::from_le_bytes(bytes))).collect(),
        other => {
            let reason = format!("tensor {name} is of type {other}, expected F32, F64, F16 or BF16");
            return Err(Error::file(path, None, reason));
        }
    })
}

fn from_bf16(bits: u16) -> f64 {
    f32::from_bits(u32::from(bits) << 16).into()
}

fn from_f16(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3FF);
    let size = match bits >> 10 & 0x1F {
        0 => fraction * 2.0_f64.powi(-24),
        31 if bits & 0x3FF == 0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2.0_f64.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_floats_are_widened_exactly() {
        let halves = [0x3C00, 0xC000, 0x7BFF, 0x0001, 0x8400, 0x7C00].map(from_f16);
        assert_eq!(halves, [1.0, -2.0, 65504.0, 2.0_f64.powi(-24), -(2.0_f64.powi(-14)), f64::INFINITY]);
        assert!(from_f16(0x7E00).is_nan());
        assert_eq!([0x3F80, 0xC049].map(from_bf16), [1.0, -3.140625]);
    }
}
