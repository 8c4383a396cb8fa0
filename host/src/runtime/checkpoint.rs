//! The state of a piece of work in a file, to be gone on with: one frame for all families.

use std::ops::Deref;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::runtime::sealed::Kind;
use crate::runtime::{atomic_file, input_file};
use crate::{Error, Result};

/// The content of a family's checkpoint. It converts itself to and from the bytes of a sealed file; [`Checkpoint`] does the file access.
pub trait State: Sized {
    /// The kind of file.
    const KIND: Kind;

    /// The bytes of the file.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if the state could not be read back.
    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>>;

    /// Reads the state from a file's bytes and checks every field.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) names what is wrong.
    fn from_bytes(path: &Path, bytes: &mut [u8]) -> Result<Self>;
}

/// Everything needed to continue a run as if it had never stopped. `S` is the family's state; the checkpoint dereferences to it.
///
/// `checkpoint()` of a trainer or solver makes one, and `resume` of its builder takes it. The file is in safetensors format, with one line of metadata and a checksum of the
/// whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint<S>(pub(crate) S);

impl<S: State> Checkpoint<S> {
    /// Writes the checkpoint to a new file beside `path`, syncs that file, and then renames it to `path`.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        atomic_file::write(path, &self.0.to_bytes(path)?)
    }

    /// Reads a checkpoint and checks every field.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if the file is no checkpoint of this family, is of a version that is not read, is damaged in any byte, or holds a state that no
    /// run can reach.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        S::from_bytes(path, &mut input_file::read(path)?).map(Self)
    }
}

impl<S> Deref for Checkpoint<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

/// Checks that an option which a run cannot change is the checkpoint's.
///
/// # Errors
/// [`Error::Option`] with both values.
pub(crate) fn expect_same<T: PartialEq + Serialize>(name: &'static str, new: &T, old: &T) -> Result<()> {
    match new == old {
        true => Ok(()),
        false => Err(Error::option(name, shown(new), format!("{}, as in the checkpoint", shown(old)))),
    }
}

/// An option's JSON without quotes; `none` for null.
fn shown(value: &impl Serialize) -> String {
    // Options are plain data, which always has a JSON form.
    match &serde_json::to_string(value).unwrap_or_default()[..] {
        "null" => "none".into(),
        text => text.replace('"', ""),
    }
}

/// Any `f64`, stored as its bits, since JSON has neither infinities nor NaN.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Bits(u64);

impl From<f64> for Bits {
    fn from(value: f64) -> Self {
        Self(value.to_bits())
    }
}

impl From<Bits> for f64 {
    fn from(bits: Bits) -> Self {
        f64::from_bits(bits.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_differs_is_shown_as_it_is_written() {
        let text = |new, old| expect_same("seconds", &new, &old).unwrap_err().to_string();
        assert!(expect_same("seconds", &Some(0.1_f32), &Some(0.1)).is_ok());
        assert_eq!(text(Some(0.1_f32), None), "option seconds: 0.1 is not allowed (none, as in the checkpoint)");
        assert_eq!(text(None, Some(2.5)), "option seconds: none is not allowed (2.5, as in the checkpoint)");
        let error = expect_same("engine", &"cpu", &"epoch").unwrap_err().to_string();
        assert_eq!(error, "option engine: cpu is not allowed (epoch, as in the checkpoint)");
    }
}
