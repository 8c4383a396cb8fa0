//! What the sections share: device, network, positions, times.

use std::collections::HashSet;
use std::time::Instant;

use warpplay::azero::checkers::{Checkers, N_ACTIONS, N_OBSERVATION, legal_mask, observation};
use warpplay::azero::{Engine, Evaluator, Inputs, Network, ObservationLayout, Outputs};
use warpplay::mcts::Game;
use warpplay::{Backend, Device, Error, Event, Precision, Result, Stream};
use warpplay_gpu::split_mix::mix;

use crate::output::Output;
use crate::peers::Peer;

pub struct Bench {
    pub device: Device,
    pub seconds: f64,
    pub quick: bool,
    pub batches: Vec<usize>,
    pub games: usize,
    pub network: Network,
    pub positions: Positions,
    pub output: Output,
    /// Programs that trainings are timed beside.
    pub peers: Vec<Peer>,
}

/// Numbers in order from a seed: SplitMix64.
pub struct Draw(u64);

impl Draw {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// In [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Distinct positions of random games.
pub struct Positions {
    pub observations: Vec<f32>,
    pub masks: Vec<u8>,
}

impl Positions {
    /// Plays games until `n` distinct observations have been seen.
    pub fn random(seed: u64, n: usize, layout: ObservationLayout) -> Result<Self> {
        let mut draw = Draw::new(seed);
        let mut seen = HashSet::new();
        let mut positions = Self { observations: Vec::new(), masks: Vec::new() };
        while seen.len() < n {
            let mut position = Checkers::new();
            while !position.outcome().is_over() && seen.len() < n {
                let planes = observation(&position, position.to_move(), layout);
                let bits: Vec<bool> = planes.iter().map(|&value| value > 0.0).collect();
                if seen.insert(bits) {
                    positions.observations.extend(planes);
                    positions.masks.extend(legal_mask(&position));
                }
                let moves = position.moves();
                position.apply(moves.nth(draw.below(moves.count())));
            }
        }
        Ok(positions)
    }

    pub fn len(&self) -> usize {
        self.masks.len() / N_ACTIONS
    }

    /// Observations and masks of the first `n`, from the start again beyond the last.
    pub fn first(&self, n: usize) -> (Vec<f32>, Vec<u8>) {
        let (observations, masks) = (self.observations.iter().cycle(), self.masks.iter().cycle());
        (observations.take(n * N_OBSERVATION).copied().collect(), masks.take(n * N_ACTIONS).copied().collect())
    }
}

/// Smallest and median of repeated times, in seconds.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Times {
    pub min: f64,
    pub median: f64,
    pub n: usize,
}

impl Times {
    /// `None` without values.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let median = (values.get(n.checked_sub(1)? / 2)? + values.get(n / 2)?) / 2.0;
        Some(Self { min: values[0], median, n })
    }
}

/// Calls between two events: enough that the events' own time does not count.
const SECONDS_BETWEEN_EVENTS: f64 = 0.01;

/// An evaluator with positions that are in the device's memory.
pub struct Ready {
    pub evaluator: Evaluator,
    pub stream: Stream,
    pub inputs: Inputs,
    pub outputs: Outputs,
    pub n: usize,
}

impl Ready {
    /// Device seconds of a call, back to back with others, after some that are not timed.
    pub fn times(&mut self, seconds: f64) -> Result<Times> {
        let (start, end) = (self.stream.event()?, self.stream.event()?);
        let mut between = |calls: u32| {
            self.stream.record(&start)?;
            for _ in 0..calls {
                self.evaluator.enqueue(&self.stream, &self.inputs, self.n, &mut self.outputs)?;
            }
            self.stream.record(&end)?;
            Ok::<_, Error>(f64::from(Event::elapsed_ms(&start, &end)?) / 1e3 / f64::from(calls))
        };
        // The first makes graphs, the second brings up the clocks.
        between(1)?;
        let once = between(1)?;
        let calls = (SECONDS_BETWEEN_EVENTS / once.max(1e-7)).clamp(1.0, 10_000.0) as u32;
        let (begun, mut times) = (Instant::now(), Vec::new());
        while times.len() < 3 || begun.elapsed().as_secs_f64() < seconds {
            times.push(between(calls)?);
            if once > seconds {
                break;
            }
        }
        Times::of(times).ok_or_else(|| Error::option("seconds", seconds, "enough for a run"))
    }
}

impl Bench {
    /// Whether kernels run on the device.
    pub fn has_kernels(&self) -> bool {
        self.device.backend() != Backend::Cpu
    }

    /// Precisions that kernels have.
    pub const PRECISIONS: [Precision; 4] = [Precision::F32, Precision::Tf32, Precision::Bf16, Precision::F16];

    pub fn evaluator(&self, network: &Network, precision: Precision, engine: Engine, n: usize) -> Result<Evaluator> {
        let builder = Evaluator::builder(network).precision(precision).engine(engine).max_batch(n);
        builder.build(&self.device)
    }

    /// An evaluator of the bench's network with `n` positions on the device.
    pub fn ready(&self, network: &Network, precision: Precision, engine: Engine, n: usize) -> Result<Ready> {
        let evaluator = self.evaluator(network, precision, engine, n)?;
        let stream = self.device.stream()?;
        let (observations, masks) = self.positions.first(n);
        let shape = network.shape();
        let (mut inputs, outputs) = (Inputs::new(&stream, shape, n)?, Outputs::new(&stream, shape, n)?);
        stream.write(&mut inputs.observations, 0, &observations)?;
        stream.write(&mut inputs.masks, 0, &masks)?;
        Ok(Ready { evaluator, stream, inputs, outputs, n })
    }

    /// The cell of a row without figures: a choice that the device does not offer is no failure.
    pub fn refused(&mut self, error: &Error) -> String {
        match error {
            Error::Option { .. } | Error::Unsupported { .. } => format!("not offered: {error}"),
            _ => self.output.failed(error),
        }
    }
}
