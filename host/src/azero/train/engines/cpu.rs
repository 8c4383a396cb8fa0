//! The engine of the CPU back end: the plain program, parts under rayon.

use std::sync::Arc;

use warpplay_cpu_ref::azero as reference;
use warpplay_cpu_ref::azero::Parallel;
use warpplay_cpu_ref::azero::training::{Adam, Batch, Operands, Settings, Training, loss};

use super::{Setup, Train};
use crate::azero::network::n_values;
use crate::azero::train::step::{Numbers, StepReport};
use crate::azero::train::{Options, Samples};
use crate::azero::{Network, NetworkShape};
use crate::{Error, Memory, Result};

/// Memory that it takes, without the positions, which are not copied: parameters with Adam's moments and gradients, those of the epoch's begin, and an estimate of the activations of a batch.
pub(in crate::azero::train) fn memory(shape: NetworkShape, batch: u32) -> Memory {
    let (batch, actions) = (u64::from(batch), u64::from(shape.actions));
    // Of each convolution its output and the norm's, forward and back.
    let layers = 4 * (1 + 2 * u64::from(shape.depth)) * shape.n_block() as u64 * 4;
    let position = 4 * shape.n_observation() as u64 + 5 * actions + 4;
    Memory::default()
        .on_device("parameters", 4 * 7 * n_values(shape))
        .on_device("layers", batch * layers)
        .on_device("batch", batch * position)
}

/// Opens the engine.
///
/// # Errors
/// None at present.
pub(in crate::azero::train) fn open(setup: Setup) -> Result<Box<dyn Train>> {
    let Setup { options, samples, state } = setup;
    let adam = Adam { beta1: options.beta1, beta2: options.beta2, epsilon: options.epsilon };
    let settings = Settings {
        weight_decay: options.weight_decay,
        value_weight: options.value_weight,
        momentum: options.momentum,
        adam,
        operands: Operands::Exact,
        heads: Operands::Exact,
    };
    let mut engine = PlainEngine {
        training: Training::new(to_reference(&state.network), settings),
        settings,
        options,
        samples,
        like: state.network.clone(),
        kept: None,
    };
    engine.set_state(&state)?;
    engine.keep()?;
    Ok(Box::new(engine))
}

struct PlainEngine {
    training: Training<f32>,
    settings: Settings,
    options: Options,
    samples: Arc<Samples>,
    /// Shape and meaning of the network.
    like: Network,
    /// Parameters and moments that were kept.
    kept: Option<[reference::Network<f32>; 3]>,
}

fn shape_of(shape: NetworkShape) -> reference::Shape {
    let size = |value: u32| value as usize;
    reference::Shape {
        rows: size(shape.rows),
        columns: size(shape.columns),
        planes: size(shape.planes),
        width: size(shape.width),
        depth: size(shape.depth),
        value_filters: size(shape.value_filters),
        value_hidden: size(shape.value_hidden),
        policy_filters: size(shape.policy_filters),
        actions: size(shape.actions),
    }
}

/// Converts a network; both sides have the same tensors in the same order.
fn to_reference(network: &Network) -> reference::Network<f32> {
    let mut values: Vec<&[f32]> = Vec::new();
    network.visit(|_, _, tensor| values.push(tensor));
    let mut values = values.into_iter();
    reference::Network::from_tensors(shape_of(network.shape()), |_, _| values.next().unwrap_or_default().to_vec())
}

fn from_reference(like: &Network, network: &reference::Network<f32>) -> Network {
    let mut result = like.clone();
    let mut tensors = network.tensors.iter();
    result.visit_mut(|_, _, values| {
        if let Some(tensor) = tensors.next() {
            values.copy_from_slice(&tensor.values);
        }
    });
    result
}

/// A batch in plain arrays.
struct Dense {
    observations: Vec<f32>,
    masks: Vec<u8>,
    shares: Vec<f32>,
    results: Vec<f32>,
}

impl Dense {
    fn of(samples: &Samples, order: &[u32]) -> Self {
        let (planes, actions) = ((samples.planes * samples.cells) as usize, samples.actions as usize);
        let mut dense = Self {
            observations: Vec::with_capacity(order.len() * planes),
            masks: Vec::with_capacity(order.len() * actions),
            shares: vec![0.0; order.len() * actions],
            results: order.iter().map(|&sample| samples.values[sample as usize]).collect(),
        };
        for (number, &sample) in order.iter().enumerate() {
            let sample = sample as usize;
            let words = &samples.bits[sample * samples.observation_words()..];
            dense.observations.extend((0..planes).map(|bit| (words[bit / 32] >> (bit % 32) & 1) as f32));
            dense.masks.extend((0..actions).map(|action| u8::from(samples.is_legal(sample, action))));
            for visit in samples.visits_of(sample) {
                let share = visit.count as f32 / samples.total[sample] as f32;
                dense.shares[number * actions + visit.action as usize] = share;
            }
        }
        dense
    }

    fn batch(&self) -> Batch<'_, f32> {
        Batch { observations: &self.observations, masks: &self.masks, shares: &self.shares, results: &self.results }
    }
}

/// Checks that an order contains existing positions only.
fn check_order(samples: &Samples, order: &[u32]) -> Result<()> {
    match order.iter().find(|&&sample| sample as usize >= samples.len()) {
        Some(beyond) => Err(Error::shape("position of an order", format!("below {}", samples.len()), beyond)),
        None => Ok(()),
    }
}

impl Train for PlainEngine {
    fn train(&mut self, order: &[u32], updates: u64) -> Result<Vec<StepReport>> {
        let mut reports = Vec::new();
        self.training.updates = updates;
        for order in order.chunks_exact(self.options.batch as usize) {
            let dense = Dense::of(&self.samples, order);
            let step = self.training.step::<Parallel>(dense.batch(), self.options.learning_rate);
            let report = StepReport {
                policy_loss: step.losses.policy.into(),
                value_loss: step.losses.value.into(),
                l2_loss: step.losses.l2.into(),
                gradient_norm: step.gradient_norm.into(),
                accuracy: step.losses.accuracy.into(),
            };
            reports.push(report);
            if !report.is_finite() {
                break;
            }
        }
        Ok(reports)
    }

    fn evaluate(&mut self, order: &[u32]) -> Result<[f64; 3]> {
        check_order(&self.samples, order)?;
        let mut sums = [0.0; 3];
        let mut pass = reference::Pass::default();
        let actions = self.samples.actions as usize;
        for order in order.chunks(self.options.batch as usize) {
            let dense = Dense::of(&self.samples, order);
            self.training.network.forward::<Parallel>(&dense.observations, &dense.masks, &mut pass);
            for (position, &result) in dense.results.iter().enumerate() {
                let at = position * actions..(position + 1) * actions;
                let (logits, mask) = (&pass.policy_logits[at.clone()], &dense.masks[at.clone()]);
                let shares = &dense.shares[at];
                let mut gradient = vec![0.0; actions];
                sums[0] += f64::from(loss::policy(logits, mask, shares, 1.0, &mut gradient));
                let weight = self.options.value_weight;
                sums[1] += weight * f64::from(loss::value(pass.value_pre_tanh[position], result).0);
                sums[2] += if loss::is_hit(logits, mask, shares) { 1.0 } else { 0.0 };
            }
        }
        Ok(sums)
    }

    fn gradient(&mut self, order: &[u32]) -> Result<Network> {
        check_order(&self.samples, order)?;
        let dense = Dense::of(&self.samples, order);
        let settings = Settings { weight_decay: 0.0, ..self.settings };
        let gradient = self.training.network.gradient::<Parallel>(dense.batch(), &settings);
        Ok(from_reference(&self.like, &gradient.network))
    }

    fn state(&mut self) -> Result<Numbers> {
        let Training { network, first, second, .. } = &self.training;
        Ok(Numbers {
            network: from_reference(&self.like, network),
            first: from_reference(&self.like, first),
            second: from_reference(&self.like, second),
        })
    }

    fn set_state(&mut self, state: &Numbers) -> Result<()> {
        self.training.network = to_reference(&state.network);
        self.training.first = to_reference(&state.first);
        self.training.second = to_reference(&state.second);
        Ok(())
    }

    fn keep(&mut self) -> Result<()> {
        let Training { network, first, second, .. } = &self.training;
        self.kept = Some([network.clone(), first.clone(), second.clone()]);
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        if let Some([network, first, second]) = self.kept.clone() {
            (self.training.network, self.training.first, self.training.second) = (network, first, second);
        }
        Ok(())
    }

    fn is_finite(&mut self) -> Result<bool> {
        let mut values = self.training.network.tensors.iter().flat_map(|tensor| &tensor.values);
        Ok(values.all(|value| value.is_finite()))
    }
}
