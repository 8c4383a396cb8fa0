//! Solving spots, one or many, on one or more devices.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::json;

use super::batch::{self, Laid, MAX_BATCH};
use super::file::Spot;
use super::report::SpotReport;
use super::run::{GoOn, SpotRun, stopped};
use super::solver::SpotSolverBuilder;
use crate::cfr::layout::Layout;
use crate::runtime::fnv::Fnv;
use crate::runtime::journal::{self, Header, Journal, Piece};
use crate::runtime::threads;
use crate::{Backend, Device, Error, Progress, Result};

/// The spots that a device solves at once.
struct Unit {
    spots: Vec<Laid>,
    /// Whether they are solved in the same launches. This includes a single spot left over from a group of rivers or a journal, since another engine would give different bits.
    is_batch: bool,
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
    let Some(first) = devices.first() else {
        return Err(Error::option("device", "none", "at least one device"));
    };
    let (journal, mut answers) = taken(devices, spots, run)?;
    let (mut batched, mut units): (Vec<Laid>, Vec<Unit>) = (Vec::new(), Vec::new());
    let n_rivers_kept =
        answers.iter().zip(spots).filter(|(answer, spot)| answer.is_some() && spot.river.is_some()).count();
    let left: Vec<usize> = (0..spots.len()).filter(|&number| answers[number].is_none()).collect();
    let finished = AtomicUsize::new(spots.len() - left.len());
    let is_stopped = AtomicBool::new(false);
    let go_on = || {
        if !is_stopped.load(Ordering::Relaxed) && watch(finished.load(Ordering::Relaxed)).is_break() {
            is_stopped.store(true, Ordering::Relaxed);
        }
        !is_stopped.load(Ordering::Relaxed)
    };
    let build = |spot: &Spot| if go_on() { spot.build(run.options.isomorphism) } else { Err(stopped()) };
    let built: Vec<_> = left.par_iter().map(|&number| build(&spots[number])).collect();
    for (number, built) in left.into_iter().zip(built) {
        match built {
            Err(error) => answers[number] = Some(Err(error)),
            Ok((game, tree)) => {
                let spot = Arc::new(spots[number].clone());
                let laid = Laid { number, spot, game: Arc::new(game), tree: Arc::new(tree) };
                // The devices of a call are alike; one that is not says so when it gets the batch.
                match laid.is_batched(first, run) {
                    true => batched.push(laid),
                    false => units.push(Unit { spots: vec![laid], is_batch: false }),
                }
            }
        }
    }
    // Spots that cannot be built, and those of the journal.
    let n_answered = answers.iter().flatten().count();
    let size = batched.len().div_ceil(devices.len()).clamp(1, MAX_BATCH);
    let is_batch = n_rivers_kept + batched.len() > 1;
    while !batched.is_empty() {
        let rest = batched.split_off(size.min(batched.len()));
        units.push(Unit { spots: std::mem::replace(&mut batched, rest), is_batch });
    }
    let next = AtomicUsize::new(0);
    finished.store(n_answered, Ordering::Relaxed);
    let answers = Mutex::new(answers);
    let is_kept = journal.is_kept();
    let (journal, failed) = (Mutex::new((journal, BTreeSet::new())), Mutex::new(None));
    let fail = |error: Error| {
        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        is_stopped.store(true, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for device in devices {
            let started = threads::spawn(scope, || {
                while go_on()
                    && let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let solved = solve_unit(device, unit, run, &go_on);
                    let whole = solved.iter().zip(&unit.spots).filter(|_| is_kept).filter_map(|(solved, laid)| {
                        let report =
                            solved.as_ref().ok().filter(|report| run.is_finished(report, &spots[laid.number]))?;
                        Some((key(&spots[laid.number]), Piece { result: report.clone(), seconds: report.seconds }))
                    });
                    let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
                    let (journal, kept) = &mut *journal;
                    // Spots that are the same stand there once.
                    let whole: Vec<_> = whole.filter(|(key, _)| kept.insert(key.clone())).collect();
                    if let Err(error) = journal.append(&whole) {
                        fail(error);
                    }
                    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                    for (laid, solved) in unit.spots.iter().zip(solved) {
                        answers[laid.number] = Some(solved);
                    }
                    drop(answers);
                    finished.fetch_add(unit.spots.len(), Ordering::Relaxed);
                }
            });
            if let Err(error) = started {
                fail(error);
            }
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(stopped()))).collect())
}

/// Opens the journal of a run; returns it with the report of each spot in it.
fn taken(devices: &[Device], spots: &[Spot], run: &SpotRun) -> Result<(Journal, Vec<Option<Result<SpotReport>>>)> {
    let mut answers: Vec<Option<Result<SpotReport>>> = spots.iter().map(|_| None).collect();
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
    let header = || Header::new("cfr subgame", facts(), devices);
    let (journal, mut records) = Journal::open::<Piece<SpotReport>>(run.journal.as_ref(), header)?;
    if journal.is_kept() {
        for (answer, spot) in answers.iter_mut().zip(spots) {
            let key = key(spot);
            let Some(Piece { result, .. }) = records.get(&key) else { continue };
            result.check(spot).map_err(|reason| journal.wrong(&key, reason))?;
            if !run.is_finished(result, spot) {
                let reason = format!("{} of {} iterations", result.iterations, run.options.iterations);
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

fn solve_unit(device: &Device, unit: &Unit, run: &SpotRun, go_on: GoOn<'_>) -> Vec<Result<SpotReport>> {
    if unit.is_batch
        && let Ok(reports) = batch::solve(device, &unit.spots, run, go_on)
    {
        return reports.into_iter().map(Ok).collect();
    }
    unit.spots.iter().map(|laid| solve_one(device, laid, run, go_on)).collect()
}

fn solve_one(device: &Device, laid: &Laid, run: &SpotRun, go_on: GoOn<'_>) -> Result<SpotReport> {
    let layout = Layout::Vector { game: Arc::clone(&laid.game), tree: Arc::clone(&laid.tree) };
    let mut solver = builder(Arc::clone(&laid.spot), run).laid(layout).build(device)?;
    if run.options.iterations > 0 && !go_on() {
        return Err(stopped());
    }
    solver.run(|_| if go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })?;
    solver.report()
}

fn builder(spot: Arc<Spot>, run: &SpotRun) -> SpotSolverBuilder {
    let builder = SpotSolverBuilder::new(spot).options(run.options);
    builder.measure_at(run.measure_at.iter().copied()).target(run.target)
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
