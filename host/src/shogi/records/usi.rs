//! Lists of games in USI, one a line.
//!
//! | line | what |
//! | --- | --- |
//! | `position startpos moves 7g7f …`, `startpos moves …`, `position sfen … moves …`, `sfen … moves …` | as engines are told |
//! | `7g7f 3c3d …` | moves from the usual start |
//! | `b mate name 7g7f …` | result (`b`, `w`, `d`), reason, names, moves |
//! | `# …`, empty | nothing |

use std::path::Path;

use super::encoding::{Lines, Wrong};
use super::room::Room;
use super::{Game, Outcome, Records, Skipped, Source};
use crate::shogi::board::Move;

/// Adds the games of a text to `records` while there is room.
///
/// # Errors
/// The line of the first game beyond the room; errors of reading the lines.
pub(super) fn read(file: &Path, mut lines: Lines<'_>, records: &mut Records, room: &mut Room<'_>) -> Result<(), Wrong> {
    while let Some((line, text)) = lines.next()? {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        room.expect(line)?;
        let source = Source { file: file.to_path_buf(), line };
        let read = game(text, source.clone()).map_err(|reason| Skipped { source, reason });
        records.add(read, room);
    }
    Ok(())
}

/// Whether a line looks like a game of such a list.
pub(super) fn looks_like(line: &str) -> bool {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("position" | "startpos" | "sfen") => true,
        Some("b" | "w" | "d") => words.nth(2).is_some_and(|word| word.parse::<Move>().is_ok()),
        Some(word) => word.parse::<Move>().is_ok(),
        None => false,
    }
}

fn game(text: &str, source: Source) -> Result<Game, String> {
    let mut words = text.split_whitespace().peekable();
    let mut outcome = Outcome::Unknown;
    let mut start = None;
    words.next_if_eq(&"position");
    match words.peek().copied() {
        Some("startpos") => {
            words.next();
        }
        Some("sfen") => {
            words.next();
            let mut sfen: Vec<&str> = Vec::with_capacity(4);
            while sfen.len() < 4
                && let Some(word) = words.next_if(|&word| word != "moves")
            {
                sfen.push(word);
            }
            start = Some(sfen.join(" "));
        }
        Some(won @ ("b" | "w" | "d")) => {
            outcome = match won {
                "b" => Outcome::Black,
                "w" => Outcome::White,
                _ => Outcome::Draw,
            };
            if words.by_ref().take(3).count() < 3 {
                return Err("after the result there must be a reason, a name and the moves".to_owned());
            }
        }
        _ => {}
    }
    words.next_if_eq(&"moves");
    let moves = words.map(|word| word.parse::<Move>().map_err(|error| error.to_string())).collect::<Result<_, _>>()?;
    Game::new(start.as_deref(), moves, outcome, source).map_err(|error| error.to_string())
}
