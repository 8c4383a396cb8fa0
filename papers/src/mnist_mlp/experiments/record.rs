//! Tables as data, and the text of their cells.

use serde::Serialize;
use warpplay::mlp::Network;

use crate::mnist_mlp::Options;

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

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// Its short name, as of a file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Heads of the columns.
    pub head: Vec<&'static str>,
    /// Its cells.
    pub rows: Vec<Vec<String>>,
    /// The parameter that is varied, where there is one.
    pub parameter: Option<&'static str>,
    /// The trainings behind the rows.
    pub runs: Vec<Setting>,
    /// Values that are no trainings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<serde_json::Value>,
    /// What follows from it.
    pub notes: Vec<String>,
}

/// A training of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The row.
    pub label: String,
    /// The parameter's value, where there is one.
    pub value: Option<f64>,
    /// The training.
    #[serde(flatten)]
    pub run: Run,
}

impl Table {
    pub(super) fn new(name: &str, title: impl Into<String>, head: &[&'static str]) -> Self {
        Self { name: name.to_string(), title: title.into(), head: head.to_vec(), ..Self::default() }
    }
}

/// Seconds with four digits that count.
pub(super) fn seconds(value: f64) -> String {
    let digits = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

/// `-` where there is nothing.
pub(super) fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or("-".to_string(), text)
}

/// A share in per cent; `-` where there is none.
pub(super) fn percent(share: Option<f64>) -> String {
    or_dash(share, |share| format!("{:.2} %", 100.0 * share))
}

/// A count with commas.
pub(super) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
