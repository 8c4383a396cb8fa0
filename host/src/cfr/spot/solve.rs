//! Solving spots, one or many, on one or more devices.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::batch::{self, Laid, MAX_BATCH};
use super::file::Spot;
use super::report::{Run, SpotReport};
use super::run::{GoOn, SpotRun, run_on, stopped};
use crate::cfr::dispatch;
use crate::{Device, Error, Result};

/// What a device takes at once: spots by number.
type Unit = Vec<Laid>;

/// Solves spots side by side: each device takes the next ones as soon as it is done with its last. The answers stand in the order of the spots, and do not
/// depend on how many devices there are, as long as they are alike.
///
/// On devices that run kernels, spots of one street (rivers) are solved many at once in the same launches of engine `street`, where the options allow that engine;
/// `seconds` of their reports are those of all spots of the batch together. Where a batch is refused, its spots are solved one by one, so that each has its own
/// error.
///
/// * `watch` is called with the number of spots that are finished, after each and about ten times a second, from any thread. Where it answers `Break`, the spots
///   under way end with the iterations that they have, and no other is begun.
///
/// # Errors
/// [`Error::Option`] without devices. A spot that fails has its own error in place of a report: as [`Spot::build`], and as the device says; [`Error::Order`]
/// where `watch` stopped before it was begun.
pub fn solve_spots(
    devices: &[Device],
    spots: &[Spot],
    run: &SpotRun,
    watch: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Vec<Result<SpotReport>>> {
    let Some(first) = devices.first() else {
        return Err(Error::option("device", "none", "at least one device"));
    };
    let mut answers: Vec<Option<Result<SpotReport>>> = spots.iter().map(|_| None).collect();
    let (mut batched, mut units): (Vec<Laid>, Vec<Unit>) = (Vec::new(), Vec::new());
    let (finished, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let go_on = || {
        if !is_stopped.load(Ordering::Relaxed) && watch(finished.load(Ordering::Relaxed)).is_break() {
            is_stopped.store(true, Ordering::Relaxed);
        }
        !is_stopped.load(Ordering::Relaxed)
    };
    let build = |spot: &Spot| if go_on() { spot.build(run.options.isomorphism) } else { Err(stopped()) };
    let built: Vec<_> = spots.par_iter().map(build).collect();
    for (number, built) in built.into_iter().enumerate() {
        match built {
            Err(error) => answers[number] = Some(Err(error)),
            Ok((game, tree)) => {
                let laid = Laid { number, game: Arc::new(game), tree };
                // The devices of a call are alike; one that is not says so when it gets the batch.
                if laid.is_batched(first, run) { batched.push(laid) } else { units.push(vec![laid]) }
            }
        }
    }
    let n_bad = answers.iter().flatten().count();
    let size = batched.len().div_ceil(devices.len()).clamp(1, MAX_BATCH);
    while !batched.is_empty() {
        let rest = batched.split_off(size.min(batched.len()));
        units.push(std::mem::replace(&mut batched, rest));
    }
    let next = AtomicUsize::new(0);
    finished.store(n_bad, Ordering::Relaxed);
    let answers = Mutex::new(answers);
    std::thread::scope(|scope| {
        for device in devices {
            scope.spawn(|| {
                while go_on()
                    && let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let solved = solve_unit(device, unit, run, &go_on);
                    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                    for (laid, solved) in unit.iter().zip(solved) {
                        answers[laid.number] = Some(solved);
                    }
                    drop(answers);
                    finished.fetch_add(unit.len(), Ordering::Relaxed);
                }
            });
        }
    });
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(stopped()))).collect())
}

fn solve_unit(device: &Device, unit: &[Laid], run: &SpotRun, go_on: GoOn<'_>) -> Vec<Result<SpotReport>> {
    if unit.len() > 1
        && let Ok(reports) = batch::solve(device, unit, run, go_on)
    {
        return reports.into_iter().map(Ok).collect();
    }
    unit.iter().map(|laid| solve_one(device, laid, run, go_on)).collect()
}

impl Spot {
    /// Solves the spot.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`Error::OutOfMemory`] where the tables do not fit; as the device says.
    pub fn solve(&self, device: &Device, run: &SpotRun) -> Result<SpotReport> {
        let (game, tree) = self.build(run.options.isomorphism)?;
        solve_one(device, &Laid { number: 0, game: Arc::new(game), tree }, run, &|| true)
    }
}

fn solve_one(device: &Device, laid: &Laid, run: &SpotRun, go_on: GoOn<'_>) -> Result<SpotReport> {
    let (name, mut engine) = dispatch::build_vector(device, &laid.game, &run.options)?;
    let (mut trajectory, mut at, mut seconds) = (BTreeMap::new(), 0, 0.0);
    for point in run.points() {
        let (done, of_part) = run_on(point - at, |n| engine.run(n), go_on)?;
        seconds += of_part;
        at += done;
        if at == point || done > 0 {
            trajectory.insert(at, engine.measure()?.nash_conv() / 2.0);
        }
        if at < point {
            break;
        }
    }
    let options = run.options;
    if at == 0 && options.iterations > 0 {
        return Err(stopped());
    }
    let tables = engine.tables()?;
    let [first, second] = &tables.averages[..] else {
        return Err(Error::shape("tables of averages", 2, tables.averages.len()));
    };
    let run = Run { trajectory, iterations: at, seconds, device: device.to_string(), engine: name, options };
    Ok(SpotReport::new(&laid.game, &laid.tree, [first, second], run))
}
