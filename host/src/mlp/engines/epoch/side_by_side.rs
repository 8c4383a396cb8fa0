//! Many models of one shape, trained at once: a cluster of blocks each.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::kernels::{Course, DeviceSet, Kernels, Shape};
use super::{fits, outcome, pack};
use crate::mlp::engines::Setup;
use crate::mlp::options::{Options, Reduction};
use crate::mlp::report::{SweepEpoch, SweepModel};
use crate::mlp::{Dataset, Network};
use crate::{Buffer, Device, Error, Result, Stream};

/// All models on the device at once.
pub(in crate::mlp) struct SideBySide {
    first_values: Vec<f32>,
    values: Buffer<f32>,
    set: DeviceSet,
    test: Option<(Arc<Dataset>, DeviceSet)>,
    course: Course,
    kernels: Kernels,
    stream: Stream,
    n_samples: usize,
    options: Options,
    shape: Shape,
}

impl SideBySide {
    /// Takes the memory and draws each model's first weights by its seed.
    pub fn new(device: &Device, setup: &Setup, seeds: &[u32]) -> Result<Self> {
        fits(device, setup)?;
        let (Setup { options, sizes, .. }, Some(train)) = (setup, &setup.train) else {
            return Err(Error::shape("training set", "one", "none"));
        };
        let shape = Shape { n_inputs: sizes[0], n_hidden: sizes[1], n_classes: sizes[2], n_models: seeds.len() as u32 };
        let alone = Shape { n_models: 1, ..shape };
        let mut first_values = Vec::with_capacity(shape.n_values() * seeds.len());
        for &seed in seeds {
            first_values.extend(pack(&Network::initial(sizes, options.init, seed)?.to_state(), alone)?);
        }
        let stream = device.stream()?;
        let mean = options.reduction == Reduction::Mean;
        Ok(Self {
            values: stream.alloc(first_values.len())?,
            // Only classified sets need room for each model's answers.
            set: DeviceSet::new(&stream, train, alone)?,
            test: None,
            course: Course::new(&stream, train.len() as u32, options.batch, mean, seeds)?,
            kernels: Kernels::load(device, shape)?,
            n_samples: train.len(),
            first_values,
            stream,
            options: options.clone(),
            shape,
        })
    }

    /// Takes the set that every model classifies at the end.
    pub fn load_test(&mut self, test: &Arc<Dataset>) -> Result<()> {
        self.test = Some((Arc::clone(test), DeviceSet::new(&self.stream, test, self.shape)?));
        Ok(())
    }

    /// Trains all from the beginning, each with its seed and rate; what became of them, and the time of training. `told` gets the epochs that are done, over all models.
    pub fn run(
        &mut self,
        models: &[(u32, f64)],
        told: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(Vec<SweepModel>, Duration)> {
        let Self { first_values, values, set, course, kernels, stream, n_samples, options, .. } = self;
        stream.write(values, 0, first_values)?;
        let mut reports: Vec<SweepModel> = models.iter().map(|&(seed, rate)| SweepModel::new(seed, rate)).collect();
        let n_steps = n_samples.div_ceil(options.batch as usize);
        let n_models = models.len() as u64;
        let mut trained = Duration::ZERO;
        let mut epochs = 0;
        while epochs < options.epochs {
            let start = Instant::now();
            let before = u64::from(epochs) * n_steps as u64;
            let mut rates = Vec::with_capacity(n_steps * models.len());
            for &(seed, learning_rate) in models {
                let options = Options { seed, learning_rate, ..options.clone() };
                rates.extend(
                    (0..n_steps as u64).map(|step| options.learning_rate_at(before + step, n_steps as u64) as f32),
                );
            }
            course.set_rates(stream, &rates)?;
            kernels.train(stream, values, set, course, epochs, 0)?;
            let losses = course.step_losses(stream)?;
            trained += start.elapsed();
            epochs += 1;
            for (report, losses) in reports.iter_mut().zip(losses.chunks_exact(n_steps)) {
                let outcome = outcome(losses, 0);
                if outcome.bad_step.is_some() && report.diverged.is_none() {
                    report.diverged = Some(epochs);
                }
                if report.diverged.is_none() {
                    report.epochs.push(SweepEpoch { epoch: epochs, loss: outcome.loss_sum / *n_samples as f64 });
                }
            }
            if told(u64::from(epochs) * n_models).is_break() {
                break;
            }
        }
        if let Some((test, set)) = &mut self.test {
            self.kernels.classify(&self.stream, &self.values, set)?;
            let (classes, losses, _) = set.found(&self.stream)?;
            let n = test.len();
            for (report, (classes, losses)) in
                reports.iter_mut().zip(classes.chunks_exact(n).zip(losses.chunks_exact(n)))
            {
                if report.diverged.is_none() {
                    let right =
                        classes.iter().zip(test.labels()).filter(|&(&class, &label)| class == u32::from(label)).count();
                    report.test_accuracy = Some(right as f64 / n as f64);
                    report.test_loss = Some(losses.iter().map(|&loss| f64::from(loss)).sum::<f64>() / n as f64);
                }
            }
        }
        Ok((reports, trained))
    }
}
