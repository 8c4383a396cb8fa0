//! Trains a network of convolutions.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use super::engine::{Epoch, Train};
use super::options::check_images;
use super::{ConvNetwork, ConvOptions, ConvReport, cpu, device};
use crate::mlp::options::seed_in_32_bits;
use crate::mlp::report::{EpochReport, SCHEMA, StoppedBy};
use crate::mlp::{Dataset, Evaluation, Layer};
use crate::{Backend, Device, Error, Progress, Result};

/// Options of a [`ConvTrainer`]; made by [`ConvTrainer::builder`].
#[derive(Clone, Debug)]
pub struct ConvTrainerBuilder {
    train: Arc<Dataset>,
    options: ConvOptions,
    test: Option<Arc<Dataset>>,
    network: Option<ConvNetwork>,
}

impl ConvTrainerBuilder {
    /// Sets all options at once.
    #[must_use]
    pub fn options(self, options: ConvOptions) -> Self {
        Self { options, ..self }
    }

    /// A set that is classified after every epoch: its accuracy and loss are in the reports.
    #[must_use]
    pub fn test(self, test: &Arc<Dataset>) -> Self {
        Self { test: Some(Arc::clone(test)), ..self }
    }

    /// First weights, in place of drawn ones.
    #[must_use]
    pub fn network(self, network: ConvNetwork) -> Self {
        Self { network: Some(network), ..self }
    }

    /// Checks the options and opens the device.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed; [`Error::Shape`] for sets or a network that do not fit; [`Error::Unsupported`] for a GPU of another compute capability than 9.0; errors of the device.
    pub fn build(self, device: &Device) -> Result<ConvTrainer> {
        let Self { train, mut options, test, network } = self;
        options.check()?;
        train.expect_fits(&[train.n_inputs(), train.n_classes()])?;
        let size = <[u32; 2]>::from(train.image_size());
        options.batch = u32::try_from(train.len()).map_or(options.batch, |n| options.batch.min(n));
        check_images(&options.blocks, size, train.n_classes(), options.batch)?;
        let network = match network {
            Some(network) => network,
            None => ConvNetwork::initial(&options.blocks, size, train.n_classes(), options.seed)?,
        };
        let expected = (&options.blocks[..], size, train.n_classes());
        let found = (network.blocks(), network.image_size(), network.n_classes());
        if found != expected {
            let what = "network (blocks, images, classes)";
            return Err(Error::shape(what, format!("{expected:?}"), format!("{found:?}")));
        }
        let engine = match device.backend() {
            Backend::Cpu => cpu::open(&options, &train, &network)?,
            _ => device::open(device, &options, &train, &network)?,
        };
        let trainer = ConvTrainer { engine, device: device.clone(), train, test, network, options, epochs: Vec::new() };
        if let Some(test) = &trainer.test {
            trainer.expect_fits(test)?;
        }
        Ok(trainer)
    }
}

/// A network of convolutions in training.
pub struct ConvTrainer {
    engine: Box<dyn Train>,
    device: Device,
    train: Arc<Dataset>,
    test: Option<Arc<Dataset>>,
    /// Shape of the network, and its weights at first.
    network: ConvNetwork,
    options: ConvOptions,
    epochs: Vec<EpochReport>,
}

impl std::fmt::Debug for ConvTrainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConvTrainer")
            .field("device", &self.device)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl ConvTrainer {
    /// A training on this set.
    pub fn builder(train: &Arc<Dataset>) -> ConvTrainerBuilder {
        let (train, options) = (Arc::clone(train), ConvOptions::default());
        ConvTrainerBuilder { train, options, test: None, network: None }
    }

    /// The options; the batch is not larger than the training set.
    pub fn options(&self) -> &ConvOptions {
        &self.options
    }

    /// Steps of an epoch; the last may have fewer samples.
    pub fn steps_per_epoch(&self) -> u32 {
        self.train.len().div_ceil(self.options.batch as usize) as u32
    }

    /// The epochs that are done.
    pub fn epochs(&self) -> &[EpochReport] {
        &self.epochs
    }

    /// Trains until all epochs are done, or `watch`, which is called after each, breaks.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite, after which the network is that of before the epoch; errors of the device.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<EpochReport>) -> ControlFlow<()>) -> Result<ConvReport> {
        let begun = Instant::now();
        let steps = self.steps_per_epoch();
        let mut stopped_by = StoppedBy::Epochs;
        while self.epochs.len() < self.options.epochs as usize {
            let report = self.epoch(self.epochs.len() as u32)?;
            self.epochs.push(report.clone());
            let progress = Progress {
                steps: u64::from(steps) * self.epochs.len() as u64,
                n_steps: Some(u64::from(steps) * u64::from(self.options.epochs)),
                elapsed: begun.elapsed(),
                time_limit: None,
                latest: Some(report),
            };
            if watch(&progress).is_break() && self.epochs.len() < self.options.epochs as usize {
                stopped_by = StoppedBy::Request;
                break;
            }
        }
        Ok(self.report(stopped_by))
    }

    fn epoch(&mut self, number: u32) -> Result<EpochReport> {
        let begun = Instant::now();
        let (n, steps) = (self.train.len(), self.steps_per_epoch());
        let order = warpplay_cpu_ref::mlp::epoch_order(seed_in_32_bits(self.options.seed), number, n);
        let first = u64::from(number) * u64::from(steps);
        let n_steps = u64::from(steps) * u64::from(self.options.epochs);
        let rates: Vec<f64> = (first..first + u64::from(steps)).map(|step| self.options.rate(step, n_steps)).collect();
        let learning_rate = rates.last().copied().unwrap_or(0.0);
        let epoch = Epoch {
            order: order.into_iter().map(|sample| sample as u32).collect(),
            rates: rates.into_iter().map(|rate| rate as f32).collect(),
        };
        self.engine.keep()?;
        let losses = self.engine.train(&epoch)?;
        let seconds = begun.elapsed().as_secs_f64();
        // What the last step left shows in no loss.
        let unsound = match losses.iter().position(|loss| !loss.is_finite()) {
            Some(step) => Some(step as u32 + 1),
            None => self.engine.layers()?.iter().any(|layer| !is_finite(layer)).then_some(steps),
        };
        if let Some(step) = unsound {
            self.engine.restore()?;
            return Err(Error::Diverged { epoch: number + 1, step, steps });
        }
        let begun = Instant::now();
        let test = self.test.clone().map(|test| Ok::<_, Error>((self.engine.classify(&test)?, test))).transpose()?;
        let n_classes = self.network.n_classes();
        let test = test.map(|(found, test)| found.evaluation(&test, n_classes, &self.device, 0.0));
        Ok(EpochReport {
            epoch: number + 1,
            loss: losses.iter().map(|&loss| f64::from(loss)).sum::<f64>() / n as f64,
            test_accuracy: test.as_ref().map(|test| test.accuracy),
            test_loss: test.as_ref().map(|test| test.loss),
            validation_accuracy: None,
            validation_loss: None,
            learning_rate,
            seconds,
            evaluation_seconds: begun.elapsed().as_secs_f64(),
            samples_per_second: n as f64 / seconds,
            transfer_share: None,
            repeated: false,
        })
    }

    fn report(&self, stopped_by: StoppedBy) -> ConvReport {
        ConvReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            epochs: self.epochs.clone(),
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            seed: self.options.seed,
            seconds: self.epochs.iter().map(|epoch| epoch.seconds).sum(),
            data: self.train.source().to_string(),
            image_size: self.network.image_size(),
            n_parameters: self.network.n_parameters(),
            n_train: self.train.len() as u64,
            stopped_by,
            options: self.options.clone(),
        }
    }

    /// The network as it is now.
    ///
    /// # Errors
    /// [`Error::Shape`] if a weight is not finite; errors of the device.
    pub fn network(&mut self) -> Result<ConvNetwork> {
        ConvNetwork::new(self.network.blocks().to_vec(), self.network.image_size(), self.engine.layers()?)
    }

    /// Classifies a set with the network as it is now.
    ///
    /// # Errors
    /// [`Error::Shape`] for images or classes that the network does not have; errors of the device.
    pub fn evaluate(&mut self, set: &Arc<Dataset>) -> Result<Evaluation> {
        self.expect_fits(set)?;
        let begun = Instant::now();
        let found = self.engine.classify(set)?;
        Ok(found.evaluation(set, self.network.n_classes(), &self.device, begun.elapsed().as_secs_f64()))
    }

    fn expect_fits(&self, set: &Dataset) -> Result<()> {
        set.expect_fits(&[self.train.n_inputs(), self.network.n_classes()])?;
        let [expected, found] = [self.network.image_size(), <[u32; 2]>::from(set.image_size())];
        if expected != found {
            return Err(Error::shape("images", format!("{expected:?}"), format!("{found:?}")));
        }
        Ok(())
    }
}

fn is_finite(layer: &Layer) -> bool {
    layer.weights.iter().chain(&layer.bias).all(|value| value.is_finite())
}
