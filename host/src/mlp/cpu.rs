//! The engine of the CPU back end: the plain implementation of `warpplay-cpu-ref`, in blocks under rayon.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use warpplay_cpu_ref::mlp as reference;
use warpplay_cpu_ref::mlp::{Parallel, Pass, Real, Training};

use super::engine::{Classified, Engine, EpochOutcome, EpochPlan, LayerValues, SetId, Setup, TrainState};
use super::options::{Execution, Optimizer, Options, Precision, Reduction};
use super::{Dataset, trainer};
use crate::{Device, Error, Result};

/// Opens the engine, in the precision that the options name.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Engine>> {
    debug_assert_eq!(device.backend(), crate::Backend::Cpu);
    match setup.options.precision {
        Precision::Fp32 => Ok(Box::new(CpuEngine::<f32>::new(setup)?)),
        Precision::Fp64 => Ok(Box::new(CpuEngine::<f64>::new(setup)?)),
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
    kept: Option<TrainState>,
    sets: Vec<Arc<Dataset>>,
}

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
    layers
        .iter()
        .map(|layer| LayerValues { weights: widened(&layer.weights), bias: widened(&layer.bias) })
        .collect()
}

impl<T: Real> CpuEngine<T> {
    fn new(setup: Setup) -> Result<Self> {
        let Setup { options, sizes, train, threads } = setup;
        let pool = match threads {
            Some(n) => Some(rayon::ThreadPoolBuilder::new().num_threads(n).build().map_err(|error| {
                Error::option("threads", n, format!("as many as this machine can start: {error}"))
            })?),
            None => None,
        };
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

    /// Runs something on the engine's threads.
    fn on_threads<R: Send>(&self, work: impl FnOnce(&Self) -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(|| work(self)),
            None => work(self),
        }
    }
}
