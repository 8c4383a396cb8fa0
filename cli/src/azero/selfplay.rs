//! `selfplay`: a search against itself, recorded a game a line.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::Device;
use warpplay::azero::player::{GamesPlayed, SearchOptions, SelfPlay, SelfPlayOptions, SelfPlayReport};
use warpplay::azero::{GameRecord, append_records};

use crate::azero::args::SelfplayArgs;
use crate::common::table;
use crate::common::{self, OutputFile};

/// Games that are written at once.
const WRITTEN_AT_ONCE: usize = 64;

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    device_name: String,
    report: &'a SelfPlayReport,
}

/// Runs the command.
pub fn run(args: &SelfplayArgs) -> Result<()> {
    args.output.start_log();
    let (saved, json) = (args.save_games.as_deref(), args.output.json.as_deref());
    let written = [("--save-games", saved), ("--json", json)];
    common::expect_apart(&[("--weights", args.weights.path().as_deref())], &written, &[])?;
    let search = args.search.options(SearchOptions::self_play(), args.seed.seed)?;
    saved.map(OutputFile::prepare).transpose()?;
    let json = OutputFile::prepare_option(json)?;
    let estimator = args.search.estimator(&args.weights, &args.run, args.output.quiet)?;
    let device = args.device.open()?;
    // More trees than games would only take memory.
    let parallel = args.parallel.min(u32::try_from(args.games).unwrap_or(u32::MAX));
    let options = SelfPlayOptions { games: args.games, first: args.first_game, parallel, search };
    let mut games = SelfPlay::builder(estimator).options(options).build(&device)?;
    let bar = args.output.bar(args.games);
    let mut file = saved.map(RecordFile::begin).transpose()?;
    let mut kept = Ok(());
    let report = games.run(|progress| {
        bar.set_position(progress.steps);
        if let (Some(file), Some(record)) = (&mut file, &progress.latest) {
            kept = file.add(record.clone());
        }
        if kept.is_err() || common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    kept?;
    bar.finish_and_clear();
    let written = match file {
        Some(file) => Some(file.finish()?),
        None => None,
    };
    if !args.output.quiet {
        common::print(text(&report.played, &device))?;
        if let (Some(written), Some(path)) = (written, saved) {
            common::print(format!("{written} games are in {}\n", path.display()))?;
        }
    }
    if let Some(json) = json {
        let facts = Facts { device_name: device.name(), report: &report };
        json.write_json(&common::Record::new("azero selfplay", facts))?;
    }
    Ok(())
}

/// What was played, in some lines.
pub fn text(played: &GamesPlayed, device: &Device) -> String {
    let GamesPlayed { games, plies, first_wins, second_wins, draws, seconds } = *played;
    format!(
        "{} games: {first_wins} won by White, {second_wins} by Black, {draws} drawn; {:.1} actions a game\n{}: {}, {} actions/s on {} ({})\n",
        table::thousands(games),
        plies as f64 / games.max(1) as f64,
        table::seconds(seconds),
        rate(games as f64 / seconds),
        table::thousands((plies as f64 / seconds) as u64),
        device.backend(),
        device.name()
    )
}

/// Games in a time: of slow ones the time of each.
fn rate(games_per_second: f64) -> String {
    match games_per_second {
        rate if rate >= 1.0 || rate <= 0.0 => format!("{rate:.1} games/s"),
        rate => format!("{} a game", table::seconds(1.0 / rate)),
    }
}

/// A file of games that takes its name when the last game is in it.
struct RecordFile {
    beside: PathBuf,
    target: PathBuf,
    pending: Vec<GameRecord>,
    written: usize,
}

impl RecordFile {
    fn begin(path: &Path) -> Result<Self> {
        // A symbolic link stays one; only within a folder is giving a name one step.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let beside = target.with_file_name(format!(".warpplay-games-{}.part", std::process::id()));
        let file = Self { beside, target, pending: Vec::new(), written: 0 };
        fs::write(&file.beside, "").with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(file)
    }

    fn add(&mut self, record: GameRecord) -> Result<(), warpplay::Error> {
        self.pending.push(record);
        if self.pending.len() >= WRITTEN_AT_ONCE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), warpplay::Error> {
        append_records(&self.beside, &self.pending)?;
        self.written += self.pending.len();
        self.pending.clear();
        Ok(())
    }

    /// The number of games written.
    fn finish(mut self) -> Result<usize> {
        self.flush()?;
        let is_plain = fs::metadata(&self.target).map_or(true, |found| found.is_file());
        match is_plain {
            true => fs::rename(&self.beside, &self.target),
            // A device or a pipe takes the content.
            false => fs::read(&self.beside).and_then(|bytes| fs::write(&self.target, bytes)),
        }
        .with_context(|| format!("{}: cannot be written", self.target.display()))?;
        Ok(self.written)
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        // After `finish` it is gone, after an error it is of no use.
        let _ = fs::remove_file(&self.beside);
    }
}
