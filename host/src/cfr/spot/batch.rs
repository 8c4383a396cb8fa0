//! Many spots of one street in the same launches.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::file::Spot;
use super::report::{Run, SpotReport};
use super::run::{GoOn, SpotRun, run_on, stopped};
use crate::cfr::engines::street::StreetBatch;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::layout::{Tables, VectorGame};
use crate::cfr::options::{Engine, Sampling};
use crate::{Backend, Device, Error, Precision, Result};

/// Maximum number of spots of a batch: enough to occupy the largest device several times over, while their reports fit into host memory.
pub(super) const MAX_BATCH: usize = 1024;

/// The layout of a spot.
pub(super) struct Laid {
    /// Its index among the spots.
    pub number: usize,
    pub spot: Arc<Spot>,
    pub game: Arc<VectorGame>,
    pub tree: Arc<BettingTree>,
}

/// Whether the spot can be solved in a batch: it has no boards to come, and engine `street` supports the options.
pub(super) fn is_batched(spot: &Spot, device: &Device, run: &SpotRun) -> bool {
    let options = &run.options;
    device.backend() != Backend::Cpu
        // Each ends at its own time.
        && run.target.is_none()
        && spot.river.is_some()
        && matches!(options.engine, Engine::Auto | Engine::Street)
        && options.precision != Precision::F64
        && options.sampling == Sampling::None
}

/// Solves spots of one street in the same launches; `seconds` of each report are those of the whole batch.
///
/// # Errors
/// As the device says, for all of them; [`Error::Order`] where `go_on` says no before the first iteration.
pub(super) fn solve(device: &Device, spots: &[Laid], run: &SpotRun, go_on: GoOn<'_>) -> Result<Vec<SpotReport>> {
    let games = spots.iter().map(|spot| Arc::clone(&spot.game)).collect();
    let mut batch = StreetBatch::new(device, games, &run.options)?;
    let mut trajectories = vec![BTreeMap::new(); spots.len()];
    let (mut at, mut seconds) = (0, 0.0);
    for point in run.points() {
        let (done, of_part) = run_on(point - at, |n| batch.run(n), |_| go_on())?;
        seconds += of_part;
        at += done;
        if at == point || done > 0 {
            for (trajectory, measured) in trajectories.iter_mut().zip(batch.measure()?) {
                trajectory.insert(at, measured.nash_conv() / 2.0);
            }
        }
        if at < point {
            break;
        }
    }
    if at == 0 && run.options.iterations > 0 {
        return Err(stopped());
    }
    let options = run.options;
    let tables: Vec<Tables> = (0..spots.len()).map(|number| batch.tables(number)).collect::<Result<_>>()?;
    let report = |((spot, tables), trajectory): ((&Laid, &Tables), BTreeMap<u64, f64>)| {
        let [first, second] = &tables.averages[..] else {
            return Err(Error::shape("tables of averages", 2, tables.averages.len()));
        };
        let run =
            Run { trajectory, iterations: at, seconds, device: device.to_string(), engine: Engine::Street, options };
        Ok(SpotReport::new(&spot.game, &spot.tree, [first, second], run))
    };
    spots.par_iter().zip(&tables).zip(trajectories).map(report).collect()
}
