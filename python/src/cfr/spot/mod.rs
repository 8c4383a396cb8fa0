//! Hold'em spots with the strategies of every street, on one board or many; ranges of hands.

pub mod boards;
pub mod node;
pub mod practice;
pub mod range;
pub mod solver;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use warpplay::cfr::Spot;
use warpplay::cfr::spot::SpotTarget;

use crate::convert::error;
use crate::options::argument;

/// A spot of a dictionary.
///
/// # Errors
/// `TypeError` for anything else; `ValueError` for a field that it cannot have.
pub fn of_dictionary(spot: &Bound<'_, PyAny>) -> PyResult<Spot> {
    if spot.is_instance_of::<PyDict>() {
        return argument("spot", spot);
    }
    let kind = spot.get_type().name()?;
    Err(PyTypeError::new_err(format!("spot is a {kind}: a dictionary is expected")))
}

/// Chips, or a text as `"0.5%pot"`.
fn target(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<SpotTarget>> {
    let Some(given) = given else { return Ok(None) };
    if let (Ok(chips), false) = (given.extract::<f64>(), given.is_instance_of::<PyBool>()) {
        return Ok(Some(SpotTarget::Chips(chips)));
    }
    match given.extract::<String>() {
        Ok(text) => text.parse().map(Some).map_err(error),
        Err(_) => Err(PyValueError::new_err(format!("target: {given} is not allowed (chips as 0.25, or \"0.5%pot\")"))),
    }
}
