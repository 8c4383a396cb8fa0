//! Records of games: CSA, KIF, KI2 and lists in USI, from files and folders.
//!
//! Game records come in several formats and encodings, in single files and in collections of thousands of games. [`read`] takes a file or a folder and gives [`Records`]: the games
//! that can be played by the rules, and for all else where it stands and why it was left out.
//!
//! ```
//! use warpplay::shogi::records::{Outcome, Records};
//!
//! // A game in CSA; Black resigns at once.
//! let records = Records::from_bytes("game.csa".as_ref(), b"V2.2\nPI\n+\n+7776FU\n-3334FU\n%TORYO\n");
//! assert_eq!(records.games[0].moves()[0].to_string(), "7g7f");
//! assert_eq!(records.games[0].outcome(), Outcome::White);
//!
//! // Lists of USI moves, a game a line; the second begins with a move that is not legal.
//! let records = Records::from_bytes("games.usi".as_ref(), b"7g7f 3c3d\n7g7e\n");
//! assert_eq!((records.games.len(), records.skipped.len()), (1, 1));
//! assert_eq!(records.skipped[0].source.line, 2);
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`read`], [`Records`] | games that were read, and what could not be |
//! | [`Game`], [`Outcome`] | a game's main line, all of its moves legal, and how it ended |
//! | [`Source`], [`Skipped`] | file and line; what is wrong there |
//! | [`is_record`] | whether a file's name ends as a record's |
//!
//! # How files are read
//!
//! A file is unpacked (gzip), decoded (UTF-8, UTF-16, Shift_JIS, EUC-JP, ISO-2022-JP; the encoding is found from its bytes), its format told from its lines, and cut into
//! games. Of each game the main line is kept; variations, comments and clock times are not. What cannot be read is reported with file, line and reason and left
//! out, and the rest is read.
//!
//! A file is read as a stream, twice: once for its encoding, and once for its games. So no more of its text than a game lies in memory, whatever it unpacks to; and
//! games are kept only while half of the memory that was free suffices for them.

mod content;
mod encoding;
mod files;
mod format;
mod game;
mod ki2;
mod parse;
mod room;
mod usi;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

pub use files::is_record;
pub(in crate::shogi) use game::draw;
pub use game::{Game, Outcome, Skipped, Source};
use rayon::prelude::*;

use crate::runtime::host_machine;
use crate::runtime::memory::out_of_memory;
use crate::runtime::threads;
use crate::{Error, Progress, Result};
use content::Content;
use encoding::{Lines, Wrong};
use room::{Reading, Room};

/// Maximum number of games of a file, and of unreadable ones. Each takes some hundred bytes, even if its text has only two or three.
const MOST_GAMES: usize = 1 << 20;
/// Maximum number of lines of a game, more than any real record has.
const MOST_LINES: usize = 1 << 16;
/// Most bytes of a game's text, as UTF-8.
const MOST_BYTES: usize = 1 << 24;
/// Time between two calls of `watch`.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// Games that were read, and those that could not be read.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The games, in the order of the files' names and of their positions within a file.
    pub games: Vec<Game>,
    /// Skipped games and files, in the same order.
    pub skipped: Vec<Skipped>,
}

impl Records {
    /// Reads the games of a file's bytes. `path` is recorded as their origin, and its extension decides the format if the text does not.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Self {
        Self::of(path, Content::Bytes(bytes), None)
    }

    /// Reads the games of a file.
    fn of(path: &Path, content: Content<'_>, reading: Option<&Reading>) -> Self {
        let mut records = Self::default();
        if let Err((line, reason)) = records.read(path, content, &mut Room::new(MOST_GAMES, reading)) {
            records.skipped.push(Skipped { source: Source { file: path.to_path_buf(), line }, reason });
        }
        records
    }

    fn read(&mut self, path: &Path, content: Content<'_>, room: &mut Room<'_>) -> Result<(), Wrong> {
        let coding = encoding::of(content)?;
        let lines = || Lines::open(content, coding);
        match format::of(path, &mut lines()?)? {
            Some(format::Format::Usi) => usi::read(path, lines()?, self, room),
            Some(format) => parse::read(path, format, lines()?, self, room),
            None => Err((0, "not a game record: expected CSA, KIF, KI2 or lines of USI moves".to_owned())),
        }
    }

    /// Adds a game, or the reason why it was skipped.
    fn add(&mut self, read: Result<Game, Skipped>, room: &Room<'_>) {
        match read {
            Ok(game) => {
                room.keep(&game);
                self.games.push(game);
            }
            Err(skipped) => {
                room.leave_out(&skipped);
                self.skipped.push(skipped);
            }
        }
    }

    /// Splits the games in two: those to learn from, and a share (`held_out`, above 0 and below 1) drawn by the games' hashes, regardless of their files.
    ///
    /// # Errors
    /// [`Error::Option`] for another share.
    pub fn split(&self, held_out: f64) -> Result<(Self, Self)> {
        let drawn = draw(held_out)?;
        let (held_out, train) = self.games.iter().cloned().partition(|game| drawn(game.hash()));
        Ok((Self { games: train, skipped: self.skipped.clone() }, Self { games: held_out, skipped: Vec::new() }))
    }
}

/// Reads a file, or all records below a folder: files that end in `.csa`, `.kif`, `.kifu`, `.ki2`, `.ki2u`, `.usi`, `.sfen` or `.txt`, each also with `.gz`.
///
/// The progress counts bytes as steps; each file is read twice, so there are twice as many as in the files. If `watch` returns `Break`, the games read so far are returned.
///
/// # Errors
/// [`Error::File`] if the path cannot be read, if a folder has no such file, and if no game could be read, with the first reason; [`Error::OutOfMemory`] if the games take
/// more than half of the free memory.
pub fn read(path: &Path, mut watch: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<Records> {
    let paths = files::below(path)?;
    // A file that is not there is for its reader to report.
    let bytes = paths.iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).fold(0, u64::saturating_add);
    let free = host_machine::memory().free;
    let reading = Reading::new(free / 2);
    let begun = Instant::now();
    let mut is_stopped = false;
    let parts: Vec<Records> = thread::scope(|scope| -> Result<_> {
        let (done, is_done) = mpsc::channel::<()>();
        let reading = &reading;
        let paths = &paths;
        let read = threads::spawn(scope, move || {
            // Dropped at the end, however it comes.
            let _done = done;
            let one = |path: &PathBuf| Records::of(path, Content::File(path, &reading.read), Some(reading));
            paths.par_iter().map(one).collect()
        })?;
        while is_done.recv_timeout(WATCH_EVERY) == Err(RecvTimeoutError::Timeout) {
            let progress = Progress {
                steps: reading.read.load(Ordering::Relaxed),
                n_steps: Some(bytes.saturating_mul(2)),
                elapsed: begun.elapsed(),
                time_limit: None,
                latest: None,
            };
            if watch(&progress).is_break() {
                is_stopped = true;
                reading.stop();
            }
        }
        Ok(read.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    if let Some(taken) = reading.excess() {
        return Err(out_of_memory("the host", taken.saturating_mul(2), free));
    }
    let mut all = Records::default();
    for part in parts {
        all.games.extend(part.games);
        all.skipped.extend(part.skipped);
    }
    if is_stopped || !all.games.is_empty() {
        return Ok(all);
    }
    Err(match all.skipped.into_iter().next() {
        Some(Skipped { source, reason }) => Error::file(source.file, (source.line > 0).then_some(source.line), reason),
        None => Error::file(path, None, "holds no game"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: &str = "V2.2\nPI\n+\n+7776FU\n%TORYO\n";

    /// A text with room for two games, and what ended it.
    fn two_of(name: &str, text: &str) -> (Records, Wrong) {
        let mut records = Records::default();
        let ended = records.read(Path::new(name), Content::Bytes(text.as_bytes()), &mut Room::new(2, None));
        (records, ended.unwrap_err())
    }

    #[test]
    fn a_file_gives_no_more_games_than_the_limit() {
        let (records, (line, reason)) = two_of("games.usi", "7g7f\n7g7e\n\n2g2f\n");
        assert_eq!((line, records.games.len(), records.skipped.len()), (4, 1, 1));
        assert!(reason.contains("2 of a file are read"), "{reason}");
        let (records, (line, _)) = two_of("games.csa", &[GAME; 3].join("/\n"));
        assert_eq!((line, records.games.len()), (12, 2));
    }

    #[test]
    fn a_game_of_too_many_lines_is_left_out() {
        let text = format!("{GAME}/\nV2.2\n{}/\n{GAME}", "'\n".repeat(MOST_LINES));
        let records = Records::from_bytes(Path::new("games.csa"), text.as_bytes());
        assert_eq!(records.games.len(), 2);
        let [skipped] = records.skipped.as_slice() else { panic!("{:?}", records.skipped) };
        assert_eq!(
            (skipped.source.line, skipped.reason.as_str()),
            (6, "a game of more than 65536 lines or 16777216 bytes")
        );
    }

    #[test]
    fn a_game_of_too_many_bytes_is_left_out() {
        let comments = format!("'{}\n", "x".repeat((1 << 20) - 1)).repeat(17);
        let text = format!("{GAME}/\nV2.2\n{comments}/\n{GAME}");
        let records = Records::from_bytes(Path::new("games.csa"), text.as_bytes());
        assert_eq!((records.games.len(), records.skipped.len()), (2, 1));
    }

    #[test]
    fn games_take_no_more_memory_than_they_may() {
        let reading = Reading::new(10_000);
        let text = "7g7f 3c3d\n".repeat(1000);
        let records = Records::of(Path::new("games.usi"), Content::Bytes(text.as_bytes()), Some(&reading));
        let taken = reading.excess().expect("more than there may be");
        // One game more than fits.
        assert!(records.games.len() < 10_000 / size_of::<Game>() && taken < 11_000, "{}, {taken}", records.games.len());
        assert_eq!(records.skipped[0].reason, "reading was stopped here");
    }

    #[test]
    fn reading_that_is_stopped_gives_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.usi");
        fs::write(&path, "7g7f 3c3d\n".repeat(1 << 20)).unwrap();
        let mut calls = 0;
        let records = read(&path, |progress| {
            assert!(progress.n_steps == Some(20 << 20) && progress.steps <= 20 << 20, "{progress:?}");
            calls += 1;
            ControlFlow::Break(())
        })
        .unwrap();
        assert!(calls > 0 && records.games.len() < 1 << 20, "{calls}, {}", records.games.len());
    }
}
