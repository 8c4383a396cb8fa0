//! The paper's tables beside ours, and what explains its accuracy gap.

mod evaluation;
mod gap;
mod lab;
mod operations;
mod published;
mod record;
mod summary;
mod suspects;
mod transfer;
mod vary;

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;
use warpplay::mlp::{Dataset, EpochReport};
use warpplay::{Device, Progress, Result};

use super::named::named;
use lab::Lab;
pub use lab::{Run, Way};
pub use published::Figures;
pub use record::{Setting, Table};

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 2;

named! {
    /// One experiment.
    Section, "only":
    /// Samples of a batch: 32, 64, 128, 256.
    Batch = "batch",
    /// Threads of a one-dimensional block: 128, 256, 512.
    Block = "block",
    /// Side of a two-dimensional block: 8, 16, 32.
    Tile = "tile",
    /// Hidden units: 128, 256, 512, 1024.
    Hidden = "hidden",
    /// Learning rate: 0.001, 0.01, 0.1.
    Lr = "lr",
    /// Samples evaluated at once: 64, 256, 512.
    Evaluate = "evaluate",
    /// Gradient averaged or summed: where the accuracy gap comes from.
    Gap = "gap",
    /// What the gap does not come from: order and type of sums, form of the softmax.
    Suspects = "suspects",
    /// Work, traffic and share of peak of each launch of a step.
    Operations = "operations",
    /// Plain against tiled product.
    Matmul = "matmul",
    /// Share of time in copies of batches.
    Transfer = "transfer",
}

/// What is to be repeated, and on what.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What kernels run on; with the back end `cpu` only the plain program is run.
    pub device: Device,
    /// Training set.
    pub train: Arc<Dataset>,
    /// Test set.
    pub test: Arc<Dataset>,
    /// Epochs of each training; `None` for the paper's 10, 1 where it is quick.
    pub epochs: Option<u32>,
    /// The first 2048 training and 512 test samples: shows that everything runs.
    pub quick: bool,
    /// Trainings of each form whose spread from run to run is asked for.
    pub repeats: u32,
    /// These experiments; empty for all.
    pub only: Vec<Section>,
}

/// What a caller is told on the way.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Watched<'a> {
    /// What is compared with what, before the first table.
    Head(&'a str),
    /// A training is under way.
    Training {
        /// Which.
        label: &'a str,
        /// How far it is.
        progress: &'a Progress<EpochReport>,
    },
    /// A table is done.
    Table(&'a Table),
}

/// All tables.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// Version of these fields.
    pub schema: u32,
    /// Where the data comes from.
    pub data: String,
    /// Training samples.
    pub n_train: usize,
    /// Test samples.
    pub n_test: usize,
    /// Epochs of each training.
    pub epochs: u32,
    /// Back end of the kernels, where there is one.
    pub device: Option<String>,
    /// Name of that device.
    pub device_name: Option<String>,
    /// What the paper reports.
    pub published: Figures,
    /// The tables.
    pub tables: Vec<Table>,
    /// What could not be run, and why.
    pub left_out: Vec<String>,
    /// Whether the caller ended it early.
    pub interrupted: bool,
    /// Version of the library.
    pub version: &'static str,
}

/// Makes the tables. `watch` is told of every training and every table; if it answers `Break`, the tables hold what was finished.
///
/// # Errors
/// Errors of the device and of the data. A training that diverges is none: its table says so.
pub fn run(plan: &Plan, watch: &mut dyn FnMut(Watched<'_>) -> ControlFlow<()>) -> Result<Record> {
    let mut lab = Lab::new(plan, watch)?;
    let head = lab.head();
    lab.tell(Watched::Head(&head));
    let mut tables = Vec::new();
    for &section in Section::ALL.iter().filter(|section| plan.only.is_empty() || plan.only.contains(section)) {
        if lab.stopped() {
            break;
        }
        for table in of_section(&mut lab, section)? {
            lab.tell(Watched::Table(&table));
            tables.push(table);
        }
    }
    if let Some(table) = summary::table(&tables) {
        lab.tell(Watched::Table(&table));
        tables.push(table);
    }
    Ok(Record {
        schema: SCHEMA,
        data: lab.train.source().to_string(),
        n_train: lab.train.len(),
        n_test: lab.test.len(),
        epochs: lab.epochs,
        device: lab.kernels.as_ref().map(|device| device.backend().to_string()),
        device_name: lab.kernels.as_ref().map(Device::name),
        published: Figures::default(),
        tables,
        left_out: lab.left_out(),
        interrupted: lab.stopped(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn of_section(lab: &mut Lab<'_>, section: Section) -> Result<Vec<Table>> {
    Ok(match section {
        Section::Batch | Section::Block | Section::Tile | Section::Hidden | Section::Lr => {
            vary::table(lab, section)?.into_iter().collect()
        }
        Section::Evaluate => evaluation::table(lab)?.into_iter().collect(),
        Section::Gap => vec![gap::table(lab)?],
        Section::Suspects => vec![suspects::table(lab)?],
        Section::Operations => operations::step(lab)?,
        Section::Matmul => operations::products(lab)?.into_iter().collect(),
        Section::Transfer => transfer::table(lab)?.into_iter().collect(),
    })
}
