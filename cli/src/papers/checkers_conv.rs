//! `warpplay papers checkers_conv`: the tables and figures of Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference", beside ours.

mod bars;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde::Serialize;
use warpplay::azero::{Network, NetworkShape};
use warpplay::{Backend, Device};
use warpplay_papers::checkers_conv::errors::Row as ErrorRow;
use warpplay_papers::checkers_conv::games::{ACTIONS, Stretch};
use warpplay_papers::checkers_conv::measure::{Level, RUNS};
use warpplay_papers::checkers_conv::mistakes::Row as MistakeRow;
use warpplay_papers::checkers_conv::table::{Row, Table};
use warpplay_papers::checkers_conv::{PUBLISHED_SPEEDUPS, Study, cache};

use crate::common::flags::PlotsFlag;
use crate::common::table::grid;
use crate::common::{DeviceFlag, OutputFile, OutputFlags};
use bars::Bars;

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 1;

/// Three kernels for AlphaZero's convolutions: their times in every form, their errors, what their tests could not see, and games without the bias
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Sections to print [default: all]
    #[arg(value_enum, value_name = "SECTION")]
    sections: Vec<Section>,

    /// The network: a file, or seed:N for the one of a seed
    #[arg(long, value_name = "FILE|seed:N", default_value = "seed:27")]
    weights: String,

    /// Positions of a call in the section times [default: 1,128; 1 with --quick and on simt]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    batch: Vec<usize>,

    /// Games of the section games [default: 1000, or 20 with --quick]
    #[arg(long, value_name = "N")]
    games: Option<usize>,

    /// Few positions and games: a look in seconds
    #[arg(long, alias = "few")]
    quick: bool,

    #[command(flatten)]
    plots: PlotsFlag,
    #[command(flatten)]
    device: DeviceFlag,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// The paper's table: kernel, layer, block and model, by its kernels in every form, by ours and on the CPU
    Times,
    /// Mean and largest error after every block, with the bias and without it
    Errors,
    /// What wrong weights change, with all weights 0.01 and with the network's
    Mistakes,
    /// Games: what leaving the bias out changes from the first to the last action
    Games,
    /// The second-level cache's window over the weights, on and off
    Cache,
}

/// What is written.
#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    kind: &'static str,
    weights: &'a str,
    device: String,
    device_name: String,
    version: &'static str,
    times: Vec<Table>,
    errors: Vec<ErrorRow>,
    mistakes: Vec<MistakeRow>,
    games: Vec<Stretch>,
    cache: Vec<cache::Row>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.output.start_log();
    let json = args.output.json_file()?;
    let device = args.device.open()?;
    let network = Network::from_weights(&args.weights)?;
    let (shape, checkers) = (network.shape(), NetworkShape::default());
    let size = |shape: NetworkShape| (shape.planes, shape.rows, shape.columns, shape.actions);
    ensure!(size(shape) == size(checkers), "{}: no network for checkers", args.weights);
    let few = args.quick || device.backend() == Backend::Simt;
    let batches = match (&args.batch[..], few) {
        ([], true) => vec![1],
        ([], false) => vec![1, 128],
        (given, _) => given.to_vec(),
    };
    batches.iter().try_for_each(|&batch| crate::azero::check_batch(batch))?;
    let games = args.games.unwrap_or(if few { 20 } else { 1000 }).max(1);
    let n = if device.backend() == Backend::Simt { 1 } else { 64 };
    let most = batches.iter().copied().max().unwrap_or(1).max(64);
    let study = Study::new(&device, network, most);
    let mut record = Record {
        schema: SCHEMA,
        kind: "checkers_conv",
        weights: &args.weights,
        device: device.backend().to_string(),
        device_name: device.name(),
        version: env!("CARGO_PKG_VERSION"),
        times: Vec::new(),
        errors: Vec::new(),
        mistakes: Vec::new(),
        games: Vec::new(),
        cache: Vec::new(),
    };
    let wanted = |section| args.sections.is_empty() || args.sections.contains(&section);
    if wanted(Section::Times) {
        let runs = if device.backend() == Backend::Simt { 1 } else { RUNS };
        let bar = args.output.bar(0);
        for batch in batches {
            let table = study.table(batch, runs, |what| bar.set_message(what.to_string()))?;
            bar.suspend(|| args.output.print(times_text(&table)))?;
            record.times.push(table);
        }
        bar.finish_and_clear();
        if let Some(table) = record.times.first() {
            plot(args, &device, table)?;
        }
    }
    if wanted(Section::Errors) {
        if device.backend() == Backend::Cpu {
            args.output.print("\nErrors are left out: the back end cpu runs no kernels\n")?;
        } else {
            record.errors = study.errors(n)?;
            args.output.print(errors_text(&record.errors, n))?;
        }
    }
    if wanted(Section::Mistakes) {
        let n = if few { 8 } else { 64 };
        record.mistakes = study.mistakes(n);
        args.output.print(mistakes_text(&record.mistakes, n))?;
    }
    if wanted(Section::Games) {
        record.games = study.games(games)?;
        args.output.print(games_text(&record.games, games))?;
    }
    if wanted(Section::Cache) {
        for batch in [1, 8, 128] {
            record.cache.extend(study.cache(batch, RUNS)?);
        }
        args.output.print(cache_text(&record.cache))?;
    }
    if let Some(json) = json {
        json.write_json(&record)?;
    }
    Ok(())
}

fn maybe(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_string(), |ratio| format!("{ratio:.2}"))
}

fn times_text(table: &Table) -> String {
    let head =
        ["part", "program", "copies", "first", "mean", "min", "max", "to cpu-ref", "to paper", "error", "verdict"];
    let row = |row: &Row| {
        let mean = row.times.mean();
        let to = |program, copies| maybe(table.mean_of(row, program, copies).map(|other| other / mean));
        let (error, verdict) = match row.errors {
            Some(errors) => {
                (format!("{:.1e}", errors.largest), if errors.within { "within" } else { "not within" }.to_string())
            }
            None => ("-".to_string(), "-".to_string()),
        };
        let us = |us: f64| format!("{us:.1}");
        let copies = if row.copies { "with" } else { "without" }.to_string();
        vec![
            format!("{} {}", row.level, row.part),
            row.program.clone(),
            copies,
            us(row.times.first_us),
            us(mean),
            us(row.times.min()),
            us(row.times.max()),
            to("cpu-ref, 1 thread", false),
            to("paper", row.copies),
            error,
            verdict,
        ]
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(row).collect();
    let mut text =
        format!("\nBatch {}: means of {} runs after the first, us\n{}", table.batch, table.runs, grid(&head, &rows));
    for (what, why) in &table.not_offered {
        text += &format!("{what}: not offered: {why}\n");
    }
    let said: Vec<String> = PUBLISHED_SPEEDUPS.iter().map(|(what, ratio)| format!("{what} {ratio} times")).collect();
    text + &format!(
        "cpu-ref: wall time. Ours, layer and block: by the difference of networks of 8 and 2 blocks.\nThe paper says of its kernels, against the library's: {}.\n",
        said.join(", ")
    )
}

fn errors_text(rows: &[ErrorRow], n: usize) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let verdict = if row.errors.within { "within" } else { "not within" };
            let numbers = [row.errors.mean, row.errors.largest].map(|error| format!("{error:.1e}"));
            let [mean, largest] = numbers;
            vec![row.program.to_string(), row.after.clone(), mean, largest, verdict.to_string()]
        })
        .collect();
    let head = ["program", "after", "mean error", "largest", "verdict"];
    format!("\nErrors after every block against double precision, {n} positions\n{}", grid(&head, &rows))
}

fn mistakes_text(rows: &[MistakeRow], n: usize) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let moved = [row.first_conv, row.torso_conv, row.value, row.policy_logits];
            let names = [row.mistake.to_string(), row.weights.to_string()];
            names.into_iter().chain(moved.map(|moved| format!("{moved:.1e}"))).collect()
        })
        .collect();
    let head = ["mistake in every convolution", "weights", "first conv by", "torso conv by", "value by", "logits by"];
    format!("\nMistakes: largest change over {n} positions\n{}", grid(&head, &rows))
}

fn games_text(stretches: &[Stretch], games: usize) -> String {
    let row = |(at, stretch): (usize, &Stretch)| {
        vec![
            format!("{} to {}", at * ACTIONS, (at + 1) * ACTIONS - 1),
            stretch.positions.to_string(),
            format!("{:.2}", stretch.largest_logit_change),
            format!("{:.3}", stretch.largest_value_change),
            format!("{:.1} %", 100.0 * stretch.other_best_action as f64 / stretch.sampled as f64),
        ]
    };
    let rows: Vec<Vec<String>> = stretches.iter().enumerate().map(row).collect();
    let head = ["actions", "positions", "no bias: logits by", "value by", "other best action"];
    format!("\n{games} games drawn from the policy, without the convolutions' bias\n{}", grid(&head, &rows))
}

fn cache_text(rows: &[cache::Row]) -> String {
    if rows.is_empty() {
        return "\nThe second-level cache is left out: it needs a GPU\n".to_string();
    }
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mb = |bytes: usize| format!("{:.2}", bytes as f64 / 1e6);
            vec![
                row.batch.to_string(),
                format!("{:.1}", row.off_us),
                format!("{:.1}", row.on_us),
                mb(row.window.kept_bytes),
                mb(row.window.window_bytes),
            ]
        })
        .collect();
    format!("\nL2 window over the weights\n{}", grid(&["batch", "us off", "us on", "kept MB", "window MB"], &rows))
}

/// The paper's Figures 2 to 5.
fn plot(args: &Args, device: &Device, table: &Table) -> Result<()> {
    let Some(folder) = args.plots.folder()? else { return Ok(()) };
    let main = |row: &&Row| {
        !row.copies
            && (matches!(row.program.as_str(), "cpu-ref, 1 thread" | "paper") || row.program.starts_with("ours"))
    };
    let groups = |levels: &[Level], value: &dyn Fn(&Row) -> Option<f64>| {
        let mut groups: Vec<Bars> = Vec::new();
        for row in table.rows.iter().filter(main).filter(|row| levels.contains(&row.level)) {
            let name = format!("{} {}", row.level, row.part);
            let Some(value) = value(row) else { continue };
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.values.push((row.program.clone(), value)),
                None => groups.push(Bars { name, values: vec![(row.program.clone(), value)] }),
            }
        }
        groups
    };
    let time = |row: &Row| Some(row.times.mean());
    let speedup = |row: &Row| match row.program.as_str() {
        "cpu-ref, 1 thread" => None,
        _ => Some(table.mean_of(row, "cpu-ref, 1 thread", false)? / row.times.mean()),
    };
    let (all, batch) = ([Level::Kernel, Level::Layer, Level::Block, Level::Model], table.batch);
    for (file, title, unit, groups) in [
        ("kernels.svg", "a convolution alone", "us", groups(&[Level::Kernel], &time)),
        ("layers.svg", "convolution, norm and rectifier", "us", groups(&[Level::Layer], &time)),
        ("model.svg", "block and model", "us", groups(&[Level::Block, Level::Model], &time)),
        ("speedups.svg", "times faster than the CPU's one thread", "speed-up", groups(&all, &speedup)),
    ] {
        let path = folder.join(file);
        let svg = bars::bars(&format!("{title}, batch {batch}, {}", device.name()), unit, &groups)?;
        OutputFile::prepare(&path)?.write(&svg)?;
        args.output.print(format!("wrote {}\n", path.display()))?;
    }
    Ok(())
}
