//! The paper's learning, run once, with its tables and figures.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use warpplay::Device;
use warpplay::shogi::dataset::Facts;
use warpplay::shogi::material::Engine;
use warpplay::shogi::ranks::{self, Alone, Ranks};
use warpplay::shogi::records::Skipped;
use warpplay::shogi::{Objective, Row, Shard};
use warpplay_papers::experiment::{Item, Journal, Paper as _, Run, Sheet, Step, measure};
use warpplay_papers::shogi_bonanza::experiments::{Repetition, Settings};
use warpplay_papers::shogi_bonanza::published::conditions;
use warpplay_papers::shogi_bonanza::{Options, PaperEngine, Split, learn};

use super::Args;
use crate::common::{self, OutputFile, plot, table};
use crate::shogi::data::{Data, Measured};
use crate::shogi::{chart, check};

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 2;

/// First values of the paper's two figures.
const FIGURES: [u32; 2] = [3, 5];

/// The items of `--tables`.
const TABLES: [&str; 3] = ["table2", "table6", "table7"];

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
    engine: PaperEngine,
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
    tables: Option<&'a [Sheet]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out: Option<Measured>,
    device: String,
    device_name: String,
    program: &'static str,
    version: &'static str,
}

/// Learns once.
///
/// # Errors
/// Those of the library; a file that cannot be written; ranks that disagree.
pub fn run(args: &Args, ranks: &dyn Ranks) -> Result<()> {
    // Everything that can be wrong is found before any work is done.
    let objective = args.rule.objective()?;
    let iterations = args.iterations.unwrap_or(conditions::ITERATIONS);
    let engine = args.engine.unwrap_or(PaperEngine::Warpplay(Engine::Histogram));
    let split = args.split.unwrap_or(Split::Data);
    let leads = ranks.rank() == 0;
    let held_out = args.held_out.path();
    let read = [
        ("--records", args.source.records.as_deref()),
        ("--data", args.source.data.as_deref()),
        ("--held-out", held_out),
    ];
    let plots: Vec<PathBuf> = match &args.items.plots {
        Some(folder) => FIGURES.map(|first| folder.join(format!("init{first}.svg"))).into(),
        None => Vec::new(),
    };
    let written = plots.iter().map(|plot| ("--plots", Some(plot.as_path())));
    let folder = ("--plots", args.items.plots.as_deref());
    let written: Vec<_> = written.chain([folder, ("--json", args.items.output.json.as_deref())]).collect();
    common::expect_apart(&read, &written, &[])?;
    let json = OutputFile::prepare_option(args.items.output.json.as_deref().filter(|_| leads))?;
    if leads {
        args.items.plots_folder()?;
    }
    let plots = match leads {
        true => plots.iter().map(|plot| OutputFile::prepare(plot)).collect::<Result<Vec<_>>>()?,
        false => Vec::new(),
    };
    let says = leads && !args.items.output.quiet;
    let told = format!(
        "{objective:?} {} {} {} {}",
        args.rule.init().map(|value| value.to_string()).join(","),
        iterations,
        args.repeat.repeat,
        split
    );
    ranks::expect_same(ranks, "set of options", &told)?;
    let device = ranks::device(ranks, &args.items.device.device)?;
    let (data, held_out) = Data::divided(&args.source.flags(), args.held_out.held_out.as_ref(), &args.items.output)?;
    ranks::expect_same(ranks, "fingerprint of data", &data.facts.fingerprint)?;
    let shards = data.dataset.views();
    if says {
        data.say_skipped();
        common::print(head(&data, held_out.as_ref(), (engine, split), &device, ranks.size()))?;
    }
    let options = Options {
        engine,
        objective,
        init: args.rule.init(),
        iterations,
        repeat: args.repeat.repeat,
        threads: args.threads.threads,
        split,
    };
    let start = Instant::now();
    if says {
        common::print(crate::shogi::table::progress_head())?;
    }
    let children = shards.iter().map(|shard| shard.n_children() as u64).sum::<u64>() * u64::from(args.repeat.repeat);
    // Where an iteration is a launch or more, its line is shown when it is done. Ctrl-C ends the learning within an iteration.
    let mut shown = Ok(());
    let rows = learn(&device, ranks, &shards, &options, |row| {
        if let Some(row) = row.filter(|_| says && shown.is_ok()) {
            shown = common::print(crate::shogi::table::progress(row));
        }
        let wants_end = shown.is_err() || common::interrupted();
        if wants_end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if rows.is_empty() {
        // Ended within the first: this rank, or another, which says so.
        common::without_results(|| ());
        return shown;
    }
    shown?;
    let seconds = start.elapsed().as_secs_f64();
    check::trajectory(&rows)?;
    let held_out = held_out.map(|data| Measured::measure(&data, objective, &rows)).transpose()?;
    if says {
        common::print(end(&rows, children, seconds))?;
        if let Some(Measured { j, .. }) = &held_out {
            common::print(format!("held out     J {:.9} at first, {:.9} at the end\n", j[0], j[j.len() - 1]))?;
        }
    }
    let tables = match args.tables {
        true => Some(tables(args, iterations, &device, ranks, &shards)?),
        false => None,
    };
    if !leads {
        return Ok(());
    }
    for (file, first) in plots.iter().zip(FIGURES) {
        let iterations = args.plot_iterations.unwrap_or(conditions::FIGURE_ITERATIONS);
        let engine = PaperEngine::Warpplay(Engine::Histogram);
        let options = Options { engine, init: [first.into(); 12], iterations, ..options };
        let rows = learn(&Device::cpu(), &Alone, &shards, &options, |_| common::until_interrupted())?;
        // What was ended is not drawn.
        if rows.last().is_some_and(|row| row.iteration == iterations) {
            let title = format!("Values of the pieces by iteration, from {first}");
            file.write(&plot::svg(&[chart::convergence(title, &rows)]))?;
        }
    }
    if let Some(json) = json {
        let record = Record {
            schema: SCHEMA,
            kind: "reproduce",
            parents: data.facts.parents * u64::from(args.repeat.repeat),
            children,
            distinct_vectors: data.facts.distinct_vectors,
            zero_share: data.facts.zero_share,
            trajectory: &rows,
            objective,
            engine,
            repeat: args.repeat.repeat,
            ranks: ranks.size(),
            split,
            seconds,
            data_seconds: data.seconds,
            games: data.facts.distinct_games,
            skipped: &data.facts.origin.skipped,
            data: &data.facts,
            tables: tables.as_deref(),
            held_out,
            device: device.backend().to_string(),
            device_name: device.name(),
            program: "warpplay papers shogi_bonanza",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write_json(&record)?;
    }
    Ok(())
}

/// The items of `--tables` on the positions that were learnt from, with as many updates; their sheets, which rank 0 has. What Ctrl-C ends is left out.
fn tables(args: &Args, iterations: u32, device: &Device, ranks: &dyn Ranks, shards: &[&Shard]) -> Result<Vec<Sheet>> {
    let paper = Repetition::new(shards.to_vec(), Settings { iterations, ..args.settings()? }, ranks);
    if ranks.rank() > 0 {
        paper.serve()?;
        return Ok(Vec::new());
    }
    let items: Vec<Item> = paper.items().iter().filter(|item| TABLES.contains(&item.name)).copied().collect();
    let mut watch = |_: &Step<'_>| common::until_interrupted();
    let mut shown = Ok(());
    let report = measure(&paper, &items, Run::new(device.clone(), false, Journal::in_memory(), &mut watch), |sheet| {
        if !args.items.output.quiet && shown.is_ok() {
            shown = common::print(sheet);
        }
        ControlFlow::Continue(())
    });
    // The others wait for the next measurement, whatever came of the last.
    paper.dismiss()?;
    let report = report?;
    shown.map(|()| report.sheets)
}

/// What is about to be learnt from.
fn head(
    data: &Data,
    held_out: Option<&Data>,
    (engine, split): (PaperEngine, Split),
    device: &Device,
    ranks: usize,
) -> String {
    let shared = if ranks > 1 { format!(", {ranks} ranks, each with a share of the {split}") } else { String::new() };
    let held_out = held_out.map(|held_out| held_out.held_out_text(data)).unwrap_or_default();
    data.text() + &held_out + &format!("engine       {engine} on {device}, {}{shared}\n\n", device.name())
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
