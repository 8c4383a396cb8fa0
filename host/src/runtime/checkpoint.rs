//! The state of a piece of work in a file, to be gone on with: one frame for all families.

use std::ops::Deref;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::runtime::sealed::Kind;
use crate::runtime::{atomic_file, input_file};

/// What a family's checkpoint holds. It writes and reads itself as a sealed file; [`Checkpoint`] does the rest.
pub trait State: Sized {
    /// Its kind of file.
    const KIND: Kind;

    /// The bytes of the file.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) where it could not be read back.
    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>>;

    /// The state that a file's bytes hold, every field checked.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) names what is wrong.
    fn from_bytes(path: &Path, bytes: &mut [u8]) -> Result<Self>;
}

/// Everything needed to go on with a piece of work as if it had never stopped; `S` is the family's part, whose methods are reached through it.
///
/// Made by `checkpoint()` of what trains or solves, taken by `resume` of its builder. The file is safetensors with a line of metadata and a checksum over the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint<S>(pub(crate) S);

impl<S: State> Checkpoint<S> {
    /// Writes it: to a new file beside `path` first, which is synced and then takes the name.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if it cannot be written: the file that was there is unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        atomic_file::write(path, &self.0.to_bytes(path)?)
    }

    /// Reads it and checks every field.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if the file is no checkpoint of this family, is of a version that is not read, is damaged in any byte, or holds what no work can
    /// come to.
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

/// An `f64` of any kind, by its bits: JSON has no infinities, and no number that is none.
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
