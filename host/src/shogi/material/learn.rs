//! The engine: children of shards in one of the forms, on any device.

use std::ops::Range;

use super::cpu::Cpu;
use super::device::OnDevice;
use super::evaluation::{Evaluation, check_children, check_features, descend, thirteen};
use super::{Form, LEARNT};
use crate::shogi::objective::check_values;
use crate::shogi::ranks::Reproducible;
use crate::shogi::{Objective, Row, Shard, Values};
use crate::{Backend, Device, Error, Result};

const ONE: f64 = warpplay_gpu::shogi::fixed::ONE;

/// The source's learning over the children of some shards ([module](super)).
pub struct Material {
    work: Work,
    form: Form,
    device: Device,
    objective: Objective,
    children: u64,
}

enum Work {
    Cpu(Cpu, u32),
    Device(Box<OnDevice>),
}

/// Refuses what will not fit before it is taken: bytes of positions, words of differences; a histogram has neither.
fn expect_room(device: &Device, form: Form, children: u64, repeat: u32) -> Result<()> {
    let each = match form {
        Form::Paper | Form::Persistent => 96,
        Form::Paper95 => 95,
        Form::Plain | Form::Fused => 8,
        Form::Histogram => return Ok(()),
    };
    let needed = children.saturating_mul(repeat.into()).saturating_mul(each);
    let free = device.memory()?.free;
    if needed > free { Err(Error::OutOfMemory { device: device.to_string(), needed, free }) } else { Ok(()) }
}

impl Material {
    /// Takes over the children of shards in a form. The shards are not needed afterwards.
    ///
    /// * `threads`: of the CPU back end: 1 for the sequential program, 0 for all cores; other devices do not look at it
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a form that the CPU has not; [`Error::Option`] for an objective that [`Objective::check`] refuses, for `a · Δ` above 75 in the forms
    /// with one exponential, or threads that cannot be started; [`Error::Shape`] without children, or for 2³¹ and more; [`Error::OutOfMemory`] where they do not fit; those of the driver.
    pub fn build(device: &Device, form: Form, shards: &[&Shard], objective: Objective, threads: usize) -> Result<Self> {
        Self::build_repeated(device, form, shards, objective, threads, 1)
    }

    /// The same as if the shards were there `repeat` times, to reach a size for measurements.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`Error::Option`] for `repeat` 0.
    pub fn build_repeated(
        device: &Device,
        form: Form,
        shards: &[&Shard],
        objective: Objective,
        threads: usize,
        repeat: u32,
    ) -> Result<Self> {
        check_objective(&objective, form)?;
        if repeat == 0 {
            return Err(Error::option("repeat", repeat, "1 or more"));
        }
        let once: u64 = shards.iter().map(|shard| shard.n_children() as u64).sum();
        check_children(once)?;
        expect_room(device, form, once, repeat)?;
        let work = match device.backend() {
            Backend::Cpu => {
                // The histogram's counts are multiplied; the other forms hold, and sum, everything.
                let copies = if form == Form::Histogram { 1 } else { repeat };
                let repeated: Vec<&Shard> = (0..copies).flat_map(|_| shards.iter().copied()).collect();
                Work::Cpu(Cpu::new(form, &repeated, threads)?, repeat / copies)
            }
            Backend::Cuda | Backend::Simt => Work::Device(Box::new(OnDevice::new(device, form, shards, repeat)?)),
        };
        Ok(Self { work, form, device: device.clone(), objective, children: once * u64::from(repeat) })
    }

    /// Children, those of played moves counted twice.
    pub fn children(&self) -> u64 {
        self.children
    }

    /// The form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The device that the children are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What is minimised.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// Goes on with another objective or another step.
    ///
    /// # Errors
    /// [`Error::Option`] as when it was [built](Self::build).
    pub fn set_objective(&mut self, objective: Objective) -> Result<()> {
        check_objective(&objective, self.form)?;
        self.objective = objective;
        Ok(())
    }

    /// The objective, and its difference for each value raised by Δ.
    ///
    /// # Errors
    /// [`Error::Option`] for values that are no numbers or too large; those of the back end.
    pub fn evaluate(&mut self, values: &Values) -> Result<Evaluation> {
        let sums = self.evaluate_some(values, 0..LEARNT)?;
        Ok(Evaluation { sums: thirteen(&sums)?, children: self.children })
    }

    /// Σ T in multiples of 2⁻³⁶: at the values, then with each of the values `features` (of 0 to 12) raised. A rank's share of an evaluation.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`Error::Option`] for a range that is not in 0 to 12.
    pub fn evaluate_some(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        check_values(values)?;
        check_features(&features)?;
        let objective = self.objective;
        match &mut self.work {
            Work::Cpu(cpu, times) => {
                let sums = cpu.sums(&objective, values, features);
                Ok(sums.into_iter().map(|sum| sum * i128::from(*times)).collect())
            }
            Work::Device(device) => device.sums(&objective, values, features),
        }
    }

    /// Learns: `iterations + 1` rows, each the state before its update; the last one is evaluated too.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn run(&mut self, values: Values, iterations: u32) -> Result<Vec<Row>> {
        check_values(&values)?;
        let (objective, children) = (self.objective, self.children);
        match &mut self.work {
            Work::Cpu(cpu, times) => descend(&objective, children, values, iterations, |values| {
                let sums = cpu.sums(&objective, values, 0..LEARNT);
                Ok(sums.into_iter().map(|sum| sum * i128::from(*times)).collect())
            }),
            Work::Device(device) => device.run(&objective, children, values, iterations),
        }
    }

    /// The analytic gradient `∂J/∂v`, of [`Form::Histogram`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other forms; as [`evaluate`](Self::evaluate).
    pub fn gradient(&mut self, values: &Values) -> Result<Values> {
        check_values(values)?;
        let gradient = match &self.work {
            Work::Cpu(cpu, _) => {
                cpu.as_histogram().map(|histogram| histogram.gradient(&self.objective, values)).transpose()?
            }
            Work::Device(device) => device
                .gradient(&self.objective, values)?
                .map(|(sums, children)| sums.map(|sum| sum as f64 / ONE / children as f64)),
        };
        gradient.ok_or_else(|| Error::Unsupported {
            what: format!("the gradient of form {}", self.form),
            backend: self.device.backend().to_string(),
            remedy: "use form histogram".to_string(),
        })
    }
}

/// Refuses what [`Objective::check`] does, and what one exponential times another cannot hold: their sizes must not meet infinity before their terms
/// are 0 or 1.
fn check_objective(objective: &Objective, form: Form) -> Result<()> {
    objective.check()?;
    let most = 75.0 / objective.a;
    if matches!(form, Form::Fused | Form::Persistent) && objective.delta > most {
        return Err(Error::option("delta", objective.delta, format!("at most {most}, 75 / a, with form {form}")));
    }
    Ok(())
}

impl Reproducible for Material {
    fn sums(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        self.evaluate_some(values, features)
    }

    fn children(&self) -> u64 {
        self.children
    }
}
