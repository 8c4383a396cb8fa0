//! `selfplay`: a search against itself, recorded a game a line.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use warpplay::azero::player::{SearchOptions, SelfPlay, SelfPlayReport};
use warpplay::azero::{GameRecord, append_records};
use warpplay::{Backend, Device};

use crate::azero::args::SelfplayArgs;
use crate::common::table;
use crate::common::{self, OutputFile};

/// Games that are written at once.
const WRITTEN_AT_ONCE: usize = 64;

/// Runs the command.
pub fn run(args: &SelfplayArgs) -> Result<()> {
    args.output.start_log();
    let json = args.output.json.as_deref();
    common::expect_apart(&[("--weights", args.weights.path().as_deref())], &[("--json", json)], &[])?;
    let options = args.search.options(SearchOptions::self_play())?;
    json.map(OutputFile::prepare).transpose()?;
    let estimator = args.search.estimator(&args.weights, &args.run, args.output.quiet)?;
    let device = Device::parse(&args.device.device)?;
    let builder = SelfPlay::builder().estimator(estimator).options(options);
    // More trees than games would only take memory.
    let usual = if device.backend() == Backend::Cuda { 256 } else { 16 };
    let parallel = args.parallel.unwrap_or(usual).min(u32::try_from(args.games).unwrap_or(u32::MAX));
    let mut games = builder.parallel(parallel).build(&device)?;
    let bar = args.output.bar(args.games);
    let mut file = json.map(RecordFile::begin).transpose()?;
    let report = games.play_with(args.first, args.games, |record| {
        bar.inc(1);
        if let Some(file) = &mut file {
            file.add(record)?;
        }
        Ok(if common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    bar.finish_and_clear();
    let written = match file {
        Some(file) => Some(file.finish()?),
        None => None,
    };
    if !args.output.quiet {
        common::print(text(&report, &device))?;
        if let (Some(written), Some(path)) = (written, json) {
            common::print(format!("{written} games are in {}\n", path.display()))?;
        }
    }
    Ok(())
}

/// What was played, in some lines.
pub fn text(report: &SelfPlayReport, device: &Device) -> String {
    let SelfPlayReport { games, plies, first_wins, second_wins, draws, seconds } = *report;
    format!(
        "{} games: {first_wins} won by White, {second_wins} by Black, {draws} drawn; {:.1} actions a game\n{}: {:.1} games/s, {} actions/s on {} ({})\n",
        table::thousands(games),
        plies as f64 / games.max(1) as f64,
        table::seconds(seconds),
        games as f64 / seconds,
        table::thousands((plies as f64 / seconds) as u64),
        device.backend(),
        device.name()
    )
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
