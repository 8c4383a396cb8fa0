//! A course of learning in a file.
//!
//! ```text
//! safetensors   __metadata__     one entry, `warpplay_shogi_checkpoint`: a line of JSON with everything that is no tensor, and a checksum over the whole file
//!               weights          [features.len()] F32
//!               memory1, …       what the optimiser remembers, in the same shape
//!               best             the weights that were best on held-out positions
//!               leaves           the weights that quiet lines were searched with
//!               step1, change1 … the steps that L-BFGS remembers, F64
//! ```
//!
//! Nothing is rounded. The checksum is FNV-1a of all bytes of the file, those of its own digits taken as `0`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::course::{Best, Status};
use super::lbfgs::{Pair, Steps};
use super::options::Options;
use super::report::LearnRow;
use super::weights::Weights;
use crate::runtime::checkpoint::{self, expect_same};
use crate::runtime::fnv::Fnv;
use crate::runtime::sealed::Kind;
use crate::runtime::tensors::{self, Tensor};
use crate::shogi::update::Optimizer;
use crate::{Error, Result};

const KIND: Kind = Kind { key: "warpplay_shogi_checkpoint", name: "checkpoint of shogi", version: 2 };

/// Everything needed to continue learning as if it had never stopped.
pub type Checkpoint = crate::Checkpoint<State>;

/// The content of a [`Checkpoint`].
#[derive(Clone, Debug)]
pub struct State {
    options: Options,
    fingerprint: u64,
    pub(super) weights: Vec<f32>,
    pub(super) memory: Vec<Vec<f32>>,
    status: Status,
}

/// The JSON of a checkpoint.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    options: Cow<'a, Options>,
    fingerprint: u64,
    iteration: u32,
    scale: f64,
    n_memory: u32,
    n_pairs: u32,
    best: Option<(u32, f64)>,
    leaves: bool,
    rows: Cow<'a, [LearnRow]>,
}

impl State {
    pub(super) fn new(
        options: Options,
        fingerprint: u64,
        weights: Vec<f32>,
        memory: Vec<Vec<f32>>,
        status: Status,
    ) -> Self {
        Self { options, fingerprint, weights, memory, status }
    }

    /// The options of the course.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Steps done.
    pub fn iteration(&self) -> u32 {
        self.status.iteration
    }

    /// The rows so far.
    pub fn rows(&self) -> &[LearnRow] {
        &self.status.rows
    }

    /// The weights.
    ///
    /// # Errors
    /// [`Error::Option`] for weights out of range; never for a checkpoint that was loaded.
    pub fn weights(&self) -> Result<Weights> {
        Weights::new(self.options.features, self.weights.clone())
    }

    /// A checksum over the weights' bits.
    pub(super) fn sum(&self) -> u64 {
        sum_of(&self.weights)
    }

    /// The options of a course that continues from this checkpoint: those in `given` are the caller's, all others the checkpoint's. Options that affect the result must
    /// equal the checkpoint's.
    pub(super) fn merged(&self, options: &Options, given: &[&'static str]) -> Result<Options> {
        // Exhaustive, so that a new option is thought of here.
        let Options {
            engine,
            features,
            optimizer,
            learning_rate,
            rate_factor,
            l1,
            l2,
            beta1,
            beta2,
            epsilon,
            history,
            a,
            window,
            siblings,
            seed,
            keep_scale,
            init,
            quiet,
            early_stopping,
            batch,
            iterations,
            threads,
            device_bytes,
        } = options;
        let mut merged = self.options.clone();
        macro_rules! same {
            ($($name:ident),+) => {$(
                if given.contains(&stringify!($name)) {
                    expect_same(stringify!($name), $name, &merged.$name)?;
                }
            )+};
        }
        same!(features, optimizer, learning_rate, rate_factor, l1, l2, beta1, beta2, epsilon, history);
        same!(a, window, siblings, seed, keep_scale, init, quiet, batch);
        macro_rules! free {
            ($($name:ident),+) => {$(
                if given.contains(&stringify!($name)) {
                    merged.$name = *$name;
                }
            )+};
        }
        free!(engine, early_stopping, iterations, threads, device_bytes);
        Ok(merged)
    }

    /// Checks that the positions are those of the checkpoint.
    pub(super) fn expect_data(&self, fingerprint: u64) -> Result<()> {
        if fingerprint != self.fingerprint {
            let text = |fingerprint: u64| format!("{fingerprint:016x}");
            let what = "fingerprint of the positions, which are not the checkpoint's";
            return Err(Error::shape(what, text(self.fingerprint), text(fingerprint)));
        }
        Ok(())
    }
}

impl checkpoint::State for State {
    const KIND: Kind = KIND;

    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let wrong = |reason: String| Error::file(path, None, format!("cannot be written: {reason}"));
        let Self { options, fingerprint, weights, memory, status } = self;
        let single = |name: String, values: &[f32]| Tensor::single(name, vec![values.len()], values.iter().copied());
        let double = |name: String, values: &[f64]| Tensor::double(name, vec![values.len()], values.iter().copied());
        let mut tensors = vec![single("weights".into(), weights)];
        tensors.extend(memory.iter().zip(1..).map(|(values, number)| single(format!("memory{number}"), values)));
        tensors.extend(status.best.iter().map(|best| single("best".into(), &best.weights)));
        tensors.extend(status.leaf_weights.iter().map(|weights| single("leaves".into(), weights)));
        for (Pair { step, change }, number) in status.memory.pairs.iter().zip(1..) {
            tensors.push(double(format!("step{number}"), step));
            tensors.push(double(format!("change{number}"), change));
        }
        let meta = Meta {
            options: Cow::Borrowed(options),
            fingerprint: *fingerprint,
            iteration: status.iteration,
            scale: status.scale,
            n_memory: memory.len() as u32,
            n_pairs: status.memory.pairs.len() as u32,
            best: status.best.as_ref().map(|best| (best.iteration, best.j)),
            leaves: status.leaf_weights.is_some(),
            rows: Cow::Borrowed(&status.rows),
        };
        // What could not be read back must not be written.
        check_meta(&meta).map_err(wrong)?;
        for (values, number) in memory.iter().zip(1..) {
            expect_finite(&format!("memory{number}"), values.iter().all(|value| value.is_finite())).map_err(wrong)?;
        }
        for (Pair { step, change }, number) in status.memory.pairs.iter().zip(1..) {
            let finite = step.iter().chain(change).all(|value| value.is_finite());
            expect_finite(&format!("step{number} or change{number}"), finite).map_err(wrong)?;
        }
        KIND.to_bytes(path, &meta, &tensors, BTreeMap::new())
    }

    fn from_bytes(path: &Path, bytes: &mut [u8]) -> Result<Self> {
        let wrong = |reason: String| Error::file(path, None, reason);
        let (meta, file) = KIND.parse::<Meta<'static>>(path, bytes)?;
        check_meta(&meta).map_err(wrong)?;
        let n = meta.options.features.len();
        let single = |name: &str| -> Result<Vec<f32>> {
            let values = tensors::singles(&tensors::find_as(path, &file, name, Dtype::F32, &[n])?);
            expect_finite(name, values.iter().all(|value| value.is_finite())).map_err(wrong)?;
            Ok(values)
        };
        let double = |name: &str| -> Result<Vec<f64>> {
            let values = tensors::doubles(&tensors::find_as(path, &file, name, Dtype::F64, &[n])?);
            expect_finite(name, values.iter().all(|value| value.is_finite())).map_err(wrong)?;
            Ok(values)
        };
        let weights = |name: &str| -> Result<Vec<f32>> {
            let values = single(name)?;
            let checked = Weights::new(meta.options.features, values.clone());
            checked.map(|_| values).map_err(|error| wrong(format!("tensor {name}: {error}")))
        };
        let pair =
            |number| Ok(Pair { step: double(&format!("step{number}"))?, change: double(&format!("change{number}"))? });
        let memory = (1..=meta.n_memory).map(|number| single(&format!("memory{number}"))).collect::<Result<_>>()?;
        let pairs = (1..=meta.n_pairs).map(pair).collect::<Result<_>>()?;
        let best = meta.best.map(|(iteration, j)| Ok::<_, Error>(Best { iteration, j, weights: weights("best")? }));
        Ok(Self {
            fingerprint: meta.fingerprint,
            weights: weights("weights")?,
            memory,
            status: Status {
                iteration: meta.iteration,
                memory: Steps { pairs },
                best: best.transpose()?,
                scale: meta.scale,
                leaf_weights: if meta.leaves { Some(weights("leaves")?) } else { None },
                rows: meta.rows.into_owned(),
            },
            options: meta.options.into_owned(),
        })
    }
}

impl From<State> for Status {
    fn from(state: State) -> Self {
        state.status
    }
}

/// Refuses a tensor that does not hold finite numbers.
fn expect_finite(name: &str, finite: bool) -> Result<(), String> {
    if finite { Ok(()) } else { Err(format!("tensor {name} holds a number that is not finite")) }
}

/// Checks a checkpoint's numbers and describes the first error.
fn check_meta(meta: &Meta<'_>) -> Result<(), String> {
    meta.options.check().map_err(|error| error.to_string())?;
    let (n, optimizer) = (meta.options.optimizer.n_memory(), meta.options.optimizer);
    // Before the first step an engine may not have made any.
    if meta.n_memory != n && !(meta.n_memory == 0 && meta.iteration == 0) {
        return Err(format!("n_memory is {}, expected {n} with {optimizer}", meta.n_memory));
    }
    let most = if optimizer == Optimizer::Lbfgs { meta.options.history } else { 0 };
    if meta.n_pairs > most {
        return Err(format!("n_pairs is {}, expected at most {most} with {optimizer}", meta.n_pairs));
    }
    let rows = meta.rows.len() as u64;
    if rows != u64::from(meta.iteration) && rows != u64::from(meta.iteration) + 1 {
        return Err(format!(
            "{rows} rows, expected one for each of {} iterations and the present state",
            meta.iteration
        ));
    }
    if let Some((row, number)) = meta.rows.iter().zip(0..).find(|(row, number)| row.iteration != *number) {
        return Err(format!("iteration is {}, expected {number}", row.iteration));
    }
    for row in meta.rows.iter() {
        let measures = std::iter::once(&row.train).chain(&row.held_out);
        let mut numbers: Vec<f64> = measures.flat_map(|of| [of.j, of.agreement, of.agreement_of_three]).collect();
        numbers.extend(row.values);
        numbers.extend(row.hand.iter().flatten());
        numbers.extend([row.learning_rate, row.seconds]);
        // JSON has no other numbers.
        if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
            return Err(format!("the row of iteration {} holds {number}, expected finite numbers", row.iteration));
        }
    }
    if let Some((iteration, j)) = meta.best.filter(|(iteration, j)| *iteration > meta.iteration || !j.is_finite()) {
        return Err(format!("best is {j} at iteration {iteration}, expected a number at one up to {}", meta.iteration));
    }
    if !meta.scale.is_finite() {
        return Err(format!("scale is {}, expected a finite number", meta.scale));
    }
    if meta.leaves && meta.options.quiet.is_none() {
        return Err("leaves is true, expected false without the option quiet".into());
    }
    Ok(())
}

/// A checksum over the bits of weights, to compare them between ranks.
pub(super) fn sum_of(weights: &[f32]) -> u64 {
    let mut sum = Fnv::default();
    for weight in weights {
        sum.add(&weight.to_le_bytes());
    }
    sum.value()
}
