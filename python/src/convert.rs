//! Values on the way between Python and the library.

use std::sync::OnceLock;

use numpy::ndarray::{ArrayView, Dimension};
use pyo3::exceptions::{PyException, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
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

/// Converts a value of Python to JSON, including numbers of numpy.
///
/// # Errors
/// `ValueError` for a number that is not finite, `TypeError` for anything but a number, text, list or dictionary; `name` is the option's.
fn to_json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if let Ok(text) = value.extract::<String>() {
        return Ok(Value::String(text));
    }
    if let Ok(fields) = value.cast::<PyDict>() {
        let mut object = Map::new();
        for (field, value) in fields {
            let field: String = field.extract()?;
            let value = to_json(&format!("{name}.{field}"), &value)?;
            object.insert(field, value);
        }
        return Ok(Value::Object(object));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        return value.try_iter()?.map(|value| to_json(name, &value?)).collect::<PyResult<Vec<_>>>().map(Value::Array);
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(number.into());
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(number.into());
    }
    match value.extract::<f64>() {
        Ok(number) => match serde_json::Number::from_f64(number) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(PyValueError::new_err(format!("option {name}: {number} is not allowed (a finite number)"))),
        },
        Err(_) => {
            let kind = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("option {name}: a {kind} is not a value of an option")))
        }
    }
}

/// Merges `given` into `value`, field by field if both have the same kind.
///
/// # Errors
/// `TypeError` for a name that is not an option, with the valid names.
fn lay_over(value: &mut Value, given: Value, name: &str) -> PyResult<()> {
    match (value, given) {
        // An optimiser of another name has other fields.
        (Value::Object(fields), Value::Object(given))
            if given.get("name").is_none_or(|kind| fields.get("name") == Some(kind)) =>
        {
            for (field, given) in given {
                let whole = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                let Some(value) = fields.get_mut(&field) else {
                    let allowed = fields.keys().cloned().collect::<Vec<_>>().join(", ");
                    return Err(PyTypeError::new_err(format!("{whole} is not an option; allowed are {allowed}")));
                };
                lay_over(value, given, &whole)?;
            }
        }
        (value, given) => *value = given,
    }
    Ok(())
}

/// Options of the library: `given` by name over the defaults.
///
/// # Errors
/// `TypeError` for a name that is not an option, with the valid names; `ValueError` for a value that an option cannot have.
pub fn options<O: Serialize + DeserializeOwned>(defaults: &O, given: Option<&Bound<'_, PyDict>>) -> PyResult<O> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let mut value = serde_json::to_value(defaults).map_err(wrong)?;
    for (name, option) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let option = to_json(&name, &option)?;
        lay_over(&mut value, Value::Object(Map::from_iter([(name.clone(), option)])), "")?;
        // One by one, so that the error names the option.
        if let Err(error) = serde_json::from_value::<O>(value.clone()) {
            return Err(PyValueError::new_err(format!("option {name}: {error}")));
        }
    }
    serde_json::from_value(value).map_err(wrong)
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
