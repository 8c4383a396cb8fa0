//! Solving spots, one or many, on one or more devices.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::super::dispatch;
use super::super::engine::Engine;
use super::super::options::Options;
use super::super::vector::VectorGame;
use super::file::Spot;
use super::report::{Run, SpotReport};
use crate::{Device, Error, Result};

/// How long spots are solved, and when they are measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpotRun {
    /// Algorithm, arithmetic and so on.
    pub options: Options,
    /// Iterations of each spot.
    pub iterations: u32,
    /// Iterations after which the exploitability is measured; the last one always is.
    pub report: Vec<u32>,
}

/// Solves spots side by side: each device takes the next one as soon as it is done with its last. The answers stand in the order of the spots, and do not
/// depend on how many devices there are, as long as they are alike.
///
/// * `done` is called after each spot with the number of spots that are finished, from any thread.
///
/// # Errors
/// [`Error::Option`] without devices. A spot that fails has its own error in its place: as [`Spot::build`], and as the device says.
pub fn solve_spots(
    devices: &[Device],
    spots: &[Spot],
    run: &SpotRun,
    done: impl Fn(usize) + Sync,
) -> Result<Vec<Result<SpotReport>>> {
    if devices.is_empty() {
        return Err(Error::option("device", "none", "at least one device"));
    }
    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let answers: Vec<Mutex<Option<Result<SpotReport>>>> = spots.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for device in devices {
            scope.spawn(|| {
                while let Some((spot, answer)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    spots.get(at).zip(answers.get(at))
                } {
                    let solved = spot.solve(device, run);
                    *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(solved);
                    done(finished.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    let unsolved = || Err(Error::Order { what: "solve_spots", reason: "a spot was not solved".to_string() });
    let answer = |answer: Mutex<Option<Result<SpotReport>>>| {
        answer.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(unsolved)
    };
    Ok(answers.into_iter().map(answer).collect())
}

impl Spot {
    /// Solves the spot.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`Error::Memory`] where the tables do not fit; as the device says.
    pub fn solve(&self, device: &Device, run: &SpotRun) -> Result<SpotReport> {
        let (game, tree) = self.build(true)?;
        let game = Arc::new(game);
        let mut engine = engine(device, &game, &run.options)?;
        let mut points: Vec<u32> = run.report.iter().copied().filter(|&at| at > 0 && at < run.iterations).collect();
        points.push(run.iterations);
        points.sort_unstable();
        points.dedup();
        let (mut trajectory, mut at, mut seconds) = (BTreeMap::new(), 0, 0.0);
        for point in points {
            let began = Instant::now();
            engine.run(point - at)?;
            seconds += began.elapsed().as_secs_f64();
            at = point;
            trajectory.insert(u64::from(point), engine.measure()?.nash_conv() / 2.0);
        }
        let tables = engine.tables()?;
        let [first, second] = &tables.averages[..] else {
            return Err(Error::shape("tables of averages", 2, tables.averages.len()));
        };
        let run = Run { trajectory, iterations: u64::from(at), seconds, device: device.to_string() };
        Ok(SpotReport::new(&game, &tree, [first, second], run))
    }
}

/// The engine that solves a spot on a device.
fn engine(device: &Device, game: &Arc<VectorGame>, options: &Options) -> Result<Box<dyn Engine>> {
    dispatch::build_vector(device, game, options)
}
