//! Records of games: CSA, KIF, KI2 and lists in USI, from files and folders.
//!
//! A file is unpacked (gzip; at most 256 MiB), decoded (UTF-8, UTF-16, Shift_JIS, EUC-JP, ISO-2022-JP; the encoding is found from its bytes), its format told from its lines, and cut into
//! games. Of each game the main line is kept; variations, comments and clock times are not. What cannot be read is reported with file, line and reason and left
//! out, and the rest is read.

mod encoding;
mod files;
mod format;
mod game;
mod ki2;
mod parse;
mod usi;

use std::path::Path;

pub(in crate::shogi) use game::draw;
pub use game::{Game, Outcome, Source};
use rayon::prelude::*;

use crate::{Error, Result};

/// Most games of a file, and of what cannot be read in it. Each takes some hundred bytes, also where the text has two or three for it.
const MOST_GAMES: usize = 1 << 20;
/// Most lines of a game: no record has so many.
const MOST_LINES: usize = 1 << 16;

/// Games that were read, and what could not be.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The games, in the order of the files' names, and within a file as they stand in it.
    pub games: Vec<Game>,
    /// What was left out, in the same order.
    pub skipped: Vec<Skipped>,
}

/// A game, or a file, that was left out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Skipped {
    /// Where it stands.
    pub source: Source,
    /// What is wrong with it.
    pub reason: String,
}

impl Records {
    /// Reads the games of a file's bytes; `path` is where they are said to come from, and its ending tells the format where the text does not.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Self {
        let mut records = Self::default();
        if let Err((line, reason)) = records.add(path, bytes) {
            records.skip(path, line, reason);
        }
        records
    }

    fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), (u64, String)> {
        let text = {
            let bytes = files::unpacked(bytes, files::MOST_UNPACKED).map_err(|reason| (0, reason))?;
            encoding::decoded(&bytes)?
        };
        match format::of(path, &text) {
            Some(format::Format::Usi) => usi::read(path, &text, self, MOST_GAMES),
            Some(format) => parse::read(path, format, &text, self, MOST_GAMES),
            None => Err((0, "no game record: expected CSA, KIF, KI2 or lines of USI moves".to_owned())),
        }
    }

    /// Makes sure that a file holds no more games than `most`, readable or not, before the one of a line is added.
    fn expect_room(&self, line: u64, most: usize) -> Result<(), (u64, String)> {
        if self.games.len() + self.skipped.len() < most {
            return Ok(());
        }
        Err((
            line,
            format!("the games from here on are left out: {most} of a file are read; divide it into several files"),
        ))
    }

    fn skip(&mut self, path: &Path, line: u64, reason: String) {
        self.skipped.push(Skipped { source: Source { file: path.to_path_buf(), line }, reason });
    }

    /// Two sets of games: those that are learnt from, and a share (`held_out`, above 0 and below 1) drawn by the games' hashes: the same games in whatever files they stand.
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
/// # Errors
/// [`Error::File`] where the path cannot be read, where a folder has no such file, and where not one game could be read: then with the first reason.
pub fn read(path: &Path) -> Result<Records> {
    let paths = files::below(path)?;
    let parts: Vec<Records> = paths
        .par_iter()
        .map(|path| match files::bytes(path) {
            Ok(bytes) => Records::from_bytes(path, &bytes),
            Err(reason) => {
                let mut records = Records::default();
                records.skip(path, 0, reason);
                records
            }
        })
        .collect();
    let mut all = Records::default();
    for part in parts {
        all.games.extend(part.games);
        all.skipped.extend(part.skipped);
    }
    if !all.games.is_empty() {
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

    #[test]
    fn a_file_gives_no_more_games_than_the_limit() {
        let mut records = Records::default();
        let (line, reason) = usi::read(Path::new("games.usi"), "7g7f\n7g7e\n\n2g2f\n", &mut records, 2).unwrap_err();
        assert_eq!((line, records.games.len(), records.skipped.len()), (4, 1, 1));
        assert!(reason.contains("2 of a file are read"), "{reason}");
        let mut records = Records::default();
        let text = [GAME; 3].join("/\n");
        let (line, _) = parse::read(Path::new("games.csa"), format::Format::Csa, &text, &mut records, 2).unwrap_err();
        assert_eq!((line, records.games.len()), (12, 2));
    }

    #[test]
    fn a_game_of_too_many_lines_is_left_out() {
        let text = format!("{GAME}/\nV2.2\n{}/\n{GAME}", "'\n".repeat(MOST_LINES));
        let records = Records::from_bytes(Path::new("games.csa"), text.as_bytes());
        assert_eq!(records.games.len(), 2);
        let [skipped] = records.skipped.as_slice() else { panic!("{:?}", records.skipped) };
        assert_eq!((skipped.source.line, skipped.reason.as_str()), (6, "a game of more than 65536 lines"));
    }
}
