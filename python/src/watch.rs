//! Between the library's `watch` and the interpreter: signals, and a caller's `progress`.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::Progress;

use crate::convert::expect_same_process;

/// Time between two looks at the interpreter, which take its lock.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a run asks.
pub struct Watch {
    progress: Option<Py<PyAny>>,
    looked: Instant,
    /// What was raised: by Ctrl-C, or by `progress`.
    raised: Option<PyErr>,
}

impl Watch {
    /// One that calls `progress`, if it is given, with a dictionary, and ends the work where that returns what is false but not `None`.
    ///
    /// # Errors
    /// As [`expect_same_process`].
    pub fn new(progress: Option<Py<PyAny>>) -> PyResult<Self> {
        expect_same_process()?;
        Ok(Self { progress, looked: Instant::now(), raised: None })
    }

    /// Whether to go on. The interpreter is asked now and then, and whenever something was measured.
    pub fn go_on<R>(&mut self, progress: &Progress<R>) -> ControlFlow<()> {
        if self.raised.is_some() {
            return ControlFlow::Break(());
        }
        if self.looked.elapsed() < LOOK_EVERY && progress.latest.is_none() {
            return ControlFlow::Continue(());
        }
        self.looked = Instant::now();
        match Python::attach(|py| self.ask(py, progress)) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn ask<R>(&self, py: Python<'_>, progress: &Progress<R>) -> PyResult<bool> {
        py.check_signals()?;
        let Some(callback) = &self.progress else { return Ok(true) };
        let said = PyDict::new(py);
        said.set_item("steps", progress.steps)?;
        said.set_item("n_steps", progress.n_steps)?;
        said.set_item("seconds", progress.elapsed.as_secs_f64())?;
        said.set_item("fraction", progress.fraction())?;
        let answer = callback.call1(py, (said,))?;
        let answer = answer.bind(py);
        Ok(answer.is_none() || answer.is_truthy()?)
    }

    /// What the run found, or what was raised in it.
    ///
    /// # Errors
    /// As raised, first; else the library's.
    pub fn result<T>(self, found: warpplay::Result<T>) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => found.map_err(crate::convert::error),
        }
    }
}
