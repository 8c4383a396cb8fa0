//! Trainings on the different ways to train, each done once.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::Result;
use indicatif::ProgressBar;
use serde::Serialize;
use warpplay::mlp::{Dataset, Execution, Network, Options, StoppedBy, TrainEvent, Trainer};
use warpplay::{Backend, Device, Error};

use super::published::Figures;
use crate::common;
use crate::mlp::args::ExperimentsArgs;
use crate::mlp::check;

/// Samples of `--quick`.
const QUICK_TRAIN: usize = 2048;
const QUICK_TEST: usize = 512;

/// Who trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The plain program, one thread.
    Cpu,
    /// The plain program, all cores: the same result sooner.
    CpuAll,
    /// The source's kernels.
    Paper,
    /// Our fastest kernels for the shape.
    Fast,
}

/// What a training gave.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub way: Way,
    pub device: String,
    pub execution: Execution,
    /// Of all epochs, evaluation left out.
    pub seconds: f64,
    /// Mean loss of each epoch.
    pub losses: Vec<f64>,
    /// Share of the test set that is right, after each epoch.
    pub accuracies: Vec<f64>,
    pub dead_units: u64,
    /// Where a loss was not finite.
    pub diverged: Option<String>,
    /// Share of time in copies, where batches are copied.
    pub transfer_share: Option<f64>,
    pub options: Options,
    #[serde(skip)]
    pub network: Network,
}

impl Run {
    /// At the end; `None` where not one epoch was finished.
    pub fn accuracy(&self) -> Option<f64> {
        self.accuracies.last().copied()
    }

    /// Loss of the last epoch.
    pub fn loss(&self) -> Option<f64> {
        self.losses.last().copied()
    }

    /// Seconds of the training, if it came to its end.
    pub fn whole_seconds(&self) -> Option<f64> {
        self.diverged.is_none().then_some(self.seconds)
    }
}

/// Data, devices, and the trainings so far.
pub struct Lab<'a> {
    pub args: &'a ExperimentsArgs,
    pub train: Arc<Dataset>,
    pub test: Arc<Dataset>,
    pub epochs: u32,
    /// What kernels run on, if there is something.
    pub kernels: Option<Device>,
    runs: HashMap<String, Run>,
    left_out: BTreeSet<String>,
    stopped: bool,
}

impl<'a> Lab<'a> {
    pub fn new(args: &'a ExperimentsArgs) -> Result<Self> {
        let device = Device::parse(&args.device.device)?;
        let (mut train, mut test) = args.data.load()?;
        if args.quick {
            train = first(&train, QUICK_TRAIN)?;
            test = first(&test, QUICK_TEST)?;
        }
        let kernels = (device.backend() != Backend::Cpu).then_some(device);
        let epochs = args.epochs.unwrap_or(if args.quick { 1 } else { Figures::default().epochs });
        let runs = HashMap::new();
        Ok(Self { args, train, test, epochs, kernels, runs, left_out: BTreeSet::new(), stopped: false })
    }

    /// The options that every experiment starts from: the source's.
    pub fn base(&self) -> Options {
        Options { epochs: self.epochs, ..Options::default() }
    }

    /// What is compared with what.
    pub fn head(&self) -> String {
        let figures = Figures::default();
        format!(
            "data       {}, {} training and {} test samples, {} epochs\nkernels    {}\n\
             published  {} epochs on a {}: GPU {} s and {:.2} %, CPU {} s and {:.2} %, {}x\n",
            self.train.source(),
            self.train.len(),
            self.test.len(),
            self.epochs,
            self.kernels.as_ref().map_or("none: no GPU, no --device simt".to_string(), |device| {
                format!("on {} ({})", device.backend(), device.name())
            }),
            figures.epochs,
            figures.device,
            figures.gpu_seconds,
            100.0 * figures.gpu_accuracy,
            figures.cpu_seconds,
            100.0 * figures.cpu_accuracy,
            figures.speed_up,
        )
    }

    /// Whether Ctrl-C has ended the work.
    pub fn stopped(&self) -> bool {
        self.stopped || common::interrupted()
    }

    /// Notes that something could not be run.
    pub fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.insert(format!("{what}: {why}"));
    }

    pub fn left_out(&self) -> Vec<String> {
        self.left_out.iter().cloned().collect()
    }

    /// The device of the kernels; what needs it is noted where there is none.
    pub fn kernels_for(&mut self, what: &str) -> Option<Device> {
        if self.kernels.is_none() {
            self.leave_out(what, "runs kernels, and there is no GPU");
        }
        self.kernels.clone()
    }

    /// A training, done now or before; `None` where it cannot be run or was stopped.
    pub fn run(&mut self, way: Way, options: &Options) -> Result<Option<Run>> {
        self.run_number(way, options, 0)
    }

    /// The same training once more for each number.
    pub fn run_number(&mut self, way: Way, options: &Options, number: u32) -> Result<Option<Run>> {
        let key = |way: Way| Ok::<_, anyhow::Error>(format!("{way:?} {number} {}", serde_json::to_string(options)?));
        if let Some(run) = self.runs.get(&key(way)?) {
            return Ok(Some(run.clone()));
        }
        // The result of the CPU does not depend on the number of threads, only its time does.
        if way == Way::CpuAll
            && let Some(run) = self.runs.get(&key(Way::Cpu)?)
        {
            return Ok(Some(run.clone()));
        }
        if self.stopped() {
            return Ok(None);
        }
        let run = self.train(way, options)?;
        if let Some(run) = &run {
            self.runs.insert(key(way)?, run.clone());
        }
        Ok(run)
    }

    fn train(&mut self, way: Way, options: &Options) -> Result<Option<Run>> {
        let mut options = options.clone();
        let (device, threads) = match way {
            Way::Cpu => (Device::cpu(), Some(1)),
            Way::CpuAll => (Device::cpu(), None),
            Way::Paper | Way::Fast => {
                let Some(device) = self.kernels_for("trainings of the source's and of our kernels") else {
                    return Ok(None);
                };
                (device, None)
            }
        };
        options.execution = if way == Way::Paper { Execution::Paper } else { Execution::Auto };
        if options.batch as usize > self.train.len() {
            self.leave_out(&format!("batch {}", options.batch), "larger than the training set");
            return Ok(None);
        }
        let mut builder = Trainer::builder().options(options.clone()).test(&self.test);
        if let Some(threads) = threads {
            builder = builder.threads(threads);
        }
        let mut trainer = builder.build(&device, &self.train)?;
        let bar = self.args.output.bar(u64::from(trainer.steps_per_epoch()) * u64::from(options.epochs));
        let label =
            format!("{way:?}, batch {}, hidden {:?}, lr {}", options.batch, options.hidden, options.learning_rate);
        let result = trainer.run(|event| watch(&bar, &label, &event));
        bar.finish_and_clear();
        let (report, diverged) = match result {
            Ok(report) => (report, None),
            Err(Error::Diverged { epoch, step, .. }) => {
                let place = format!("loss not finite at epoch {epoch}, step {step}");
                (trainer.report(StoppedBy::Request)?, Some(place))
            }
            Err(error) => return Err(error.into()),
        };
        if report.stopped_by == StoppedBy::Request && diverged.is_none() {
            self.stopped = true;
            return Ok(None);
        }
        check::training(&report)?;
        let diverged = diverged.or_else(|| check::lost(&report));
        let shares: Vec<f64> = report.epochs.iter().filter_map(|epoch| epoch.transfer_share).collect();
        Ok(Some(Run {
            way,
            device: report.device_name,
            execution: report.execution,
            seconds: report.epochs.iter().map(|epoch| epoch.seconds).sum(),
            losses: report.epochs.iter().map(|epoch| epoch.loss).collect(),
            accuracies: report.epochs.iter().filter_map(|epoch| epoch.test_accuracy).collect(),
            dead_units: report.dead_units,
            diverged,
            transfer_share: (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64),
            options,
            network: trainer.network()?,
        }))
    }
}

fn watch(bar: &ProgressBar, label: &str, event: &TrainEvent<'_>) -> ControlFlow<()> {
    match event {
        TrainEvent::Step { epoch, step, steps, loss } => {
            bar.set_position(u64::from(epoch - 1) * u64::from(*steps) + u64::from(*step));
            bar.set_message(format!("{label}: epoch {epoch}, loss {loss:.4}"));
        }
        TrainEvent::Epoch(report) => {
            bar.set_message(format!("{label}: epoch {}, loss {:.4}", report.epoch, report.loss))
        }
        _ => {}
    }
    if common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The first `n` samples of a set, or all.
fn first(set: &Arc<Dataset>, n: usize) -> Result<Arc<Dataset>> {
    if set.len() <= n {
        return Ok(Arc::clone(set));
    }
    let n_bytes = n * set.n_inputs() as usize;
    let (rows, cols) = set.image_size();
    let source = format!("{}, the first {n}", set.source());
    let first = Dataset::new(
        set.images()[..n_bytes].to_vec(),
        set.labels()[..n].to_vec(),
        rows,
        cols,
        set.n_classes(),
        source,
    )?;
    Ok(Arc::new(first))
}
