//! One training, in one of the different ways, and evaluations of what it leaves.

use std::cell::Cell;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpplay::mlp::{Classifier, Dataset, EpochReport, Evaluation, Network, Trainer};
use warpplay::{Device, Error, Precision, Result, mlp};

use crate::experiment::{Measurement, Stop};
use crate::mnist_mlp::{Forms, Options, Program};

/// Who trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The plain program, one thread.
    Cpu,
    /// The plain program, all cores: the same result sooner.
    CpuAll,
    /// The plain program in double precision, all cores.
    CpuDouble,
    /// The kernels of the paper, in the forms that the options name.
    Published,
    /// Our fastest kernels for the shape.
    Fast,
}

impl Way {
    /// As tables name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU, 1 thread",
            Self::CpuAll => "CPU",
            Self::CpuDouble => "CPU, f64",
            Self::Published => "paper's kernels",
            Self::Fast => "ours",
        }
    }

    /// Whether it needs a device that runs kernels.
    pub fn has_kernels(self) -> bool {
        matches!(self, Self::Published | Self::Fast)
    }
}

/// The largest rate of the paper's tables: averaged, all of its trainings are at this or at less.
const STABLE_RATE: f64 = 0.1;

/// What a training comes to, whatever its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Mean loss of each epoch.
    pub losses: Vec<f64>,
    /// Share of the test set that is right, after each epoch.
    pub accuracies: Vec<f64>,
    /// Hidden units that are 0 on every training sample.
    pub dead_units: u64,
    /// Hidden units.
    pub units: u64,
    /// How often each class is the answer for the test set, at the end.
    pub answers: Vec<u64>,
    /// Where a loss was not finite; the network is then that before the epoch.
    pub diverged: Option<String>,
}

impl Outcome {
    /// Per cent of the test set at the end.
    pub fn accuracy(&self) -> Option<f64> {
        self.accuracies.last().map(|share| 100.0 * share)
    }

    /// Loss of the last epoch.
    pub fn loss(&self) -> Option<f64> {
        self.losses.last().copied()
    }

    /// Whether `other` can be the same training with its atomic additions in another order. `rate` is that of the averaged gradient, as many times larger as a batch has samples where it
    /// is summed.
    ///
    /// Two orders of a sum of n floats differ by at most n roundings of 6e-8, here 3e-5 of a bias gradient or a loss of 512 terms, and mostly by single roundings. Up to a rate of 0.1 a
    /// training does not amplify this much: the bound of 1e-3 for each loss leaves a factor of 30 over the worst and of 10,000 over a single rounding. An image then changes its
    /// class where its two best logits, which are of the order of 10, are within 0.01; of images that are wrong or nearly so, some per cent, one in a hundred is: an image in
    /// a thousand is the bound, and one image in small sets. A unit at the edge may be dead in one and not in the other.
    ///
    /// At larger rates every step amplifies, and two orders end as far apart as two seeds. What must agree then is whether the training diverged, whether it collapsed (one class or two
    /// are at most 22 % of the images, every other training has most of them right), and where it did not, the accuracy within a point, several times what seeds move it (item gap).
    pub fn agrees(&self, other: &Self, rate: f64) -> bool {
        let n_test = self.answers.iter().sum::<u64>().max(1);
        if rate > STABLE_RATE {
            let [ours, theirs] = [self, other].map(|outcome| outcome.accuracy().unwrap_or(0.0));
            let (collapsed, points) = (ours < 50.0, 1.0 + 100.0 / n_test as f64);
            return self.diverged.is_some() == other.diverged.is_some()
                && collapsed == (theirs < 50.0)
                && (collapsed || (ours - theirs).abs() <= points);
        }
        let images = (n_test / 1000).max(1);
        // A little more than so many images, for the division's rounding.
        let share = (images as f64 + 0.01) / n_test as f64;
        let near = |ours: &[f64], theirs: &[f64], absolute: f64, relative: f64| {
            let mut pairs = ours.iter().zip(theirs);
            ours.len() == theirs.len()
                && pairs.all(|(ours, theirs)| (ours - theirs).abs() <= absolute + relative * ours.abs())
        };
        self.diverged == other.diverged
            && near(&self.losses, &other.losses, 0.0, 1e-3)
            && near(&self.accuracies, &other.accuracies, share, 0.0)
            && self.answers.len() == other.answers.len()
            && self.answers.iter().zip(&other.answers).all(|(&ours, &theirs)| ours.abs_diff(theirs) <= images)
            && self.units == other.units
            && self.dead_units.abs_diff(other.dead_units) <= 1
    }

    /// How many different classes are answers.
    pub fn classes_answered(&self) -> usize {
        self.answers.iter().filter(|&&n| n > 0).count()
    }

    /// The class that is the answer most often, and its share of the answers in per cent.
    pub fn favourite(&self) -> Option<(usize, f64)> {
        let all: u64 = self.answers.iter().sum();
        let (class, &n) = self.answers.iter().enumerate().max_by_key(|&(class, n)| (n, std::cmp::Reverse(class)))?;
        (all > 0).then(|| (class, 100.0 * n as f64 / all as f64))
    }
}

/// What is a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Seconds of all epochs, evaluation left out.
    pub seconds: f64,
    /// Which implementation: an engine of ours, or `paper`.
    pub engine: String,
    /// Share of the time in copies of batches, where they are copied.
    pub transfer_share: Option<f64>,
}

/// A training.
#[derive(Clone, Debug, Default)]
pub struct Trained {
    /// What it comes to.
    pub outcome: Outcome,
    /// What is a time.
    pub times: Times,
}

impl Trained {
    /// Seconds of the training, if it came to its end.
    pub fn seconds(&self) -> Option<f64> {
        self.outcome.diverged.is_none().then_some(self.times.seconds)
    }

    /// Seconds of an epoch.
    pub fn epoch_s(&self) -> Option<f64> {
        Some(self.seconds()? / self.outcome.losses.len() as f64)
    }

    /// Share of the time in copies.
    pub fn transfer_share(&self) -> Option<f64> {
        self.times.transfer_share
    }
}

/// What a training is called in the journal.
pub fn key(way: Way, options: &Options, number: u32) -> String {
    let Options {
        hidden,
        batch,
        epochs,
        learning_rate,
        reduction,
        init,
        seed,
        stream,
        evaluate_batch,
        read_every,
        forms,
    } = options;
    let mut key = format!(
        "{}: hidden {hidden:?}, batch {batch}, rate {learning_rate}, {reduction}, {epochs} epochs, {init}, seed {seed}, {stream}, evaluated {evaluate_batch}",
        way.name()
    );
    if way == Way::Published {
        let Forms { block, tile, matmul, column_sums, softmax, accumulate, loss, divide } = forms;
        key += &format!(
            ", {block} {tile} {matmul} {column_sums} {softmax} {accumulate} {loss} {divide}, read every {read_every}"
        );
    }
    if number > 1 {
        key += &format!(", number {number}");
    }
    key
}

/// Trains.
///
/// # Errors
/// [`Stop::Interrupted`] if the watcher ends it; errors of the device. A loss that is not finite is none: the outcome says so.
pub fn trained<E>(
    way: Way,
    options: &Options,
    train: &Arc<Dataset>,
    test: &Arc<Dataset>,
    now: &mut Measurement<'_, E>,
) -> Result<(Outcome, Times), Stop> {
    let device = if way.has_kernels() { now.device.clone() } else { Device::cpu() };
    let stopped = Cell::new(false);
    // Before the evaluations, which take longer than who wants an end waits.
    let ended = |end: warpplay::Result<()>| if stopped.get() { Err(Stop::Interrupted) } else { Ok(end) };
    let mut watch = |_: &warpplay::Progress<EpochReport>| {
        let answer = now.go_on();
        stopped.set(stopped.get() | answer.is_break());
        answer
    };
    let (engine, epochs, end, of_train, of_test) = if way == Way::Published {
        let mut program = Program::new(&device, train, options)?;
        let end = ended(program.run(Some(test), &mut watch).map(|_| ()))?;
        let epochs = program.position().epochs.clone();
        ("paper".to_string(), epochs, end, program.evaluate(train)?, program.evaluate(test)?)
    } else {
        let threads = (way == Way::Cpu).then_some(1);
        let options = ours(options, way);
        let mut trainer = Trainer::builder(train).options(options).test(test).threads(threads).build(&device)?;
        let end = ended(trainer.run(&mut watch).map(|_| ()))?;
        let (engine, epochs) = (trainer.engine().to_string(), trainer.epochs().to_vec());
        (engine, epochs, end, trainer.evaluate(train)?, trainer.evaluate(test)?)
    };
    let diverged = match end {
        Ok(()) => None,
        Err(Error::Diverged { epoch, step, .. }) => Some(format!("loss not finite in epoch {epoch}, step {step}")),
        Err(error) => return Err(error.into()),
    };
    let shares: Vec<f64> = epochs.iter().filter_map(|epoch| epoch.transfer_share).collect();
    let answers = (0..of_test.confusion.len()).map(|class| of_test.confusion.iter().map(|row| row[class]).sum());
    let outcome = Outcome {
        losses: epochs.iter().map(|epoch| epoch.loss).collect(),
        accuracies: epochs.iter().filter_map(|epoch| epoch.test_accuracy).collect(),
        dead_units: of_train.dead_units_by_layer.iter().sum(),
        units: options.hidden.iter().map(|&units| u64::from(units)).sum(),
        answers: answers.collect(),
        diverged,
    };
    let times = Times {
        seconds: epochs.iter().map(|epoch| epoch.seconds).sum(),
        engine,
        transfer_share: (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64),
    };
    Ok((outcome, times))
}

/// The same options for an engine of ours.
fn ours(options: &Options, way: Way) -> mlp::Options {
    mlp::Options {
        hidden: options.hidden.clone(),
        batch: options.batch,
        epochs: options.epochs,
        learning_rate: options.learning_rate,
        reduction: options.reduction,
        init: options.init,
        seed: options.seed.into(),
        stream: options.stream,
        evaluate_batch: options.evaluate_batch,
        precision: if way == Way::CpuDouble { Precision::F64 } else { Precision::F32 },
        ..mlp::Options::default()
    }
}

/// A network after one epoch, by the fastest way there is: what is evaluated.
pub fn network(device: &Device, options: &Options, train: &Arc<Dataset>) -> Result<Network> {
    let options = mlp::Options { epochs: 1, ..ours(options, Way::Fast) };
    let mut trainer = Trainer::builder(train).options(options).build(device)?;
    trainer.run(warpplay::Progress::go_on)?;
    trainer.network()
}

/// Evaluates a network `n` times, `batch` samples at once.
pub fn evaluations(
    way: Way,
    device: &Device,
    network: &Network,
    batch: u32,
    test: &Arc<Dataset>,
    n: usize,
) -> Result<Vec<Evaluation>> {
    if way == Way::Published {
        let options = Options { evaluate_batch: batch, forms: Forms::published(), ..Options::default() };
        let mut program = Program::classifier(device, network, &options)?;
        return (0..n).map(|_| program.evaluate(test)).collect();
    }
    let threads = (way == Way::Cpu).then_some(1);
    let mut classifier = Classifier::builder(network).evaluate_batch(batch).threads(threads).build(device)?;
    (0..n).map(|_| classifier.evaluate(test)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of 10,000 images and two epochs.
    fn outcome() -> Outcome {
        Outcome {
            losses: vec![0.8, 0.4],
            accuracies: vec![0.9, 0.92],
            dead_units: 3,
            units: 256,
            answers: vec![1000; 10],
            diverged: None,
        }
    }

    #[test]
    fn another_order_of_additions_is_told_from_another_training() {
        let recorded = outcome();
        let with = |change: fn(&mut Outcome)| {
            let mut other = outcome();
            change(&mut other);
            other
        };
        let alike: [fn(&mut Outcome); 4] = [
            |_| (),
            |other| other.losses[1] *= 1.0005,
            |other| other.accuracies[1] += 10.0 / 10_000.0,
            |other| other.dead_units += 1,
        ];
        let different: [fn(&mut Outcome); 6] = [
            |other| other.losses[1] *= 1.002,
            |other| other.losses.truncate(1),
            |other| other.accuracies[0] += 11.0 / 10_000.0,
            |other| other.answers[4] += 11,
            |other| other.dead_units += 2,
            |other| other.diverged = Some("in epoch 2".into()),
        ];
        assert!(alike.into_iter().all(|change| recorded.agrees(&with(change), 0.1)));
        for (at, change) in different.into_iter().enumerate() {
            assert!(!recorded.agrees(&with(change), 0.1), "{at}");
        }
        // Where rounding is amplified, an accuracy within a point is the same and a collapse is not.
        let summed = 0.64;
        assert!(recorded.agrees(&with(|other| other.accuracies[1] = 0.915), summed));
        assert!(!recorded.agrees(&with(|other| other.accuracies[1] = 0.90), summed));
        assert!(!recorded.agrees(&with(|other| other.accuracies[1] = 0.1028), summed));
        let collapsed = with(|other| other.accuracies[1] = 0.1028);
        assert!(collapsed.agrees(&with(|other| other.accuracies[1] = 0.0982), 6.4));
    }
}
