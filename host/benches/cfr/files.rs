//! Solved spots as files: how large, how long they take to write, to open, to go on from.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use serde_json::json;
use warpplay::cfr::Options;
use warpplay::cfr::spot::{SolvedSpot, Spot, SpotForm, SpotSolver, SpotTarget};
use warpplay::{Backend, Device, Error, Result};

use crate::measure::{Bench, whole};
use crate::output::{Table, number};
use crate::targets;

/// The spots, by name: one of each street, and a large flop.
const NAMES: [&str; 4] = [
    "river, all hands, 3 pots behind",
    "turn, reraised pot, the pot behind",
    "flop, reraised pot, 3 pots behind",
    "flop, button against big blind, 6 pots behind",
];

/// Part of the pot to which is solved.
const TARGET: f64 = 0.005;

const HEADERS: [&str; 11] = [
    "spot",
    "where",
    "infoset-actions",
    "iterations",
    "solve, s",
    "memory, MB",
    "file, MB",
    "strategies, MB",
    "save, s",
    "query, s",
    "resume, s",
];

/// What was found.
struct Found {
    infoset_actions: u64,
    iterations: u64,
    /// Seconds of everything until the target is reached: set-up, iterations, measurements.
    solve: f64,
    /// Bytes on device and host.
    memory: u64,
    /// Bytes of the file from which a solve goes on, and of the one with strategies alone.
    files: [u64; 2],
    save: f64,
    /// Seconds until the file is open and the first node's report is there.
    query: f64,
    /// Seconds until a finished solve stands as it stood.
    resume: f64,
}

/// A call's result, and its seconds.
fn timed<T>(call: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let began = Instant::now();
    let found = call()?;
    Ok((found, began.elapsed().as_secs_f64()))
}

fn solve(device: &Device, spot: &Spot, folder: &Path) -> Result<Found> {
    let (full, small) = (folder.join("full.spot"), folder.join("strategies.spot"));
    let (mut solver, solve) = timed(|| {
        let mut solver =
            SpotSolver::builder(spot).options(Options::SPOT).target(SpotTarget::PartOfPot(TARGET)).build(device)?;
        solver.run(|_| ControlFlow::Continue(()))?;
        Ok(solver)
    })?;
    let ((), save) = timed(|| solver.save(&full, SpotForm::Full))?;
    solver.save(&small, SpotForm::Strategies)?;
    let (infoset_actions, iterations) = (solver.plan().infoset_actions(), solver.iterations());
    let memory = solver.memory_needed();
    let memory = memory.device() + memory.host();
    drop(solver);
    let ((), query) = timed(|| SolvedSpot::open(&full)?.root().report().map(drop))?;
    let (_, resume) = timed(|| SpotSolver::resume(&full)?.build(device))?;
    let bytes = |path: &Path| {
        std::fs::metadata(path).map(|file| file.len()).map_err(|error| Error::file(path, None, error.to_string()))
    };
    let files = [bytes(&full)?, bytes(&small)?];
    Ok(Found { infoset_actions, iterations, solve, memory, files, save, query, resume })
}

pub fn files(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("FILES of spots, solved to 0.5 % of the pot, f32", 2, &HEADERS);
    let mut devices = vec![bench.device.clone()];
    if bench.device.backend() != Backend::Cpu {
        devices.push(Device::cpu());
    }
    targets::translate(&bench.device)?;
    let spots = targets::spots(bench.quick)?;
    let wanted: Vec<&str> =
        if bench.quick { spots.iter().map(|(name, _)| &name[..]).collect() } else { NAMES.to_vec() };
    for name in wanted {
        let (_, spot) = spots.iter().find(|(known, _)| known == name).with_context(|| format!("no spot '{name}'"))?;
        for device in &devices {
            bench.output.progress(&format!("files of {name} on {device}"));
            let place = if device.backend() == Backend::Cpu { targets::all_threads() } else { device.to_string() };
            let folder = tempfile::tempdir()?;
            let found = match solve(device, spot, folder.path()) {
                Ok(found) => found,
                Err(error) => {
                    let cell = bench.output.failed(&error);
                    table.row(vec![name.to_string(), place, cell]);
                    continue;
                }
            };
            let Found { infoset_actions, iterations, solve, memory, files, save, query, resume } = found;
            bench.output.json(&json!({
                "section": "files", "spot": name, "where": place, "infoset_actions": infoset_actions, "iterations": iterations, "solve_seconds": solve, "bytes": memory,
                "file_bytes": files[0], "strategies_bytes": files[1], "save_seconds": save, "query_seconds": query, "resume_seconds": resume,
            }))?;
            let mut cells = vec![name.to_string(), place, whole(infoset_actions), whole(iterations)];
            cells.push(number(solve));
            cells.extend([memory, files[0], files[1]].map(|bytes| number(1e-6 * bytes as f64)));
            cells.extend([save, query, resume].map(number));
            table.row(cells);
        }
    }
    table.print(&mut bench.output)
}
