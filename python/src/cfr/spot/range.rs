//! `Range`: hands with weights.

use numpy::PyArray1;
use pyo3::prelude::*;
use warpplay::cfr::game::Deck;
use warpplay::cfr::spot::{self as library, NamedRange};

use crate::convert::error;

/// Hands of two cards with weights, in the usual notation: `"AA,KK:0.5,AKs,76s+"`, or `"@btn_open"`, one of `named_ranges`.
#[pyclass(module = "warpplay.cfr", frozen)]
pub struct Range {
    range: library::Range,
}

#[pymethods]
impl Range {
    /// Reads the notation; `ValueError` names what cannot be read.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self { range: library::Range::parse(text).map_err(error)? })
    }

    /// The hands of positive weight, `[n]` strings as `"AhKd"`.
    #[getter]
    fn hands(&self) -> Vec<String> {
        self.range.hands(0).into_iter().map(|(hand, _)| Deck::FULL.names(hand)).collect()
    }

    /// Their weights, `[n]` float64 above 0 and at most 1.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.range.hands(0).into_iter().map(|(_, weight)| weight))
    }

    /// The number of hands, each counted by its weight.
    #[getter]
    fn combos(&self) -> f64 {
        self.range.combos()
    }
}

/// The named ranges of the library: what each one means, by name.
#[pyfunction]
pub fn named_ranges() -> std::collections::BTreeMap<&'static str, &'static str> {
    NamedRange::ALL.iter().map(|range| (range.name, range.meaning)).collect()
}
