//! Values on the way between Python and the library.

use std::sync::OnceLock;

use numpy::ndarray::{ArrayView, Dimension};
use pyo3::exceptions::{PyException, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use warpplay::{Device, Error};

pyo3::create_exception!(
    warpplay,
    WarpplayError,
    PyException,
    "What the library could not do; the text says what, and what is allowed."
);

/// Converts the library's errors: a value that is not allowed is a `ValueError`, all others are a `WarpplayError`.
pub fn error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Option { .. } | Error::Shape { .. } | Error::Moves { .. } => PyValueError::new_err(text),
        _ => WarpplayError::new_err(text),
    }
}

/// The process that loaded the module.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Records the process when the module is loaded.
pub fn note_process() {
    PROCESS.get_or_init(std::process::id);
}

/// Refuses a forked child, which has neither the threads nor the driver's context of its parent, and would wait for them for ever.
///
/// # Errors
/// `WarpplayError` in a process that was forked after the module was loaded.
pub fn expect_same_process() -> PyResult<()> {
    match PROCESS.get() {
        Some(&process) if process != std::process::id() => Err(WarpplayError::new_err(
            "this process was forked after warpplay was imported: start it anew (multiprocessing.set_start_method(\"spawn\")), or import warpplay in the child alone",
        )),
        _ => Ok(()),
    }
}

/// The values of an array in the order of its indices, regardless of its layout in memory.
///
/// # Errors
/// `MemoryError` if there is no memory for them.
pub fn copied<T: Copy, D: Dimension>(array: ArrayView<'_, T, D>) -> PyResult<Vec<T>> {
    let mut values = reserved(array.len())?;
    values.extend(array.iter().copied());
    Ok(values)
}

/// Allocates memory for `n` values.
///
/// # Errors
/// `MemoryError` if there is none.
pub fn reserved<T>(n: usize) -> PyResult<Vec<T>> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(n)
        .map_err(|_| PyMemoryError::new_err(format!("an array of {n} values has no room in memory")))?;
    Ok(values)
}

/// A device by its name: `auto`, `cuda`, `cuda:N`, `simt`, `cpu`.
pub fn device(name: &str) -> PyResult<Device> {
    expect_same_process()?;
    Device::parse(name).map_err(error)
}

/// The devices of this machine, best first: a dictionary for each, with its properties.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &py.detach(Device::list))
}

/// Converts a serializable value to dictionaries, lists, numbers and strings.
pub fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, value)?)
}

/// Checks a dimension of an array.
///
/// # Errors
/// `ValueError` names it, with both shapes.
pub fn expect_shape(what: &str, found: &[usize], expected: &[usize]) -> PyResult<()> {
    match found == expected {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("{what} has the shape {found:?}, expected {expected:?}"))),
    }
}
