//! What a solver reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Memory;
use crate::cfr::layout::Measured;
use crate::cfr::options::{Engine, Options};

/// How good the average profile is after some iterations. Chips, arrays by seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Iterations done.
    pub iteration: u64,
    /// Σ over seats of (best response − value): 0 in an equilibrium.
    pub nash_conv: f64,
    /// `nash_conv` / seats: what a seat gains on average by its best response.
    pub exploitability: f64,
    /// Expected winnings when all play the average strategy.
    pub value: Vec<f64>,
    /// Expected winnings of a seat that plays its best against the others' average strategies.
    pub best_response: Vec<f64>,
    /// Mean over the iterations of the winnings under the strategies used in them.
    pub average_utility: Vec<f64>,
    /// Seconds of the iterations so far.
    pub seconds: f64,
    /// Seconds that finding this exploitability took; not in `seconds`.
    pub exploitability_seconds: f64,
}

impl Point {
    pub(in crate::cfr) fn new(iteration: u64, measured: Measured, utilities: &[f64], seconds: [f64; 2]) -> Self {
        let nash_conv = measured.nash_conv();
        let n = iteration.max(1) as f64;
        Self {
            iteration,
            nash_conv,
            exploitability: nash_conv / measured.values.len().max(1) as f64,
            value: measured.values,
            best_response: measured.best_responses,
            average_utility: utilities.iter().map(|sum| sum / n).collect(),
            seconds: seconds[0],
            exploitability_seconds: seconds[1],
        }
    }
}

/// What a solver did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was solved.
    pub game: String,
    /// The engine, by the rule of [`cfr`](super) or as asked for.
    pub engine: Engine,
    /// The options.
    pub options: Options,
    /// Seed of what is sampled.
    #[serde(default)]
    pub seed: u64,
    /// The device: `cuda:0`, `cpu`, `simt`.
    pub device: String,
    /// Its maker's name.
    pub device_name: String,
    /// Iterations done.
    pub iterations: u64,
    /// Seconds of these iterations, without the computation of exploitability.
    pub seconds: f64,
    /// Seconds of all measurements of exploitability.
    pub exploitability_seconds: f64,
    /// Pairs of information set and action, over all seats; hands that the board blocks included.
    pub infoset_actions: u64,
    /// Bytes of regrets and averages, and of last regrets where the algorithm predicts.
    pub table_bytes: u64,
    /// Bytes of `memory` in all, on the device and on the host.
    pub bytes: u64,
    /// Memory that the engine asked for, by use.
    #[serde(default)]
    pub memory: Memory,
    /// Exploitability at the times it was asked for.
    pub trajectory: Vec<Point>,
    /// Why the exploitability was asked for and not found, where the engine cannot find it for this game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

impl fmt::Display for Report {
    /// A line a point of the trajectory, then what was done in what time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for point in &self.trajectory {
            writeln!(f, "iteration {}: NashConv {:.6}, value {:+.6?}", point.iteration, point.nash_conv, point.value)?;
        }
        if let Some(reason) = &self.unmeasured {
            writeln!(f, "exploitability not computed: {reason}")?;
        }
        let Self { game, engine, device, device_name, iterations, seconds, options, seed, .. } = self;
        write!(
            f,
            "{game}: {iterations} iterations of {} by engine {engine} on {device} ({device_name}), seed {seed}, in {seconds:.3} s",
            options.algorithm
        )
    }
}
