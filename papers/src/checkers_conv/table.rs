//! Times of the components of Table I: kernel, layer, block and model, by the published kernels, by ours, and on the CPU.

use serde::{Deserialize, Serialize};
use warpplay::azero::{Evaluator, Inputs, Network, NetworkShape, Outputs};
use warpplay::{Backend, Device, Precision, Result};

use super::forms::{PAPER, forms, programs};
use super::measure::{self, Errors, Level, Part, Times, least_us};
use super::reference::Reference;
use super::study::PRECISIONS;
use super::{Model, Options, Study};

/// Runs of the CPU on more than one position: they take seconds, and differ little.
const CPU_RUNS: usize = 3;
/// Calls between two events, where they are timed back to back.
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

/// One program's least time of a call among calls back to back, which has no start of a first launch in it as a single call between two events has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackToBack {
    /// Whose, as in [`Row`].
    pub program: String,
    /// Microseconds; none where it would be the difference of two networks' times, and the deeper network took no longer.
    pub us: Option<f64>,
}

/// All programs' times of one component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// The rows.
    pub rows: Vec<Row>,
    /// Of a layer and a block of the torso: ours have no single kernels and are known by the difference of two networks alone, so the paper's are timed likewise.
    pub back_to_back: Vec<BackToBack>,
    /// What the device does not offer, and why.
    pub not_offered: Vec<String>,
}

impl Rows {
    /// Times of a program, without copies.
    pub fn times(&self, program: &str) -> Option<&Times> {
        self.rows.iter().find(|row| row.program == program && !row.copies).map(|row| &row.times)
    }

    /// Least time of a program's call among calls back to back, in microseconds.
    pub fn back_to_back_us(&self, program: &str) -> Option<f64> {
        self.back_to_back.iter().find(|row| row.program == program)?.us
    }

    /// Whether a second measurement may come to `now`: the same programs with errors that [agree](Errors::agrees), at any times.
    pub fn agrees(&self, now: &Self) -> bool {
        let row_agrees = |(row, now): (&Row, &Row)| {
            let errors = match (&row.errors, &now.errors) {
                (Some(errors), Some(now)) => errors.agrees(now),
                (errors, now) => errors == now,
            };
            errors && row.program == now.program && row.copies == now.copies
        };
        let programs = |rows: &Self| rows.back_to_back.iter().map(|row| row.program.clone()).collect::<Vec<_>>();
        self.rows.len() == now.rows.len()
            && self.rows.iter().zip(&now.rows).all(row_agrees)
            && programs(self) == programs(now)
            // A reason may name the memory that is free.
            && self.not_offered.len() == now.not_offered.len()
    }
}

/// Whether ours are known by the difference of two networks alone.
fn by_difference(level: Level, part: Part) -> bool {
    matches!((level, part), (Level::Layer | Level::Block, Part::Torso))
}

/// Calls back to back; under `simt` one takes seconds.
fn calls(device: &Device) -> u32 {
    if device.backend() == Backend::Simt { 1 } else { CALLS }
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
        if by_difference(level, part) {
            model.set_options(Options::default())?;
            let (x, calls) = (reference.operand(part), calls(device));
            let us = measure::back_to_back_us(&stream, &mut model, level, part, x, runs, calls)?;
            found.back_to_back.push(BackToBack { program: PAPER.to_string(), us: Some(us) });
        }
        Ok(found)
    }

    /// Device times of our kernels: the network as it is, and a block or a layer of the torso back to back, by the difference of two depths. None of the other
    /// components.
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
        let difference = by_difference(level, part);
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
                found.back_to_back.push(BackToBack { program, us: (us > 0.0).then_some(us) });
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
        least_us(stream, runs, calls(stream.device()), || evaluator.enqueue(stream, inputs, *n, outputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(error: f64, us: f64) -> Rows {
        let times = Times { first_us: us, runs_us: vec![us, us] };
        let errors = Some(Errors::between(&[1.0 + error], &[1.0]));
        let back_to_back = vec![BackToBack { program: "ours f32".into(), us: Some(us) }];
        Rows {
            rows: vec![Row { program: PAPER.into(), copies: false, times, errors }],
            back_to_back,
            ..Rows::default()
        }
    }

    /// A replay takes the times as they were and compares the errors, which came with them.
    #[test]
    fn rows_agree_by_their_errors_and_not_by_their_times() {
        let recorded = rows(1e-6, 10.0);
        assert!(recorded.agrees(&rows(2e-6, 20.0)));
        assert!(!recorded.agrees(&rows(0.1, 10.0)));
        assert!(!recorded.agrees(&Rows::default()));
        assert_eq!(recorded.back_to_back_us("ours f32"), Some(10.0));
        assert_eq!(recorded.back_to_back_us("ours f16"), None);
    }
}
