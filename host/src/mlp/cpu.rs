//! The engine of the CPU back end: the plain implementation of `warpplay-cpu-ref`, in blocks under rayon.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use warpplay_cpu_ref::mlp as reference;
use warpplay_cpu_ref::mlp::{Parallel, Pass, Real, Training};

use super::Dataset;
use super::engine::{Classified, Engine, EpochOutcome, EpochPlan, LayerValues, SetId, Setup, TrainState};
use super::options::{Execution, Optimizer, Options, Precision, Reduction};
use crate::{Device, Error, Result};

/// Opens the engine, in the precision that the options name.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Engine>> {
    debug_assert_eq!(device.backend(), crate::Backend::Cpu);
    match setup.options.precision {
        Precision::F32 => Ok(Box::new(CpuEngine::<f32>::new(setup)?)),
        Precision::F64 => Ok(Box::new(CpuEngine::<f64>::new(setup)?)),
        precision => Err(Error::option("precision", precision, "fp32 or fp64 on the cpu back end")),
    }
}

/// A training or a classifier, in `T`.
struct CpuEngine<T> {
    options: Options,
    sizes: Vec<usize>,
    train: Option<Arc<Dataset>>,
    /// `None`: the caller's pool of threads, by default one of all cores.
    pool: Option<rayon::ThreadPool>,
    training: Training<T>,
    kept: Option<State<T>>,
    sets: Vec<Arc<Dataset>>,
}

/// Weights, and what the optimiser remembers.
type State<T> = (reference::Network<T>, Vec<Vec<reference::Layer<T>>>);

/// A constant that was written in single precision, as it was written: 0.9, not the value of its rounding.
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
    reference::Settings { optimizer, weight_decay: as_written(options.weight_decay), reduction }
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
        let Setup { options, sizes, train, threads } = setup;
        let pool = threads.map(crate::runtime::threads::pool).transpose()?;
        let sizes: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
        let layers = sizes.windows(2).map(|size| reference::Layer {
            weights: vec![T::zero(); size[0] * size[1]],
            bias: vec![T::zero(); size[1]],
            n_inputs: size[0],
            n_outputs: size[1],
        });
        let training = Training::new(reference::Network::new(layers.collect()), settings(&options));
        Ok(Self { options, sizes, train, pool, training, kept: None, sets: Vec::new() })
    }

    /// Takes parts of `n` samples at once, `evaluate_batch` each, through the network; `look` sees each part's pass. In the order of the samples.
    fn pass_parts<R: Send>(
        &self,
        images: &[u8],
        look: impl Fn(&reference::Network<T>, Range<usize>, &mut Pass<T>) -> R + Sync,
    ) -> Vec<R> {
        let (n_inputs, network) = (self.sizes[0], &self.training.network);
        let at_once = self.options.evaluate_batch as usize;
        on_threads(self.pool.as_ref(), || {
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

/// Runs something on a pool's threads, or on rayon's own: from a thread of a pool, handing out work costs least.
fn on_threads<R: Send>(pool: Option<&rayon::ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => rayon::scope(|_| work()),
    }
}

impl<T: Real> Engine for CpuEngine<T> {
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome> {
        let set = self.train.as_ref().ok_or_else(|| Error::shape("training set", "one", "none"))?;
        let (images, labels) = (set.images(), set.labels());
        let order = reference::epoch_order(self.options.seed, plan.epoch, set.len());
        let batches = order.chunks(self.options.batch as usize).zip(plan.learning_rates);
        let mut outcome = EpochOutcome { next_step: plan.from_step, ..EpochOutcome::default() };
        for (step, (batch, &learning_rate)) in (0u32..).zip(batches).skip(plan.from_step as usize) {
            let training = &mut self.training;
            training.updates = plan.updates + u64::from(step);
            let loss =
                on_threads(self.pool.as_ref(), || training.step::<Parallel>(images, labels, batch, learning_rate));
            outcome.loss_sum += loss;
            outcome.next_step = step + 1;
            if !loss.is_finite() {
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
        let unseen: Vec<Vec<bool>> = hidden.iter().map(|&width| vec![false; width]).collect();
        let parts = self.pass_parts(set.images(), |network, samples, pass| {
            network.losses(&set.labels()[samples], pass);
            let mut active = unseen.clone();
            for (active, h) in active.iter_mut().zip(&pass.h[..n_layers - 1]) {
                reference::pieces::mark_active(h, active);
            }
            Classified { classes: network.classes(pass), loss_sum: pass.loss_sum(), active }
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

    fn execution(&self) -> Execution {
        Execution::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlp::trainer;

    /// 50 images of 3 x 4 pixels without meaning, 3 classes; batches of 16, the last of 2.
    fn setup(optimizer: Optimizer, precision: Precision, threads: Option<usize>) -> Setup {
        let numbers = reference::Numbers::new(2, 1000);
        let images = (0..600).map(|i| (numbers.at(i) >> 56) as u8).collect();
        let labels = (0..50).map(|i| (numbers.at(1000 + i) % 3) as u8).collect();
        let train = Dataset::new(images, labels, 3, 4, 3, "noise").unwrap();
        let options = Options {
            hidden: vec![9, 8],
            batch: 16,
            optimizer,
            precision,
            evaluate_batch: 7,
            weight_decay: 0.01,
            ..Options::default()
        };
        Setup { sizes: options.sizes(12, 3), options, train: Some(Arc::new(train)), threads }
    }

    fn opened(setup: Setup) -> Box<dyn Engine> {
        let sizes: Vec<usize> = setup.sizes.iter().map(|&size| size as usize).collect();
        let mut engine = open(&Device::cpu(), setup).unwrap();
        let drawn = reference::Network::<f32>::drawn(&sizes, reference::Init::HeUniform, 4);
        engine.set_state(&TrainState { layers: values(drawn.layers()), ..TrainState::default() }).unwrap();
        engine
    }

    fn plan(epoch: u32, from_step: u32) -> EpochPlan<'static> {
        EpochPlan { epoch, from_step, learning_rates: &[0.02, 0.03, 0.01, 0.05], updates: 4 * u64::from(epoch) }
    }

    const OPTIMIZERS: [Optimizer; 3] = [
        Optimizer::Sgd,
        Optimizer::RmsProp { alpha: 0.99, epsilon: 1e-8 },
        Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
    ];

    #[test]
    fn training_interrupted_at_any_step_goes_on_to_the_same_bits() {
        for (optimizer, precision) in OPTIMIZERS.into_iter().zip([Precision::F32, Precision::F64, Precision::F32]) {
            let mut whole = opened(setup(optimizer, precision, Some(1)));
            let mut losses = Vec::new();
            let mut epoch = |number| {
                whole.train(&plan(number, 0), &mut |_, loss| {
                    losses.push(loss);
                    true
                })
            };
            assert_eq!(epoch(0).unwrap().next_step, 4);
            let expected_loss = epoch(1).unwrap().loss_sum;
            // Batches of 16, 16, 16 and 2 samples.
            let sum: f64 = losses[4..].iter().zip([16.0, 16.0, 16.0, 2.0]).map(|(loss, n)| loss * n).sum();
            assert!((sum - expected_loss).abs() < 1e-12 * sum, "{sum} {expected_loss}");
            let expected = whole.state().unwrap();
            for stop in 0..4 {
                let mut first = opened(setup(optimizer, precision, Some(2)));
                first.train(&plan(0, 0), &mut |_, _| true).unwrap();
                let outcome = first.train(&plan(1, 0), &mut |step, _| step < stop).unwrap();
                assert_eq!(outcome.next_step, stop + 1);
                let mut second = opened(setup(optimizer, precision, None));
                second.set_state(&first.state().unwrap()).unwrap();
                let rest = second.train(&plan(1, stop + 1), &mut |_, _| true).unwrap();
                assert_eq!(rest.next_step, 4);
                assert!((outcome.loss_sum + rest.loss_sum - expected_loss).abs() < 1e-12 * expected_loss);
                assert_eq!(second.state().unwrap(), expected, "{} stopped after step {stop}", optimizer.name());
            }
        }
    }

    #[test]
    fn kept_state_comes_back() {
        let mut engine = opened(setup(OPTIMIZERS[2], Precision::F32, None));
        assert_eq!(engine.restore().unwrap_err().to_string(), Error::shape("kept state", "one", "none").to_string());
        engine.train(&plan(0, 0), &mut |_, _| true).unwrap();
        let before = engine.state().unwrap();
        engine.keep().unwrap();
        engine.train(&plan(1, 0), &mut |_, _| true).unwrap();
        assert_ne!(engine.state().unwrap(), before);
        engine.restore().unwrap();
        assert_eq!(engine.state().unwrap(), before);
    }

    #[test]
    fn loss_that_is_no_number_is_reported_with_its_step() {
        let mut engine = opened(setup(Optimizer::Sgd, Precision::F32, None));
        let rates = [1e30, 1.0, 1.0, 1.0];
        let plan = EpochPlan { learning_rates: &rates, ..plan(0, 0) };
        let bad = engine.train(&plan, &mut |_, _| true).unwrap().bad_step.expect("diverges");
        assert!((1..4).contains(&bad), "{bad}");
    }

    #[test]
    fn classes_losses_and_active_units_are_those_of_the_logits() {
        let setup = setup(Optimizer::Sgd, Precision::F32, Some(3));
        let set = setup.train.clone().unwrap();
        let mut engine = opened(setup);
        // A unit that nothing reaches: its bias is far below what its weights can add.
        let mut state = engine.state().unwrap();
        state.layers[1].bias[5] = -1e6;
        engine.set_state(&state).unwrap();
        let id = engine.load(&set).unwrap();
        let found = engine.classify(id).unwrap();
        let logits = engine.logits(set.images()).unwrap();
        assert_eq!((found.classes.len(), logits.len()), (50, 150));
        let mut loss = 0.0;
        for ((z, &class), &label) in logits.chunks(3).zip(&found.classes).zip(set.labels()) {
            assert!(z.iter().all(|&other| other <= z[class as usize]));
            let sum: f64 = z.iter().map(|&z| f64::from(z).exp()).sum();
            loss += sum.ln() - f64::from(z[usize::from(label)]);
        }
        assert!((found.loss_sum - loss).abs() < 1e-5 * loss, "{} {loss}", found.loss_sum);
        assert_eq!(found.active.iter().map(Vec::len).collect::<Vec<_>>(), [9, 8]);
        assert!(!found.active[1][5]);
        assert!(found.active[0].iter().any(|&active| active));
        let text = engine.logits(&[0; 13]).unwrap_err().to_string();
        assert_eq!(text, Error::shape("images", "a multiple of 12 bytes", 13).to_string());
    }

    #[test]
    fn state_of_another_shape_is_refused() {
        let mut engine = opened(setup(OPTIMIZERS[2], Precision::F32, None));
        let before = engine.state().unwrap();
        for change in [
            |state: &mut TrainState| state.layers.truncate(2),
            |state: &mut TrainState| state.layers[1].weights.truncate(71),
            |state: &mut TrainState| state.moments.truncate(1),
            |state: &mut TrainState| state.moments[1][2].bias.truncate(2),
        ] {
            let mut state = before.clone();
            change(&mut state);
            assert!(matches!(engine.set_state(&state), Err(Error::Shape { .. })));
            assert_eq!(engine.state().unwrap(), before);
        }
    }

    #[test]
    fn plain_execution_and_the_cpu_belong_together() {
        for (device, execution, name) in [
            (Device::cpu(), Execution::Auto, None),
            (Device::cpu(), Execution::Plain, None),
            (Device::cpu(), Execution::Layers, Some("layers")),
            (Device::simt(), Execution::Plain, Some("plain")),
        ] {
            let mut setup = setup(Optimizer::Sgd, Precision::F32, None);
            setup.options.execution = execution;
            match (trainer::open(&device, setup), name) {
                (Ok(engine), None) => assert_eq!(engine.execution(), Execution::Plain),
                (Err(error), Some(name)) => {
                    let text = error.to_string();
                    assert!(text.starts_with(&format!("option execution: {name} is not allowed")), "{text}");
                    assert!(text.contains("cpu"), "{text}");
                }
                (found, _) => panic!("{execution} on {}: {:?}", device.backend(), found.err()),
            }
        }
    }

    #[test]
    fn constants_are_as_written() {
        assert_eq!(as_written(0.9), 0.9);
        assert_eq!(as_written(1e-8), 1e-8);
    }
}
