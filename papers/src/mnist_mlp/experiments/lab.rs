//! Trainings in the different ways, each done once and kept in the run's journal.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use warpplay::mlp::{Dataset, Reduction};
use warpplay::{Backend, Result};

use super::training::{Outcome, Times, Trained, Way, key, trained};
use crate::experiment::{Run, Sheet, Stop};
use crate::mnist_mlp::{Forms, Options, published};

/// Sizes of a quick run.
struct Quick {
    train: usize,
    test: usize,
    /// What the paper's hidden units are divided by.
    hidden: u32,
}

/// The largest batch twice.
const QUICK: Quick = Quick { train: 512, test: 128, hidden: 16 };
/// The largest batch once: `simt` plays every thread.
const QUICK_SIMT: Quick = Quick { train: 256, test: 64, hidden: 32 };

/// A training in the journal.
type Record = (Outcome, Times);

/// What all items work with.
pub struct Lab<'a, 'r> {
    /// The run: journal, device, size.
    pub run: &'a mut Run<'r>,
    /// Training set.
    pub train: Arc<Dataset>,
    /// Test set.
    pub test: Arc<Dataset>,
    /// Trainings of each form whose spread is asked for.
    pub repeats: u32,
    epochs: Option<u32>,
    left_out: BTreeSet<String>,
    /// Whether the item took sizes or data, which are small in a quick run.
    used: Cell<bool>,
}

impl<'a, 'r> Lab<'a, 'r> {
    /// A laboratory with these sets, epochs where they are not the paper's, and trainings of a form.
    pub fn new(
        [mut train, mut test]: [Arc<Dataset>; 2],
        mut epochs: Option<u32>,
        repeats: u32,
        run: &'a mut Run<'r>,
    ) -> Result<Self> {
        if run.quick() {
            let quick = quick(run);
            (train, test) = (first(&train, quick.train)?, first(&test, quick.test)?);
            epochs = epochs.or(Some(1));
        }
        Ok(Self { run, train, test, repeats, epochs, left_out: BTreeSet::new(), used: Cell::new(false) })
    }

    /// The options of the tables of sections 2.6 and 2.7, in the published forms.
    pub fn base(&self) -> Options {
        self.used.set(true);
        Options {
            hidden: vec![self.hidden(published::SIZES[1])],
            epochs: self.epochs.unwrap_or(published::EPOCHS),
            batch: published::BATCH,
            learning_rate: published::LEARNING_RATE,
            forms: Forms::published(),
            ..Options::default()
        }
    }

    /// Those of the main experiment, section 2.5.
    pub fn main(&self) -> Options {
        Options { epochs: self.epochs.unwrap_or(published::main_run::EPOCHS), ..self.base() }
    }

    /// As many hidden units as the paper, fewer in a quick run.
    pub fn hidden(&self, published: u32) -> u32 {
        if self.run.quick() { published / quick(self.run).hidden } else { published }
    }

    /// Widths of a network with these options.
    pub fn sizes(&self, options: &Options) -> Vec<u32> {
        options.sizes(self.train.n_inputs(), self.train.n_classes())
    }

    /// Whether the data is MNIST in its full size and the epochs are the paper's, so that its figures can be compared with ours.
    pub fn comparable(&self) -> bool {
        let sizes = (self.train.len(), self.test.len());
        !self.run.quick()
            && self.epochs.is_none()
            && sizes == (published::TRAIN_SAMPLES as usize, published::TEST_SAMPLES as usize)
            && class_counts(&self.test)[..] == published::TEST_CLASSES[..]
    }

    /// Notes that something could not be run.
    pub fn leave_out(&mut self, what: impl Into<String>) {
        self.left_out.insert(what.into());
    }

    /// The sheet with what was left out, and what its sizes are where they are not the paper's.
    pub fn finish(self, mut sheet: Sheet) -> Sheet {
        if !self.used.get() {
            // Nothing here depends on data or sizes.
        } else if self.run.quick() {
            sheet = sheet.note(format!(
                "small sizes: {} training samples, hidden units divided by {}, {}: shows that everything runs, and is not to be compared",
                self.train.len(),
                quick(self.run).hidden,
                epochs(self.epochs.unwrap_or(1))
            ));
        } else if !self.comparable() {
            sheet = sheet.note(format!(
                "data {}, {} training and {} test samples: published accuracies are of MNIST and the paper's epochs",
                self.train.source(),
                self.train.len(),
                self.test.len()
            ));
        }
        self.left_out.into_iter().fold(sheet, Sheet::left_out)
    }

    /// Whether there is something that runs kernels; what needs it is noted where there is nothing.
    pub fn has_kernels(&mut self, what: &str) -> bool {
        let there = self.run.device().backend() != Backend::Cpu;
        if !there {
            self.leave_out(format!("{what}: needs kernels, and --device is cpu"));
        }
        there
    }

    /// A training; `None` where it cannot be run.
    pub fn train(&mut self, way: Way, options: &Options) -> Result<Option<Trained>, Stop> {
        self.train_number(way, options, 1)
    }

    /// The same training once more for each number from 1 on.
    pub fn train_number(&mut self, way: Way, options: &Options, number: u32) -> Result<Option<Trained>, Stop> {
        if way.has_kernels() && !self.has_kernels("trainings by the paper's and by our kernels") {
            return Ok(None);
        }
        if options.batch as usize > self.train.len() {
            self.leave_out(format!("batch {}: larger than the training set", options.batch));
            return Ok(None);
        }
        let (train, test) = (Arc::clone(&self.train), Arc::clone(&self.test));
        let key = key(way, options, number);
        let (outcome, times) = if way == Way::Published && !options.forms.is_exact() {
            // Atomic additions come in any order, so a replay may find other last bits, and finds other times.
            let samples = if options.reduction == Reduction::Sum { f64::from(options.batch) } else { 1.0 };
            let rate = samples * options.learning_rate;
            let same = |recorded: &Record, now: &Record| recorded.0.agrees(&now.0, rate);
            self.run.near(&key, |now| trained(way, options, &train, &test, now), same)?
        } else {
            self.run.both(&key, |now| trained(way, options, &train, &test, now))?
        };
        Ok(Some(Trained { outcome, times }))
    }

    /// A training that was made before; nothing is trained.
    pub fn known(&mut self, way: Way, options: &Options) -> Result<Option<Trained>, Stop> {
        if self.run.journal().get(&key(way, options, 1)).is_none() {
            return Ok(None);
        }
        self.train(way, options)
    }

    /// The CPU program of the paper: one thread, gradients summed.
    pub fn cpu_program(&mut self, options: &Options) -> Result<Option<Trained>, Stop> {
        self.train(Way::Cpu, &Options { reduction: Reduction::Sum, ..options.clone() })
    }
}

fn quick(run: &Run<'_>) -> &'static Quick {
    if run.device().backend() == Backend::Simt { &QUICK_SIMT } else { &QUICK }
}

/// So many epochs, in words.
pub fn epochs(n: u32) -> String {
    if n == 1 { "1 epoch".into() } else { format!("{n} epochs") }
}

/// Samples of each class.
pub fn class_counts(set: &Dataset) -> Vec<u32> {
    let mut counts = vec![0; set.n_classes() as usize];
    for &label in set.labels() {
        counts[usize::from(label)] += 1;
    }
    counts
}

/// The first `n` samples of a set, or all.
fn first(set: &Arc<Dataset>, n: usize) -> Result<Arc<Dataset>> {
    set.expect_fits(&[set.n_inputs(), set.n_classes()])?;
    if set.len() <= n {
        return Ok(Arc::clone(set));
    }
    let n_bytes = n * set.n_inputs() as usize;
    let (rows, cols) = set.image_size();
    let source = format!("{}, the first {n}", set.source());
    let (images, labels) = (set.images()[..n_bytes].to_vec(), set.labels()[..n].to_vec());
    Ok(Arc::new(Dataset::new(images, labels, rows, cols, set.n_classes(), source)?))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use serde_json::json;
    use warpplay::Device;

    use super::*;
    use crate::experiment::{self, Header, Journal, Step};

    /// A small training by the published kernels, measured or replayed; with its key and its record.
    fn published(replayed: Option<(&str, &Record)>) -> Result<(Trained, String, Record), Stop> {
        let sets = [Arc::new(Dataset::drawn_digits(1, 40)?), Arc::new(Dataset::drawn_digits(2, 20)?)];
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let mut run = Run::new(Device::simt(), true, Journal::in_memory(), &mut watch);
        if let Some((key, record)) = replayed {
            let near = serde_json::to_value(record).expect("JSON");
            let mut journal = Journal::in_memory();
            journal.insert(key, experiment::Record { near, ..experiment::Record::default() })?;
            let header = Header::new("mnist_mlp", json!({}), &Device::simt(), true);
            run = run.replay(journal, &header)?;
        }
        let mut lab = Lab::new(sets, None, 1, &mut run)?;
        let options = Options { batch: 16, ..lab.base() };
        let trained = lab.train(Way::Published, &options)?.expect("simt runs kernels");
        let key = key(Way::Published, &options, 1);
        let record = run.journal().get(&key).expect("was kept").near.clone();
        Ok((trained, key, serde_json::from_value(record).expect("a training")))
    }

    #[test]
    fn a_replay_compares_what_trainings_with_atomic_additions_come_to() -> Result<(), Stop> {
        let (_, key, recorded) = published(None)?;
        // Within the bound the record stands, with its times.
        let mut rounded = recorded.clone();
        rounded.0.losses[0] *= 1.0 + 1e-5;
        rounded.1.seconds = 1234.5;
        let (replayed, ..) = published(Some((key.as_str(), &rounded)))?;
        assert_eq!((replayed.outcome, replayed.times), rounded);
        let mut other_loss = recorded.clone();
        other_loss.0.losses[0] *= 1.01;
        let mut other_accuracy = recorded;
        other_accuracy.0.accuracies[0] += 2.0 / 20.0;
        for other in [other_loss, other_accuracy] {
            let found = published(Some((key.as_str(), &other)));
            assert!(matches!(found, Err(Stop::Differs { .. })), "{:?}", found.map(|(trained, ..)| trained));
        }
        Ok(())
    }
}
