//! Work of the library that the interpreter waits for: one call at a time, Ctrl-C heard at once, a caller's `progress` asked.
//!
//! A run is done by a thread of its own, which knows nothing of Python. The thread that called it waits without the interpreter's lock, looks for signals, and answers what the
//! run asks. So `progress` is called where Python expects it, and a signal is heard in the middle of a step, however long that is.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::Progress;

use crate::convert::{WarpplayError, error, expect_same_process};

/// Time between two checks of the interpreter, each of which takes its lock.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Maximum time that an interrupted run may take to stop, before the call returns without it.
const GRACE: Duration = Duration::from_secs(1);

/// A tool of the library, for one call at a time.
pub struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    pub fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Takes the tool for this call.
    ///
    /// # Errors
    /// `WarpplayError` while another call has it, or in a child of a fork.
    pub fn lend(&self) -> PyResult<MutexGuard<'_, T>> {
        expect_same_process()?;
        take(&self.0).ok_or_else(in_use)
    }
}

/// The tool, unless a call uses it.
fn take<T>(tool: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match tool.try_lock() {
        Ok(tool) => Some(tool),
        // A call that panicked is over.
        Err(TryLockError::Poisoned(tool)) => Some(tool.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn in_use() -> PyErr {
    WarpplayError::new_err(
        "this object is in use: a call of another thread, or one that Ctrl-C ended, has not finished; wait for it, or make an object for each thread",
    )
}

/// A message of a run.
#[derive(Clone, Copy)]
struct Said {
    steps: u64,
    n_steps: Option<u64>,
    seconds: f64,
    fraction: f64,
}

/// The run's side of the conversation.
pub struct Watch {
    /// The channel for its messages, and for the answers whether to continue.
    say: SyncSender<Said>,
    answers: Receiver<bool>,
    said: Instant,
    is_ended: bool,
}

impl Watch {
    /// Whether to continue. The caller is asked from time to time, and after every measurement.
    pub fn go_on<R>(&mut self, progress: &Progress<R>) -> ControlFlow<()> {
        let said = || Said {
            steps: progress.steps,
            n_steps: progress.n_steps,
            seconds: progress.elapsed.as_secs_f64(),
            fraction: progress.fraction(),
        };
        self.ask(progress.latest.is_some(), said)
    }

    fn ask(&mut self, is_measured: bool, said: impl FnOnce() -> Said) -> ControlFlow<()> {
        if !self.is_ended && (is_measured || self.said.elapsed() >= LOOK_EVERY) {
            self.said = Instant::now();
            // A caller that is gone wants no more of it.
            self.is_ended = self.say.send(said()).is_err() || !self.answers.recv().unwrap_or(false);
        }
        // What was said to end, ended.
        if self.is_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs `work` on the tool, as [`wait`].
///
/// # Errors
/// As [`wait`]; `WarpplayError` while another call has the tool.
pub fn run<T: Send + 'static, R: Send + 'static>(
    py: Python<'_>,
    tool: &Shared<T>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut T, &mut Watch) -> warpplay::Result<R> + Send + 'static,
) -> PyResult<R> {
    let tool = Arc::clone(&tool.0);
    let found = wait(py, progress, move |watch| match take(&tool) {
        Some(mut tool) => work(&mut tool, watch).map(Some),
        None => Ok(None),
    })?;
    found.ok_or_else(in_use)
}

/// Runs `work` in its own thread and returns its result.
///
/// `progress` is called with a dictionary; if it returns a false value other than `None`, the work is stopped. A signal stops it, too; if it has not ended within a second,
/// the call returns, and the work ends at its next check.
///
/// # Errors
/// `TypeError` for a `progress` that cannot be called; what a signal or `progress` raised; what the library could not do; `WarpplayError` in a child of a fork.
pub fn wait<R: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Watch) -> warpplay::Result<R> + Send + 'static,
) -> PyResult<R> {
    if let Some(progress) = progress.as_ref().map(|progress| progress.bind(py)).filter(|given| !given.is_callable()) {
        let kind = progress.get_type().name()?;
        return Err(PyTypeError::new_err(format!("progress is a {kind}: a function is expected")));
    }
    expect_same_process()?;
    let (say, mut said) = mpsc::sync_channel(0);
    let (answer, answers) = mpsc::sync_channel(1);
    let worker = thread::Builder::new().name("warpplay".to_string()).spawn(move || {
        let mut watch = Watch { say, answers, said: Instant::now(), is_ended: false };
        work(&mut watch)
    });
    let worker = worker.map_err(|error| PyRuntimeError::new_err(format!("a thread cannot be started: {error}")))?;
    let mut raised: Option<(PyErr, Instant)> = None;
    loop {
        let from = &mut said;
        let heard = py.detach(move || from.recv_timeout(LOOK_EVERY));
        let goes_on = match (py.check_signals(), &heard) {
            (Err(error), _) => Err(error),
            (Ok(()), Ok(said)) => ask(py, progress.as_ref(), *said),
            (Ok(()), Err(_)) => Ok(true),
        };
        let goes_on = goes_on.unwrap_or_else(|error| {
            raised.get_or_insert((error, Instant::now()));
            false
        });
        match heard {
            // Ours is the other end as long as it waits.
            Ok(_) => drop(answer.send(goes_on && raised.is_none())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if raised.as_ref().is_some_and(|(_, when)| when.elapsed() >= GRACE) {
            break;
        }
    }
    match raised {
        Some((raised, _)) => Err(raised),
        None => py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic)).map_err(error),
    }
}

/// Calls `progress`; returns whether to continue.
fn ask(py: Python<'_>, progress: Option<&Py<PyAny>>, said: Said) -> PyResult<bool> {
    let Some(progress) = progress else { return Ok(true) };
    let told = PyDict::new(py);
    told.set_item("steps", said.steps)?;
    told.set_item("n_steps", said.n_steps)?;
    told.set_item("seconds", said.seconds)?;
    told.set_item("fraction", said.fraction)?;
    let answer = progress.call1(py, (told,))?;
    let answer = answer.bind(py);
    Ok(answer.is_none() || answer.is_truthy()?)
}
