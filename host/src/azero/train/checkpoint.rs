//! A training's whole state in a file.
//!
//! ```text
//! safetensors   __metadata__  that of a weight file, and `warpplay_azero_checkpoint`: a line of JSON with everything that is no tensor, and a checksum
//!               layers.…      the network, under libtorch's names: any reader of weight files can use a checkpoint
//!               moment1.…, moment2.…   what Adam remembers, in the same shapes, without running statistics
//! ```
//!
//! All tensors are F32: nothing is rounded.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::step::Numbers;
use super::{EpochReport, Losses, Options};
use crate::azero::network::MOMENTS;
use crate::azero::{Network, NetworkShape, ObservationLayout, ValueOf};
use crate::runtime::checkpoint::{Bits, expect_same};
use crate::runtime::sealed::Kind;
use crate::runtime::tensors::{self, Tensor};
use crate::{Error, Result};

/// Sums over the finished steps of an unfinished epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub policy_loss: f64,
    pub value_loss: f64,
    pub l2_loss: f64,
    pub gradient_norm: f64,
    pub accuracy: f64,
    pub seconds: f64,
}

/// Progress of a training.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Done {
    /// Epochs done.
    pub epochs: Vec<EpochReport>,
    /// Steps done in the next epoch.
    pub step: u32,
    /// Updates done.
    pub updates: u64,
    pub sums: Sums,
}

/// Everything needed to continue a training as if it had never stopped.
///
/// Its file is also a weight file: [`Network::load`] reads the network from it.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub(super) options: Options,
    pub(super) data_checksum: u64,
    pub(super) done: Done,
    pub(super) numbers: Numbers,
}

/// The complete state of a training, which can be saved in a file.
pub type Checkpoint = crate::Checkpoint<State>;

/// The numbers of an [`EpochReport`] as bits: training losses, L2 term, gradient, seconds, rate; then those of validation.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EpochEntry {
    epoch: u32,
    steps: u32,
    numbers: [Bits; 7],
    validation: Option<[Bits; 3]>,
}

impl From<&EpochReport> for EpochEntry {
    fn from(report: &EpochReport) -> Self {
        let EpochReport { epoch, steps, train, l2_loss, gradient_norm, validation, seconds, positions_per_second } =
            report;
        let of = |losses: &Losses| [losses.policy_loss, losses.value_loss, losses.accuracy];
        let [policy, value, accuracy] = of(train);
        let numbers = [policy, value, accuracy, *l2_loss, *gradient_norm, *seconds, *positions_per_second];
        let validation = validation.as_ref().map(|losses| of(losses).map(Bits::from));
        Self { epoch: *epoch, steps: *steps, numbers: numbers.map(Bits::from), validation }
    }
}

impl From<EpochEntry> for EpochReport {
    fn from(entry: EpochEntry) -> Self {
        let [policy, value, accuracy, l2_loss, gradient_norm, seconds, positions_per_second] =
            entry.numbers.map(f64::from);
        let of = |[policy_loss, value_loss, accuracy]: [f64; 3]| Losses { policy_loss, value_loss, accuracy };
        Self {
            epoch: entry.epoch,
            steps: entry.steps,
            train: of([policy, value, accuracy]),
            l2_loss,
            gradient_norm,
            validation: entry.validation.map(|bits| of(bits.map(f64::from))),
            seconds,
            positions_per_second,
        }
    }
}

/// The JSON of a checkpoint.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    shape: NetworkShape,
    observation: ObservationLayout,
    value_of: ValueOf,
    data_checksum: u64,
    updates: u64,
    step: u32,
    sums: [Bits; 6],
    options: Cow<'a, Options>,
    epochs: Vec<EpochEntry>,
}

impl State {
    /// The network at the time of the checkpoint.
    pub fn network(&self) -> &Network {
        &self.numbers.network
    }

    /// The options of the training.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The epochs done.
    pub fn epochs(&self) -> &[EpochReport] {
        &self.done.epochs
    }

    /// Updates done.
    pub fn updates(&self) -> u64 {
        self.done.updates
    }

    /// The options of a training that continues from this checkpoint: the checkpoint's, with those of the caller's options that may change.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that the caller set to another value and that may not change.
    pub(super) fn settled(&self, options: &Options, asked: &[&str]) -> Result<Options> {
        // Exhaustive, so that a new option is thought of here.
        let Options {
            batch,
            epochs,
            steps,
            learning_rate,
            weight_decay,
            value_weight,
            momentum,
            beta1,
            beta2,
            epsilon,
            validation,
            seed,
            precision,
            engine,
        } = options;
        let old = &self.options;
        let asked = |name: &str| asked.contains(&name);
        macro_rules! same {
            ($($name:ident),+) => { $(if asked(stringify!($name)) {
                expect_same(stringify!($name), $name, &old.$name)?;
            })+ };
        }
        same!(
            batch,
            learning_rate,
            weight_decay,
            value_weight,
            momentum,
            beta1,
            beta2,
            epsilon,
            validation,
            seed,
            precision
        );
        Ok(Options {
            epochs: if asked("epochs") { *epochs } else { old.epochs },
            steps: if asked("steps") { *steps } else { old.steps },
            engine: if asked("engine") { *engine } else { old.engine },
            ..old.clone()
        })
    }

    /// Checks that a training on these positions may continue from this checkpoint.
    pub(super) fn check_data(&self, data_checksum: u64) -> Result<()> {
        if data_checksum != self.data_checksum {
            let text = |checksum: u64| format!("positions with checksum {checksum:016x}");
            return Err(Error::shape("positions to learn from", text(self.data_checksum), text(data_checksum)));
        }
        Ok(())
    }
}

impl crate::runtime::checkpoint::State for State {
    const KIND: Kind = Kind { key: "warpplay_azero_checkpoint", name: "checkpoint of azero", version: 2 };

    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let wrong = |reason: String| Error::file(path, None, format!("cannot be written: {reason}"));
        let Numbers { network, first, second } = &self.numbers;
        let mut tensors = Vec::new();
        let mut bad = None;
        for (prefix, set) in [(String::new(), network), (moment(1), first), (moment(2), second)] {
            set.visit(|name, dims, values| {
                if prefix.is_empty() || !is_statistic(name) {
                    let name = format!("{prefix}{name}");
                    bad = bad.take().or_else(|| check_values(&name, values).err());
                    tensors.push(Tensor::single(name, dims.to_vec(), values.iter().copied()));
                }
            });
        }
        if let Some(reason) = bad {
            return Err(wrong(reason));
        }
        let Done { epochs, step, updates, sums } = &self.done;
        let Sums { policy_loss, value_loss, l2_loss, gradient_norm, accuracy, seconds } = *sums;
        let sums = [policy_loss, value_loss, l2_loss, gradient_norm, accuracy, seconds].map(Bits::from);
        let meta = Meta {
            shape: network.shape(),
            observation: network.observation(),
            value_of: network.value_of(),
            data_checksum: self.data_checksum,
            updates: *updates,
            step: *step,
            sums,
            options: Cow::Borrowed(&self.options),
            epochs: epochs.iter().map(EpochEntry::from).collect(),
        };
        // What could not be read back must not be written.
        check_meta(&meta).map_err(wrong)?;
        Self::KIND.to_bytes(path, &meta, &tensors, network.metadata())
    }

    fn from_bytes(path: &Path, bytes: &mut [u8]) -> Result<Self> {
        let wrong = |reason: String| Error::file(path, None, reason);
        let (meta, file) = Self::KIND.parse::<Meta<'static>>(path, bytes)?;
        check_meta(&meta).map_err(wrong)?;
        let set = |prefix: &str| -> Result<Network> {
            let mut network = Network::zeros(meta.shape)?.with_meaning(meta.observation, meta.value_of);
            let mut failed = None;
            let mut dims_of = Vec::new();
            network.visit(|_, dims, _| dims_of.push(dims.to_vec()));
            let mut dims_of = dims_of.into_iter();
            network.visit_mut(|name, _, values| {
                let dims = dims_of.next().unwrap_or_default();
                if failed.is_some() || !prefix.is_empty() && is_statistic(name) {
                    return;
                }
                match tensor(path, &file, &format!("{prefix}{name}"), &dims) {
                    Ok(found) => *values = found,
                    Err(error) => failed = Some(error),
                }
            });
            failed.map_or(Ok(network), Err)
        };
        let [policy_loss, value_loss, l2_loss, gradient_norm, accuracy, seconds] = meta.sums.map(f64::from);
        Ok(Self {
            numbers: Numbers { network: set("")?, first: set(&moment(1))?, second: set(&moment(2))? },
            options: meta.options.into_owned(),
            data_checksum: meta.data_checksum,
            done: Done {
                epochs: meta.epochs.into_iter().map(EpochReport::from).collect(),
                step: meta.step,
                updates: meta.updates,
                sums: Sums { policy_loss, value_loss, l2_loss, gradient_norm, accuracy, seconds },
            },
        })
    }
}

fn moment(number: u32) -> String {
    format!("{MOMENTS}{number}.")
}

fn is_statistic(name: &str) -> bool {
    name.ends_with(".running_mean") || name.ends_with(".running_var")
}

fn tensor(path: &Path, file: &safetensors::SafeTensors<'_>, name: &str, dims: &[usize]) -> Result<Vec<f32>> {
    let values = tensors::singles(&tensors::find_as(path, file, name, safetensors::Dtype::F32, dims)?);
    check_values(name, &values).map_err(|reason| Error::file(path, None, reason))?;
    Ok(values)
}

fn check_values(name: &str, values: &[f32]) -> Result<(), String> {
    tensors::check_values(name, values.iter().map(|&value| value.into()), true)
}

/// Checks a checkpoint's numbers and describes the first error.
fn check_meta(meta: &Meta<'_>) -> Result<(), String> {
    meta.options.check().map_err(|error| error.to_string())?;
    meta.shape.check().map_err(|error| error.to_string())?;
    let steps: u64 = meta.epochs.iter().map(|epoch| u64::from(epoch.steps)).sum();
    if steps + u64::from(meta.step) != meta.updates {
        let expected = format!("the {steps} steps of the epochs done and {} more", meta.step);
        return Err(format!("updates is {}, expected {expected}", meta.updates));
    }
    match meta.epochs.iter().zip(1..).find(|(epoch, number)| epoch.epoch != *number) {
        Some((epoch, number)) => Err(format!("epochs holds {}, expected {number}", epoch.epoch)),
        None => Ok(()),
    }
}
