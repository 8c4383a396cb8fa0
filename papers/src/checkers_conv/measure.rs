//! What a kernel, a layer, a block and the network cost, measured the way the paper did: 20 runs, the first one apart, with and without the copies from and
//! to the host.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::azero::{Network, NetworkShape};
//! use warpplay_papers::checkers_conv::measure::{Errors, Level, Part, run};
//! use warpplay_papers::checkers_conv::{Model, Options};
//!
//! let stream = Device::simt().stream()?;
//! let shape = NetworkShape { width: 2, depth: 1, value_hidden: 4, actions: 3, ..NetworkShape::default() };
//! let mut model = Model::new(&stream, &Network::seeded(shape, 1)?, Options::default(), 1)?;
//! let found = run(&stream, &mut model, Level::Kernel, Part::Input, &[0.0; 320], false, 3)?;
//! assert_eq!((found.output.len(), found.times.runs_us.len()), (2 * 64, 3));
//! assert!(found.times.min() <= found.times.mean());
//! assert!(Errors::between(&[1.0], &[1.00001]).within);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # Paper
//! Paul and Xu: their Figures 2 to 5, and the verdict by PyTorch's `allclose` with `atol` 1e-5 and `rtol` 1e-8.

use warpplay::azero::{Inputs, Outputs};
use warpplay::{Buffer, Error, Event, Result, Stream};

use super::Model;
use super::model::Layer;
use super::published::{ATOL_RTOL, N_RUNS};

pub use super::parts::{Level, PARTS, Part};

/// Runs after the first, which is kept apart. The paper makes 20 and leaves the first out of its means.
pub const RUNS: usize = N_RUNS;

/// Microseconds of device time.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Times {
    /// Of the first run, which is in none of the others.
    pub first_us: f64,
    /// Of each run after it.
    pub runs_us: Vec<f64>,
}

impl Times {
    /// Their mean; 0 without runs.
    pub fn mean(&self) -> f64 {
        self.runs_us.iter().sum::<f64>() / self.runs_us.len().max(1) as f64
    }

    /// The least; 0 without runs.
    pub fn min(&self) -> f64 {
        self.runs_us.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// The most; 0 without runs.
    pub fn max(&self) -> f64 {
        self.runs_us.iter().copied().reduce(f64::max).unwrap_or(0.0)
    }
}

/// PyTorch's `allclose`: whether every error is at most `atol + rtol · |expected|`.
pub fn allclose(found: &[f64], expected: &[f64], (atol, rtol): (f64, f64)) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= atol + rtol * expected.abs())
}

/// How far some numbers are from the expected ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Errors {
    /// Mean absolute error.
    pub mean: f64,
    /// Largest absolute error.
    pub largest: f64,
    /// The verdict by [`allclose`] with the paper's [`ATOL_RTOL`].
    pub within: bool,
}

impl Errors {
    /// Compares number by number; numbers that one side lacks, and those that are not numbers, are an infinite error.
    pub fn between(found: &[f64], expected: &[f64]) -> Self {
        if found.len() != expected.len() {
            return Self { mean: f64::INFINITY, largest: f64::INFINITY, within: false };
        }
        let mut errors = Self { mean: 0.0, largest: 0.0, within: allclose(found, expected, ATOL_RTOL) };
        for (&found, &expected) in found.iter().zip(expected) {
            let error = (found - expected).abs();
            let error = if error.is_nan() { f64::INFINITY } else { error };
            errors.mean += error;
            errors.largest = errors.largest.max(error);
        }
        errors.mean /= found.len().max(1) as f64;
        errors
    }
}

/// One part, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How much.
    pub level: Level,
    /// Of what.
    pub part: Part,
    /// Whether the copies from and to the host are in the times.
    pub copies: bool,
    /// Device time.
    pub times: Times,
    /// What it computed: `[n, channels, 8, 8]`, or the network's logits `[n, actions]`.
    pub output: Vec<f32>,
}

/// Times a part of a model on the positions whose input to it is `x`: `[n, planes, 8, 8]` for the input and the network, else `[n, width, 8, 8]`. All actions are
/// taken as legal.
///
/// Each run is between two events: the copy of `x` to the device if `copies`, the launches, the copy of the results back if `copies`. One run is made first
/// and kept apart, then `runs` are timed. On `simt` times are those of the CPU that plays the kernels.
///
/// # Errors
/// [`Error::Option`] for a part that has no such level (see [`PARTS`]), a block of a network without blocks, or no runs; [`Error::Shape`] if `x` is not 1 position
/// or more, within the model's capacity; errors of the device.
pub fn run(
    stream: &Stream,
    model: &mut Model,
    level: Level,
    part: Part,
    x: &[f32],
    copies: bool,
    runs: usize,
) -> Result<Run> {
    if !PARTS.contains(&(level, part)) {
        return Err(Error::option("part", part, format!("one that is measured as {level}")));
    }
    if runs == 0 {
        return Err(Error::option("runs", runs, "at least 1"));
    }
    if part == Part::Torso && model.torso.is_empty() {
        return Err(Error::option("depth", 0, "at least 1 for a block of the torso"));
    }
    let shape = model.shape();
    let each =
        if matches!(part, Part::Input | Part::Semi | Part::Network) { shape.n_observation() } else { shape.n_block() };
    let n = model.positions(x.len(), each)?;
    let (times, output) = if part == Part::Network {
        network(stream, model, x, n, copies, runs)?
    } else {
        let mut input = stream.upload(x)?;
        let channels = match part {
            Part::Output | Part::Semi => model.policy.conv.n_outputs() as usize,
            _ => shape.width as usize,
        };
        let mut work = Work { n, middle: stream.alloc(0)?, out: stream.alloc(n * channels * shape.cells())? };
        if level == Level::Block {
            work.middle = stream.alloc(n * channels * shape.cells())?;
        }
        let mut output = vec![0.0; work.out.len()];
        let times = timed(stream, runs, || {
            if copies {
                stream.write(&mut input, 0, x)?;
            }
            work.launch(stream, model, level, part, &input)?;
            if copies { stream.read_into(&work.out, 0, &mut output) } else { Ok(()) }
        })?;
        stream.read_into(&work.out, 0, &mut output)?;
        (times, output)
    };
    Ok(Run { level, part, copies, times, output })
}

/// The buffers that a part writes.
struct Work {
    n: usize,
    middle: Buffer<f32>,
    out: Buffer<f32>,
}

impl Work {
    fn launch(&mut self, stream: &Stream, model: &mut Model, level: Level, part: Part, x: &Buffer<f32>) -> Result<()> {
        let Self { n, middle, out } = self;
        if part == Part::Semi {
            return model.semi(stream, x, *n, out);
        }
        let (n, kernels) = (*n, &model.kernels);
        if level == Level::Block {
            let [first, second] = &model.torso[0];
            let each = model.shape().n_block();
            kernels.torso(stream, n, x, &first.conv, middle)?;
            kernels.batch_norm(stream, n, middle, &first.norm)?;
            kernels.relu(stream, n, each, middle)?;
            kernels.torso(stream, n, middle, &second.conv, out)?;
            kernels.batch_norm(stream, n, out, &second.norm)?;
            kernels.add(stream, n, each, out, x)?;
            return kernels.relu(stream, n, each, out);
        }
        let layer: &Layer = match part {
            Part::Torso => &model.torso[0][0],
            Part::Output => &model.policy,
            _ => &model.input,
        };
        match part {
            Part::Torso => kernels.torso(stream, n, x, &layer.conv, out)?,
            Part::Output => kernels.output(stream, n, x, &layer.conv, out)?,
            _ => kernels.input(stream, n, x, &layer.conv, out)?,
        }
        if level == Level::Layer {
            kernels.batch_norm(stream, n, out, &layer.norm)?;
            kernels.relu(stream, n, layer.conv.n_outputs() as usize * model.shape().cells(), out)?;
        }
        Ok(())
    }
}

/// The whole network: times, and the logits.
fn network(
    stream: &Stream,
    model: &mut Model,
    x: &[f32],
    n: usize,
    copies: bool,
    runs: usize,
) -> Result<(Times, Vec<f32>)> {
    let shape = model.shape();
    let masks = vec![1u8; n * shape.actions as usize];
    let mut inputs = Inputs { observations: stream.upload(x)?, masks: stream.upload(&masks)? };
    let mut outputs = Outputs::new(stream, shape, n)?;
    let (mut values, mut policies) = (vec![0.0; n], vec![0.0; masks.len()]);
    let times = timed(stream, runs, || {
        if copies {
            stream.write(&mut inputs.observations, 0, x)?;
            stream.write(&mut inputs.masks, 0, &masks)?;
        }
        model.enqueue(stream, &inputs, n, &mut outputs)?;
        if copies {
            stream.read_into(&outputs.values, 0, &mut values)?;
            stream.read_into(&outputs.policies, 0, &mut policies)?;
        }
        Ok(())
    })?;
    Ok((times, stream.read(&outputs.policy_logits)?))
}

/// Device times of `runs` calls, after one that is kept apart.
///
/// # Errors
/// What a call returns; errors of the device.
pub fn timed(stream: &Stream, runs: usize, mut call: impl FnMut() -> Result<()>) -> Result<Times> {
    let (start, end) = (stream.event()?, stream.event()?);
    let mut one = || {
        stream.record(&start)?;
        call()?;
        stream.record(&end)?;
        Ok::<_, Error>(f64::from(Event::elapsed_ms(&start, &end)?) * 1e3)
    };
    Ok(Times { first_us: one()?, runs_us: (0..runs).map(|_| one()).collect::<Result<_>>()? })
}

/// Least device time of a call in microseconds, over `runs` times `calls` calls back to back, after as many that are left out.
///
/// # Errors
/// What a call returns; errors of the device.
pub fn least_us(stream: &Stream, runs: usize, calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let times = timed(stream, runs, || (0..calls).try_for_each(|_| call()))?;
    Ok(times.min() / f64::from(calls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_allclose() {
        assert!(Errors::between(&[1.0, 2.0], &[1.0 + 0.9e-5, 2.0]).within);
        let far = Errors::between(&[1.0, 2.0], &[1.0, 2.0 + 2e-5]);
        assert!(!far.within && (far.largest - 2e-5).abs() < 1e-12 && (far.mean - 1e-5).abs() < 1e-12);
        assert_eq!(Errors::between(&[f64::NAN], &[1.0]).largest, f64::INFINITY);
        assert!(!Errors::between(&[1.0], &[]).within);
    }

    #[test]
    fn means_leave_the_first_run_out() {
        let times = Times { first_us: 100.0, runs_us: vec![1.0, 3.0] };
        assert_eq!((times.min(), times.mean(), times.max()), (1.0, 2.0, 3.0));
    }
}
