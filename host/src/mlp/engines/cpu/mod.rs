//! The engine of the CPU back end: the plain implementation of `warpplay-cpu-ref`, in blocks under rayon.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use warpplay_cpu_ref::mlp as reference;
use warpplay_cpu_ref::mlp::{Parallel, Pass, Real, Training};

use super::{EpochOutcome, EpochPlan, SetId, Setup, Train};
use crate::mlp::Dataset;
use crate::mlp::evaluation::Classified;
use crate::mlp::options::{Activation, Engine, Loss, Optimizer, Options, Precision, Reduction};
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
    let Setup { options, sizes, train } = setup;
    let number = if options.precision == Precision::F64 { 8 } else { 4 };
    let sets_of_values = 1 + if train.is_some() { options.optimizer.n_moments() as u64 } else { 0 };
    let copies = match train {
        Some(_) => 2 * sets_of_values + 1,
        None => 1,
    };
    let values: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    let n_threads = options.threads.unwrap_or_else(rayon::current_num_threads) as u64;
    let n_train = train.as_ref().map_or(0, |train| train.len());
    let largest = sets.iter().fold(n_train, |largest, &n| largest.max(n)) as u64;
    let at_once =
        (u64::from(options.evaluate_batch) * n_threads).min(largest) + u64::from(options.batch).min(n_train as u64);
    Memory::default()
        .on_device("weights", number * copies * setup.n_parameters())
        .on_device("weights while they are set and read", (8 + number) * sets_of_values * setup.n_parameters())
        .on_device("layers", 2 * number * values * at_once)
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
    reference::Settings { optimizer, weight_decay, reduction, label_smoothing, clip_norm }
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

/// Inputs `[batch, n_inputs]` and targets of the samples of a batch.
fn gathered<T: Real>(set: &Dataset, batch: &[usize]) -> (Vec<T>, Vec<T>) {
    let (n_inputs, n_outputs) = (set.n_inputs() as usize, set.n_classes() as usize);
    let (mut x, mut t) = (vec![T::zero(); batch.len() * n_inputs], Vec::new());
    for (x, &sample) in x.chunks_exact_mut(n_inputs).zip(batch) {
        reference::pieces::scale_pixels(&set.images()[sample * n_inputs..][..n_inputs], x);
        t.extend(rounded::<T>(&set.targets().unwrap_or_default()[sample * n_outputs..][..n_outputs]));
    }
    (x, t)
}

/// Copies values into layers of the same shapes.
fn fill<T: Real>(what: &str, layers: &mut [reference::Layer<T>], values: &[LayerValues]) -> Result<()> {
    if layers.len() != values.len() {
        return Err(Error::shape(what, format!("{} layers", layers.len()), values.len()));
    }
    for (number, (layer, values)) in layers.iter_mut().zip(values).enumerate() {
        for (name, to, from) in
            [("weights", &mut layer.weights, &values.weights), ("bias", &mut layer.bias, &values.bias)]
        {
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
    layers.iter().map(|layer| LayerValues { weights: widened(&layer.weights), bias: widened(&layer.bias) }).collect()
}

impl<T: Real> CpuEngine<T> {
    fn new(setup: Setup) -> Result<Self> {
        let Setup { options, sizes, train } = setup;
        let threads = Threads::pooled(options.threads)?;
        let sizes: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
        let layers = sizes.windows(2).map(|size| reference::Layer {
            weights: vec![T::zero(); size[0] * size[1]],
            bias: vec![T::zero(); size[1]],
            n_inputs: size[0],
            n_outputs: size[1],
        });
        let network = reference::Network::new(layers.collect()).with_activation(match options.activation {
            Activation::Relu => reference::Activation::Relu,
            Activation::Tanh => reference::Activation::Tanh,
            Activation::Sigmoid => reference::Activation::Sigmoid,
            Activation::Gelu => reference::Activation::Gelu,
        });
        let training = Training::new(network, settings(&options));
        Ok(Self { options, sizes, train, threads, training, kept: None, sets: Vec::new() })
    }

    /// Evaluates `n` samples in parts of `evaluate_batch`, and passes each part's results to `look`, in the order of the samples.
    fn pass_parts<R: Send>(
        &self,
        images: &[u8],
        look: impl Fn(&reference::Network<T>, Range<usize>, &mut Pass<T>) -> R + Sync,
    ) -> Vec<R> {
        let (n_inputs, network) = (self.sizes[0], &self.training.network);
        let at_once = self.options.evaluate_batch as usize;
        self.threads.run_inside(|| {
            images
                .par_chunks(at_once * n_inputs)
                .enumerate()
                .map_init(Pass::default, |pass, (part, images)| {
                    network.forward::<Parallel>(images, pass);
                    let first = part * at_once;
                    look(network, first..first + images.len() / n_inputs, pass)
                })
                .collect()
        })
    }
}

impl<T: Real> Train for CpuEngine<T> {
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome> {
        let set = self.train.as_ref().ok_or_else(|| Error::shape("training set", "one", "none"))?;
        let (images, labels, regression) = (set.images(), set.labels(), regression(self.options.loss));
        let order = reference::epoch_order(plan.seed, plan.epoch, set.len());
        let batches = order.chunks(self.options.batch as usize).zip(plan.learning_rates);
        let mut outcome = EpochOutcome { next_step: plan.from_step, ..EpochOutcome::default() };
        for (step, (batch, &learning_rate)) in (0u32..).zip(batches).skip(plan.from_step as usize) {
            let training = &mut self.training;
            training.updates = plan.updates + u64::from(step);
            let loss = self.threads.run_inside(|| match regression {
                None => training.step::<Parallel>(images, labels, batch, learning_rate),
                Some(loss) => {
                    let (x, targets) = gathered(set, batch);
                    training.step_regression::<Parallel>(&x, &targets, loss, learning_rate)
                }
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
        let parts = self.pass_parts(set.images(), |network, samples, pass| {
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
        let last = self.sizes.len() - 2;
        let parts = self.pass_parts(images, |_, _, pass| {
            pass.z[last].iter().map(|logit| logit.widened() as f32).collect::<Vec<f32>>()
        });
        Ok(parts.concat())
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
        Ok(TrainState { layers: values(self.training.network.layers()), moments, loss_scale: None })
    }

    fn set_state(&mut self, state: &TrainState) -> Result<()> {
        let n_moments = self.training.moments.len();
        // A network alone starts with moments 0.
        if !state.moments.is_empty() && state.moments.len() != n_moments {
            return Err(Error::shape("optimizer state", format!("{n_moments} moments"), state.moments.len()));
        }
        let mut training = Training::new(self.training.network.clone(), settings(&self.options));
        fill("network", training.network.layers_mut(), &state.layers)?;
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
