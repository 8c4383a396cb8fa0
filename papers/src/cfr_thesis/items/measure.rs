//! Times of programs: runs on new tables, and on tables that have been used.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpplay::cfr::engines::walk::{Information, Sampler};
use warpplay::cfr::game::ACTIONS;
use warpplay::cfr::{self, Sampling, Updates};
use warpplay::{Backend, Device};

use super::thesis::Thesis;
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::plan::{Plan, on_gpu};
use crate::cfr_thesis::published::{TIMES, Variant};
use crate::cfr_thesis::run::Run as Running;
use crate::cfr_thesis::statistics::{Spread, are_alike};
use crate::experiment::statistics::median;
use crate::experiment::{Measurement, Run, Stop};

/// Sequences beyond which `simt` takes minutes a run.
const MOST_UNDER_SIMT: usize = 1_000;
/// Most deals that the product's walk has side by side.
const LANES: u32 = 32;
/// Bytes of a page of the host's memory.
const PAGE: u64 = 4096;

/// Seconds after which a program of the CPU is asked whether to go on, about.
const SECONDS_OF_A_PIECE: f64 = 0.1;

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

    /// Seconds an iteration, of each run.
    pub fn rates(&self) -> Vec<f64> {
        self.seconds.iter().map(|seconds| seconds / f64::from(self.iterations)).collect()
    }

    /// Milliseconds an iteration, of the median run: one run that the host delays does not move it.
    pub fn milliseconds(&self) -> f64 {
        median(&self.seconds) * 1e3 / f64::from(self.iterations)
    }
}

/// What a program came to on a game.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timed {
    /// Its points, on new tables.
    pub points: Vec<Point>,
    /// Seconds an iteration on tables that have been used, of each run; empty where it did not run.
    pub used: Vec<f64>,
    /// What was not run, and why.
    pub left_out: Vec<String>,
}

impl Timed {
    /// The point of so many iterations.
    pub fn at(&self, iterations: u32) -> Option<&Point> {
        self.points.iter().find(|point| point.iterations == iterations)
    }

    /// Whether the medians of the longest runs on new tables and of those on used ones differ by no more than the sum of their deviations; `None` where one of them was not measured.
    pub fn is_alike_on_used_tables(&self) -> Option<bool> {
        let last = self.points.last().filter(|_| !self.used.is_empty())?;
        Some(are_alike(&last.rates(), &self.used))
    }

    /// Milliseconds an iteration on used tables, of the median run.
    pub fn used_ms(&self) -> Option<f64> {
        (!self.used.is_empty()).then(|| median(&self.used) * 1e3)
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

/// Pages that the rows of a sequence are in a table of the programs of the CPU, in double precision. A deal needs one row of each sequence.
fn pages_of_a_sequence(n_buckets: u32) -> u32 {
    (u64::from(n_buckets) * ACTIONS as u64 * 8).div_ceil(PAGE) as u32
}

/// Deals after which the tables of a program have been touched: eight times as many as a sequence's rows have pages, so that all but 0.03 % of them (e^-8) have been. The device's tables are
/// zeroed when they are taken, which leaves no pages to touch.
pub fn deals_to_touch(program: Program, n_buckets: u32) -> u32 {
    if on_gpu(program) { 0 } else { pages_of_a_sequence(n_buckets).saturating_mul(8) }
}

/// Iterations that tables are used for before a run on used tables, and those of the run: the latter as many as the paper's longest.
fn used_grid(thesis: &Thesis, variant: Variant, program: Program, n_buckets: u32, quick: bool) -> (u32, u32) {
    let grid = grid(thesis, variant, quick);
    let (least, most) = (grid.first().copied().unwrap_or(1), grid.last().copied().unwrap_or(1));
    match quick {
        true => (least, most),
        false => (most.min(1_000).max(deals_to_touch(program, n_buckets)), most),
    }
}

/// Where a program runs: those of the CPU wherever asked for.
pub fn device_of(device: &Device, program: Program) -> Device {
    if on_gpu(program) { device.clone() } else { Device::cpu() }
}

/// Why something is left out, if it is: the device cannot run it, or memory is `short`. Free memory differs from run to run, so the decision is kept, and a replay
/// takes it as it was taken.
fn kept_obstacle(
    key: &str,
    unsupported: Option<String>,
    short: impl FnOnce(&Device) -> Option<String>,
    run: &mut Run<'_>,
) -> Result<Option<String>, Stop> {
    run.expect(1);
    let kept: Option<String> = run.exact(&format!("{key} obstacle"), |now| {
        Ok(now.before.cloned().unwrap_or_else(|| unsupported.clone().or_else(|| short(now.device))))
    })?;
    // A replay on another device may not be able to run what was run.
    Ok(kept.or(unsupported))
}

/// Why a program is not run on a game here, if so. `key` names the game and the program.
///
/// # Errors
/// As [`Run::exact`].
pub fn obstacle(key: &str, plan: &Plan, options: &Options, run: &mut Run<'_>) -> Result<Option<String>, Stop> {
    let (program, name) = (options.program, options.program.label());
    let n = plan.sequences.sequences.len();
    let unsupported = match run.device().backend() {
        Backend::Cpu if on_gpu(program) => {
            Some(format!("program {name}: it runs kernels, which needs the device cuda or simt"))
        }
        Backend::Simt if on_gpu(program) && n > MOST_UNDER_SIMT => {
            Some(format!("program {name}: {n} sequences under simt, which takes at most {MOST_UNDER_SIMT} here"))
        }
        _ => None,
    };
    let short = |device: &Device| {
        let error = device_of(device, program).expect_memory(&plan.memory(options)).err()?;
        Some(format!("program {name}: {error}"))
    };
    kept_obstacle(key, unsupported, short, run)
}

/// Whether something that would take so many seconds is left out. Times differ from run to run, so the decision is kept.
fn too_long(key: &str, seconds: f64, most_seconds: f64, run: &mut Run<'_>) -> Result<bool, Stop> {
    run.expect(1);
    run.exact(&format!("{key} too long"), |now| Ok(now.before.copied().unwrap_or(seconds > most_seconds)))
}

/// All points of a program on a game, from the journal where they are there.
///
/// # Errors
/// As [`Run::both`].
pub fn program(thesis: &Thesis, variant: Variant, program: Program, run: &mut Run<'_>) -> Result<Timed, Stop> {
    let options = Options { program, ..thesis.settings.options };
    let plan = Arc::clone(thesis.plan(variant)?);
    let (letter, name) = (variant.letter(), program.label());
    if let Some(reason) = obstacle(&format!("{letter} {program}"), &plan, &options, run)? {
        return Ok(Timed { left_out: vec![reason], ..Timed::default() });
    }
    let (quick, repeats) = (run.quick(), thesis.repeats(run.quick()));
    let grid = grid(thesis, variant, quick);
    run.expect(grid.len() as u64 + 1);
    let limit = thesis.settings.most_seconds;
    // Seconds an iteration; 0 before the first point, which is always run.
    let (mut timed, mut rate) = (Timed::default(), 0.0);
    for &n in &grid {
        let key = format!("{letter} {program} {n}");
        if too_long(&key, rate * f64::from(n), limit, run)? {
            timed.left_out.push(format!("program {name}, {n} iterations: longer than the limit of {limit} s"));
            continue;
        }
        // Runs of one seed play the same deals, so what they win is the same.
        let (_, seconds): (Vec<f64>, Vec<f64>) = run.both(&key, |now| {
            let (mut seconds, mut utilities) = (Vec::new(), Vec::new());
            for _ in 0..repeats {
                now.check()?;
                let mut running = Running::with_plan(&device_of(now.device, program), &plan, &options)?;
                iterate(&mut running, program, n, now)?;
                seconds.push(running.seconds());
                utilities = running.average_utilities()?;
            }
            Ok((utilities, seconds))
        })?;
        let point = Point { iterations: n, seconds };
        rate = point.spread().mean / f64::from(n);
        timed.points.push(point);
    }
    let (before, n) = used_grid(thesis, variant, program, plan.n_buckets, quick);
    let iterations = u64::from(before) + u64::from(n) * u64::from(repeats);
    let key = format!("{letter} {program} warm");
    if too_long(&key, rate * iterations as f64, 4.0 * limit, run)? {
        timed.left_out.push(format!("program {name}, used tables: longer than four times the limit"));
        return Ok(timed);
    }
    timed.used = run.timed(&key, |now| {
        let mut running = Running::with_plan(&device_of(now.device, program), &plan, &options)?;
        iterate(&mut running, program, before, now)?;
        let mut seconds = Vec::new();
        for _ in 0..repeats {
            let start = running.seconds();
            iterate(&mut running, program, n, now)?;
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
    let is_too_large = run.device().backend() == Backend::Simt && n_sequences > MOST_UNDER_SIMT;
    let unsupported = is_too_large.then(|| {
        format!("our engine walk: {n_sequences} sequences under simt, which takes at most {MOST_UNDER_SIMT} here")
    });
    let needed = Sampler::memory_of(run.device(), &plan.game, &Information::Unordered, &options)?;
    let short = |device: &Device| Some(format!("our engine walk: {}", device.expect_memory(&needed).err()?));
    let key = format!("{} walk", variant.letter());
    if let Some(reason) = kept_obstacle(&key, unsupported, short, run)? {
        return Ok(Err(reason));
    }
    run.expect(1);
    let repeats = thesis.repeats(run.quick());
    let walked = run.timed(&key, |now| {
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

/// Does `n` iterations, and asks now and then whether to go on: a run of the CPU's programs can last for minutes. Those of a GPU last for milliseconds and are one piece, since every
/// piece is waited for. What the pieces take is the time of the run.
fn iterate<E>(running: &mut Running, program: Program, n: u32, now: &mut Measurement<'_, E>) -> Result<(), Stop> {
    let is_one_piece = on_gpu(program) && now.device.backend() == Backend::Cuda;
    let (mut left, mut piece) = (n, if is_one_piece { n } else { 1 });
    while left > 0 {
        now.check()?;
        let (start, some) = (running.seconds(), piece.min(left));
        running.iterate(some)?;
        left -= some;
        if running.seconds() - start < SECONDS_OF_A_PIECE / 2.0 {
            piece = piece.saturating_mul(2);
        }
    }
    Ok(())
}

/// Milliseconds an iteration of each run of one form of a program, after iterations that are not timed, and the average utilities that it ends with: the same bits in every form that adds in the same order.
///
/// # Errors
/// As [`Run::both`].
pub fn milliseconds(
    key: &str,
    plan: &Arc<Plan>,
    options: &Options,
    (before, n, repeats): (u32, u32, u32),
    run: &mut Run<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Stop> {
    run.expect(1);
    run.both(key, |now| {
        let mut running = Running::with_plan(&device_of(now.device, options.program), plan, options)?;
        iterate(&mut running, options.program, before, now)?;
        let mut values = Vec::new();
        for _ in 0..repeats {
            let start = running.seconds();
            iterate(&mut running, options.program, n, now)?;
            values.push((running.seconds() - start) * 1e3 / f64::from(n));
        }
        Ok((running.average_utilities()?, values))
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use serde_json::{Value, json};

    use super::*;
    use crate::cfr_thesis::sweep::sweep_game;
    use crate::experiment::{Header, Journal, Record, Step};

    /// What `decide` decides in a run that measures anew, or in a replay of a file that holds one measurement.
    fn decided<T>(recorded: Option<(&str, Value)>, decide: impl FnOnce(&mut Run<'_>) -> Result<T, Stop>) -> T {
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        if let Some((key, exact)) = recorded {
            let mut file = Journal::in_memory();
            file.insert(key, Record { exact, ..Record::default() }).expect("in memory");
            let header = Header::new("cfr_thesis", Value::Null, &Device::cpu(), true);
            run = run.replay(file, &header).expect("a file without a header");
        }
        decide(&mut run).expect("decided")
    }

    #[test]
    fn used_tables_of_the_cpu_have_their_pages() {
        let thesis = Thesis::default();
        let before =
            |variant: Variant, program| used_grid(&thesis, variant, program, variant.counts().buckets as u32, false);
        assert_eq!(before(Variant::A, Program::Recursive), (1_000, 10_000));
        // 8,347,680 rows of 24 bytes.
        assert_eq!(pages_of_a_sequence(8_347_680), 48_913);
        assert_eq!(before(Variant::B, Program::Iterative), (391_304, 10_000));
        assert_eq!(before(Variant::B, Program::Levels), (1_000, 10_000));
        // 12 pages in C, one in D.
        assert_eq!([Variant::C, Variant::D].map(|variant| before(variant, Program::Recursive)), [(100, 100); 2]);
    }

    #[test]
    fn iterations_end_when_asked() {
        let plan = Arc::new(Plan::of(&sweep_game(2, 1, 4).expect("a game")).expect("laid out"));
        let options = Options { program: Program::Recursive, ..Options::default() };
        let mut running = Running::with_plan(&Device::cpu(), &plan, &options).expect("it runs");
        let mut asked = 0;
        let mut watch = |_: &Step<'_>| {
            asked += 1;
            if asked < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let end = run.timed("deals", |now| iterate(&mut running, Program::Recursive, u32::MAX, now));
        assert!(matches!(end, Err(Stop::Interrupted)), "{end:?}");
        // Once before the measurement, then before each piece: of 1, 2 and 4 deals, at most.
        assert!((1..=7).contains(&running.iterations()), "{}", running.iterations());
        // To the end, with the bits of one piece.
        let mut whole = Running::with_plan(&Device::cpu(), &plan, &options).expect("it runs");
        whole.iterate(100).expect("deals");
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let mut pieces = Running::with_plan(&Device::cpu(), &plan, &options).expect("it runs");
        run.timed("deals", |now| iterate(&mut pieces, Program::Recursive, 100, now)).expect("to the end");
        assert_eq!(pieces.iterations(), 100);
        assert_eq!(pieces.average_utilities().expect("read"), whole.average_utilities().expect("read"));
    }

    #[test]
    fn a_replay_leaves_out_what_was_left_out() {
        let plan = Plan::of(&sweep_game(2, 1, 4).expect("a game")).expect("laid out");
        let options = |program| Options { program, ..Options::default() };
        let of = |recorded: Option<(&'static str, Value)>, program: Program| {
            decided(recorded, |run| obstacle(&format!("game {program}"), &plan, &options(program), run))
        };
        // This game fits into any memory; the file says that it did not.
        assert_eq!(of(None, Program::Recursive), None);
        let reason = "program recursive: too little memory";
        let recorded = of(Some(("game recursive obstacle", json!(reason))), Program::Recursive);
        assert_eq!(recorded.as_deref(), Some(reason));
        // What was run elsewhere and cannot be run on this device is left out here.
        let kernels = of(Some(("game levels obstacle", Value::Null)), Program::Levels);
        assert!(kernels.is_some_and(|reason| reason.contains("runs kernels")));
        // By its own times each of these decides otherwise than the file.
        let of = |recorded: Option<(&'static str, Value)>, seconds: f64| {
            decided(recorded, |run| too_long("game", seconds, 2.0, run))
        };
        assert_eq!((of(None, 3.0), of(None, 1.0)), (true, false));
        assert!(of(Some(("game too long", json!(true))), 1.0));
        assert!(!of(Some(("game too long", json!(false))), 3.0));
    }
}
