//! What the sections share: device, data, timed trainings.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use warpplay::mlp::{Dataset, Engine, Options, Trainer};
use warpplay::{Backend, Device, Error, Result};

use crate::output::{Output, number};
use crate::peers::Peer;

pub struct Bench {
    pub device: Device,
    pub seconds: f64,
    pub quick: bool,
    pub output: Output,
    pub train: Arc<Dataset>,
    pub test: Arc<Dataset>,
    pub peers: Vec<Peer>,
}

/// Smallest and median of repeated times, in seconds.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Times {
    pub min: f64,
    pub median: f64,
    pub n: usize,
}

impl Times {
    /// `None` without values.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let median = (values.get(n.checked_sub(1)? / 2)? + values.get(n / 2)?) / 2.0;
        Some(Self { min: values[0], median, n })
    }

    /// Both and their number, in `unit` seconds.
    pub fn cells(&self, unit: f64) -> [String; 3] {
        [number(self.min / unit), number(self.median / unit), self.n.to_string()]
    }
}

/// Epochs of one training, the first left out.
pub struct Trained {
    pub epochs: Times,
    /// Training and evaluation of the test set together; the same as `epochs` without a test set.
    pub with_test: Times,
    pub transfer_share: Option<f64>,
    pub engine: Engine,
}

/// Ends a training when its epochs behind the first have taken so many seconds; told each time whether an epoch has ended.
pub fn stopwatch(seconds: f64) -> impl FnMut(bool) -> ControlFlow<()> {
    let mut start: Option<Instant> = None;
    move |has_epoch| match start {
        _ if !has_epoch => ControlFlow::Continue(()),
        None => {
            start = Some(Instant::now());
            ControlFlow::Continue(())
        }
        Some(start) if start.elapsed().as_secs_f64() >= seconds => ControlFlow::Break(()),
        Some(_) => ControlFlow::Continue(()),
    }
}

impl Bench {
    /// The options of the paper, smaller where kernels are played on the CPU.
    pub fn options(&self, batch: u32) -> Options {
        let hidden = vec![if self.device.backend() == Backend::Simt { 32 } else { 256 }];
        Options { hidden, batch: batch.min(self.train.len() as u32), epochs: 1_000_000, ..Options::default() }
    }

    /// Trains for `seconds`, at least two epochs, of which the first is not timed: it captures graphs and brings up the clocks.
    pub fn train(&self, device: &Device, options: &Options, threads: Option<usize>, test: bool) -> Result<Trained> {
        self.output.progress(&format!("{} {} batch {} on {device}", options.engine, options.precision, options.batch));
        let mut builder = Trainer::builder(&self.train).options(options.clone()).threads(threads);
        if test {
            builder = builder.test(&self.test);
        }
        let mut trainer = builder.build(device)?;
        let mut watch = stopwatch(self.seconds);
        let report = trainer.run(|progress| watch(progress.latest.is_some()))?;
        let timed = report.epochs.get(1..).unwrap_or_default();
        let missing = || Error::option("epochs", report.epochs.len(), "at least 2");
        Ok(Trained {
            epochs: Times::of(timed.iter().map(|e| e.seconds).collect()).ok_or_else(missing)?,
            with_test: Times::of(timed.iter().map(|e| e.seconds + e.evaluation_seconds).collect())
                .ok_or_else(missing)?,
            transfer_share: timed.last().and_then(|e| e.transfer_share),
            engine: report.engine,
        })
    }

    /// The cell of a row without figures: a choice that the device does not offer is no failure.
    pub fn refused(&mut self, error: &Error) -> String {
        match error {
            Error::Option { .. } => format!("not offered: {error}"),
            _ => self.output.failed(error),
        }
    }
}
