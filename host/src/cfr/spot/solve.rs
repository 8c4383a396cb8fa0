//! Solving spots, one or many, on one or more devices.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::batch::{self, Laid, MAX_BATCH};
use super::file::Spot;
use super::report::SpotReport;
use super::run::{GoOn, SpotRun, stopped};
use super::solver::{SpotSolver, SpotSolverBuilder};
use crate::cfr::layout::Layout;
use crate::runtime::fnv::Fnv;
use crate::runtime::journal::{self, Header, Journal, Piece};
use crate::runtime::threads;
use crate::{Backend, Device, Error, Progress, Result};

/// What is kept of a solved spot: its report, or less.
pub(super) trait Kept: Clone + PartialEq + Serialize + DeserializeOwned + Send {
    /// What the heading of a journal calls it.
    const COMMAND: &'static str;
    /// Whether the first spot that fails ends the work.
    const ENDS_AT_ERROR: bool;

    /// What is kept of a report.
    fn of(report: SpotReport) -> Result<Self>;

    /// What is kept of a solve that is at its end.
    fn of_solver(solver: &mut SpotSolver) -> Result<Self>;

    /// Checks what a journal holds; describes the first violation.
    fn check(&self, spot: &Spot) -> std::result::Result<(), String>;

    /// Iterations done, exploitability and seconds.
    fn end(&self) -> (u64, Option<f64>, f64);
}

impl Kept for SpotReport {
    const COMMAND: &'static str = "cfr subgame";
    const ENDS_AT_ERROR: bool = false;

    fn of(report: SpotReport) -> Result<Self> {
        Ok(report)
    }

    fn of_solver(solver: &mut SpotSolver) -> Result<Self> {
        solver.report()
    }

    fn check(&self, spot: &Spot) -> std::result::Result<(), String> {
        self.check(spot)
    }

    fn end(&self) -> (u64, Option<f64>, f64) {
        (self.iterations, self.exploitability(), self.seconds)
    }
}

/// The spots that a device solves at once.
enum Unit {
    /// One, by its number. It is laid out when a device takes it, since the layouts of many would fill the memory.
    One(usize),
    /// Rivers, in the same launches. This includes a single one left over from a group of rivers or a journal, since another engine would give different bits.
    Batch(Vec<Laid>),
}

/// Solves spots in parallel: each device takes the next spots as soon as it is free. The results are in the order of the spots and do not depend on the number of devices,
/// as long as these are alike.
///
/// On devices that run kernels, two or more spots of one street (rivers) are solved as a batch in the same launches of engine `street`, if it supports the options;
/// `seconds` of their reports are those of the whole batch. If a batch is refused, its spots are solved one by one, so that each has its own error.
///
/// `watch` is called with the number of finished spots, after each spot and about ten times a second, from any thread. If it returns `Break`, spots in progress end with
/// the iterations done so far, and no other spot is begun.
///
/// # Errors
/// [`Error::Option`] without devices; [`Error::File`] for a new journal that already exists, a journal of a different run, or one that cannot be written. A spot that fails
/// has its own error in place of a report: as [`Spot::build`], and as the device says; [`Error::Order`] if `watch` stopped the work before it was begun.
pub fn solve_spots(
    devices: &[Device],
    spots: &[Spot],
    run: &SpotRun,
    watch: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Vec<Result<SpotReport>>> {
    solve_each(devices, spots, run, watch)
}

/// As [`solve_spots`], and keeps what `K` says of each report.
pub(super) fn solve_each<K: Kept>(
    devices: &[Device],
    spots: &[Spot],
    run: &SpotRun,
    watch: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Vec<Result<K>>> {
    let Some(first) = devices.first() else {
        return Err(Error::option("device", "none", "at least one device"));
    };
    let (journal, answers) = taken::<K>(devices, spots, run)?;
    let mut work = Work {
        spots,
        run,
        watch: &watch,
        finished: AtomicUsize::new(answers.iter().flatten().count()),
        is_stopped: AtomicBool::new(false),
        failed: Mutex::new(None),
        answers: Mutex::new(answers),
        is_kept: journal.is_kept(),
        journal: Mutex::new((journal, BTreeSet::new())),
    };
    let units = work.units(first, devices.len())?;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for device in devices {
            let started = threads::spawn(scope, || {
                while work.go_on()
                    && let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    work.solve(device, unit);
                }
            });
            if let Err(error) = started {
                work.fail(error);
            }
        }
    });
    work.end()
}

/// Spots that several devices solve.
struct Work<'a, K> {
    spots: &'a [Spot],
    run: &'a SpotRun,
    watch: &'a (dyn Fn(usize) -> ControlFlow<()> + Sync),
    finished: AtomicUsize,
    is_stopped: AtomicBool,
    /// The error that ends the work.
    failed: Mutex<Option<Error>>,
    answers: Mutex<Vec<Option<Result<K>>>>,
    is_kept: bool,
    /// With the keys that this run has written.
    journal: Mutex<(Journal, BTreeSet<String>)>,
}

impl<K: Kept> Work<'_, K> {
    fn go_on(&self) -> bool {
        let is_stopped = || self.is_stopped.load(Ordering::Relaxed);
        if !is_stopped() && (self.watch)(self.finished.load(Ordering::Relaxed)).is_break() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        !is_stopped()
    }

    fn fail(&self, error: Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Divides the spots that are left among `n_devices` devices.
    fn units(&mut self, device: &Device, n_devices: usize) -> Result<Vec<Unit>> {
        let answers = self.answers.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The devices of a call are alike; one that is not says so when it gets a batch.
        let (batched, others): (Vec<usize>, Vec<usize>) =
            (0..self.spots.len()).partition(|&number| batch::is_batched(&self.spots[number], device, self.run));
        let left = |number: &usize| answers[*number].is_none();
        let rivers: Vec<usize> = batched.iter().copied().filter(left).collect();
        let others: Vec<Unit> = others.into_iter().filter(left).map(Unit::One).collect();
        let mut units = Vec::new();
        // Rivers that the journal has count: another engine would give the last one other bits.
        if batched.len() > 1 {
            let mut laid = self.lay(rivers)?;
            let size = laid.len().div_ceil(n_devices).clamp(1, MAX_BATCH);
            while !laid.is_empty() {
                let rest = laid.split_off(size.min(laid.len()));
                units.push(Unit::Batch(std::mem::replace(&mut laid, rest)));
            }
        } else {
            units.extend(rivers.into_iter().map(Unit::One));
        }
        units.extend(others);
        Ok(units)
    }

    /// Lays rivers out; one that fails has its answer.
    fn lay(&mut self, rivers: Vec<usize>) -> Result<Vec<Laid>> {
        let lay = |&number: &usize| -> Result<Laid> {
            if !self.go_on() {
                return Err(stopped());
            }
            let spot = &self.spots[number];
            let (game, tree) = spot.build(self.run.options.isomorphism)?;
            Ok(Laid { number, spot: Arc::new(spot.clone()), game: Arc::new(game), tree: Arc::new(tree) })
        };
        let built: Vec<Result<Laid>> = rivers.par_iter().map(lay).collect();
        let answers = self.answers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut laid = Vec::new();
        for (number, built) in rivers.into_iter().zip(built) {
            match built {
                Ok(river) => laid.push(river),
                Err(error) if ends::<K>(&error) => return Err(error),
                Err(error) => {
                    answers[number] = Some(Err(error));
                    self.finished.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(laid)
    }

    /// Solves a unit, and keeps its answers.
    fn solve(&self, device: &Device, unit: &Unit) {
        let mut solved = Vec::new();
        for (number, kept) in solve_unit::<K>(device, unit, self.spots, self.run, &|| self.go_on()) {
            match kept {
                Err(error) if ends::<K>(&error) => self.fail(error),
                kept => solved.push((number, kept)),
            }
        }
        let whole = solved.iter().filter(|_| self.is_kept).filter_map(|(number, kept)| {
            let (spot, kept) = (&self.spots[*number], kept.as_ref().ok()?);
            let (iterations, exploitability, seconds) = kept.end();
            let is_end = self.run.is_end(iterations, exploitability, spot);
            is_end.then(|| (key(spot), Piece { result: kept.clone(), seconds }))
        });
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let (journal, kept) = &mut *journal;
        // Spots that are the same stand there once.
        let whole: Vec<_> = whole.filter(|(key, _)| kept.insert(key.clone())).collect();
        if let Err(error) = journal.append(&whole) {
            self.fail(error);
        }
        self.finished.fetch_add(solved.len(), Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, solved) in solved {
            answers[number] = Some(solved);
        }
    }

    /// The answers, or the error that ended the work.
    fn end(self) -> Result<Vec<Result<K>>> {
        if let Some(error) = self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let answers = self.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(stopped()))).collect())
    }
}

/// Whether an error of one spot ends the work.
fn ends<K: Kept>(error: &Error) -> bool {
    K::ENDS_AT_ERROR && !matches!(error, Error::Order { .. })
}

/// A journal, and what it holds of each spot.
type Taken<K> = (Journal, Vec<Option<Result<K>>>);

/// Opens the journal of a run; returns it with what it holds of each spot.
fn taken<K: Kept>(devices: &[Device], spots: &[Spot], run: &SpotRun) -> Result<Taken<K>> {
    let mut answers: Vec<Option<Result<K>>> = spots.iter().map(|_| None).collect();
    let facts = || {
        let mut facts = journal::options(&run.options, &["threads"]);
        facts["report"] = json!(run.points());
        if let Some(target) = run.target {
            facts["target"] = json!(target);
        }
        // A single one has another engine, which finds other bits.
        let n_rivers = spots.iter().filter(|spot| spot.river.is_some()).count();
        if devices.iter().any(|device| device.backend() != Backend::Cpu) {
            facts["rivers"] = json!(if n_rivers > 1 { "several" } else { "at most one" });
        }
        facts
    };
    let header = || Header::new(K::COMMAND, facts(), devices);
    let (journal, mut records) = Journal::open::<Piece<K>>(run.journal.as_ref(), header)?;
    if journal.is_kept() {
        for (answer, spot) in answers.iter_mut().zip(spots) {
            let key = key(spot);
            let Some(Piece { result, .. }) = records.get(&key) else { continue };
            result.check(spot).map_err(|reason| journal.wrong(&key, reason))?;
            let (iterations, exploitability, _) = result.end();
            if !run.is_end(iterations, exploitability, spot) {
                let reason = format!("{iterations} of {} iterations", run.options.iterations);
                return Err(journal.wrong(&key, reason));
            }
            *answer = Some(Ok(result.clone()));
        }
        for spot in spots {
            records.remove(&key(spot));
        }
        if let Some(key) = records.keys().next() {
            return Err(journal.not_asked(key));
        }
    }
    Ok((journal, answers))
}

/// The key of a spot: its board, and a checksum of all its fields.
fn key(spot: &Spot) -> String {
    // A spot is plain data, which always has a JSON form.
    let text = serde_json::to_string(spot).unwrap_or_default();
    let cards = [Some(&spot.flop), spot.turn.as_ref(), spot.river.as_ref()].into_iter().flatten();
    let board: String = cards.flat_map(|cards| cards.chars().filter(|c| !c.is_whitespace())).collect();
    format!("{board} {:016x}", Fnv::of(text.as_bytes()))
}

/// What is kept of a unit, with the numbers of its spots.
fn solve_unit<K: Kept>(
    device: &Device,
    unit: &Unit,
    spots: &[Spot],
    run: &SpotRun,
    go_on: GoOn<'_>,
) -> Vec<(usize, Result<K>)> {
    let laid = match unit {
        Unit::One(number) => {
            let spot = Arc::new(spots[*number].clone());
            return vec![(*number, solve_one(device, builder(spot, run), run, go_on))];
        }
        Unit::Batch(laid) => laid,
    };
    let numbers = laid.iter().map(|laid| laid.number);
    if let Ok(reports) = batch::solve(device, laid, run, go_on) {
        return numbers.zip(reports.into_iter().map(K::of)).collect();
    }
    let alone = |laid: &Laid| {
        let layout = Layout::Vector { game: Arc::clone(&laid.game), tree: Arc::clone(&laid.tree) };
        solve_one(device, builder(Arc::clone(&laid.spot), run).laid(layout), run, go_on)
    };
    numbers.zip(laid.iter().map(alone)).collect()
}

fn solve_one<K: Kept>(device: &Device, builder: SpotSolverBuilder, run: &SpotRun, go_on: GoOn<'_>) -> Result<K> {
    let mut solver = builder.build(device)?;
    if run.options.iterations > 0 && !go_on() {
        return Err(stopped());
    }
    solver.run(|_| if go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })?;
    K::of_solver(&mut solver)
}

fn builder(spot: Arc<Spot>, run: &SpotRun) -> SpotSolverBuilder {
    let builder = SpotSolverBuilder::new(spot).options(run.options);
    builder.measure_at(run.points().into_iter().filter(|&at| at > 0)).target(run.target)
}

impl Spot {
    /// Solves the spot.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`Error::OutOfMemory`] if the tables do not fit; errors of the device.
    pub fn solve(&self, device: &Device, run: &SpotRun) -> Result<SpotReport> {
        self.solve_watched(device, run, |_| ControlFlow::Continue(()))
    }

    /// Solves the spot. Calls `watch` about ten times a second, first after the first iteration, and with the exploitability at each point of `measure_at` that is reached, in chips; if it
    /// returns `Break`, the report is that of the iterations done so far.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_watched(
        &self,
        device: &Device,
        run: &SpotRun,
        watch: impl FnMut(&Progress<f64>) -> ControlFlow<()>,
    ) -> Result<SpotReport> {
        let mut solver = builder(Arc::new(self.clone()), run).build(device)?;
        solver.run(watch)?;
        solver.report()
    }
}
