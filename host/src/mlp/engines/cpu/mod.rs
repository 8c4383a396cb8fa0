//! The engine of the CPU back end: the plain implementation of `warpplay-cpu-ref`, in blocks under rayon.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use warpplay_cpu_ref::mlp as reference;
use warpplay_cpu_ref::mlp::{Parallel, Pass, Real, Training};

use super::{EpochOutcome, EpochPlan, SetId, Setup, Train};
use crate::mlp::Dataset;
use crate::mlp::evaluation::Classified;
use crate::mlp::options::{Activation, Engine, Loss, Optimizer, Options, Precision, Reduction, seed_in_32_bits};
use crate::mlp::state::{LayerValues, TrainState};
use crate::runtime::threads::Threads;
use crate::{Backend, Buffer, Device, Error, Memory, Result};

/// Opens the engine, in the precision that the options name.
pub(in crate::mlp) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Train>> {
    debug_assert_eq!(device.backend(), crate::Backend::Cpu);
    match setup.options.precision {
        Precision::F32 => Ok(Box::new(CpuEngine::<f32>::new(setup)?)),
        Precision::F64 => Ok(Box::new(CpuEngine::<f64>::new(setup)?)),
        precision => Err(Error::option("precision", precision, "f32 or f64 on the cpu back end")),
    }
}

/// Memory of the network and its training: weights, the optimiser's state, a copy of both to restore after a diverging epoch, gradients, and the layers' values of the
/// samples that are processed at once. While weights are set, read or written, the host holds further copies of weights and optimiser state: in double precision as the
/// state of the training, and in single precision as the network or the bytes of a file.
pub(in crate::mlp) fn memory_needed(setup: &Setup, sets: &[usize]) -> Memory {
    let Setup { options, sizes, train, .. } = setup;
    let number = if options.precision == Precision::F64 { 8 } else { 4 };
    let sets_of_values = 1 + if train.is_some() { options.optimizer.n_moments() as u64 } else { 0 };
    let copies = match train {
        Some(_) => 2 * sets_of_values + 1,
        None => 1,
    };
    let values: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    // Norms keep two values of a unit and a product; dropout its factor.
    let hidden: u64 = options.hidden.iter().map(|&width| u64::from(width)).sum();
    let kept = 3 * u64::from(options.has_norm()) + u64::from(options.dropout > 0.0);
    let n_threads = options.threads.unwrap_or_else(rayon::current_num_threads) as u64;
    let n_train = train.as_ref().map_or(0, |train| train.len());
    let largest = sets.iter().fold(n_train, |largest, &n| largest.max(n)) as u64;
    let at_once =
        (u64::from(options.evaluate_batch) * n_threads).min(largest) + u64::from(options.batch).min(n_train as u64);
    Memory::default()
        .on_device("weights", number * copies * setup.n_parameters())
        .on_device("weights while they are set and read", (8 + number) * sets_of_values * setup.n_parameters())
        .on_device("layers", number * (2 * values + kept * hidden) * at_once)
}

/// A training or a classifier, in `T`.
struct CpuEngine<T> {
    options: Options,
    sizes: Vec<usize>,
    train: Option<Arc<Dataset>>,
    threads: Threads,
    training: Training<T>,
    kept: Option<State<T>>,
    sets: Vec<Arc<Dataset>>,
}

/// Weights and the optimiser's state.
type State<T> = (reference::Network<T>, Vec<Vec<reference::Layer<T>>>);

/// Converts a constant given in single precision to the double with the same decimal text: 0.9, not its rounded value.
fn as_written(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn settings(options: &Options) -> reference::Settings {
    let optimizer = match options.optimizer {
        Optimizer::Sgd => reference::Optimizer::Sgd,
        Optimizer::Momentum { momentum } => reference::Optimizer::Momentum { momentum: as_written(momentum) },
        Optimizer::Nesterov { momentum } => reference::Optimizer::Nesterov { momentum: as_written(momentum) },
        Optimizer::Adam { beta1, beta2, epsilon } => reference::Optimizer::Adam {
            beta1: as_written(beta1),
            beta2: as_written(beta2),
            epsilon: as_written(epsilon),
        },
        Optimizer::AdamW { beta1, beta2, epsilon } => reference::Optimizer::AdamW {
            beta1: as_written(beta1),
            beta2: as_written(beta2),
            epsilon: as_written(epsilon),
        },
        Optimizer::RmsProp { alpha, epsilon } => {
            reference::Optimizer::RmsProp { alpha: as_written(alpha), epsilon: as_written(epsilon) }
        }
    };
    let reduction = match options.reduction {
        Reduction::Mean => reference::Reduction::Mean,
        Reduction::Sum => reference::Reduction::Sum,
    };
    let (weight_decay, label_smoothing) = (as_written(options.weight_decay), as_written(options.label_smoothing));
    let clip_norm = options.clip_norm.map(as_written);
    // The rate as it is in single precision, so that the same units are dropped as by kernels.
    let dropout = (options.dropout > 0.0)
        .then(|| reference::Dropout { rate: options.dropout.into(), seed: seed_in_32_bits(options.seed) });
    reference::Settings { optimizer, weight_decay, reduction, label_smoothing, clip_norm, dropout }
}

/// The reference's form of a loss that is a regression's.
const fn regression(loss: Loss) -> Option<reference::RegressionLoss> {
    match loss {
        Loss::CrossEntropy => None,
        Loss::MeanSquaredError => Some(reference::RegressionLoss::MeanSquaredError),
        Loss::Huber => Some(reference::RegressionLoss::Huber { delta: 1.0 }),
    }
}

/// Targets in `T`.
fn rounded<T: Real>(targets: &[f32]) -> impl Iterator<Item = T> + '_ {
    targets.iter().map(|&target| T::rounded(target.into()))
}

/// The values of the samples of a batch, `width` each.
fn gathered<V: Copy>(values: &[V], width: u32, batch: &[usize]) -> Vec<V> {
    let width = width as usize;
    batch.iter().flat_map(|&sample| values[sample * width..][..width].iter().copied()).collect()
}

/// Inputs of the first layer: pixels, which are scaled, or numbers.
#[derive(Clone, Copy)]
enum Inputs<'a> {
    Pixels(&'a [u8]),
    Numbers(&'a [f32]),
}

impl<'a> Inputs<'a> {
    fn of(set: &'a Dataset) -> Self {
        set.features().map_or(Self::Pixels(set.images()), Self::Numbers)
    }

    fn len(self) -> usize {
        match self {
            Self::Pixels(pixels) => pixels.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Writes those of `range` as the network takes them.
    fn scale<T: Real>(self, range: Range<usize>, x: &mut Vec<T>) {
        x.clear();
        match self {
            Self::Pixels(pixels) => {
                x.resize(range.len(), T::zero());
                reference::pieces::scale_pixels(&pixels[range], x);
            }
            Self::Numbers(numbers) => x.extend(rounded::<T>(&numbers[range])),
        }
    }
}

/// A step on a batch of samples that are not images with labels.
fn step_of_numbers<T: Real>(
    training: &mut Training<T>,
    set: &Dataset,
    batch: &[usize],
    loss: Option<reference::RegressionLoss>,
    learning_rate: f64,
) -> f64 {
    let (n_inputs, mut x) = (set.n_inputs(), Vec::new());
    match set.features() {
        Some(features) => x.extend(rounded::<T>(&gathered(features, n_inputs, batch))),
        None => {
            let pixels = gathered(set.images(), n_inputs, batch);
            Inputs::Pixels(&pixels).scale(0..pixels.len(), &mut x);
        }
    }
    match (loss, set.targets()) {
        (Some(loss), Some(targets)) => {
            let targets: Vec<T> = rounded(&gathered(targets, set.n_classes(), batch)).collect();
            training.step_regression::<Parallel>(&x, &targets, loss, learning_rate)
        }
        _ => training.step_on::<Parallel>(&x, &gathered(set.labels(), 1, batch), learning_rate),
    }
}

/// Copies values into layers of the same shapes.
fn fill<T: Real>(what: &str, layers: &mut [reference::Layer<T>], values: &[LayerValues]) -> Result<()> {
    if layers.len() != values.len() {
        return Err(Error::shape(what, format!("{} layers", layers.len()), values.len()));
    }
    for (number, (layer, values)) in layers.iter_mut().zip(values).enumerate() {
        for (name, to, from) in [
            ("weights", &mut layer.weights, &values.weights),
            ("bias", &mut layer.bias, &values.bias),
            ("gain", &mut layer.gain, &values.gain),
            ("shift", &mut layer.shift, &values.shift),
        ] {
            if to.len() != from.len() {
                let what = format!("{what}: {name} of layer {}", number + 1);
                return Err(Error::shape(what, to.len(), from.len()));
            }
            for (to, &from) in to.iter_mut().zip(from) {
                *to = T::rounded(from);
            }
        }
    }
    Ok(())
}

fn values<T: Real>(layers: &[reference::Layer<T>]) -> Vec<LayerValues> {
    let widened = |values: &[T]| values.iter().map(|value| value.widened()).collect();
    let values = |layer: &reference::Layer<T>| LayerValues {
        weights: widened(&layer.weights),
        bias: widened(&layer.bias),
        gain: widened(&layer.gain),
        shift: widened(&layer.shift),
        ..LayerValues::default()
    };
    layers.iter().map(values).collect()
}

impl<T: Real> CpuEngine<T> {
    fn new(setup: Setup) -> Result<Self> {
        let Setup { options, sizes, train, .. } = setup;
        let threads = Threads::pooled(options.threads)?;
        let sizes: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
        let layers = sizes.windows(2).map(|size| reference::Layer {
            weights: vec![T::zero(); size[0] * size[1]],
            bias: vec![T::zero(); size[1]],
            n_inputs: size[0],
            n_outputs: size[1],
            ..reference::Layer::default()
        });
        let network = reference::Network::new(layers.collect()).with_activation(match options.activation {
            Activation::Relu => reference::Activation::Relu,
            Activation::Tanh => reference::Activation::Tanh,
            Activation::Sigmoid => reference::Activation::Sigmoid,
            Activation::Gelu => reference::Activation::Gelu,
        });
        let network = match (options.layer_norm, options.batch_norm) {
            (true, _) => network.with_layer_norm(),
            (false, true) => network.with_batch_norm(),
            (false, false) => network,
        };
        let training = Training::new(network, settings(&options));
        Ok(Self { options, sizes, train, threads, training, kept: None, sets: Vec::new() })
    }

    /// Evaluates `n` samples in parts of `evaluate_batch`, and passes each part's results to `look`, in the order of the samples.
    fn pass_parts<R: Send>(
        &self,
        inputs: Inputs<'_>,
        look: impl Fn(&reference::Network<T>, Range<usize>, &mut Pass<T>) -> R + Sync,
    ) -> Vec<R> {
        let (n_inputs, network) = (self.sizes[0], &self.training.network);
        let at_once = self.options.evaluate_batch as usize;
        self.threads.run_inside(|| {
            let n = inputs.len() / n_inputs;
            (0..n.div_ceil(at_once))
                .into_par_iter()
                .map_init(Pass::default, |pass, part| {
                    let samples = part * at_once..((part + 1) * at_once).min(n);
                    inputs.scale(samples.start * n_inputs..samples.end * n_inputs, &mut pass.x);
                    network.forward_from_x::<Parallel>(pass);
                    look(network, samples, pass)
                })
                .collect()
        })
    }
}

impl<T: Real> CpuEngine<T> {
    /// Outputs of the last layer.
    fn last_outputs(&self, inputs: Inputs<'_>) -> Vec<f32> {
        let last = self.sizes.len() - 2;
        let of_part = |pass: &mut Pass<T>| pass.z[last].iter().map(|output| output.widened() as f32).collect();
        let parts: Vec<Vec<f32>> = self.pass_parts(inputs, |_, _, pass| of_part(pass));
        parts.concat()
    }
}

impl<T: Real> Train for CpuEngine<T> {
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome> {
        let set = self.train.as_ref().ok_or_else(|| Error::shape("training set", "one", "none"))?;
        let (images, labels, regression) = (set.images(), set.labels(), regression(self.options.loss));
        let order = reference::epoch_order(plan.seed, plan.epoch, set.len());
        let batches = order.chunks(self.options.batch as usize).zip(plan.learning_rates);
        let mut outcome =
            EpochOutcome { next_step: plan.from_step, loss_sum: plan.loss_before, ..EpochOutcome::default() };
        for (step, (batch, &learning_rate)) in (0u32..).zip(batches).skip(plan.from_step as usize) {
            let training = &mut self.training;
            training.updates = plan.updates + u64::from(step);
            let loss = self.threads.run_inside(|| match regression {
                None if set.features().is_none() => training.step::<Parallel>(images, labels, batch, learning_rate),
                loss => step_of_numbers(training, set, batch, loss, learning_rate),
            });
            outcome.loss_sum += loss;
            outcome.next_step = step + 1;
            if !loss.is_finite() || training.norm().is_some_and(|norm| !norm.is_finite()) {
                outcome.bad_step = Some(step);
                break;
            }
            if !goes_on(step, loss / batch.len() as f64) {
                break;
            }
        }
        Ok(outcome)
    }

    fn load(&mut self, set: &Arc<Dataset>) -> Result<SetId> {
        if let Some(at) = self.sets.iter().position(|known| Arc::ptr_eq(known, set)) {
            return Ok(SetId(at));
        }
        self.sets.push(Arc::clone(set));
        Ok(SetId(self.sets.len() - 1))
    }

    fn classify(&mut self, set: SetId) -> Result<Classified> {
        let set = self.sets.get(set.0).ok_or_else(|| Error::shape("loaded sets", self.sets.len(), set.0))?;
        let (n_layers, hidden) = (self.sizes.len() - 1, &self.sizes[1..self.sizes.len() - 1]);
        // Only the rectifier lets units die.
        let is_alive = self.options.activation != Activation::Relu;
        let unseen: Vec<Vec<bool>> = hidden.iter().map(|&width| vec![is_alive; width]).collect();
        let parts = self.pass_parts(Inputs::of(set), |network, samples, pass| {
            if let (Some(loss), Some(targets)) = (regression(self.options.loss), set.targets()) {
                let n = set.n_classes() as usize;
                let targets: Vec<T> = rounded(&targets[samples.start * n..samples.end * n]).collect();
                network.regression_losses(&targets, loss, pass);
            } else {
                network.losses(&set.labels()[samples], pass);
            }
            let mut active = unseen.clone();
            for (active, h) in active.iter_mut().zip(&pass.h[..n_layers - 1]) {
                reference::pieces::mark_active(h, active);
            }
            let classes = if set.targets().is_some() { Vec::new() } else { network.classes(pass) };
            Classified { classes, loss_sum: pass.loss_sum(), active }
        });
        let mut found = Classified { active: unseen, ..Classified::default() };
        for part in parts {
            found.classes.extend(part.classes);
            found.loss_sum += part.loss_sum;
            for (active, part) in found.active.iter_mut().flatten().zip(part.active.iter().flatten()) {
                *active |= part;
            }
        }
        Ok(found)
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        if !images.len().is_multiple_of(self.sizes[0]) {
            return Err(Error::shape("images", format!("a multiple of {} bytes", self.sizes[0]), images.len()));
        }
        Ok(self.last_outputs(Inputs::Pixels(images)))
    }

    fn outputs(&mut self, features: &[f32]) -> Result<Vec<f32>> {
        if !features.len().is_multiple_of(self.sizes[0]) {
            return Err(Error::shape("features", format!("a multiple of {}", self.sizes[0]), features.len()));
        }
        Ok(self.last_outputs(Inputs::Numbers(features)))
    }

    fn logits_on_device(&mut self, _: &Buffer<u8>) -> Result<Buffer<f32>> {
        Err(Error::Unsupported {
            what: "classification of a buffer".to_string(),
            backend: Backend::Cpu.to_string(),
            remedy: "give it slices of the host's memory".to_string(),
        })
    }

    fn keep(&mut self) -> Result<()> {
        self.kept = Some((self.training.network.clone(), self.training.moments.clone()));
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        let (network, moments) = self.kept.clone().ok_or_else(|| Error::shape("kept state", "one", "none"))?;
        (self.training.network, self.training.moments) = (network, moments);
        Ok(())
    }

    fn state(&mut self) -> Result<TrainState> {
        let moments = self.training.moments.iter().map(|moment| values(moment)).collect();
        let network = &self.training.network;
        let mut layers = values(network.layers());
        for (layer, running) in layers.iter_mut().zip(network.running()) {
            [layer.mean, layer.variance] =
                [&running.mean, &running.variance].map(|values| values.iter().map(|value| value.widened()).collect());
        }
        Ok(TrainState { layers, moments, loss_scale: None })
    }

    fn set_state(&mut self, state: &TrainState) -> Result<()> {
        let n_moments = self.training.moments.len();
        // A network alone starts with moments 0.
        if !state.moments.is_empty() && state.moments.len() != n_moments {
            return Err(Error::shape("optimizer state", format!("{n_moments} moments"), state.moments.len()));
        }
        let mut training = Training::new(self.training.network.clone(), settings(&self.options));
        fill("network", training.network.layers_mut(), &state.layers)?;
        for (number, (running, values)) in (1..).zip(training.network.running_mut().iter_mut().zip(&state.layers)) {
            let named =
                [("mean", &mut running.mean, &values.mean), ("variance", &mut running.variance, &values.variance)];
            for (name, to, from) in named {
                if to.len() != from.len() {
                    return Err(Error::shape(format!("{name} of layer {number}"), to.len(), from.len()));
                }
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = T::rounded(from));
            }
        }
        for (moment, values) in training.moments.iter_mut().zip(&state.moments) {
            fill("optimizer state", moment, values)?;
        }
        self.training = training;
        Ok(())
    }

    fn engine(&self) -> Engine {
        Engine::Cpu
    }
}

#[cfg(test)]
mod tests;
