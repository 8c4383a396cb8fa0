//! Many models of one shape, trained together, epoch by epoch: a cluster of blocks each, all at once; with more units than a cluster has, or two hidden layers, launches one behind the other.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::kernels::{Course, DeviceSet, Kernels, Networks, Shape};
use super::spare::Spare;
use super::{fits, optimizer, outcome, pack, shape_of, unpack};
use crate::mlp::engines::{EpochPlan, Setup};
use crate::mlp::evaluation::Classified;
use crate::mlp::options::{Options, Reduction, seed_in_32_bits};
use crate::mlp::report::{SweepEpoch, SweepModel};
use crate::mlp::{Dataset, Network};
use crate::{Buffer, Device, Error, Result, Stream};

/// All models on the device at once.
pub(in crate::mlp) struct SideBySide {
    first_values: Vec<f32>,
    networks: Networks,
    /// The values before an epoch.
    kept: Buffer<f32>,
    spare: Spare,
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
    /// Allocates the memory and draws each model's initial weights by its seed.
    pub fn new(device: &Device, setup: &Setup, seeds: &[u64]) -> Result<Self> {
        fits(device, setup)?;
        let (Setup { options, sizes, .. }, Some(train)) = (setup, &setup.train) else {
            return Err(Error::shape("training set", "one", "none"));
        };
        let shape = shape_of(device, setup, seeds.len() as u32)?;
        let alone = Shape { n_models: 1, ..shape };
        let mut first_values = Vec::with_capacity(shape.n_values() * seeds.len());
        for &seed in seeds {
            first_values.extend(pack(&Network::initial(sizes, options.init, seed)?.to_state(), alone)?);
        }
        let stream = device.stream()?;
        let mean = options.reduction == Reduction::Mean;
        let short_seeds: Vec<u32> = seeds.iter().map(|&seed| seed_in_32_bits(seed)).collect();
        Ok(Self {
            networks: Networks::new(&stream, shape)?,
            kept: stream.alloc(first_values.len())?,
            spare: Spare::new(device, setup),
            // Only classified sets need room for each model's answers.
            set: DeviceSet::new(&stream, train, alone)?,
            test: None,
            course: Course::new(&stream, shape, train.len() as u32, options.batch, mean, &short_seeds)?,
            kernels: Kernels::load(device, shape)?,
            n_samples: train.len(),
            first_values,
            stream,
            options: options.clone(),
            shape,
        })
    }

    /// Loads the set that every model classifies at the end.
    pub fn load_test(&mut self, test: &Arc<Dataset>) -> Result<()> {
        self.test = Some((Arc::clone(test), DeviceSet::new(&self.stream, test, self.shape)?));
        Ok(())
    }

    /// Trains all models from the beginning, each with its seed and rate; returns their results and the time of training. `told` receives the number of epochs done over all
    /// models.
    pub fn run(
        &mut self,
        models: &[(u64, f64)],
        told: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(Vec<SweepModel>, Duration)> {
        let Self { first_values, networks, kept, spare, set, course, kernels, stream, n_samples, options, shape, test } =
            self;
        let alone = Shape { n_models: 1, ..*shape };
        stream.write(&mut networks.values, 0, first_values)?;
        let mut reports: Vec<SweepModel> = models.iter().map(|&(seed, rate)| SweepModel::new(seed, rate)).collect();
        let n_steps = n_samples.div_ceil(options.batch as usize);
        let n_models = models.len() as u64;
        let mut trained = Duration::ZERO;
        let mut epochs = 0;
        while epochs < options.epochs {
            let start = Instant::now();
            let before = u64::from(epochs) * n_steps as u64;
            let rates_of = |&(seed, learning_rate): &(u64, f64)| {
                let options = Options { seed, learning_rate, ..options.clone() };
                let rate = move |step| options.learning_rate_at(before + step, n_steps as u64);
                (0..n_steps as u64).map(rate).collect::<Vec<f64>>()
            };
            let numbers_of = |model| optimizer::rates(options, &rates_of(model), before);
            let rates: Vec<f32> = models.iter().flat_map(numbers_of).collect();
            course.set_rates(stream, &rates)?;
            stream.copy(kept, 0, &networks.values, 0, first_values.len())?;
            kernels.train(stream, networks, set, course, epochs, 0)?;
            let losses = course.step_losses(stream)?;
            let mut outcomes: Vec<_> = losses.chunks_exact(n_steps).map(|losses| outcome(losses, 0.0, 0)).collect();
            for model in networks.left(stream)? {
                // What has diverged stays so.
                if reports[model].diverged.is_some() {
                    continue;
                }
                let plan = EpochPlan {
                    epoch: epochs,
                    seed: seed_in_32_bits(models[model].0),
                    from_step: 0,
                    loss_before: 0.0,
                    learning_rates: &rates_of(&models[model]),
                    updates: before,
                };
                let state = unpack(&values_of(stream, kept, alone, model)?, alone);
                let (outcome, state) = spare.train(&state, &plan)?;
                stream.write(&mut networks.values, model * alone.n_values(), &pack(&state, alone)?)?;
                outcomes[model] = outcome;
            }
            trained += start.elapsed();
            epochs += 1;
            for (report, outcome) in reports.iter_mut().zip(outcomes) {
                if outcome.bad_step.is_some() && report.diverged.is_none() {
                    report.diverged = Some(epochs);
                }
                if report.diverged.is_none() {
                    report.repeated_epochs += u64::from(outcome.repeated);
                    report.epochs.push(SweepEpoch { epoch: epochs, loss: outcome.loss_sum / *n_samples as f64 });
                }
            }
            if told(u64::from(epochs) * n_models).is_break() {
                break;
            }
        }
        let is_whole =
            |report: &SweepModel| report.diverged.is_none() && report.epochs.len() == options.epochs as usize;
        if test.is_none() {
            // The last update may have gone wrong, which no loss of the epoch shows.
            for (model, report) in reports.iter_mut().enumerate().filter(|(_, report)| is_whole(report)) {
                if !unpack(&values_of(stream, &networks.values, alone, model)?, alone).is_finite() {
                    report.lose();
                }
            }
        }
        if let Some((test, set)) = test.as_mut().filter(|_| reports.iter().any(is_whole)) {
            kernels.classify(stream, networks, set)?;
            let answers = set.found(stream)?;
            let n = test.len();
            let found = answers.classes.chunks_exact(n).zip(answers.losses.chunks_exact(n));
            for (model, (report, (classes, losses))) in reports.iter_mut().zip(found).enumerate() {
                if !is_whole(report) {
                    continue;
                }
                let again = match answers.left.contains(&model) {
                    true => Some(
                        spare.classify(&unpack(&values_of(stream, &networks.values, alone, model)?, alone), test)?,
                    ),
                    false => None,
                };
                let (classes, loss_sum) = match &again {
                    Some(Classified { classes, loss_sum, .. }) => (&classes[..], *loss_sum),
                    None => (classes, losses.iter().map(|&loss| f64::from(loss)).sum()),
                };
                let right =
                    classes.iter().zip(test.labels()).filter(|&(&class, &label)| class == u32::from(label)).count();
                report.rate(Some(right as f64 / n as f64), loss_sum / n as f64);
            }
        }
        Ok((reports, trained))
    }
}

/// The values of one of many models, of shape `alone`.
fn values_of(stream: &Stream, values: &Buffer<f32>, alone: Shape, model: usize) -> Result<Vec<f32>> {
    let mut own = vec![0.0; alone.n_values()];
    stream.read_into(values, model * own.len(), &mut own)?;
    Ok(own)
}
