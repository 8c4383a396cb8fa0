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
        if let Some(test) = &test {
            network.expect_fits(test)?;
            test.expect_columns_of(&train)?;
        }
        let engine = match device.backend() {
            Backend::Cpu => cpu::open(&options, &train, &network)?,
            _ => device::open(device, &options, &train, &network)?,
        };
        let position = Position::default();
        Ok(ConvTrainer { engine, device: device.clone(), train, test, network, options, position })
    }
}

/// The position of a training: what is done, and of the next epoch its steps, the sum of their losses, and their seconds.
#[derive(Debug, Default)]
struct Position {
    epochs: Vec<EpochReport>,
    step: u32,
    loss_sum: f64,
    seconds: f64,
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
    position: Position,
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
        &self.position.epochs
    }

    /// Trains until all epochs are done or `watch` returns `Break`. After a stop, another call of `run` continues.
    ///
    /// `watch` is called after every epoch, with its report in [`Progress::latest`], and between: after every step on the CPU, after every 64th elsewhere, which must wait for the device.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite: the network is then that of before the epoch, or of the step within it from which `run` continued; errors of the device.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<EpochReport>) -> ControlFlow<()>) -> Result<ConvReport> {
        let begun = Instant::now();
        let steps = self.steps_per_epoch();
        let n_steps = Some(u64::from(steps) * u64::from(self.options.epochs));
        let mut is_stopped = false;
        while self.position.epochs.len() < self.options.epochs as usize {
            if is_stopped {
                return Ok(self.report(StoppedBy::Request));
            }
            let before = u64::from(steps) * self.position.epochs.len() as u64;
            let mut told = |step: u32, latest: Option<EpochReport>| {
                let steps = before + u64::from(step);
                let progress = Progress { steps, n_steps, elapsed: begun.elapsed(), time_limit: None, latest };
                is_stopped |= watch(&progress).is_break();
                !is_stopped
            };
            if self.epoch(&mut |step| told(step, None))? {
                told(steps, self.position.epochs.last().cloned());
            }
        }
        Ok(self.report(StoppedBy::Epochs))
    }

    /// Trains the rest of an epoch, until `watch` interrupts it; returns whether it was finished.
    fn epoch(&mut self, watch: &mut dyn FnMut(u32) -> bool) -> Result<bool> {
        let begun = Instant::now();
        let (n, steps) = (self.train.len(), self.steps_per_epoch());
        let number = self.position.epochs.len() as u32;
        let order = warpplay_cpu_ref::mlp::epoch_order(seed_in_32_bits(self.options.seed), number, n);
        let first = u64::from(number) * u64::from(steps);
        let n_steps = u64::from(steps) * u64::from(self.options.epochs);
        let rates: Vec<f64> = (first..first + u64::from(steps)).map(|step| self.options.rate(step, n_steps)).collect();
        let learning_rate = rates.last().copied().unwrap_or(0.0);
        let from_step = self.position.step;
        let epoch = Epoch {
            order: order.into_iter().map(|sample| sample as u32).collect(),
            rates: rates.into_iter().map(|rate| rate as f32).collect(),
            from_step,
        };
        self.engine.keep()?;
        let losses = self.engine.train(&epoch, watch)?;
        let done = from_step + losses.len() as u32;
        // What the last step left shows in no loss.
        let unsound = match losses.iter().position(|loss| !loss.is_finite()) {
            Some(step) => Some(from_step + step as u32 + 1),
            None => self.engine.layers()?.iter().any(|layer| !is_finite(layer)).then_some(done),
        };
        if let Some(step) = unsound {
            self.engine.restore()?;
            return Err(Error::Diverged { epoch: number + 1, step, steps });
        }
        let position = &mut self.position;
        position.step = done;
        // Added one by one, so that an interruption changes no bit of the sum.
        position.loss_sum = losses.iter().fold(position.loss_sum, |sum, &loss| sum + f64::from(loss));
        position.seconds += begun.elapsed().as_secs_f64();
        if done < steps {
            return Ok(false);
        }
        let begun = Instant::now();
        let test = self.test.clone().map(|test| Ok::<_, Error>((self.engine.classify(&test)?, test))).transpose()?;
        let n_classes = self.network.n_classes();
        let test = test.map(|(found, test)| found.evaluation(&test, n_classes, &self.device, 0.0));
        let Position { epochs, loss_sum, seconds, .. } = std::mem::take(&mut self.position);
        self.position.epochs = epochs;
        self.position.epochs.push(EpochReport {
            epoch: number + 1,
            loss: loss_sum / n as f64,
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
        });
        Ok(true)
    }

    fn report(&self, stopped_by: StoppedBy) -> ConvReport {
        ConvReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            epochs: self.position.epochs.clone(),
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            seed: self.options.seed,
            seconds: self.position.epochs.iter().map(|epoch| epoch.seconds).sum::<f64>() + self.position.seconds,
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
        self.network.expect_fits(set)?;
        let begun = Instant::now();
        let found = self.engine.classify(set)?;
        Ok(found.evaluation(set, self.network.n_classes(), &self.device, begun.elapsed().as_secs_f64()))
    }
}

fn is_finite(layer: &Layer) -> bool {
    layer.weights.iter().chain(&layer.bias).all(|value| value.is_finite())
}
