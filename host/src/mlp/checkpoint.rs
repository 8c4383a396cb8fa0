//! A training's whole state in a file.
//!
//! ```text
//! safetensors   __metadata__  `warpplay_checkpoint`: a line of JSON with everything that is no tensor, and a checksum over the whole file;
//!                             and the metadata of a file of weights: activation, loss and inputs
//!               gain1, shift1, … of the layer norms behind hidden layers, if there are any
//!               W1, b1, …     weights [in, out] and biases: any reader of weight files can use a checkpoint
//!               moment1.W1, … what the optimiser remembers, in the same shapes
//! ```
//!
//! Tensors are F32, F64 where the training is in double precision: nothing is rounded. The checksum is FNV-1a of all bytes of the file, those of its
//! own digits taken as `0`.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::inputs::{Description, Inputs};
use super::options::{MAX_CLASSES, MAX_WIDTH, Precision};
use super::state::{LayerValues, TrainState};
use super::{Dataset, EpochReport, Network, Options};
use crate::runtime::checkpoint::{Bits, State, expect_same};
use crate::runtime::sealed::Kind;
use crate::runtime::tensors::{self, Tensor};
use crate::{Error, Result};

/// Everything needed to continue a training as if it had never stopped.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use warpplay::Device;
/// use warpplay::mlp::{Checkpoint, Dataset, Options, Trainer};
///
/// let digits = Arc::new(Dataset::drawn_digits(1, 320)?);
/// let options = Options { hidden: vec![16], epochs: 3, ..Options::default() };
/// let builder = Trainer::builder(&digits).options(options);
/// let mut whole = builder.clone().build(&Device::cpu())?;
/// whole.run(|_| ControlFlow::Continue(()))?;
///
/// // The same, stopped after the first epoch, written, read and resumed.
/// let mut first = builder.clone().build(&Device::cpu())?;
/// first.run(|progress| if progress.latest.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("net.checkpoint");
/// first.checkpoint()?.save(&path)?;
/// let mut second = builder.resume(Checkpoint::load(&path)?).build(&Device::cpu())?;
/// second.run(|_| ControlFlow::Continue(()))?;
/// assert_eq!(second.network()?, whole.network()?); // every bit
/// # Ok::<(), warpplay::Error>(())
/// ```
pub type Checkpoint = crate::Checkpoint<TrainerState>;

/// The content of a [`Checkpoint`], which dereferences to it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerState {
    pub(super) options: Options,
    pub(super) sizes: Vec<u32>,
    /// Number of training samples of an epoch, and a checksum of the training set.
    pub(super) n_train: u64,
    pub(super) data_checksum: u64,
    /// What the network takes.
    pub(super) inputs: Inputs,
    /// Epochs done.
    pub(super) epochs: Vec<EpochReport>,
    /// Steps done in the next epoch, the sum of their losses, and their seconds.
    pub(super) step: u32,
    pub(super) loss_sum: f64,
    pub(super) seconds: f64,
    /// Updates done.
    pub(super) updates: u64,
    /// Early stopping: the best validation loss and the epochs since.
    pub(super) best_loss: Option<f64>,
    pub(super) epochs_since_best: u32,
    pub(super) state: TrainState,
}

/// The JSON of a checkpoint. Floats that may be infinite or NaN are [`Bits`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    sizes: Vec<u32>,
    n_train: u64,
    data_checksum: u64,
    updates: u64,
    step: u32,
    loss_sum: Bits,
    seconds: Bits,
    best_loss: Option<Bits>,
    epochs_since_best: u32,
    n_moments: u32,
    loss_scale: Option<(f32, u32)>,
    options: Cow<'a, Options>,
    epochs: Vec<EpochEntry>,
}

/// An [`EpochReport`] with its exact bits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EpochEntry {
    epoch: u32,
    loss: Bits,
    test_accuracy: Option<Bits>,
    test_loss: Option<Bits>,
    validation_accuracy: Option<Bits>,
    validation_loss: Option<Bits>,
    learning_rate: Bits,
    seconds: Bits,
    evaluation_seconds: Bits,
    samples_per_second: Bits,
    transfer_share: Option<Bits>,
    #[serde(default)]
    repeated: bool,
}

impl From<&EpochReport> for EpochEntry {
    fn from(report: &EpochReport) -> Self {
        Self {
            epoch: report.epoch,
            loss: report.loss.into(),
            test_accuracy: report.test_accuracy.map(Bits::from),
            test_loss: report.test_loss.map(Bits::from),
            validation_accuracy: report.validation_accuracy.map(Bits::from),
            validation_loss: report.validation_loss.map(Bits::from),
            learning_rate: report.learning_rate.into(),
            seconds: report.seconds.into(),
            evaluation_seconds: report.evaluation_seconds.into(),
            samples_per_second: report.samples_per_second.into(),
            transfer_share: report.transfer_share.map(Bits::from),
            repeated: report.repeated,
        }
    }
}

impl From<EpochEntry> for EpochReport {
    fn from(entry: EpochEntry) -> Self {
        Self {
            epoch: entry.epoch,
            loss: entry.loss.into(),
            test_accuracy: entry.test_accuracy.map(f64::from),
            test_loss: entry.test_loss.map(f64::from),
            validation_accuracy: entry.validation_accuracy.map(f64::from),
            validation_loss: entry.validation_loss.map(f64::from),
            learning_rate: entry.learning_rate.into(),
            seconds: entry.seconds.into(),
            evaluation_seconds: entry.evaluation_seconds.into(),
            samples_per_second: entry.samples_per_second.into(),
            transfer_share: entry.transfer_share.map(f64::from),
            repeated: entry.repeated,
        }
    }
}

impl TrainerState {
    /// The network at the time of the checkpoint, rounded to single precision if it was trained in double precision.
    ///
    /// # Errors
    /// [`Error::Shape`] if its tensors do not fit each other; never for a checkpoint that was loaded.
    pub fn network(&self) -> Result<Network> {
        Network::from_state(&self.sizes, self.description(), &self.state)
    }

    fn description(&self) -> Description {
        let Options { activation, loss, .. } = self.options;
        Description { activation, loss, inputs: self.inputs.clone() }
    }

    /// The options of the training.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The epochs done.
    pub fn epochs(&self) -> &[EpochReport] {
        &self.epochs
    }

    /// Updates of the weights so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Steps done in the unfinished epoch.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Whether a norm is behind layer `number`, from 0.
    fn has_norm(&self, number: usize) -> bool {
        self.options.has_norm() && number + 2 < self.sizes.len()
    }

    /// Weights and moments, with the prefixes of their tensors' names.
    fn value_sets(&self) -> impl Iterator<Item = (&[LayerValues], String)> {
        let moments = self.state.moments.iter().zip(1..).map(|(set, number)| (set.as_slice(), moment_prefix(number)));
        std::iter::once((self.state.layers.as_slice(), String::new())).chain(moments)
    }

    /// The options of a training that continues from this checkpoint: those in `given` are the caller's, all others the checkpoint's.
    pub(super) fn merged(&self, asked: &Options, given: &[&'static str]) -> Options {
        let mut merged = self.options.clone();
        macro_rules! take {
            ($($name:ident),+) => {
                // Exhaustive, so that a new option is thought of here.
                let Options { $($name),+ } = asked;
                $(
                    if given.contains(&stringify!($name)) {
                        merged.$name = $name.clone();
                    }
                )+
            };
        }
        take!(
            hidden,
            activation,
            layer_norm,
            batch_norm,
            dropout,
            loss,
            batch,
            epochs,
            learning_rate,
            optimizer,
            weight_decay,
            label_smoothing,
            clip_norm,
            schedule,
            warmup,
            reduction,
            init,
            seed,
            precision,
            engine,
            stream,
            held_out,
            early_stopping,
            evaluate_batch,
            threads
        );
        merged
    }

    /// Checks that a training with these options may continue from this checkpoint.
    ///
    /// # Errors
    /// [`Error::Shape`] for other widths; [`Error::Option`] for the first option that differs and must not differ.
    pub(super) fn check_options(&self, options: &Options, sizes: &[u32]) -> Result<()> {
        if sizes != self.sizes {
            let expected = format!("{:?}, as in the checkpoint", self.sizes);
            return Err(Error::shape("widths of the layers", expected, format!("{sizes:?}")));
        }
        // Exhaustive, so that a new option is thought of here.
        let Options {
            hidden: _, // checked with the widths
            activation,
            layer_norm,
            batch_norm,
            dropout,
            loss,
            batch,
            epochs,
            learning_rate,
            optimizer,
            weight_decay,
            label_smoothing,
            clip_norm,
            schedule,
            warmup,
            reduction,
            init,
            seed,
            precision,
            engine: _,
            stream: _,
            held_out,
            early_stopping: _,
            evaluate_batch: _,
            threads: _,
        } = options;
        let old = &self.options;
        expect_same("activation", activation, &old.activation)?;
        expect_same("layer_norm", layer_norm, &old.layer_norm)?;
        expect_same("batch_norm", batch_norm, &old.batch_norm)?;
        expect_same("dropout", dropout, &old.dropout)?;
        expect_same("loss", loss, &old.loss)?;
        expect_same("batch", batch, &old.batch)?;
        expect_same("learning_rate", learning_rate, &old.learning_rate)?;
        expect_same("optimizer", optimizer, &old.optimizer)?;
        expect_same("weight_decay", weight_decay, &old.weight_decay)?;
        expect_same("label_smoothing", label_smoothing, &old.label_smoothing)?;
        expect_same("clip_norm", clip_norm, &old.clip_norm)?;
        expect_same("schedule", schedule, &old.schedule)?;
        if matches!(schedule, super::Schedule::Cosine { .. }) {
            // The course ends with the last epoch: another number would be another course.
            expect_same("epochs", epochs, &old.epochs)?;
        }
        expect_same("warmup", warmup, &old.warmup)?;
        expect_same("reduction", reduction, &old.reduction)?;
        expect_same("init", init, &old.init)?;
        expect_same("seed", seed, &old.seed)?;
        expect_same("precision", precision, &old.precision)?;
        expect_same("held_out", held_out, &old.held_out)
    }

    /// Checks that a training with this data may continue from this checkpoint.
    ///
    /// # Errors
    /// [`Error::Shape`] for another training set.
    pub(super) fn check_data(&self, train: &Dataset, checksum: u64) -> Result<()> {
        if (train.len() as u64, checksum) != (self.n_train, self.data_checksum) {
            let text = |n: u64, checksum: u64| format!("{n} samples with checksum {checksum:016x}");
            let what = format!("training set {} is not the checkpoint's", train.source());
            return Err(Error::shape(what, text(self.n_train, self.data_checksum), text(train.len() as u64, checksum)));
        }
        Ok(())
    }
}

impl State for TrainerState {
    const KIND: Kind = Kind { key: "warpplay_checkpoint", name: "checkpoint of mlp", version: 2 };

    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let wrong = |reason: String| Error::file(path, None, format!("cannot be written: {reason}"));
        let layers = self.sizes.len().saturating_sub(1);
        let mut tensors = Vec::new();
        let single = self.options.precision != Precision::F64;
        for (set, prefix) in self.value_sets() {
            if set.len() != layers {
                return Err(wrong(format!("{} layers in the state, expected {layers}", set.len())));
            }
            for (number, (layer, size)) in set.iter().zip(self.sizes.windows(2)).enumerate() {
                let shape = vec![size[0] as usize, size[1] as usize];
                let of_norm = vec![if self.has_norm(number) { size[1] as usize } else { 0 }];
                let named = [
                    ("W", &layer.weights, shape),
                    ("b", &layer.bias, vec![size[1] as usize]),
                    ("gain", &layer.gain, of_norm.clone()),
                    ("shift", &layer.shift, of_norm.clone()),
                    ("mean", &layer.mean, of_norm.clone()),
                    ("variance", &layer.variance, of_norm),
                ];
                let n_named = match (self.has_norm(number), self.options.batch_norm && prefix.is_empty()) {
                    (false, _) => 2,
                    (true, false) => 4,
                    (true, true) => 6,
                };
                let named = named.into_iter().take(n_named);
                for (letter, values, shape) in named {
                    let name = format!("{prefix}{letter}{}", number + 1);
                    if values.len() != shape.iter().product::<usize>() {
                        return Err(wrong(format!("tensor {name} has {} values, expected {shape:?}", values.len())));
                    }
                    // Moments may have grown beyond all bounds.
                    tensors::check_values(&name, values.iter().copied(), prefix.is_empty()).map_err(wrong)?;
                    let rounded = |value: f64| f64::from(value as f32) != value;
                    if let Some(at) = values.iter().position(|&value| single && rounded(value)) {
                        let text =
                            format!("tensor {name}, element {at} is {}, not exact in single precision", values[at]);
                        return Err(wrong(text));
                    }
                    let values = values.iter().copied();
                    tensors.push(if single {
                        Tensor::single(name, shape, values.map(|value| value as f32))
                    } else {
                        Tensor::double(name, shape, values)
                    });
                }
            }
        }
        let meta = Meta {
            sizes: self.sizes.clone(),
            n_train: self.n_train,
            data_checksum: self.data_checksum,
            updates: self.updates,
            step: self.step,
            loss_sum: self.loss_sum.into(),
            seconds: self.seconds.into(),
            best_loss: self.best_loss.map(Bits::from),
            epochs_since_best: self.epochs_since_best,
            n_moments: self.state.moments.len() as u32,
            loss_scale: self.state.loss_scale,
            options: Cow::Borrowed(&self.options),
            epochs: self.epochs.iter().map(EpochEntry::from).collect(),
        };
        // What could not be read back must not be written.
        check_meta(&meta).map_err(wrong)?;
        Self::KIND.to_bytes(path, &meta, &tensors, self.description().entries().collect())
    }

    fn from_bytes(path: &Path, bytes: &mut [u8]) -> Result<Self> {
        let wrong = |reason: String| Error::file(path, None, reason);
        let described = Description::of_file(bytes);
        let (meta, file) = Self::KIND.parse::<Meta<'static>>(path, bytes)?;
        check_meta(&meta).map_err(wrong)?;
        let single = meta.options.precision != Precision::F64;
        let tensor = |name: String, shape: &[usize], finite: bool| -> Result<Vec<f64>> {
            let expected = if single { safetensors::Dtype::F32 } else { safetensors::Dtype::F64 };
            let view = tensors::find_as(path, &file, &name, expected, shape)?;
            let values = tensors::values(path, &name, &view)?;
            tensors::check_values(&name, values.iter().copied(), finite).map_err(wrong)?;
            Ok(values)
        };
        let set = |prefix: &str| -> Result<Vec<LayerValues>> {
            let layer = |(size, number): (&[u32], u32)| {
                let (n_in, n_out) = (size[0] as usize, size[1] as usize);
                let of_norm = |letter: &str| match meta.options.has_norm() && (number as usize) < meta.sizes.len() - 1 {
                    true => tensor(format!("{prefix}{letter}{number}"), &[n_out], prefix.is_empty()),
                    false => Ok(Vec::new()),
                };
                let of_batch_norm = |letter: &str| match meta.options.batch_norm && prefix.is_empty() {
                    true => of_norm(letter),
                    false => Ok(Vec::new()),
                };
                let variance = of_batch_norm("variance")?;
                if let Some((at, value)) = variance.iter().enumerate().find(|(_, value)| **value < 0.0) {
                    let reason = format!("tensor variance{number}, element {at} is {value}, expected at least 0");
                    return Err(wrong(reason));
                }
                Ok(LayerValues {
                    weights: tensor(format!("{prefix}W{number}"), &[n_in, n_out], prefix.is_empty())?,
                    bias: tensor(format!("{prefix}b{number}"), &[n_out], prefix.is_empty())?,
                    gain: of_norm("gain")?,
                    shift: of_norm("shift")?,
                    mean: of_batch_norm("mean")?,
                    variance,
                })
            };
            meta.sizes.windows(2).zip(1..).map(layer).collect()
        };
        let layers = set("")?;
        let moments = (1..=meta.n_moments).map(|number| set(&moment_prefix(number))).collect::<Result<_>>()?;
        let described = described.and_then(|said| said.checked(meta.sizes[0]));
        let Description { inputs, .. } = described.map_err(wrong)?;
        Ok(Self {
            state: TrainState { layers, moments, loss_scale: meta.loss_scale },
            options: meta.options.into_owned(),
            sizes: meta.sizes,
            n_train: meta.n_train,
            data_checksum: meta.data_checksum,
            inputs,
            epochs: meta.epochs.into_iter().map(EpochReport::from).collect(),
            step: meta.step,
            loss_sum: meta.loss_sum.into(),
            seconds: meta.seconds.into(),
            updates: meta.updates,
            best_loss: meta.best_loss.map(f64::from),
            epochs_since_best: meta.epochs_since_best,
        })
    }
}

fn moment_prefix(number: u32) -> String {
    format!("moment{number}.")
}

/// Checks a checkpoint's numbers and describes the first error.
fn check_meta(meta: &Meta<'_>) -> Result<(), String> {
    let options = &*meta.options;
    options.check().map_err(|error| error.to_string())?;
    let (Some(&n_inputs), Some(&n_classes)) = (meta.sizes.first(), meta.sizes.last()) else {
        return Err("sizes is empty".into());
    };
    if !(1..=MAX_WIDTH).contains(&n_inputs) || !(1..=MAX_CLASSES).contains(&n_classes) {
        let allowed = format!("1 to {MAX_WIDTH} inputs and 1 to {MAX_CLASSES} classes");
        return Err(format!("sizes is {:?}, expected {allowed}", meta.sizes));
    }
    let sizes = options.sizes(n_inputs, n_classes);
    if meta.sizes != sizes {
        return Err(format!("sizes is {:?}, expected {sizes:?} from the option hidden", meta.sizes));
    }
    if !(1..=u64::from(u32::MAX)).contains(&meta.n_train) || u64::from(options.batch) > meta.n_train {
        return Err(format!("n_train is {}, expected a batch of {} to 4294967295", meta.n_train, options.batch));
    }
    let steps = meta.n_train.div_ceil(options.batch.into());
    if u64::from(meta.step) >= steps {
        return Err(format!("step is {}, expected below {steps}, the steps of an epoch", meta.step));
    }
    let updates = meta.epochs.len() as u64 * steps + u64::from(meta.step);
    if meta.updates != updates {
        return Err(format!("updates is {}, expected {updates} from epochs and steps", meta.updates));
    }
    if let Some((entry, number)) = meta.epochs.iter().zip(1..).find(|(entry, number)| entry.epoch != *number) {
        return Err(format!("epoch is {}, expected {number}", entry.epoch));
    }
    if meta.epochs_since_best as usize > meta.epochs.len() {
        let n = meta.epochs.len();
        return Err(format!("epochs_since_best is {}, expected at most {n}, the epochs done", meta.epochs_since_best));
    }
    for (name, bits) in [("loss_sum", meta.loss_sum), ("seconds", meta.seconds)] {
        let value = f64::from(bits);
        if !value.is_finite() || (name == "seconds" && value < 0.0) {
            return Err(format!("{name} is {value}, expected a finite number, seconds at least 0"));
        }
    }
    let n_moments = options.optimizer.n_moments() as u32;
    // Before the first update an engine may not have made any.
    if meta.n_moments != n_moments && !(meta.n_moments == 0 && meta.updates == 0) {
        let name = options.optimizer.name();
        return Err(format!("n_moments is {}, expected {n_moments} with {name}", meta.n_moments));
    }
    match meta.loss_scale {
        Some((scale, _)) if options.precision != Precision::F16 => {
            Err(format!("loss_scale is {scale}, expected none with {}", options.precision))
        }
        Some((scale, _)) if !(scale > 0.0 && scale.is_finite()) => {
            Err(format!("loss_scale is {scale}, expected a finite number above 0"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
