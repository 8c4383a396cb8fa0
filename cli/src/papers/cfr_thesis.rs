//! `warpplay papers cfr_thesis`: the experiments of the dissertation: its programs and ours on its four games, memory, ablations, both phases, and where the GPU overtakes the CPU.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use warpplay::cfr::{Counts, GameDef};
use warpplay::{Backend, Device};
use warpplay_papers::cfr_thesis::report;
use warpplay_papers::cfr_thesis::report::{Ablation, MemoryRow, Point, Settings, SweepPoint};
use warpplay_papers::cfr_thesis::{Options, Profile, Program};

use crate::common::chart::Line;
use crate::common::flags::PlotsFlag;
use crate::common::logarithmic;
use crate::common::table::{seconds, thousands};
use crate::common::{self, DeviceFlag, OutputFile, OutputFlags, Usage};

/// Version of the fields of [`Record`].
const SCHEMA: u32 = 1;

/// Repeat the experiments of the dissertation: its programs beside ours, on its four games
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Folder with variant_a.game to variant_d.game
    #[arg(long, value_name = "DIR", alias = "games")]
    pub definitions: PathBuf,

    /// Iterations of each point, with commas between [default: 10,100,1000,10000; with --quick 10]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub iterations: Vec<u32>,

    /// Only these games, with commas between: a, b, c, d
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Runs of each point
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,

    /// Threads of the iterative program on the CPU; the dissertation used 8
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,

    /// Threads of a block; the dissertation used 64
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(32..=1024))]
    pub block: u32,

    /// Longest time of one run in seconds: points that would take longer are left out, and that is said
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    pub limit: f64,

    /// Few iterations, one run: shows that everything runs
    #[arg(long)]
    pub quick: bool,

    #[command(flatten)]
    pub plots: PlotsFlag,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// The games of the paper.
const GAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Seats, raises and buckets of the sweep.
const SWEEP: (&[usize], &[u32], &[u32]) = (&[2, 3, 4, 5, 6], &[1, 2, 3], &[8, 13, 52]);

/// What is written.
#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    kind: &'static str,
    settings: &'a Settings,
    games: &'a [Game],
    /// Milliseconds an iteration that the paper tells.
    published_ms: [(&'static str, f64); 2],
    sweep: &'a [SweepPoint],
    /// Fewest sequences from which on the GPU was faster.
    crossover: Option<u32>,
    device: String,
    device_name: String,
    program: &'static str,
    version: &'static str,
}

/// One game's results.
#[derive(Serialize)]
struct Game {
    name: String,
    counts: Counts,
    memory: MemoryRow,
    points: Vec<Point>,
    ablations: Vec<Ablation>,
    profile: Option<Profile>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.output.start_log();
    if let Some(name) = args.only.iter().find(|name| !GAMES.contains(&name.as_str())) {
        return Err(Usage(format!("option only: {name} is not allowed ({})", GAMES.join(", "))).into());
    }
    let json = args.output.json_file()?;
    let chosen = GAMES.into_iter().filter(|name| args.only.is_empty() || args.only.iter().any(|only| only == name));
    let games = chosen.map(|name| {
        let path = args.definitions.join(format!("variant_{name}.game"));
        Ok((format!("variant_{name}"), GameDef::read(path)?))
    });
    let games = games.collect::<Result<Vec<_>>>()?;
    let plots = args.plots.folder()?;
    let device = args.device.open()?;
    let settings = settings(args);
    let mut results = Vec::new();
    for (name, game) in &games {
        if common::interrupted() {
            break;
        }
        let result = one(args, &device, name, game, &settings)?;
        args.output.print(text(&result))?;
        if let Some(folder) = plots {
            let file = OutputFile::prepare(&folder.join(format!("{name}.svg")))?;
            file.write(&draw(&result, &device)?)?;
        }
        results.push(result);
    }
    let sweep = match device.backend() {
        Backend::Cuda if !common::interrupted() && args.only.is_empty() => {
            let n = if args.quick { 5 } else { 50 };
            report::sweep(&device, SWEEP, &settings.options, n, settings.repeats)?
        }
        _ => Vec::new(),
    };
    let crossover = report::crossover(&sweep);
    if let Some(json) = json {
        let record = Record {
            schema: SCHEMA,
            kind: "thesis",
            settings: &settings,
            games: &results,
            published_ms: report::PUBLISHED_MS,
            sweep: &sweep,
            crossover,
            device: device.backend().to_string(),
            device_name: device.name(),
            program: "warpplay papers cfr_thesis",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write_json(&record)?;
    }
    args.output.print(sweep_text(&sweep, crossover))?;
    Ok(())
}

fn settings(args: &Args) -> Settings {
    let mut iterations = match (args.iterations.is_empty(), args.quick) {
        (false, _) => args.iterations.clone(),
        (true, true) => vec![10],
        (true, false) => vec![10, 100, 1_000, 10_000],
    };
    iterations.sort_unstable();
    iterations.dedup();
    Settings {
        iterations,
        repeats: if args.quick { 1 } else { args.repeats },
        most_seconds: args.limit,
        options: Options { threads: args.threads as usize, block: args.block, ..Options::default() },
    }
}

/// Everything of one game.
fn one(args: &Args, device: &Device, name: &str, game: &GameDef, settings: &Settings) -> Result<Game> {
    let counts = Counts::of(game)?;
    let memory = report::memory(game)?;
    args.output.print(format!(
        "{name}: {} of tables as the paper counts them, {} for its program, {} for the batches\n",
        bytes(memory.theirs),
        bytes(memory.levels),
        bytes(memory.batched)
    ))?;
    let bar = args.output.bar((settings.iterations.len() * (Program::ALL.len() + 1)) as u64);
    let mut points = Vec::new();
    let measured = report::times(device, game, Program::ALL, settings, |point| {
        bar.inc(1);
        points.push(point.clone());
        common::until_interrupted()
    });
    bar.finish_and_clear();
    // Stopped by the user: what there is stays.
    if !common::interrupted() {
        measured?;
    }
    let on_gpu = device.backend() == Backend::Cuda && !common::interrupted();
    let n = if args.quick { 10 } else { 100 };
    let ablations = match on_gpu {
        true => report::ablations(device, game, &settings.options, n, settings.repeats)?,
        false => Vec::new(),
    };
    // The dissertation profiles C.
    let profile = match on_gpu && name == "variant_c" {
        true => Some(report::profile(device, game, &settings.options, n)?),
        false => None,
    };
    Ok(Game { name: name.to_string(), counts, memory, points, ablations, profile })
}

/// A game's tables.
fn text(game: &Game) -> String {
    let Counts { sequences, levels, levels_with_last, buckets, .. } = game.counts;
    let mut text = format!(
        "\n{}: {} sequences, {levels} levels ({levels_with_last} with the last, where every line has ended), {} buckets\n",
        game.name,
        thousands(sequences),
        thousands(buckets)
    );
    text += &format!("  {:<10} {:>8} {:>14} {:>14} {:>12}\n", "program", "deals", "mean", "sd", "a deal");
    for Point { program, deals, seconds: time, .. } in &game.points {
        text += &match time {
            Some(time) => format!(
                "  {program:<10} {:>8} {:>14} {:>14} {:>12}\n",
                thousands(*deals),
                seconds(time.mean),
                seconds(time.sd),
                seconds(time.mean / *deals as f64)
            ),
            None => format!("  {program:<10} {:>8} left out: longer than --limit\n", thousands(*deals)),
        };
    }
    if let Some(last) = game.points.iter().rev().find(|point| !point.average_utilities.is_empty()) {
        let list = last.average_utilities.iter().map(|utility| format!("{utility:+.4}"));
        text += &format!("  average utility by seat ({}): {}\n", last.program, list.collect::<Vec<_>>().join(" "));
    }
    for Ablation { without, milliseconds } in &game.ablations {
        text += &format!("  levels without {without}: {:.3} ms ± {:.3}\n", milliseconds.mean, milliseconds.sd);
    }
    if let Some(profile) = &game.profile {
        let [down, up] = [&profile.down_ms, &profile.up_ms].map(|levels| levels.iter().sum::<f64>());
        text += &format!("  phases: strategies and reaches {down:.3} ms, regrets and utilities {up:.3} ms\n");
    }
    text
}

/// The figure of a game: seconds against iterations, a line a program.
fn draw(game: &Game, device: &Device) -> Result<String> {
    let mut lines: Vec<Line> = Vec::new();
    for point in &game.points {
        let Some(time) = point.seconds else { continue };
        if lines.last().is_none_or(|line| line.name != point.program) {
            lines.push(Line { name: point.program.clone(), points: Vec::new() });
        }
        if let Some(line) = lines.last_mut() {
            line.points.push((point.deals as f64, time.mean));
        }
    }
    logarithmic::logarithmic(&format!("{} on {}", game.name, device.name()), "deals", "seconds", &lines)
}

/// The sweep.
fn sweep_text(sweep: &[SweepPoint], crossover: Option<u32>) -> String {
    if sweep.is_empty() {
        return String::new();
    }
    let mut text = format!("\nplayers raises buckets {:>10} {:>14} {:>14}\n", "sequences", "iterative ms", "levels ms");
    for point in sweep {
        text += &format!(
            "{:>7} {:>6} {:>7} {:>10} {:>14.4} {:>14.4}\n",
            point.players, point.raises, point.buckets, point.sequences, point.cpu_ms.mean, point.gpu_ms.mean
        );
    }
    text + &match crossover {
        Some(n) => format!("the GPU is faster from {} sequences on\n", thousands(n.into())),
        None => "the GPU is not faster at the largest game\n".to_string(),
    }
}

/// Bytes in decimal units, as the paper has them.
fn bytes(n: u64) -> String {
    match n as f64 {
        n if n >= 1e9 => format!("{:.3} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.3} MB", n / 1e6),
        n => format!("{:.1} kB", n / 1e3),
    }
}
