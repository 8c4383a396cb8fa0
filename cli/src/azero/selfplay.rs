//! `selfplay`: a search against itself, recorded a game a line.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::azero::player::{GamesPlayed, SearchOptions, SelfPlay, SelfPlayOptions, SelfPlayReport};
use warpplay::azero::{GameRecord, append_records};
use warpplay::{AtomicFile, Device};

use crate::azero::args::SelfplayArgs;
use crate::azero::print::repeated;
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
    let [resume, checkpoint] = args.journal.paths();
    let written = [("--save-games", saved), ("--json", json), checkpoint];
    common::expect_apart(&[("--weights", args.weights.path().as_deref()), resume], &written, &[])?;
    let search = args.search.options(SearchOptions::self_play(), args.seed.seed)?;
    saved.map(OutputFile::prepare).transpose()?;
    let json = OutputFile::prepare_option(json)?;
    let estimator = args.search.estimator(&args.weights, &args.run, args.output.quiet)?;
    let device = args.device.open()?;
    // More trees than games would only take memory.
    let parallel = args.parallel.min(u32::try_from(args.games).unwrap_or(u32::MAX));
    let options = SelfPlayOptions { games: args.games, first: args.first_game, parallel, search };
    let mut builder = SelfPlay::builder(estimator).options(options);
    if let Some(path) = &args.journal.checkpoint {
        builder = builder.checkpoint(path);
    }
    if let Some(path) = &args.journal.resume {
        builder = builder.resume(path);
    }
    let mut games = builder.build(&device)?;
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
    if let Some(json) = json {
        let facts = Facts { device_name: device.name(), report: &report };
        json.write_json(&common::Record::new("azero selfplay", facts))?;
    }
    if !args.output.quiet {
        common::print(text(&report.played, &device))?;
        if report.played.games < args.games {
            common::print(format!(
                "ended early: {} of {} games{}\n",
                report.played.games,
                args.games,
                args.journal.go_on()
            ))?;
        }
        if let (Some(written), Some(path)) = (written, saved) {
            common::print(format!("{written} games are in {}\n", path.display()))?;
        }
    }
    Ok(())
}

/// What was played, in some lines.
pub fn text(played: &GamesPlayed, device: &Device) -> String {
    let GamesPlayed { games, plies, first_wins, second_wins, draws, seconds, repeated_batches } = *played;
    let text = format!(
        "{} games: {first_wins} won by White, {second_wins} by Black, {draws} drawn; {:.1} actions a game\n{}: {}, {} actions/s on {} ({})\n",
        table::thousands(games),
        plies as f64 / games.max(1) as f64,
        table::seconds(seconds),
        rate(games as f64 / seconds),
        table::thousands((plies as f64 / seconds) as u64),
        device.backend(),
        device.name()
    );
    text + &repeated(repeated_batches)
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
    target: Target,
    pending: Vec<GameRecord>,
    written: usize,
}

/// Where games are until the last one is there.
enum Target {
    File(AtomicFile),
    /// A device or a pipe takes all lines at the end.
    Device(String, PathBuf),
}

impl RecordFile {
    fn begin(path: &Path) -> Result<Self> {
        let is_plain = fs::metadata(path).map_or(true, |found| found.is_file());
        let target = match is_plain {
            true => Target::File(AtomicFile::create(path)?),
            false => Target::Device(String::new(), path.to_path_buf()),
        };
        Ok(Self { target, pending: Vec::new(), written: 0 })
    }

    fn add(&mut self, record: GameRecord) -> Result<()> {
        self.pending.push(record);
        if self.pending.len() >= WRITTEN_AT_ONCE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.target {
            Target::File(file) => append_records(file.part(), &self.pending)?,
            Target::Device(lines, _) => {
                for record in &self.pending {
                    *lines += &common::to_json_line(record)?;
                }
            }
        }
        self.written += self.pending.len();
        self.pending.clear();
        Ok(())
    }

    /// The number of games written.
    fn finish(mut self) -> Result<usize> {
        self.flush()?;
        match self.target {
            Target::File(file) => file.finish()?,
            Target::Device(lines, path) => {
                fs::write(&path, lines).with_context(|| format!("{}: cannot be written", path.display()))?;
            }
        }
        Ok(self.written)
    }
}
