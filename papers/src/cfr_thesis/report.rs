//! The dissertation's tables and figures, measured anew: times and memory of its programs on a game, what each of its optimisations saves, and where its GPU
//! becomes faster than the CPU.
//!
//! Every point is run several times, five in the dissertation; it says mean and standard deviation. Times are those of the iterations alone, deals included.

use std::ops::ControlFlow;

use warpplay::cfr::engines::walk::{Information, Sampler};
use warpplay::cfr::game::Deck;
use warpplay::cfr::{self, Counts, GameDef, Sampling, Updates};
use warpplay::{Backend, Device, Error, Result};

use super::options::{Options, Program};
use super::plan::{Profile, on_gpu};
use super::run::Run;

/// What the dissertation tells of its own GPU, in milliseconds an iteration.
pub const PUBLISHED_MS: [(&str, f64); 2] = [("variant_c", 34.0), ("variant_d", 223.0)];
/// Bytes of a value in its tables.
const VALUE: u64 = 4;

/// What is measured.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Settings {
    /// Numbers of iterations, ascending. The dissertation's: 10, 100, 1,000 and 10,000.
    pub iterations: Vec<u32>,
    /// Times that every point is run. The dissertation's: 5.
    pub repeats: u32,
    /// A point that would take a run longer than this is not run; its mean stays empty.
    pub most_seconds: f64,
    /// Options of the programs.
    pub options: Options,
}

impl Default for Settings {
    fn default() -> Self {
        Self { iterations: vec![10, 100, 1_000, 10_000], repeats: 5, most_seconds: 60.0, options: Options::default() }
    }
}

/// Mean and standard deviation of some runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, of a sample; 0 for one run.
    pub sd: f64,
}

impl Spread {
    /// Of some values; 0 for none.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, sd: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 } }
    }
}

/// A program after some iterations.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Point {
    /// Name of the program; `batched` for the walk with 32 deals an iteration.
    pub program: String,
    /// Deals so far.
    pub deals: u64,
    /// Seconds since the first; empty where it would have taken too long.
    pub seconds: Option<Spread>,
    /// Mean utility of a deal, by seat; empty likewise.
    pub average_utilities: Vec<f64>,
}

/// Memory of one game, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct MemoryRow {
    /// Sequences × buckets.
    pub information_sets: u64,
    /// Both tables as the dissertation counts them: three actions of four bytes.
    pub theirs: u64,
    /// All that the program `levels` takes.
    pub levels: u64,
    /// All that the walk takes.
    pub batched: u64,
}

/// One of the devices of the program `levels` left out.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Ablation {
    /// What is left out; `nothing` for the program as it is.
    pub without: String,
    /// Milliseconds an iteration.
    pub milliseconds: Spread,
}

/// One game of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SweepPoint {
    /// Seats.
    pub players: usize,
    /// Raises allowed.
    pub raises: u32,
    /// Buckets.
    pub buckets: u32,
    /// Sequences.
    pub sequences: u32,
    /// Milliseconds an iteration of the iterative program.
    pub cpu_ms: Spread,
    /// Milliseconds an iteration of the program `levels`.
    pub gpu_ms: Spread,
}

/// The memory of a game, before any is taken.
///
/// # Errors
/// As [`Run::build`] for the game.
pub fn memory(game: &GameDef) -> Result<MemoryRow> {
    let levels = Run::memory_needed(game, &Options::default())?;
    let information_sets = Counts::of(game)?.thesis_information_sets;
    Ok(MemoryRow {
        information_sets,
        theirs: information_sets * 3 * 2 * VALUE,
        levels: levels.device(),
        batched: Sampler::memory_of(game, &Information::Unordered, &batched(&Options::default()))?.device(),
    })
}

fn batched(options: &Options) -> cfr::Options {
    cfr::Options {
        sampling: Sampling::Chance,
        updates: Updates::Simultaneous,
        batch: 32,
        seed: options.seed,
        precision: options.precision,
        ..cfr::Options::default()
    }
}

/// A program or the walk, as far as it is timed.
enum Timed {
    Run(Box<Run>),
    Walk(Box<Sampler>),
}

impl Timed {
    fn iterate(&mut self, deals: u64) -> Result<()> {
        match self {
            Self::Run(run) => run.iterate((deals - run.iterations()) as u32),
            Self::Walk(walk) => walk.run((deals.div_ceil(32) - walk.iterations()) as u32),
        }
    }

    fn seconds(&self) -> f64 {
        match self {
            Self::Run(run) => run.seconds(),
            Self::Walk(walk) => walk.seconds(),
        }
    }

    fn average_utilities(&mut self) -> Result<Vec<f64>> {
        match self {
            Self::Run(run) => run.average_utilities(),
            Self::Walk(walk) => {
                let n = walk.deals().max(1) as f64;
                Ok(walk.utilities()?.into_iter().map(|sum| sum / n).collect())
            }
        }
    }
}

fn stopped() -> Error {
    Error::Order { what: "cfr_thesis::report", reason: "it was stopped".into() }
}

/// Where a program runs: those of the CPU wherever asked for.
fn device_of(device: &Device, program: Program) -> Device {
    if on_gpu(program) { device.clone() } else { Device::cpu() }
}

/// Times of programs on a game, and of the walk where the device runs kernels: program by program, number by number. `each` hears of every point and may stop.
///
/// # Errors
/// As [`Run::build`]; [`Error::Order`] if `each` stopped it.
pub fn times(
    device: &Device,
    game: &GameDef,
    programs: &[Program],
    settings: &Settings,
    mut each: impl FnMut(&Point) -> ControlFlow<()>,
) -> Result<Vec<Point>> {
    let runs_kernels = device.backend() != Backend::Cpu;
    let mut points = Vec::new();
    let named = programs.iter().copied().filter(|&program| runs_kernels || !on_gpu(program)).map(Some);
    for program in named.chain(runs_kernels.then_some(None)) {
        let build = || -> Result<Timed> {
            Ok(match program {
                Some(program) => {
                    let options = Options { program, ..settings.options };
                    Timed::Run(Box::new(Run::build(&device_of(device, program), game, &options)?))
                }
                None => {
                    let options = batched(&settings.options);
                    Timed::Walk(Box::new(Sampler::build(device, game, &Information::Unordered, &options)?))
                }
            })
        };
        let name = program.map_or("batched", Program::name);
        let mut seconds = vec![Vec::new(); settings.iterations.len()];
        let mut utilities = vec![Vec::new(); settings.iterations.len()];
        for _ in 0..settings.repeats.max(1) {
            let mut run = build()?;
            let mut done = 0u64;
            for (at, &n) in settings.iterations.iter().enumerate() {
                let deals = u64::from(n).max(done);
                if done > 0 && run.seconds() / done as f64 * deals as f64 > settings.most_seconds {
                    break;
                }
                run.iterate(deals)?;
                done = deals;
                seconds[at].push(run.seconds());
                utilities[at] = run.average_utilities()?;
            }
        }
        for (at, &n) in settings.iterations.iter().enumerate() {
            let is_whole = seconds[at].len() == settings.repeats.max(1) as usize;
            let point = Point {
                program: name.to_string(),
                deals: u64::from(n),
                seconds: is_whole.then(|| Spread::of(&seconds[at])),
                average_utilities: std::mem::take(&mut utilities[at]),
            };
            let go_on = each(&point);
            points.push(point);
            if go_on.is_break() {
                return Err(stopped());
            }
        }
    }
    Ok(points)
}

/// Milliseconds an iteration of `n`, after a first one.
fn milliseconds(device: &Device, game: &GameDef, options: &Options, n: u32, repeats: u32) -> Result<Spread> {
    let mut values = Vec::new();
    for _ in 0..repeats.max(1) {
        let mut run = Run::build(&device_of(device, options.program), game, options)?;
        run.iterate(1)?;
        let before = run.seconds();
        run.iterate(n.max(1))?;
        values.push((run.seconds() - before) * 1e3 / f64::from(n.max(1)));
    }
    Ok(Spread::of(&values))
}

/// The program `levels` as it is, and with each of its devices left out, `n` iterations each (of the one without flattening, a tenth).
///
/// # Errors
/// As [`Run::build`].
pub fn ablations(device: &Device, game: &GameDef, options: &Options, n: u32, repeats: u32) -> Result<Vec<Ablation>> {
    let whole = Options {
        program: Program::Levels,
        shared: true,
        constant: true,
        flattened: true,
        renumbered: true,
        ..*options
    };
    let cases = [
        ("nothing", whole, n),
        ("staging in shared memory", Options { shared: false, ..whole }, n),
        ("constant memory", Options { constant: false, ..whole }, n),
        ("flattening", Options { flattened: false, ..whole }, n.div_ceil(10)),
        ("renumbering", Options { renumbered: false, ..whole }, n),
    ];
    cases
        .into_iter()
        .map(|(without, options, n)| {
            let milliseconds = milliseconds(device, game, &options, n, repeats)?;
            Ok(Ablation { without: without.to_string(), milliseconds })
        })
        .collect()
}

/// Times of both phases of the program `levels`, level by level, the mean of `n` iterations after a first one.
///
/// # Errors
/// As [`Run::build`].
pub fn profile(device: &Device, game: &GameDef, options: &Options, n: u32) -> Result<Profile> {
    let mut run = Run::build(device, game, &Options { program: Program::Levels, ..*options })?;
    run.iterate(1)?;
    run.profile(n.max(1))
}

/// The game of a sweep: one hole card, no board, one round, an ante of 1 and raises of 1. Buckets are cards: at most 13 of one suit, else as many suits as needed.
///
/// # Errors
/// [`Error::Option`] if the numbers make no game.
pub fn sweep_game(players: usize, raises: u32, buckets: u32) -> Result<GameDef> {
    let suits = (1..=4).find(|suits| buckets.is_multiple_of(*suits) && (1..=13).contains(&(buckets / suits)));
    let Some(suits) = suits else {
        return Err(Error::option("buckets", buckets, "a number of cards of 1 to 4 suits of at most 13 ranks"));
    };
    let game = GameDef {
        no_limit: false,
        n_players: players,
        n_rounds: 1,
        stacks: Some(vec![1_000; players]),
        blinds: vec![1; players],
        raise_sizes: vec![1],
        first_players: vec![0],
        max_raises: vec![raises],
        deck: Deck { n_suits: suits as u8, n_ranks: (buckets / suits) as u8 },
        n_hole_cards: 1,
        n_board_cards: vec![0],
    };
    game.check()?;
    Ok(game)
}

/// The iterative program against `levels` over players × raises × buckets, `n` iterations each. Games that cannot be dealt are passed over.
///
/// # Errors
/// As [`Run::build`].
pub fn sweep(
    device: &Device,
    (players, raises, buckets): (&[usize], &[u32], &[u32]),
    options: &Options,
    n: u32,
    repeats: u32,
) -> Result<Vec<SweepPoint>> {
    let mut points = Vec::new();
    for &players in players {
        for &raises in raises {
            for &buckets in buckets.iter().filter(|&&buckets| buckets as usize >= players) {
                let game = sweep_game(players, raises, buckets)?;
                let sequences = Counts::of(&game)?.sequences as u32;
                let time = |program| milliseconds(device, &game, &Options { program, ..*options }, n, repeats);
                let (cpu_ms, gpu_ms) = (time(Program::Iterative)?, time(Program::Levels)?);
                points.push(SweepPoint { players, raises, buckets, sequences, cpu_ms, gpu_ms });
            }
        }
    }
    Ok(points)
}

/// Fewest sequences from which on the GPU was faster at every point of a sweep.
pub fn crossover(points: &[SweepPoint]) -> Option<u32> {
    let slower =
        points.iter().filter(|point| point.gpu_ms.mean >= point.cpu_ms.mean).map(|point| point.sequences).max();
    points.iter().map(|point| point.sequences).filter(|&n| slower.is_none_or(|slower| n > slower)).min()
}
