//! `warpplay demo`: a small job of every family, on the GPU or on the CPU, and a page that shows them.
//!
//! ```text
//! warpplay demo
//! warpplay demo --out DIR --device cpu
//! ```
//!
//! It reads no files and needs no network: data are drawn, played, or part of the program, and the page says which. A good result, on two cores without a GPU in half a
//! minute: the parallel search wins most of its games, nine in ten drawn digits are read, the objective of shogi falls, the loss of the policy too, and NashConv
//! comes below a hundredth of a chip.

#[cfg(feature = "azero")]
mod azero;
#[cfg(feature = "cfr")]
mod cfr;
#[cfg(feature = "mcts")]
mod mcts;
#[cfg(feature = "mlp")]
mod mlp;
mod page;
mod part;
#[cfg(feature = "shogi")]
mod shogi;
mod text;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::common::{self, DeviceFlag, OutputFile, OutputFlags, Record};
use part::{Part, Task};

/// The page's name in the folder.
const PAGE: &str = "demo.html";
/// Units of the progress bar of a family.
const BAR_UNITS: f64 = 1000.0;

/// A family's name, and what runs its job; none where Ctrl-C ended it.
type Job = (&'static str, fn(&Task<'_>) -> Result<Option<Part>>);

/// The families of this program.
const JOBS: &[Job] = &[
    #[cfg(feature = "mcts")]
    ("mcts", mcts::run),
    #[cfg(feature = "azero")]
    ("azero", azero::run),
    #[cfg(feature = "mlp")]
    ("mlp", mlp::run),
    #[cfg(feature = "shogi")]
    ("shogi", shogi::run),
    #[cfg(feature = "cfr")]
    ("cfr", cfr::run),
];

/// Flags of the command.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The folder of the page, demo.html; made if it is missing
    #[arg(long, value_name = "DIR", default_value = "warpplay-demo")]
    pub out: PathBuf,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    page: String,
    device: String,
    device_name: String,
    seconds: f64,
    /// `false` where Ctrl-C ended it before all families had run.
    complete: bool,
    parts: &'a [Part],
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.output.start_log();
    let page = args.out.join(PAGE);
    common::expect_apart(&[], &[("--out", Some(&page)), ("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let device = args.device.open()?;
    fs::create_dir_all(&args.out).with_context(|| format!("{}: the folder cannot be made", args.out.display()))?;
    let file = OutputFile::prepare(&page)?;
    let begun = Instant::now();
    args.output.print(format!("warpplay {} on {} ({})\n", env!("CARGO_PKG_VERSION"), device, device.name()))?;
    let bar = args.output.bar(BAR_UNITS as u64 * JOBS.len() as u64);
    let mut parts = Vec::new();
    // A reader of stdout that goes away does not cost the page.
    let mut shown = Ok(());
    for (number, (family, job)) in JOBS.iter().enumerate() {
        if common::interrupted() {
            break;
        }
        bar.set_message(*family);
        let show = |share: f64| bar.set_position((BAR_UNITS * (number as f64 + share)) as u64);
        let task = Task { device: &device, show: &show, begun: Instant::now() };
        let part = job(&task).with_context(|| format!("{family}: see `warpplay doctor`"))?;
        let Some(part) = part else { break };
        if shown.is_ok() {
            shown = bar.suspend(|| args.output.print(text::part(&part)));
        }
        parts.push(part);
    }
    bar.finish_and_clear();
    if parts.is_empty() && common::interrupted() {
        // A page that is there stays.
        common::end_without_results();
    }
    let complete = parts.len() == JOBS.len();
    let seconds = begun.elapsed().as_secs_f64();
    file.write(&page::html(&parts, JOBS.len(), &device, seconds))?;
    if let Some(json) = json {
        let facts = Facts {
            page: page.display().to_string(),
            device: device.backend().to_string(),
            device_name: device.name(),
            seconds,
            complete,
            parts: &parts,
        };
        json.write_json(&Record::new("demo", facts))?;
    }
    shown?;
    args.output.print(text::end(parts.len(), JOBS.len(), seconds, &page))
}
