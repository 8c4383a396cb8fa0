//! `solve_boards`: a spot on many boards.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::Progress;
use warpplay::cfr::spot::Boards;
use warpplay::cfr::{Options, SpotRun};

use super::of_dictionary;
use crate::convert::{device, error, to_python};
use crate::options::options;
use crate::work;

/// Solves a spot on many boards. Returns a dictionary: `rows`, for each board its values, frequencies and texture; `blocked`, the boards on which no two hands of the ranges are possible, and `left`, those that are not
/// solved, if `progress` ended the work; `mean` over all rows; `groups`, the means by feature of the board.
///
/// * `boards`: `"all"`, a number of flops (`"25"`) or a list (`"8c,Kd"`), as for `warpplay cfr solve-boards`. `target` ends each board's solve, as in `SpotSolver`.
/// * `progress` is called with the number of boards done; where it returns `False`, the rest is left out.
/// * further options are those of `solve_spot`.
#[pyfunction]
#[pyo3(signature = (spot, boards="all", *, device="auto", target=None, progress=None, **given))]
pub fn solve_boards<'py>(
    py: Python<'py>,
    spot: &Bound<'py, PyAny>,
    boards: &str,
    device: &str,
    target: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (spot, options, device) = (of_dictionary(spot)?, options(&Options::SPOT, given)?, self::device(device)?);
    let boards = py.detach(|| Boards::parse(boards, &spot)).map_err(error)?;
    let run = SpotRun { options, target: super::target(target)?, ..SpotRun::default() };
    let n_boards = boards.len() as u64;
    let found = work::wait(py, progress, move |watch| {
        let watch = Mutex::new(watch);
        let began = Instant::now();
        warpplay::cfr::solve_boards(&[device], &spot, &boards, &run, |n| {
            let progress: Progress<()> = Progress {
                steps: n as u64,
                n_steps: Some(n_boards),
                elapsed: began.elapsed(),
                time_limit: None,
                latest: None,
            };
            match watch.lock() {
                Ok(mut watch) => watch.go_on(&progress),
                Err(_) => ControlFlow::Break(()),
            }
        })
    })?;
    let dictionary = PyDict::new(py);
    dictionary.set_item("rows", to_python(py, &found.rows)?)?;
    dictionary.set_item("blocked", &found.blocked)?;
    dictionary.set_item("left", to_python(py, &found.left)?)?;
    dictionary.set_item("mean", to_python(py, &found.mean())?)?;
    dictionary.set_item("groups", to_python(py, &found.groups())?)?;
    Ok(dictionary.into_any())
}
