//! The paper's table: kernel, layer, block and model, by its kernels, by ours, and on the CPU.

use serde::Serialize;
use warpplay::azero::{Evaluator, Inputs, Network, NetworkShape, Outputs};
use warpplay::{Backend, Event, Precision, Result};

use super::measure::{self, Errors, Level, PARTS, Part, Times};
use super::reference::Reference;
use super::study::PRECISIONS;
use super::{InputForm, Model, Options, Study, TorsoSums};

/// Runs of the CPU on more than one position: they take seconds, and differ little.
const CPU_RUNS: usize = 3;
/// Evaluations between two events, where ours are timed without copies.
const CALLS: u32 = 100;

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How much.
    pub level: Level,
    /// Of what.
    pub part: Part,
    /// Whose: `paper` and its forms, `ours` and a precision, `cpu-ref`.
    pub program: String,
    /// Whether the copies from and to the host are in the times.
    pub copies: bool,
    /// Device time; wall time of `cpu-ref`.
    pub times: Times,
    /// Against double precision; none where nothing was compared.
    pub errors: Option<Errors>,
}

/// The rows of one number of positions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Positions of a call.
    pub batch: usize,
    /// Runs after the first.
    pub runs: usize,
    /// The rows.
    pub rows: Vec<Row>,
    /// What the device does not offer, and why.
    pub not_offered: Vec<(String, String)>,
}

impl Table {
    /// Mean time of a program for the same part and level as `of`.
    pub fn mean_of(&self, of: &Row, program: &str, copies: bool) -> Option<f64> {
        let same = |row: &&Row| (row.level, row.part, row.copies) == (of.level, of.part, copies);
        let found = self.rows.iter().filter(same).find(|row| row.program == program)?;
        Some(found.times.mean())
    }
}

impl Study {
    /// The paper's table for `n` positions, means of `runs` runs; `watch` is told what is measured next.
    ///
    /// # Errors
    /// As [`Model::new`]; errors of the device.
    pub fn table(&self, n: usize, runs: usize, mut watch: impl FnMut(&str)) -> Result<Table> {
        let reference = Reference::new(self.network(), self.first(n).0, n);
        let mut table = Table { batch: n, runs, ..Table::default() };
        for (level, part) in PARTS {
            for (program, all_cores) in [("cpu-ref, 1 thread", false), ("cpu-ref, all cores", true)] {
                if all_cores && part != Part::Network {
                    continue;
                }
                let runs = if n == 1 { runs } else { runs.min(CPU_RUNS) };
                let times = reference.times(level, part, runs, all_cores);
                table.rows.push(Row { level, part, program: program.to_string(), copies: false, times, errors: None });
            }
        }
        if self.device().backend() == Backend::Cpu {
            return Ok(table);
        }
        let stream = self.device().stream()?;
        let mut model = Model::new(&stream, self.network(), Options::default(), n)?;
        for (level, part) in PARTS {
            for (program, options) in forms(level, part, n) {
                model.set_options(options)?;
                for copies in [false, true] {
                    // The forms are told apart by their kernels; copies are the same for all.
                    if copies && options != Options::default() {
                        continue;
                    }
                    watch(&format!("{level} {part} {program}"));
                    let found = measure::run(&stream, &mut model, level, part, reference.operand(part), copies, runs)?;
                    let output: Vec<f64> = found.output.iter().map(|&value| value.into()).collect();
                    let errors = Some(Errors::between(&output, reference.expected(level, part)));
                    table.rows.push(Row { level, part, program: program.clone(), copies, times: found.times, errors });
                }
            }
        }
        for precision in PRECISIONS {
            watch(&format!("ours, {precision}"));
            match self.ours(precision, n, runs, &reference) {
                Ok(found) => table.rows.extend(found),
                Err(error) => table.not_offered.push((format!("ours {precision}"), error.to_string())),
            }
        }
        Ok(table)
    }

    /// Our kernels: the model as it is, and a block by the difference of two depths, since ours have no single kernels.
    fn ours(&self, precision: Precision, n: usize, runs: usize, reference: &Reference) -> Result<Vec<Row>> {
        let program = format!("ours {precision}");
        let mut rows = Vec::new();
        let row =
            |level, part, copies, times, errors| Row { level, part, program: program.clone(), copies, times, errors };
        let mut ready = Ready::new(self, self.network(), precision, n)?;
        for copies in [false, true] {
            let times = ready.times(copies, runs)?;
            let found: Vec<f64> = ready.stream.read(&ready.outputs.policy_logits)?.into_iter().map(f64::from).collect();
            let errors = Errors::between(&found, reference.expected(Level::Model, Part::Network));
            rows.push(row(Level::Model, Part::Network, copies, times, Some(errors)));
        }
        let shape = self.network().shape();
        let [deep, shallow] = [8, 2].map(|depth| {
            let network = Network::seeded(NetworkShape { depth, ..shape }, 27)?;
            Ready::new(self, &network, precision, n)?.least(runs)
        });
        let block = (deep? - shallow?) / 6.0;
        let times = |us: f64| Times { first_us: us, runs_us: vec![us] };
        rows.push(row(Level::Block, Part::Torso, false, times(block), None));
        rows.push(row(Level::Layer, Part::Torso, false, times(block / 2.0), None));
        Ok(rows)
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
    fn new(study: &Study, network: &Network, precision: Precision, n: usize) -> Result<Self> {
        let evaluator = study.evaluator(network, precision, n)?;
        let stream = study.device().stream()?;
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
        let (start, end) = (self.stream.event()?, self.stream.event()?);
        let calls = if self.stream.device().backend() == Backend::Simt { 1 } else { CALLS };
        let mut least = f64::INFINITY;
        for _ in 0..=runs {
            self.stream.record(&start)?;
            for _ in 0..calls {
                self.evaluator.enqueue(&self.stream, &self.inputs, self.n, &mut self.outputs)?;
            }
            self.stream.record(&end)?;
            least = least.min(f64::from(Event::elapsed_ms(&start, &end)?) * 1e3 / f64::from(calls));
        }
        Ok(least)
    }
}

/// The forms that are measured of a part: the paper's with and without the bias and, of kernels alone, all others.
fn forms(level: Level, part: Part, n: usize) -> Vec<(String, Options)> {
    let base = Options::default();
    let mut forms = vec![("paper".to_string(), base), ("paper, no bias".to_string(), Options::published())];
    // Among the forms, "paper" is squares [10][33], and 128x8 global banked.
    if level != Level::Kernel || n > 1 {
        return forms;
    }
    match part {
        Part::Input => {
            for &input in InputForm::ALL {
                for padded in [true, false] {
                    let name = format!("paper, {input} {}", if padded { "[10][33]" } else { "[10][32]" });
                    forms.push((name, Options { input, padded, ..base }));
                }
            }
        }
        Part::Torso => {
            for &torso_sums in TorsoSums::ALL {
                for torso_layers in [8, 1] {
                    for banked in [true, false] {
                        let layout = if banked { "banked" } else { "plain" };
                        let name = format!("paper, 128x{torso_layers} {torso_sums} {layout}");
                        forms.push((name, Options { torso_sums, torso_layers, banked, ..base }));
                    }
                }
            }
        }
        Part::Output | Part::Network => {}
    }
    let mut known = Vec::new();
    forms.retain(|(_, options)| {
        let new = !known.contains(options);
        known.push(*options);
        new
    });
    forms
}
