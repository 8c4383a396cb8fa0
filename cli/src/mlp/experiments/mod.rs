//! `experiments`: the tables of the source beside ours, and what explains their accuracy gap.

mod evaluation;
mod gap;
mod lab;
mod operations;
mod plots;
mod published;
mod record;
mod summary;
mod suspects;
mod transfer;
mod vary;

use std::fs;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;

use crate::common::{self, OutputFile};
use crate::mlp::args::ExperimentsArgs;
use lab::Lab;
use record::Table;

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 1;

/// One experiment.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Samples of a batch: 32, 64, 128, 256
    Batch,
    /// Threads of a one-dimensional block: 128, 256, 512
    Block,
    /// Side of a two-dimensional block: 8, 16, 32
    Tile,
    /// Hidden units: 128, 256, 512, 1024
    Hidden,
    /// Learning rate: 0.001, 0.01, 0.1
    Lr,
    /// Samples evaluated at once: 64, 256, 512
    Evaluate,
    /// Gradient averaged or summed: where the accuracy gap comes from
    Gap,
    /// What the gap does not come from: order and type of sums, form of the softmax
    Suspects,
    /// Work, traffic and share of peak of each launch of a step
    Operations,
    /// Plain against tiled product
    Matmul,
    /// Share of time in copies of batches
    Transfer,
}

/// What is written.
#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    data: &'a str,
    n_train: usize,
    n_test: usize,
    epochs: u32,
    device: Option<String>,
    device_name: Option<String>,
    published: published::Figures,
    tables: &'a [Table],
    left_out: &'a [String],
    interrupted: bool,
    program: &'static str,
    version: &'static str,
}

/// Runs the command.
pub fn run(args: &ExperimentsArgs) -> Result<()> {
    args.output.start_log();
    let json = OutputFile::prepare_option(args.output.json.as_deref())?;
    if let Some(folder) = &args.plots {
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    }
    let mut lab = Lab::new(args)?;
    args.data.say_if_drawn(args.output.quiet)?;
    say(args, &lab.head())?;
    let wanted = |section: &Section| args.only.is_empty() || args.only.contains(section);
    let mut tables = Vec::new();
    for section in Section::value_variants().iter().copied().filter(wanted) {
        if lab.stopped() {
            break;
        }
        for table in of_section(&mut lab, section)? {
            say(args, &table.text())?;
            if let Some(folder) = &args.plots {
                plots::draw(folder, &table)?;
            }
            tables.push(table);
        }
    }
    if let Some(table) = summary::table(&tables) {
        say(args, &table.text())?;
        tables.push(table);
    }
    let left_out = lab.left_out();
    for reason in &left_out {
        say(args, &format!("left out: {reason}\n"))?;
    }
    if lab.stopped() {
        say(args, "stopped early: the tables hold what was finished\n")?;
    }
    if let Some(json) = json {
        let record = Record {
            schema: SCHEMA,
            data: lab.train.source(),
            n_train: lab.train.len(),
            n_test: lab.test.len(),
            epochs: lab.epochs,
            device: lab.kernels.as_ref().map(|device| device.backend().to_string()),
            device_name: lab.kernels.as_ref().map(warpplay::Device::name),
            published: published::Figures::default(),
            tables: &tables,
            left_out: &left_out,
            interrupted: lab.stopped(),
            program: "warpplay mlp_mnist",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write(&common::to_json_text(&record)?)?;
    }
    Ok(())
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

fn say(args: &ExperimentsArgs, text: &str) -> Result<()> {
    if args.output.quiet { Ok(()) } else { common::print(text) }
}
