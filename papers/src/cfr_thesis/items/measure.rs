//! Times of programs: cold runs from new tables, as the dissertation measures, and warm ones on the same tables.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpplay::cfr::engines::walk::{Information, Sampler};
use warpplay::cfr::{self, Sampling, Updates};
use warpplay::{Backend, Device};

use super::thesis::Thesis;
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::plan::{Plan, on_gpu};
use crate::cfr_thesis::published::{TIMES, Variant};
use crate::cfr_thesis::run::Run as Running;
use crate::cfr_thesis::statistics::Spread;
use crate::experiment::{Run, Stop};

/// Sequences beyond which `simt` takes minutes a run.
const MOST_UNDER_SIMT: usize = 1_000;
/// Most deals that the product's walk has side by side.
const LANES: u32 = 32;

/// A program after some iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Iterations.
    pub iterations: u32,
    /// Seconds of each run, from new tables.
    pub seconds: Vec<f64>,
}

impl Point {
    /// Mean and deviation of the runs.
    pub fn spread(&self) -> Spread {
        Spread::of(&self.seconds)
    }

    /// Milliseconds an iteration.
    pub fn milliseconds(&self) -> f64 {
        self.spread().mean * 1e3 / f64::from(self.iterations)
    }
}

/// What a program came to on a game.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timed {
    /// Its points, cold.
    pub points: Vec<Point>,
    /// Seconds an iteration on tables that have been used, of each run; empty where it did not run.
    pub warm: Vec<f64>,
    /// What was not run, and why.
    pub left_out: Vec<String>,
}

impl Timed {
    /// The point of so many iterations.
    pub fn at(&self, iterations: u32) -> Option<&Point> {
        self.points.iter().find(|point| point.iterations == iterations)
    }

    /// Milliseconds an iteration, warm.
    pub fn warm_ms(&self) -> Option<f64> {
        (!self.warm.is_empty()).then(|| Spread::of(&self.warm).mean * 1e3)
    }
}

/// Numbers of iterations of a game: those asked for, else those of its tables.
pub fn grid(thesis: &Thesis, variant: Variant, quick: bool) -> Vec<u32> {
    let asked = &thesis.settings.iterations;
    if !asked.is_empty() {
        return asked.clone();
    }
    let published = TIMES.iter().filter(|times| times.variant == variant).take(1);
    let published: Vec<u32> = published.flat_map(|times| &times.rows).map(|row| row.iterations).collect();
    match (quick, published.first()) {
        // Two points of the smallest sizes that still say something.
        (true, Some(&first)) if first > 100 => vec![100, first],
        (true, _) => vec![2, 4],
        _ => published,
    }
}

/// Iterations that tables are used for before a warm run, and those of the run: as many as the dissertation's shortest and longest runs.
fn warm_grid(thesis: &Thesis, variant: Variant, quick: bool) -> (u32, u32) {
    let grid = grid(thesis, variant, quick);
    let (least, most) = (grid.first().copied().unwrap_or(1), grid.last().copied().unwrap_or(1));
    match quick {
        true => (least, most),
        // Game C has 10,000 pages of rows that a deal can touch anew: a hundred deals meet most of them.
        false => (most.min(1_000), most),
    }
}

/// Where a program runs: those of the CPU wherever asked for.
pub fn device_of(device: &Device, program: Program) -> Device {
    if on_gpu(program) { device.clone() } else { Device::cpu() }
}

/// Why a program is not run on a game here, if so.
pub fn obstacle(run: &Run<'_>, plan: &Plan, options: &Options) -> Option<String> {
    let program = options.program;
    if on_gpu(program) && run.device().backend() == Backend::Cpu {
        return Some(format!("program {program}: it runs kernels, which needs the device cuda or simt"));
    }
    let n = plan.sequences.sequences.len();
    if on_gpu(program) && run.device().backend() == Backend::Simt && n > MOST_UNDER_SIMT {
        return Some(format!(
            "program {program}: {n} sequences under simt, which takes at most {MOST_UNDER_SIMT} here"
        ));
    }
    let short = device_of(run.device(), program).expect_memory(&plan.memory(options)).err();
    short.map(|error| format!("program {program}: {error}"))
}

/// All points of a program on a game, from the journal where they are there.
///
/// # Errors
/// As [`Run::both`].
pub fn program(thesis: &Thesis, variant: Variant, program: Program, run: &mut Run<'_>) -> Result<Timed, Stop> {
    let options = Options { program, ..thesis.settings.options };
    let plan = Arc::clone(thesis.plan(variant)?);
    if let Some(reason) = obstacle(run, &plan, &options) {
        return Ok(Timed { left_out: vec![reason], ..Timed::default() });
    }
    let (quick, repeats) = (run.quick(), thesis.repeats(run.quick()));
    let grid = grid(thesis, variant, quick);
    run.expect(grid.len() as u64 + 1);
    let (mut timed, mut rate) = (Timed::default(), 0.0);
    let letter = variant.letter();
    for &n in &grid {
        if rate * f64::from(n) > thesis.settings.most_seconds {
            let limit = thesis.settings.most_seconds;
            timed.left_out.push(format!("program {program}, {n} iterations: longer than the limit of {limit} s"));
            continue;
        }
        // Runs of one seed play the same deals, so what they win is the same.
        let key = format!("{letter} {program} {n}");
        let (_, seconds): (Vec<f64>, Vec<f64>) = run.both(&key, |now| {
            let (mut seconds, mut utilities) = (Vec::new(), Vec::new());
            for _ in 0..repeats {
                now.check()?;
                let mut running = Running::with_plan(&device_of(now.device, program), &plan, &options)?;
                running.iterate(n)?;
                seconds.push(running.seconds());
                utilities = running.average_utilities()?;
            }
            Ok((utilities, seconds))
        })?;
        let point = Point { iterations: n, seconds };
        rate = point.spread().mean / f64::from(n);
        timed.points.push(point);
    }
    let (before, n) = warm_grid(thesis, variant, quick);
    if rate * f64::from(before + n * repeats) > 4.0 * thesis.settings.most_seconds {
        timed.left_out.push(format!("program {program}, warm: longer than four times the limit"));
        return Ok(timed);
    }
    timed.warm = run.timed(&format!("{letter} {program} warm"), |now| {
        let mut running = Running::with_plan(&device_of(now.device, program), &plan, &options)?;
        running.iterate(before)?;
        let mut seconds = Vec::new();
        for _ in 0..repeats {
            now.check()?;
            let start = running.seconds();
            running.iterate(n)?;
            seconds.push((running.seconds() - start) / f64::from(n));
        }
        Ok(seconds)
    })?;
    Ok(timed)
}

/// The product's walk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Walked {
    /// Deals side by side.
    pub batch: u32,
    /// Deals of the run.
    pub deals: u32,
    /// Seconds of the run, from new tables.
    pub cold: f64,
    /// Seconds a deal on tables that have been used, of each run.
    pub warm: Vec<f64>,
}

/// The product's walk of many deals at once over the longest run of a game; the reason where it does not run.
///
/// # Errors
/// As [`Run::timed`].
pub fn walk(thesis: &Thesis, variant: Variant, run: &mut Run<'_>) -> Result<std::result::Result<Walked, String>, Stop> {
    let n = grid(thesis, variant, run.quick()).last().copied().unwrap_or(1);
    // The most that divides the deals, so that no more are played than by the programs.
    let batch = (1..=LANES.min(n)).rev().find(|batch| n.is_multiple_of(*batch)).unwrap_or(1);
    let options = cfr::Options {
        sampling: Sampling::Chance,
        updates: Updates::Simultaneous,
        batch,
        seed: thesis.settings.options.seed,
        precision: thesis.settings.options.precision,
        ..cfr::Options::default()
    };
    let plan = thesis.plan(variant)?;
    let n_sequences = plan.sequences.sequences.len();
    if run.device().backend() == Backend::Simt && n_sequences > MOST_UNDER_SIMT {
        return Ok(Err(format!(
            "walk: {n_sequences} sequences under simt, which takes at most {MOST_UNDER_SIMT} here"
        )));
    }
    let needed = Sampler::memory_of(&plan.game, &Information::Unordered, &options)?;
    if let Err(error) = run.device().expect_memory(&needed) {
        return Ok(Err(format!("walk: {error}")));
    }
    run.expect(1);
    let repeats = thesis.repeats(run.quick());
    let walked = run.timed(&format!("{} walk", variant.letter()), |now| {
        let mut sampler = Sampler::build(now.device, &plan.game, &Information::Unordered, &options)?;
        let mut run = || {
            let start = Instant::now();
            sampler.run(n / batch)?;
            Ok::<f64, Stop>(start.elapsed().as_secs_f64())
        };
        let cold = run()?;
        let mut warm = Vec::new();
        for _ in 0..repeats {
            now.check()?;
            warm.push(run()? / f64::from(n));
        }
        Ok(Walked { batch, deals: n, cold, warm })
    })?;
    Ok(Ok(walked))
}

/// Milliseconds an iteration of one way to run a game, warm, and the utilities that it ends with, which the same order of additions gives the same bits.
///
/// # Errors
/// As [`Run::both`].
pub fn milliseconds(
    key: &str,
    plan: &Arc<Plan>,
    options: &Options,
    (before, n, repeats): (u32, u32, u32),
    run: &mut Run<'_>,
) -> Result<(Vec<f64>, Spread), Stop> {
    run.expect(1);
    let (utilities, values): (Vec<f64>, Vec<f64>) = run.both(key, |now| {
        let mut running = Running::with_plan(&device_of(now.device, options.program), plan, options)?;
        running.iterate(before)?;
        let mut values = Vec::new();
        for _ in 0..repeats {
            now.check()?;
            let start = running.seconds();
            running.iterate(n)?;
            values.push((running.seconds() - start) * 1e3 / f64::from(n));
        }
        Ok((running.average_utilities()?, values))
    })?;
    Ok((utilities, Spread::of(&values)))
}
