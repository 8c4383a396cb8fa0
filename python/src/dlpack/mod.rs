//! Arrays shared with other libraries by DLPack: what PyTorch, CuPy, JAX or numpy hold is read where it lies, and results are handed to them where they lie.
//!
//! | part | subject |
//! | --- | --- |
//! | `standard` | the structures of `dlpack.h` 1.0 |
//! | `tensor` | what another library hands in |
//! | `array` | what is handed out: `warpplay.Array` |
//! | `argument` | arguments of which a copy is kept, from numpy or by DLPack |
//!
//! <https://dmlc.github.io/dlpack/latest/python_spec.html> says who owns what. A producer's memory is kept until its deleter is called, here with the last use of [`Tensor`]; a
//! consumer calls ours. On a GPU a producer makes its work precede that of the stream that it is told ([`Tensor::of`]); what is handed out is finished, so that a consumer may use
//! it on any stream.

mod argument;
mod array;
mod standard;
mod tensor;

use numpy::PyUntypedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

pub use argument::{Copied, copy_of, expect_dimensions, labels_of, numpy_array};
pub use array::{Array, Shareable};
pub use tensor::Tensor;

/// The kind of an array argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An array of numpy.
    Numpy,
    /// Another object with `__dlpack__`.
    Shared,
}

impl Kind {
    /// Determines the kind of an argument; `what` is its name in errors.
    ///
    /// # Errors
    /// `TypeError` for anything else.
    pub fn of(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.cast::<PyUntypedArray>().is_ok() {
            return Ok(Self::Numpy);
        }
        if value.hasattr("__dlpack__")? && value.hasattr("__dlpack_device__")? {
            return Ok(Self::Shared);
        }
        let kind = value.get_type().name()?;
        let text = format!("{what} is a {kind}: an array of numpy is expected, or an object with __dlpack__");
        Err(PyTypeError::new_err(text))
    }
}
