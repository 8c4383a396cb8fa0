//! `Practice`: hands of a solved spot against its strategies.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use pyo3::prelude::*;
use serde::Serialize;
use warpplay::cfr::spot as library;

use super::node::SolvedSpot;
use crate::convert::{WarpplayError, error, to_python};
use crate::work::Shared;

/// What is done to the library's practice, on the thread that has it.
type Job = Box<dyn FnOnce(&mut library::Practice<'_>) + Send>;

/// Practice against the strategies of a solved spot: hands are dealt by chance and the opponent plays by its strategy; every decision is judged by what it loses to the best action.
///
/// * `history`, `board`: where each hand begins, as for `SolvedSpot.at`. `seed`: of cards and of the opponent's actions; the same seed deals the same hands.
#[pyclass(module = "warpplay.cfr", frozen)]
pub struct Practice {
    /// The library's practice borrows the spot, so it lives on a thread of its own, which ends with this sender.
    jobs: Shared<Sender<Job>>,
}

/// A hand as its player sees it.
#[derive(Serialize)]
struct Hand {
    number: u64,
    seat: usize,
    cards: String,
    board: String,
    history: String,
    pot: f64,
    stack: f64,
    actions: Vec<String>,
    is_over: bool,
    /// At the showdown only.
    others_cards: Option<String>,
}

impl Hand {
    fn of(hand: &library::PracticeHand<'_>) -> Self {
        let (seat, node) = (hand.seat(), hand.node());
        Self {
            number: hand.number(),
            seat,
            cards: hand.cards(seat),
            board: hand.board(),
            history: node.history(),
            pot: node.pot(),
            stack: hand.stack(seat),
            actions: if hand.is_over() { Vec::new() } else { node.actions() },
            is_over: hand.is_over(),
            others_cards: hand.is_shown().then(|| hand.cards(1 - seat)),
        }
    }
}

impl Practice {
    /// Does something to the practice, and waits for the answer without the interpreter's lock.
    fn ask<R: Send + 'static>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&mut library::Practice<'_>) -> warpplay::Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let jobs = self.jobs.lend()?;
        let (send, answer) = mpsc::channel();
        let job: Job = Box::new(move |practice| {
            let _ = send.send(job(practice));
        });
        let ended = || WarpplayError::new_err("the thread of this practice has ended");
        jobs.send(job).map_err(|_| ended())?;
        py.detach(move || answer.recv()).map_err(|_| ended())?.map_err(error)
    }
}

#[pymethods]
impl Practice {
    #[new]
    #[pyo3(signature = (solved, history="", *, board="", seed=1))]
    fn new(py: Python<'_>, solved: &SolvedSpot, history: &str, board: &str, seed: u64) -> PyResult<Self> {
        let (solved, history, board) = (Arc::clone(solved.library()), history.to_string(), board.to_string());
        let (jobs, todo) = mpsc::channel::<Job>();
        let (send, begun) = mpsc::channel();
        let work = move || {
            let practice = solved.at(&history, &board).and_then(|node| library::Practice::new(node, seed));
            let mut practice = match practice {
                Ok(practice) => practice,
                Err(error) => return drop(send.send(Err(error))),
            };
            let _ = send.send(Ok(()));
            todo.into_iter().for_each(|job| job(&mut practice));
        };
        let no_thread = |error| WarpplayError::new_err(format!("the thread of the practice did not start: {error}"));
        thread::Builder::new().name("practice".into()).spawn(work).map_err(no_thread)?;
        let begun = py.detach(move || begun.recv());
        begun.map_err(|_| WarpplayError::new_err("the thread of the practice ended at its start"))?.map_err(error)?;
        Ok(Self { jobs: Shared::new(jobs) })
    }

    /// Deals the next hand to a player on `seat`, and plays on until the player has to act, or to its end; a hand that is not finished does not count.
    ///
    /// * returns the hand, as `hand`.
    fn deal<'py>(&self, py: Python<'py>, seat: usize) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, move |practice| practice.deal(seat).map(Hand::of))?)
    }

    /// The last hand, a dictionary: `number`, `seat`, `cards`, `board`, `history`, `pot` and `stack` in chips, `actions` that the player can take, `is_over`, and `others_cards`, at the showdown only. `None` before the first.
    #[getter]
    fn hand<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |practice| Ok(practice.hand().map(Hand::of)))?)
    }

    /// What the player's actions are worth, before one is taken: a dictionary with `actions`, `ev` (in chips; with `icm` in prizes) and `strategy`, and where the hand stands.
    fn judge<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |practice| practice.judge())?)
    }

    /// Takes an action, as one of the hand's `actions`, and plays on until the player has to act again, or to the end.
    ///
    /// * returns the decision, a dictionary: what `judge` says, `action`, its `frequency` in the strategy, `loss` to the best action, `loss_of_pot` and `gain` on the strategy's own mixture.
    fn act<'py>(&self, py: Python<'py>, action: &str) -> PyResult<Bound<'py, PyAny>> {
        let action = action.to_string();
        to_python(py, &self.ask(py, move |practice| practice.act(&action))?)
    }

    /// The finished hands, a list of dictionaries: `number`, `seat`, `hands`, `board`, `history`, `won`, `expected` and `decisions`.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |practice| Ok(practice.records().to_vec()))?)
    }

    /// Sums over the finished hands, a dictionary: `hands`, `decisions`, `won`, `expected`, `loss` and `loss_per_hand`.
    fn score<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |practice| Ok(practice.score()))?)
    }
}
