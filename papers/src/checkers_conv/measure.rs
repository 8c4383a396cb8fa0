//! What a kernel, a layer, a block and the network cost, measured the way the paper did: 20 runs, of which the first is kept apart, with and without the
//! copies from and to the host.
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
use crate::experiment::statistics;

pub use super::parts::{Level, PARTS, Part};

/// Runs after the first, which is kept apart: the paper makes 20 in all and leaves the first out of its means.
pub const RUNS: usize = N_RUNS - 1;
/// How far a value of the network may be from the exact one, absolutely and as a part of its size: rounding to f32 and the order of the additions, through all
/// layers. The tests hold every block's output to it.
pub const BOUND: f64 = 1e-5;

/// Microseconds of device time.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Times {
    /// Of the first run, which is in none of the others.
    pub first_us: f64,
    /// Of each run after it.
    pub runs_us: Vec<f64>,
}

impl Times {
    /// Mean of the runs after the first; NaN without them, as the others.
    pub fn mean(&self) -> f64 {
        statistics::mean(&self.runs_us)
    }

    /// Their median.
    pub fn median(&self) -> f64 {
        statistics::median(&self.runs_us)
    }

    /// The least.
    pub fn min(&self) -> f64 {
        statistics::least(&self.runs_us)
    }

    /// The most.
    pub fn max(&self) -> f64 {
        statistics::most(&self.runs_us)
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
    /// Mean absolute error; none where a number is missing or not finite.
    pub mean: Option<f64>,
    /// Largest absolute error, likewise.
    pub largest: Option<f64>,
    /// Largest size of the expected numbers.
    pub size: f64,
    /// The verdict by [`allclose`] with the paper's [`ATOL_RTOL`].
    pub within: bool,
}

impl Errors {
    /// Compares number by number.
    pub fn between(found: &[f64], expected: &[f64]) -> Self {
        let errors: Vec<f64> = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).collect();
        let comparable = found.len() == expected.len() && errors.iter().all(|error| error.is_finite());
        // JSON has no infinity, and a journal would not keep one.
        let of = |statistic: fn(&[f64]) -> f64| {
            let value = comparable.then(|| statistic(&errors));
            value.filter(|value| value.is_finite())
        };
        let sizes = expected.iter().map(|value| value.abs()).filter(|size| size.is_finite());
        Self {
            mean: of(statistics::mean),
            largest: of(statistics::most),
            size: sizes.fold(0.0, f64::max),
            within: allclose(found, expected, ATOL_RTOL),
        }
    }

    /// Whether a second measurement of the same may come to `now`, where the order of atomic additions decides the last bits: the verdict is the same, and mean
    /// and largest error differ by no more than two outputs of the same kernels may.
    ///
    /// Each of the two is within [`BOUND`] of what its kernels compute without rounding. That is the expected value or, where the bias is left out, a value that
    /// is off by no more than the largest error.
    pub fn agrees(&self, now: &Self) -> bool {
        let bound = 2.0 * BOUND * (1.0 + self.size + self.largest.unwrap_or(0.0));
        let near = |recorded: Option<f64>, now: Option<f64>| match (recorded, now) {
            (Some(recorded), Some(now)) => (recorded - now).abs() <= bound,
            (recorded, now) => recorded == now,
        };
        self.within == now.within && near(self.mean, now.mean) && near(self.largest, now.largest)
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
    let n = checked(model, level, part, x.len(), runs)?;
    let (times, output) = if part == Part::Network {
        network(stream, model, x, n, copies, runs)?
    } else {
        let mut input = stream.upload(x)?;
        let mut work = Work::new(stream, model, level, part, n)?;
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

/// Least device time in microseconds of a part among `calls` calls back to back, over `runs` times: [`least_us`]. Without copies; `x` as in [`run`].
///
/// # Errors
/// As [`run`].
pub fn back_to_back_us(
    stream: &Stream,
    model: &mut Model,
    level: Level,
    part: Part,
    x: &[f32],
    runs: usize,
    calls: u32,
) -> Result<f64> {
    let n = checked(model, level, part, x.len(), runs)?;
    if part == Part::Network {
        let masks = vec![1u8; n * model.shape().actions as usize];
        let inputs = Inputs { observations: stream.upload(x)?, masks: stream.upload(&masks)? };
        let mut outputs = Outputs::new(stream, model.shape(), n)?;
        return least_us(stream, runs, calls, || model.enqueue(stream, &inputs, n, &mut outputs));
    }
    let (input, mut work) = (stream.upload(x)?, Work::new(stream, model, level, part, n)?);
    least_us(stream, runs, calls, || work.launch(stream, model, level, part, &input))
}

/// Checks what is to be timed; the number of positions.
fn checked(model: &Model, level: Level, part: Part, n_values: usize, runs: usize) -> Result<usize> {
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
    model.positions(n_values, each)
}

/// The buffers that a part writes.
struct Work {
    n: usize,
    middle: Buffer<f32>,
    out: Buffer<f32>,
}

impl Work {
    fn new(stream: &Stream, model: &Model, level: Level, part: Part, n: usize) -> Result<Self> {
        let channels = match part {
            Part::Output | Part::Semi => model.policy.conv.n_outputs() as usize,
            _ => model.shape().width as usize,
        };
        let len = n * channels * model.shape().cells();
        let middle = if level == Level::Block { len } else { 0 };
        Ok(Self { n, middle: stream.alloc(middle)?, out: stream.alloc(len)? })
    }

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
        let far = Errors::between(&[1.0, 2.0 + 2e-5], &[1.0, 2.0]);
        let [mean, largest] = [far.mean, far.largest].map(|error| error.expect("finite"));
        assert!(!far.within && (largest - 2e-5).abs() < 1e-12 && (mean - 1e-5).abs() < 1e-12);
        assert_eq!(far.size, 2.0);
        assert!(!Errors::between(&[1.0], &[]).within);
    }

    /// JSON has neither NaN nor infinity: a journal must be able to keep errors of outputs that have them.
    #[test]
    fn errors_that_are_not_finite_are_none_and_survive_json() {
        for found in [f64::NAN, f64::INFINITY] {
            let errors = Errors::between(&[found, 1.0], &[1.0, 1.0]);
            assert_eq!((errors.mean, errors.largest, errors.within), (None, None, false));
            let text = serde_json::to_string(&errors).expect("written");
            assert_eq!(serde_json::from_str::<Errors>(&text).expect("read"), errors);
        }
        assert_eq!(Errors::between(&[1.0], &[]).largest, None);
    }

    #[test]
    fn errors_agree_within_two_roundings_and_with_one_verdict() {
        let expected = [3.0, -1.0];
        let of = |found: [f64; 2]| Errors::between(&found, &expected);
        let recorded = of([3.0 + 2e-6, -1.0]);
        assert!(recorded.agrees(&of([3.0, -1.0 - 5e-6])));
        // Each of two outputs may be 1e-5 and 3e-5 off: 8e-5 together.
        let beyond = of([3.0 + 5e-4, -1.0]);
        assert!(beyond.agrees(&of([3.0 + 5.7e-4, -1.0])) && !beyond.agrees(&of([3.0 + 6e-4, -1.0])));
        // The verdict is another one, though the errors are near.
        assert!(!recorded.agrees(&of([3.0 + 1.1e-5, -1.0])));
        let nan = of([f64::NAN, -1.0]);
        assert!(nan.agrees(&nan) && !nan.agrees(&beyond) && !beyond.agrees(&nan));
    }

    #[test]
    fn means_leave_the_first_run_out() {
        let times = Times { first_us: 100.0, runs_us: vec![2.0, 6.0, 1.0] };
        assert_eq!((times.min(), times.mean(), times.median(), times.max()), (1.0, 3.0, 2.0, 6.0));
        // 20 runs in all, 19 of them in the means, as in the paper.
        assert_eq!(RUNS + 1, N_RUNS);
    }
}
