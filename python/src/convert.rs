//! Values on the way between Python and the library.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use warpplay::{Device, Error};

pyo3::create_exception!(
    warpplay,
    WarpplayError,
    PyException,
    "What the library could not do; the text says what, and what is allowed."
);

/// What one thread at a time works with: the interpreter lends a class's value exclusively where a method changes it.
pub struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    pub fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn get(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The library's errors: a value that is not allowed is a `ValueError`, all others are a `WarpplayError`.
pub fn error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Option { .. } | Error::Shape { .. } | Error::Moves { .. } => PyValueError::new_err(text),
        _ => WarpplayError::new_err(text),
    }
}

/// A device by its name: `auto`, `cuda`, `cuda:N`, `simt`, `cpu`.
pub fn device(name: &str) -> PyResult<Device> {
    Device::parse(name).map_err(error)
}

/// The devices of this machine, best first: a dictionary each, with what is known of it.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &py.detach(Device::list))
}

/// What serializes, as dictionaries, lists, numbers and strings.
pub fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, value)?)
}

/// Options of the library: `given` by name over the defaults.
///
/// # Errors
/// `TypeError` for a name that is no option, with those that are; `ValueError` for a value that an option cannot have.
pub fn options<O: Serialize + DeserializeOwned>(defaults: &O, given: Option<&Bound<'_, PyDict>>) -> PyResult<O> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let mut value = serde_json::to_value(defaults).map_err(wrong)?;
    let names: Vec<String> = value.as_object().map_or(Vec::new(), |fields| fields.keys().cloned().collect());
    for (name, option) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        if !names.contains(&name) {
            return Err(PyTypeError::new_err(format!("{name} is no option; allowed are {}", names.join(", "))));
        }
        let option: Value = pythonize::depythonize(&option)?;
        value[&name] = option;
        // One by one, so that the error names the option.
        if let Err(error) = serde_json::from_value::<O>(value.clone()) {
            return Err(PyValueError::new_err(format!("option {name}: {error}")));
        }
    }
    serde_json::from_value(value).map_err(wrong)
}
