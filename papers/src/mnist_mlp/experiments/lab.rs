//! Trainings on the different ways to train, each done once.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;
use warpplay::mlp::{Dataset, EpochReport, Network, Trainer};
use warpplay::{Backend, Device, Error, Precision, Progress, Result, mlp};

use super::published::Figures;
use super::{Plan, Watched};
use crate::mnist_mlp::{Options, Program};

/// Samples of a quick run.
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
    /// The plain program in double precision, all cores.
    CpuDouble,
    /// The published kernels.
    Paper,
    /// Our fastest kernels for the shape.
    Fast,
}

impl Way {
    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU 1 thread",
            Self::CpuAll => "CPU",
            Self::CpuDouble => "CPU f64",
            Self::Paper => "paper's kernels",
            Self::Fast => "ours",
        }
    }
}

/// What a training gave.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Who trained.
    pub way: Way,
    /// Name of the device.
    pub device: String,
    /// Which implementation: an engine of ours, or `paper`.
    pub engine: String,
    /// Of all epochs, evaluation left out.
    pub seconds: f64,
    /// Mean loss of each epoch.
    pub losses: Vec<f64>,
    /// Share of the test set that is right, after each epoch.
    pub accuracies: Vec<f64>,
    /// Hidden units that are 0 on every training sample.
    pub dead_units: u64,
    /// Where a loss was not finite.
    pub diverged: Option<String>,
    /// Share of time in copies, where batches are copied.
    pub transfer_share: Option<f64>,
    /// The options; `forms` are of the published kernels alone.
    pub options: Options,
    /// The network at the end.
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

/// What a training leaves, whoever trained.
struct Trained {
    engine: String,
    device: String,
    epochs: Vec<EpochReport>,
    dead_units: u64,
    network: Network,
    /// How it ended.
    end: Result<()>,
}

/// Data, devices, and the trainings so far.
pub(super) struct Lab<'a> {
    pub plan: &'a Plan,
    pub train: Arc<Dataset>,
    pub test: Arc<Dataset>,
    pub epochs: u32,
    /// What kernels run on, if there is something.
    pub kernels: Option<Device>,
    watch: &'a mut dyn FnMut(Watched<'_>) -> ControlFlow<()>,
    runs: HashMap<String, Run>,
    left_out: BTreeSet<String>,
    stopped: bool,
}

impl<'a> Lab<'a> {
    pub fn new(plan: &'a Plan, watch: &'a mut dyn FnMut(Watched<'_>) -> ControlFlow<()>) -> Result<Self> {
        let (mut train, mut test) = (Arc::clone(&plan.train), Arc::clone(&plan.test));
        if plan.quick {
            train = first(&train, QUICK_TRAIN)?;
            test = first(&test, QUICK_TEST)?;
        }
        let kernels = (plan.device.backend() != Backend::Cpu).then(|| plan.device.clone());
        let epochs = plan.epochs.unwrap_or(if plan.quick { 1 } else { Figures::default().epochs });
        let runs = HashMap::new();
        Ok(Self { plan, train, test, epochs, kernels, watch, runs, left_out: BTreeSet::new(), stopped: false })
    }

    /// The options that every experiment starts from: the paper's.
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

    /// Tells the caller; whether the work goes on.
    pub fn tell(&mut self, what: Watched<'_>) -> bool {
        self.stopped |= (self.watch)(what).is_break();
        !self.stopped
    }

    /// Whether the caller has ended the work.
    pub fn stopped(&self) -> bool {
        self.stopped
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
        // Options are plain data, whose debug text names every field.
        let key = |way: Way| format!("{way:?} {number} {options:?}");
        if let Some(run) = self.runs.get(&key(way)) {
            return Ok(Some(run.clone()));
        }
        // The result of the CPU does not depend on the number of threads, only its time does.
        if way == Way::CpuAll
            && let Some(run) = self.runs.get(&key(Way::Cpu))
        {
            return Ok(Some(run.clone()));
        }
        if self.stopped {
            return Ok(None);
        }
        let run = self.train(way, options)?;
        if let Some(run) = &run {
            self.runs.insert(key(way), run.clone());
        }
        Ok(run)
    }

    fn train(&mut self, way: Way, options: &Options) -> Result<Option<Run>> {
        let device = match way {
            Way::Cpu | Way::CpuAll | Way::CpuDouble => Device::cpu(),
            Way::Paper | Way::Fast => {
                let Some(device) = self.kernels_for("trainings of the paper's and of our kernels") else {
                    return Ok(None);
                };
                device
            }
        };
        if options.batch as usize > self.train.len() {
            self.leave_out(&format!("batch {}", options.batch), "larger than the training set");
            return Ok(None);
        }
        let label =
            format!("{way:?}, batch {}, hidden {:?}, lr {}", options.batch, options.hidden, options.learning_rate);
        let Self { watch, stopped, train, test, .. } = self;
        let mut told = |progress: &Progress<EpochReport>| {
            let answer = watch(Watched::Training { label: &label, progress });
            *stopped |= answer.is_break();
            answer
        };
        let Trained { engine, device, epochs, dead_units, network, end } = match way {
            Way::Paper => by_paper(&device, options, train, test, &mut told)?,
            _ => by_ours(way, &device, options, train, test, &mut told)?,
        };
        let diverged = match end {
            Ok(()) => None,
            Err(Error::Diverged { epoch, step, .. }) => Some(format!("loss not finite at epoch {epoch}, step {step}")),
            Err(error) => return Err(error),
        };
        if self.stopped {
            return Ok(None);
        }
        let shares: Vec<f64> = epochs.iter().filter_map(|epoch| epoch.transfer_share).collect();
        Ok(Some(Run {
            way,
            device,
            engine,
            seconds: epochs.iter().map(|epoch| epoch.seconds).sum(),
            losses: epochs.iter().map(|epoch| epoch.loss).collect(),
            accuracies: epochs.iter().filter_map(|epoch| epoch.test_accuracy).collect(),
            dead_units,
            diverged,
            transfer_share: (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64),
            options: options.clone(),
            network,
        }))
    }
}

/// Asked while a training runs.
type Told<'a> = &'a mut dyn FnMut(&Progress<EpochReport>) -> ControlFlow<()>;

fn by_paper(
    device: &Device,
    options: &Options,
    train: &Arc<Dataset>,
    test: &Arc<Dataset>,
    told: Told<'_>,
) -> Result<Trained> {
    let mut program = Program::new(device, train, options)?;
    let end = program.run(Some(test), told).map(|_| ());
    Ok(Trained {
        engine: "paper".to_string(),
        device: device.name(),
        epochs: program.position().epochs.clone(),
        dead_units: program.evaluate(train)?.dead_units_by_layer.iter().sum(),
        network: program.network()?,
        end,
    })
}

fn by_ours(
    way: Way,
    device: &Device,
    options: &Options,
    train: &Arc<Dataset>,
    test: &Arc<Dataset>,
    told: Told<'_>,
) -> Result<Trained> {
    let options = mlp::Options {
        hidden: options.hidden.clone(),
        batch: options.batch,
        epochs: options.epochs,
        learning_rate: options.learning_rate,
        reduction: options.reduction,
        init: options.init,
        seed: options.seed,
        stream: options.stream,
        evaluate_batch: options.evaluate_batch,
        precision: if way == Way::CpuDouble { Precision::F64 } else { Precision::F32 },
        ..mlp::Options::default()
    };
    let threads = (way == Way::Cpu).then_some(1);
    let mut trainer = Trainer::builder(train).options(options).test(test).threads(threads).build(device)?;
    let end = trainer.run(told).map(|_| ());
    Ok(Trained {
        engine: trainer.engine().to_string(),
        device: device.name(),
        epochs: trainer.epochs().to_vec(),
        dead_units: trainer.evaluate(train)?.dead_units_by_layer.iter().sum(),
        network: trainer.network()?,
        end,
    })
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
