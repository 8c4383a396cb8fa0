//! Data that other people's programs made: small files in `tests/golden`, large ones beside the repository.

use std::path::{Path, PathBuf};

use crate::backends::demanded;

/// A small file of `tests/golden`.
///
/// # Panics
/// If it is not there: it is part of the repository.
pub fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file of the large sets: in the folder that `WARPPLAY_SHARED` names, else in `../shared` beside the repository. `None`, said aloud, where it is
/// absent.
///
/// # Panics
/// With `WARPPLAY_REQUIRE_SHARED=1` if it is absent.
pub fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WARPPLAY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    assert!(!demanded("WARPPLAY_REQUIRE_SHARED"), "WARPPLAY_REQUIRE_SHARED=1, but there is no {}", path.display());
    println!("absent, and not tested: {} (WARPPLAY_SHARED may name its folder)", path.display());
    None
}

/// One line of `connect4_tactics.txt`: a Connect 4 position with a single best move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tactic {
    /// Columns from 1, from the empty board.
    pub moves: String,
    /// Whose turn it is, `X` the first player.
    pub to_move: char,
    /// `w`, `d`, `l` or `.` (full) for each column, for the player to move.
    pub values: String,
    /// The best column, from 1.
    pub best: u32,
}

/// Reads the lines of `connect4_tactics.txt`.
///
/// # Panics
/// If a line has not four fields.
pub fn tactics(text: &str) -> Vec<Tactic> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [moves, to_move, values, best] => Tactic {
                moves: moves.to_string(),
                to_move: to_move.chars().next().unwrap_or('?'),
                values: values.to_string(),
                best: best.parse().unwrap_or_else(|_| panic!("{line}: no column")),
            },
            _ => panic!("{line}: not four fields"),
        })
        .collect()
}
