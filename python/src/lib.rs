//! The native half of the Python package `warpplay`: a class for each tool of the library, with the library's own words.
//!
//! Options are keyword arguments with the names and values of the library's `Options`, as its reports have them in JSON; reports are dictionaries. Work runs without the interpreter's lock, and
//! Ctrl-C ends it at the next chance.

mod azero;
mod cfr;
mod convert;
mod mcts;
mod mlp;
mod watch;

use pyo3::prelude::*;

/// The module; `warpplay/*.py` give its classes their places.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("WarpplayError", module.py().get_type::<convert::WarpplayError>())?;
    module.add_function(wrap_pyfunction!(convert::devices, module)?)?;
    module.add_class::<mcts::Search>()?;
    module.add_class::<mlp::Network>()?;
    module.add_class::<mlp::Trainer>()?;
    module.add_class::<mlp::Classifier>()?;
    module.add_class::<azero::Evaluator>()?;
    module.add_class::<cfr::Solver>()?;
    module.add_class::<cfr::Strategy>()
}
