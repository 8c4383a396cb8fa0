//! Flags of every command that solves. What is not given is as the library's `Options::default()` says (for spots `Options::SPOT`), or as in the checkpoint that is gone on from.

use std::str::FromStr;

use warpplay::cfr::spot::SpotSolverBuilder;
use warpplay::cfr::{Algorithm, Averaging, Engine, Options, Sampling, SolverBuilder, Updates};

use crate::common::Usage;
use crate::common::flags::{EngineFlag, PlotsFlag, PrecisionFlag, SeedFlag, ThreadsFlag};

#[derive(clap::Args, Clone, Debug)]
pub struct SolveFlags {
    /// How regrets become strategies: cfr, cfr_plus, lcfr, dcfr, pcfr_plus, cfr_br [default: cfr]
    #[arg(long, value_name = "A")]
    pub algorithm: Option<Algorithm>,

    /// Order of the players' updates: alternating, simultaneous [default: alternating]
    #[arg(long, value_name = "U")]
    pub updates: Option<Updates>,

    /// Weight of iteration t in the average: auto (the algorithm's own), uniform, linear, quadratic [default: auto]
    #[arg(long, value_name = "W")]
    pub averaging: Option<Averaging>,

    /// What is sampled: none, chance, public_chance, opponent_public, self_public, external, outcome [default: none]
    #[arg(long, value_name = "S")]
    pub sampling: Option<Sampling>,

    /// Deals, boards or traversals in each iteration, with sampling [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch: Option<u32>,

    /// Exponents α, β, γ of --algorithm dcfr, separated by commas; γ only with --averaging auto [default: 1.5,0,2]
    #[arg(long, value_name = "A,B,G", value_parser = discounts, allow_hyphen_values = true)]
    pub discounts: Option<[f64; 3]>,

    /// Exploration ε of --sampling outcome: above 0, at most 1 [default: 0.6]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub exploration: Option<f64>,

    #[command(flatten)]
    pub precision: PrecisionFlag,
    #[command(flatten)]
    pub engine: EngineFlag<Engine>,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub threads: ThreadsFlag,
}

/// A builder that was asked for the flags that were given.
macro_rules! asked {
    ($flags:ident, $builder:ident: $($setter:ident: $given:expr),+ $(,)?) => {{
        let mut builder = $builder;
        $(if let Some(given) = $given {
            builder = builder.$setter(given);
        })+
        match $flags.threads.threads {
            None => builder,
            given => builder.threads(given),
        }
    }};
    ($flags:ident, $builder:ident) => {
        asked! {
            $flags, $builder:
            algorithm: $flags.algorithm,
            updates: $flags.updates,
            averaging: $flags.averaging,
            sampling: $flags.sampling,
            batch: $flags.batch,
            discounts: $flags.discounts,
            exploration: $flags.exploration,
            seed: $flags.seed.seed,
            precision: $flags.precision.precision,
            engine: $flags.engine.engine,
        }
    };
}

impl SolveFlags {
    /// The library's options with what was given.
    pub fn options(&self) -> Options {
        self.over(Options::default())
    }

    /// The library's options for spots with what was given.
    pub fn spot_options(&self) -> Options {
        self.over(Options::SPOT)
    }

    fn over(&self, default: Options) -> Options {
        Options {
            algorithm: self.algorithm.unwrap_or(default.algorithm),
            updates: self.updates.unwrap_or(default.updates),
            averaging: self.averaging.unwrap_or(default.averaging),
            sampling: self.sampling.unwrap_or(default.sampling),
            batch: self.batch.unwrap_or(default.batch),
            discounts: self.discounts.unwrap_or(default.discounts),
            exploration: self.exploration.unwrap_or(default.exploration),
            seed: self.seed.seed.unwrap_or(default.seed),
            precision: self.precision.precision.unwrap_or(default.precision),
            engine: self.engine.engine.unwrap_or(default.engine),
            threads: self.threads.threads,
            ..default
        }
    }

    /// Asks a builder for what was given, and for nothing else.
    pub fn ask(&self, builder: SolverBuilder) -> SolverBuilder {
        asked!(self, builder)
    }

    /// The same of a spot's builder.
    pub fn ask_spot(&self, builder: SpotSolverBuilder) -> SpotSolverBuilder {
        asked!(self, builder)
    }
}

/// Three numbers with commas between.
fn discounts(text: &str) -> Result<[f64; 3], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let three = numbers.ok().and_then(|numbers| <[f64; 3]>::try_from(numbers).ok());
    three.ok_or_else(|| "allowed are three finite numbers separated by commas".to_string())
}

/// A value of `--report`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// After so many iterations.
    After(u64),
    /// Not at all.
    Never,
}

impl FromStr for Stop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::Never),
            _ => text.parse().map(Self::After).map_err(|_| "expected numbers of iterations, or none".to_string()),
        }
    }
}

/// How long, and what is said on the way.
#[derive(clap::Args, Clone, Debug)]
pub struct ReportFlags {
    /// Iterations in all, including those before a resume [default: 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub iterations: Option<u64>,

    /// Compute the exploitability after these iterations, separated by commas, and after the last; none: never [default: 1,10,100 and so on, and the last]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', allow_hyphen_values = true)]
    pub report: Vec<Stop>,

    #[command(flatten)]
    pub plots: PlotsFlag,
}

impl ReportFlags {
    /// Iterations in all.
    pub fn iterations(&self) -> u64 {
        self.iterations.unwrap_or(Options::default().iterations)
    }

    /// Whether the exploitability is never found.
    pub fn is_never(&self) -> bool {
        self.report.contains(&Stop::Never)
    }

    /// Iterations after which the exploitability is found, in order, the last of `iterations` among them; none of them with `none`.
    ///
    /// # Errors
    /// A number that is not among the iterations; a number beside `none`.
    pub fn stops(&self, iterations: u64) -> anyhow::Result<Vec<u64>> {
        let wrong = |value: &dyn std::fmt::Display, allowed: String| -> anyhow::Error {
            Usage(format!("option report: {value} is not allowed ({allowed})")).into()
        };
        if self.is_never() {
            return match self.report.len() {
                1 => Ok(Vec::new()),
                _ => Err(wrong(&"none beside numbers", "none, or numbers".into())),
            };
        }
        let given = self.report.iter().filter_map(|stop| match stop {
            Stop::After(at) => Some(*at),
            Stop::Never => None,
        });
        let mut stops: Vec<u64> = match self.report.is_empty() {
            true => {
                std::iter::successors(Some(1u64), |at| at.checked_mul(10)).take_while(|&at| at <= iterations).collect()
            }
            false => given.collect(),
        };
        if let Some(beyond) = stops.iter().find(|&&at| at > iterations) {
            return Err(wrong(beyond, format!("0 to the {iterations} iterations, or none")));
        }
        stops.push(iterations);
        stops.sort_unstable();
        stops.dedup();
        Ok(stops)
    }
}
