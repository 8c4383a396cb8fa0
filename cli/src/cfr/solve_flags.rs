//! Flags of every command that solves.

use std::path::PathBuf;

use warpplay::cfr::{Algorithm, Averaging, Form, Numbers, Options, Sampling, Updates};
use warpplay::{Backend, Device};

use crate::common::Usage;

#[derive(clap::Args, Clone, Debug)]
pub struct SolveFlags {
    /// How regrets become strategies: cfr, cfr_plus, lcfr, dcfr, pcfr_plus, cfr_br
    #[arg(long, value_name = "A", default_value_t = Algorithm::CfrPlus)]
    pub algorithm: Algorithm,

    /// Who learns in an iteration: alternating, simultaneous
    #[arg(long, value_name = "U", default_value_t = Updates::Alternating)]
    pub updates: Updates,

    /// Weight of iteration t in the average: auto (the algorithm's own), uniform, linear, quadratic
    #[arg(long, value_name = "W", default_value_t = Averaging::Auto)]
    pub averaging: Averaging,

    /// What is sampled: none, chance, public_chance, opponent_public, self_public, external, outcome
    #[arg(long, value_name = "S", default_value_t = Sampling::None)]
    pub sampling: Sampling,

    /// Deals, boards or traversals of an iteration, where something is sampled
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub batch: u32,

    /// Seed of what is sampled
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Arithmetic: f32, f64, i16 (f32 stored as 16-bit integers) [default: f64 on cpu, else f32]
    #[arg(long, value_name = "P")]
    pub precision: Option<Numbers>,

    /// Layout: auto, explicit, block, street, subset
    #[arg(long, value_name = "F", default_value_t = Form::Auto)]
    pub form: Form,

    /// Threads of the device cpu [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<usize>,
}

impl SolveFlags {
    /// The options on a device.
    pub fn options(&self, device: &Device) -> Options {
        let default = if device.backend() == Backend::Cpu { Numbers::F64 } else { Numbers::F32 };
        Options {
            algorithm: self.algorithm,
            updates: self.updates,
            averaging: self.averaging,
            sampling: self.sampling,
            batch: self.batch,
            seed: self.seed,
            numbers: self.precision.unwrap_or(default),
            form: self.form,
            threads: self.threads,
            ..Options::default()
        }
    }
}

/// How long, and what is said on the way.
#[derive(clap::Args, Clone, Debug)]
pub struct ReportFlags {
    /// Iterations
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub iterations: u32,

    /// Find the exploitability after these iterations, with commas between [default: 1,10,100 and so on, and the last]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub report: Vec<u32>,

    /// Draw exploitability against time to this file
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

impl ReportFlags {
    /// Iterations after which the exploitability is found, in order, the last among them.
    ///
    /// # Errors
    /// A number that is not among the iterations.
    pub fn stops(&self) -> anyhow::Result<Vec<u32>> {
        let mut stops = match self.report.is_empty() {
            true => std::iter::successors(Some(1u32), |at| at.checked_mul(10))
                .take_while(|&at| at <= self.iterations)
                .collect(),
            false => self.report.clone(),
        };
        if let Some(wrong) = stops.iter().find(|&&at| at > self.iterations) {
            let text = format!("option report: {wrong} is not allowed (0 to the {} iterations)", self.iterations);
            return Err(Usage(text).into());
        }
        stops.push(self.iterations);
        stops.sort_unstable();
        stops.dedup();
        Ok(stops)
    }
}
