//! Times of the components of Table I: kernel, layer, block and model, by the published kernels, by ours, and on the CPU.

use serde::{Deserialize, Serialize};
use warpplay::azero::{Evaluator, Inputs, Network, NetworkShape, Outputs};
use warpplay::{Backend, Device, Precision, Result};

use super::forms::{forms, programs};
use super::measure::{self, Errors, Level, Part, Times, least_us};
use super::reference::Reference;
use super::study::PRECISIONS;
use super::{Model, Options, Study};

/// Runs of the CPU on more than one position: they take seconds, and differ little.
const CPU_RUNS: usize = 3;
/// Evaluations between two events, where ours are timed without copies.
const CALLS: u32 = 100;
/// Program of the plain reference on one thread.
pub const CPU_1: &str = "cpu-ref, 1 thread";
/// On all cores.
pub const CPU_ALL: &str = "cpu-ref, all cores";

/// One program's times of one component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Whose: `paper` and its forms, `repository`, `ours` and a precision, `cpu-ref`.
    pub program: String,
    /// Whether the copies from and to the host are in the times.
    pub copies: bool,
    /// Device time; wall time of `cpu-ref`.
    pub times: Times,
    /// Against double precision; none where nothing was compared.
    pub errors: Option<Errors>,
}

/// All programs' times of one component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// The rows.
    pub rows: Vec<Row>,
    /// What the device does not offer, and why.
    pub not_offered: Vec<String>,
}

impl Rows {
    /// Times of a program, without copies.
    pub fn times(&self, program: &str) -> Option<&Times> {
        self.rows.iter().find(|row| row.program == program && !row.copies).map(|row| &row.times)
    }
}

impl Study {
    /// What the components read and are to compute, for the first `n` positions.
    pub fn reference(&self, n: usize) -> Reference {
        Reference::new(self.network(), self.first(n).0, n)
    }

    /// Wall times of the plain program.
    pub fn cpu_times(&self, (level, part): (Level, Part), runs: usize, reference: &Reference) -> Rows {
        let mut found = Rows::default();
        for (program, all_cores) in [(CPU_1, false), (CPU_ALL, true)] {
            // Only the network has a parallel program.
            if all_cores && part != Part::Network {
                continue;
            }
            let runs = if reference.n() == 1 { runs } else { runs.min(CPU_RUNS) };
            let times = reference.times(level, part, runs, all_cores);
            found.rows.push(Row { program: program.to_string(), copies: false, times, errors: None });
        }
        found
    }

    /// Device times of the published kernels, in the combinations that were published and, with `all_forms`, in every form of a kernel alone.
    ///
    /// # Errors
    /// As [`Model::new`]; errors of the device.
    pub fn kernel_times(
        &self,
        device: &Device,
        (level, part): (Level, Part),
        runs: usize,
        all_forms: bool,
        reference: &Reference,
    ) -> Result<Rows> {
        let stream = device.stream()?;
        let mut model = Model::new(&stream, self.network(), Options::default(), reference.n())?;
        let mut found = Rows::default();
        let mut timed = if all_forms { forms(part) } else { programs(level, part) };
        // Under simt an evaluation takes seconds, and its time says nothing: one shows that it runs.
        let on_simt = device.backend() == Backend::Simt;
        if on_simt && level == Level::Model {
            timed.truncate(1);
        }
        for (program, options) in timed {
            model.set_options(options)?;
            for copies in [false, true] {
                // The forms are told apart by their kernels; copies are the same for all.
                if copies && (options != Options::default() || all_forms || on_simt) {
                    continue;
                }
                let run = measure::run(&stream, &mut model, level, part, reference.operand(part), copies, runs)?;
                let output: Vec<f64> = run.output.iter().map(|&value| value.into()).collect();
                // Without the bias it is another number that is computed.
                let errors = options.bias.then(|| Errors::between(&output, reference.expected(level, part)));
                found.rows.push(Row { program: program.clone(), copies, times: run.times, errors });
            }
        }
        Ok(found)
    }

    /// Device times of our kernels: the network as it is, and a block or a layer by the difference of two depths, since ours have no single kernels. None of
    /// the other components.
    ///
    /// # Errors
    /// Errors of the device, but for precisions that it does not offer.
    pub fn our_times(
        &self,
        device: &Device,
        (level, part): (Level, Part),
        runs: usize,
        reference: &Reference,
    ) -> Result<Rows> {
        let mut found = Rows::default();
        let difference = matches!((level, part), (Level::Layer | Level::Block, Part::Torso));
        if !difference && part != Part::Network {
            return Ok(found);
        }
        for precision in PRECISIONS {
            let program = format!("ours {precision}");
            let mut ready = match Ready::new(self, device, self.network(), precision, reference.n()) {
                Ok(ready) => ready,
                Err(error) => {
                    found.not_offered.push(format!("{program}: {error}"));
                    continue;
                }
            };
            if difference {
                let layers = if level == Level::Block { 1.0 } else { 2.0 };
                let us = self.block_us(device, precision, runs, reference.n())? / layers;
                let times = Times { first_us: us, runs_us: vec![us] };
                found.rows.push(Row { program, copies: false, times, errors: None });
                continue;
            }
            for copies in [false, true] {
                let times = ready.times(copies, runs)?;
                let logits = ready.stream.read(&ready.outputs.policy_logits)?;
                let logits: Vec<f64> = logits.into_iter().map(f64::from).collect();
                let errors = Some(Errors::between(&logits, reference.expected(level, part)));
                found.rows.push(Row { program: program.clone(), copies, times, errors });
            }
        }
        Ok(found)
    }

    /// A sixth of what networks of 8 and of 2 blocks differ by.
    fn block_us(&self, device: &Device, precision: Precision, runs: usize, n: usize) -> Result<f64> {
        let shape = self.network().shape();
        let [deep, shallow] = [8, 2].map(|depth| {
            let network = Network::seeded(NetworkShape { depth, ..shape }, 27)?;
            Ready::new(self, device, &network, precision, n)?.least(runs)
        });
        Ok((deep? - shallow?) / 6.0)
    }
}

/// An evaluator with positions, all of whose actions are legal, on the device.
struct Ready {
    evaluator: Evaluator,
    stream: warpplay::Stream,
    inputs: Inputs,
    outputs: Outputs,
    observations: Vec<f32>,
    masks: Vec<u8>,
    n: usize,
}

impl Ready {
    fn new(study: &Study, device: &Device, network: &Network, precision: Precision, n: usize) -> Result<Self> {
        let evaluator = Evaluator::builder(network).precision(precision).max_batch(n).build(device)?;
        let stream = device.stream()?;
        let (observations, _) = study.first(n);
        let masks = vec![1u8; n * network.shape().actions as usize];
        let inputs = Inputs { observations: stream.upload(&observations)?, masks: stream.upload(&masks)? };
        let outputs = Outputs::new(&stream, network.shape(), n)?;
        Ok(Self { evaluator, stream, inputs, outputs, observations, masks, n })
    }

    fn times(&mut self, copies: bool, runs: usize) -> Result<Times> {
        let Self { evaluator, stream, inputs, outputs, observations, masks, n } = self;
        let (mut values, mut policies) = (vec![0.0f32; *n], vec![0.0f32; masks.len()]);
        let times = measure::timed(stream, runs, || {
            if copies {
                stream.write(&mut inputs.observations, 0, observations)?;
                stream.write(&mut inputs.masks, 0, masks)?;
            }
            evaluator.enqueue(stream, inputs, *n, outputs)?;
            if copies {
                stream.read_into(&outputs.values, 0, &mut values)?;
                stream.read_into(&outputs.policies, 0, &mut policies)?;
            }
            Ok(())
        })?;
        stream.synchronize()?;
        Ok(times)
    }

    /// Least device time of a call in microseconds, back to back with others.
    fn least(&mut self, runs: usize) -> Result<f64> {
        let Self { evaluator, stream, inputs, outputs, n, .. } = self;
        let calls = if stream.device().backend() == Backend::Simt { 1 } else { CALLS };
        least_us(stream, runs, calls, || evaluator.enqueue(stream, inputs, *n, outputs))
    }
}
