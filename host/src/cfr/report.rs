//! What a solver reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Memory;
use crate::cfr::layout::Measured;
use crate::cfr::options::{Engine, Options};

/// Measures of the average profile after some iterations, in chips; arrays are by seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Iterations done.
    pub iteration: u64,
    /// Σ over seats of (best response − value): 0 in an equilibrium.
    pub nash_conv: f64,
    /// `nash_conv` / seats: the mean gain of a seat by its best response.
    pub exploitability: f64,
    /// Expected winnings if all seats play the average strategy.
    pub value: Vec<f64>,
    /// Expected winnings of a seat that plays its best against the others' average strategies.
    pub best_response: Vec<f64>,
    /// Mean over the iterations of the winnings under the strategies used in them.
    pub average_utility: Vec<f64>,
    /// Seconds of the iterations so far.
    pub seconds: f64,
    /// Seconds of computing this exploitability, not included in `seconds`.
    pub exploitability_seconds: f64,
}

impl Point {
    /// * `average_utility`: of one deal.
    pub(in crate::cfr) fn new(
        iteration: u64,
        measured: Measured,
        average_utility: Vec<f64>,
        seconds: [f64; 2],
    ) -> Self {
        let nash_conv = measured.nash_conv();
        Self {
            iteration,
            nash_conv,
            exploitability: nash_conv / measured.values.len().max(1) as f64,
            value: measured.values,
            best_response: measured.best_responses,
            average_utility,
            seconds: seconds[0],
            exploitability_seconds: seconds[1],
        }
    }
}

/// The report of a solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The game that was solved.
    pub game: String,
    /// The engine, chosen by the rule of [`cfr`](super) or by the caller.
    pub engine: Engine,
    /// The options.
    pub options: Options,
    /// Seed of sampling.
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
    /// Number of pairs of information set and action over all seats, including hands that the board blocks.
    pub infoset_actions: u64,
    /// Bytes of regrets and averages, and of last regrets if the algorithm predicts.
    pub table_bytes: u64,
    /// Total bytes of `memory`, on the device and on the host.
    pub bytes: u64,
    /// Memory that the engine requested, by purpose.
    #[serde(default)]
    pub memory: Memory,
    /// The measurements of exploitability.
    pub trajectory: Vec<Point>,
    /// Why the exploitability was not measured, if the engine cannot compute it for this game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

impl fmt::Display for Report {
    /// Prints a line for each point of the trajectory, then the work done and its time.
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
