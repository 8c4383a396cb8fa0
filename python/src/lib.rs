//! The native half of the Python package `warpplay`: a class for each tool of the library, with the library's own words.
//!
//! Options are keyword arguments with the names and values of the library's `Options`, as its reports have them in JSON; reports are dictionaries. Work runs without the interpreter's lock, and
//! Ctrl-C ends it at the next chance.

mod azero;
mod cfr;
mod convert;
mod dlpack;
mod mcts;
mod mlp;
mod options;
mod shogi;
mod work;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The module; `warpplay/*.py` export its classes.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    convert::note_process();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("WarpplayError", module.py().get_type::<convert::WarpplayError>())?;
    module.add_class::<dlpack::Array>()?;
    module.add_function(wrap_pyfunction!(convert::devices, module)?)?;
    let family = |name: &str, add: fn(&Bound<'_, PyModule>) -> PyResult<()>| -> PyResult<()> {
        let family = PyModule::new(module.py(), name)?;
        add(&family)?;
        module.add_submodule(&family)
    };
    family("mcts", |family| family.add_class::<mcts::Search>())?;
    family("mlp", |family| {
        family.add_class::<mlp::Network>()?;
        family.add_class::<mlp::Trainer>()?;
        family.add_class::<mlp::Classifier>()?;
        family.add_class::<mlp::conv::ConvNetwork>()?;
        family.add_class::<mlp::conv::ConvTrainer>()?;
        family.add_class::<mlp::conv::ConvClassifier>()
    })?;
    family("azero", |family| {
        family.add_class::<azero::Evaluator>()?;
        family.add_class::<azero::SelfPlay>()?;
        family.add_class::<azero::Trainer>()?;
        family.add("ACTIONS", PyTuple::new(family.py(), azero::actions())?)?;
        family.add_function(wrap_pyfunction!(azero::observe, family)?)
    })?;
    family("shogi", |family| {
        family.add_class::<shogi::Learner>()?;
        family.add_class::<shogi::Evaluator>()
    })?;
    family("cfr", |family| {
        family.add_class::<cfr::Solver>()?;
        family.add_class::<cfr::Strategy>()?;
        family.add_class::<cfr::spot::solver::SpotSolver>()?;
        family.add_class::<cfr::spot::node::SolvedSpot>()?;
        family.add_class::<cfr::spot::node::Node>()?;
        family.add_class::<cfr::spot::node::Report>()?;
        family.add_class::<cfr::spot::practice::Practice>()?;
        family.add_class::<cfr::spot::range::Range>()?;
        family.add_function(wrap_pyfunction!(cfr::spot::range::named_ranges, family)?)?;
        family.add_function(wrap_pyfunction!(cfr::spot::boards::solve_boards, family)?)?;
        family.add_function(wrap_pyfunction!(cfr::push_fold, family)?)?;
        family.add_function(wrap_pyfunction!(cfr::solve_spot, family)?)
    })
}
