//! `reproduce`: the source's learning, its tables and its figures.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::shogi::dataset::Facts;
use warpplay::shogi::material::{Form, Histogram, Material};
use warpplay::shogi::ranks::{self, Ranks, Split};
use warpplay::shogi::records::Skipped;
use warpplay::shogi::{Objective, Row, Shard, Values};
use warpplay::{Backend, Device};

use crate::common::{self, OutputFile, table};
use crate::shogi::args::ReproduceArgs;
use crate::shogi::data::Data;
use crate::shogi::tables::Tables;
use crate::shogi::{chart, check, group, tables};

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 1;

/// First values of the source's two figures.
const FIGURES: [u32; 2] = [3, 5];

/// What is written.
#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    kind: &'static str,
    parents: u64,
    children: u64,
    distinct_vectors: u64,
    /// Share of children with no difference of material to the played move.
    zero_share: f64,
    trajectory: &'a [Row],
    objective: Objective,
    form: Form,
    repeat: u32,
    ranks: usize,
    split: Split,
    /// Of the learning alone.
    seconds: f64,
    /// Of reading the games and finding their children.
    data_seconds: f64,
    /// What it was learnt from, as `inspect` says it.
    games: u64,
    skipped: &'a [Skipped],
    data: &'a Facts,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<&'a Tables>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out: Option<HeldOut>,
    device: String,
    device_name: String,
    program: &'static str,
    version: &'static str,
}

/// The objective on games that were not learnt from.
#[derive(Serialize)]
struct HeldOut {
    parents: u64,
    children: u64,
    /// One for each row of the trajectory.
    j: Vec<f64>,
}

impl HeldOut {
    fn measure(data: &Data, objective: Objective, rows: &[Row]) -> Result<Self> {
        let histogram = Histogram::from_shards(&data.dataset.views());
        let j = |row: &Row| Ok(histogram.evaluate(&objective, &row.values)?.j());
        let j = rows.iter().map(j).collect::<Result<Vec<f64>>>()?;
        Ok(Self { parents: data.facts.parents, children: data.facts.children, j })
    }
}

/// Runs the command.
pub fn run(args: &ReproduceArgs) -> Result<()> {
    args.output.start_log();
    group::join("reproduce", |ranks| in_group(args, ranks))
}

fn in_group(args: &ReproduceArgs, ranks: &dyn Ranks) -> Result<()> {
    // Everything that can be wrong is found before any work is done.
    let objective = args.rule.objective()?;
    let leads = ranks.rank() == 0;
    let held_out = args.held_out.as_deref().map(Path::new).filter(|path| path.exists());
    let read =
        [("--games", args.source.games.as_deref()), ("--data", args.source.data.as_deref()), ("--held-out", held_out)];
    let plots: Vec<PathBuf> = match &args.plots {
        Some(folder) => FIGURES.map(|first| folder.join(format!("init{first}.svg"))).into(),
        None => Vec::new(),
    };
    let written = plots.iter().map(|plot| ("--plots", Some(plot.as_path())));
    let written: Vec<_> = written.chain([("--json", args.output.json.as_deref())]).collect();
    common::expect_apart(&read, &written, &[])?;
    let json = OutputFile::prepare_option(args.output.json.as_deref().filter(|_| leads))?;
    if let Some(folder) = args.plots.as_deref().filter(|_| leads) {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let plots = match leads {
        true => plots.iter().map(|plot| OutputFile::prepare(plot)).collect::<Result<Vec<_>>>()?,
        false => Vec::new(),
    };
    let says = leads && !args.output.quiet;
    let options = format!(
        "{objective:?} {} {} {} {}",
        args.rule.init.map(|value| value.to_string()).join(","),
        args.iterations,
        args.repeat,
        args.split
    );
    ranks::expect_same(ranks, "set of options", &options)?;
    let device = ranks::device(ranks, &args.device.device)?;
    let (data, held_out) = Data::divided(&args.source, args.held_out.as_deref())?;
    ranks::expect_same(ranks, "fingerprint of data", &data.facts.fingerprint)?;
    let shards = data.dataset.views();
    if says {
        data.say_skipped();
        common::print(head(&data, held_out.as_ref(), args, &device, ranks.size()))?;
    }
    let job = Job { args, objective, device: &device };
    let start = Instant::now();
    if says {
        common::print(crate::shogi::table::progress_head())?;
    }
    let (rows, children) = job.learn(ranks, &shards, says)?;
    let seconds = start.elapsed().as_secs_f64();
    check::trajectory(&rows)?;
    let held_out = held_out.map(|data| HeldOut::measure(&data, objective, &rows)).transpose()?;
    if says {
        common::print(end(&rows, children, seconds))?;
        if let Some(HeldOut { j, .. }) = &held_out {
            common::print(format!("held out     J {:.9} at first, {:.9} at the end\n", j[0], j[j.len() - 1]))?;
        }
    }
    let tables = match args.tables {
        true => Some(tables::measure(args, ranks, &data, &device, objective, &rows)?),
        false => None,
    };
    if !leads {
        return Ok(());
    }
    if let (Some(tables), false) = (&tables, args.output.quiet) {
        common::print(tables.text())?;
    }
    for (file, first) in plots.iter().zip(FIGURES) {
        file.write(&figure(first, &shards, objective, args.plot_iterations)?)?;
    }
    if let Some(json) = json {
        let record = Record {
            schema: SCHEMA,
            kind: "reproduce",
            parents: data.facts.parents * u64::from(args.repeat),
            children,
            distinct_vectors: data.facts.distinct_vectors,
            zero_share: data.facts.zero_share,
            trajectory: &rows,
            objective,
            form: args.form,
            repeat: args.repeat,
            ranks: ranks.size(),
            split: args.split,
            seconds,
            data_seconds: data.seconds,
            games: data.facts.distinct_games,
            skipped: &data.facts.origin.skipped,
            data: &data.facts,
            tables: tables.as_ref(),
            held_out,
            device: device.backend().to_string(),
            device_name: device.name(),
            program: "warpplay shogi_learn",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write(&common::to_json_text(&record)?)?;
    }
    Ok(())
}

/// A learning as the command line has it.
struct Job<'a> {
    args: &'a ReproduceArgs,
    objective: Objective,
    device: &'a Device,
}

impl Job<'_> {
    /// All rows, and the children of all ranks.
    fn learn(&self, ranks: &dyn Ranks, shards: &[&Shard], says: bool) -> Result<(Vec<Row>, u64)> {
        let ReproduceArgs { form, threads, repeat, split, rule, iterations, .. } = self.args;
        let build =
            |shards: &[&Shard]| Material::build_repeated(self.device, *form, shards, self.objective, *threads, *repeat);
        let show = |row: &Row| if says { common::print(crate::shogi::table::progress(row)) } else { Ok(()) };
        let children = shards.iter().map(|shard| shard.n_children() as u64).sum::<u64>() * u64::from(*repeat);
        let one_by_one = self.device.backend() == Backend::Cpu || matches!(form, Form::Paper | Form::Paper95);
        if ranks.size() == 1 && !one_by_one {
            // All iterations in one launch.
            let rows = build(shards)?.run(rule.init, *iterations)?;
            rows.iter().try_for_each(show)?;
            return Ok((rows, children));
        }
        // Where an iteration is a launch or more, its line is shown when it is done, and Ctrl-C ends the learning after it.
        let mut shown = Ok(());
        let mut work = ranks::part(ranks, *split, shards, build)?;
        let rows = ranks::reproduce(&mut *work, ranks, *split, &self.objective, &rule.init, *iterations, |row| {
            shown = show(row);
            if shown.is_err() || common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        shown.map(|()| (rows, children))
    }
}

/// What is about to be learnt from.
fn head(data: &Data, held_out: Option<&Data>, args: &ReproduceArgs, device: &Device, ranks: usize) -> String {
    let shared =
        if ranks > 1 { format!(", {ranks} ranks, each with a share of the {}", args.split) } else { String::new() };
    let held_out = held_out.map(|held_out| held_out.held_out_text(data)).unwrap_or_default();
    data.text() + &held_out + &format!("form         {} on {device}, {}{shared}\n\n", args.form, device.name())
}

fn end(rows: &[Row], children: u64, seconds: f64) -> String {
    let evaluations = children as f64 * 13.0 * rows.len() as f64;
    format!(
        "\n{} in {}, {} evaluations of positions a second\n",
        table::count(rows.len() as u64 - 1, "update"),
        table::seconds(seconds),
        table::thousands((evaluations / seconds.max(1e-9)) as u64)
    )
}

/// One of the source's figures, from `first` for all values.
fn figure(first: u32, shards: &[&Shard], objective: Objective, iterations: u32) -> Result<String> {
    let init: Values = [first.into(); 12];
    let rows = Material::build(&Device::cpu(), Form::Histogram, shards, objective, 0)?.run(init, iterations)?;
    chart::convergence(&format!("values from {first}"), &rows)
}
