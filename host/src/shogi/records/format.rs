//! Which format a text is in, and where its games begin.

use std::path::Path;

use super::{MOST_LINES, files, usi};

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The Computer Shogi Association's.
    Csa,
    /// Kakinoki's, moves with their origins, one a line.
    Kif,
    /// Its short form: moves as people say them.
    Ki2,
    /// Lines of moves in USI.
    Usi,
}

/// The format of a text: the first line that only one format can have decides, then the name's ending.
pub(super) fn of(path: &Path, text: &str) -> Option<Format> {
    let mut headers = false;
    for line in text.lines() {
        if is_csa(line) {
            return Some(Format::Csa);
        }
        let line = line.trim();
        if is_kif_move(line) || line.starts_with("手数--") {
            return Some(Format::Kif);
        }
        if is_ki2_moves(line) {
            return Some(Format::Ki2);
        }
        if usi::looks_like(line) {
            return Some(Format::Usi);
        }
        headers |= is_header(line);
    }
    match files::ending(path).as_deref() {
        Some("csa") if text.lines().any(|line| line.starts_with(['N', '$', '%'])) => Some(Format::Csa),
        Some("ki2" | "ki2u") if headers => Some(Format::Ki2),
        _ if headers => Some(Format::Kif),
        _ => None,
    }
}

/// Keys of the headers of KIF and KI2.
const KEYS: [&str; 16] = [
    "開始日時",
    "終了日時",
    "手合割",
    "先手",
    "後手",
    "上手",
    "下手",
    "棋戦",
    "場所",
    "持ち時間",
    "表題",
    "戦型",
    "対局日",
    "対局ID",
    "先手の持駒",
    "後手の持駒",
];

/// A header of KIF and KI2.
pub(super) fn is_header(line: &str) -> bool {
    line.split_once(['：', ':']).is_some_and(|(key, _)| KEYS.contains(&key.trim()) || key.ends_with("の持駒"))
}

/// A move of CSA, `+7776FU`, perhaps with more after a comma.
pub(super) fn is_csa_move(line: &str) -> bool {
    let line = line.as_bytes();
    line.len() >= 7
        && matches!(line[0], b'+' | b'-')
        && line[1..5].iter().all(u8::is_ascii_digit)
        && line[5..7].iter().all(u8::is_ascii_uppercase)
}

fn is_csa(line: &str) -> bool {
    let version = line.trim_end();
    if matches!(version, "V1" | "V2" | "V2.1" | "V2.2" | "V3" | "V3.0" | "PI") || is_csa_move(line) {
        return true;
    }
    let row = line.as_bytes();
    let squares = row.len() >= 5 && row[0] == b'P' && matches!(row[2], b' ' | b'+' | b'-');
    squares && (row[1].is_ascii_digit() || matches!(row[1], b'+' | b'-'))
        || line.starts_with("PI") && row.get(2).is_some_and(u8::is_ascii_digit)
}

/// A move of KIF: its number, and what was moved or how the game ended.
pub(super) fn is_kif_move(line: &str) -> bool {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.len()
        && rest.starts_with([' ', '\u{3000}', '\t'])
        && rest.trim_start().starts_with(|letter: char| !letter.is_ascii())
}

/// A line of moves of KI2.
pub(super) fn is_ki2_moves(line: &str) -> bool {
    line.starts_with(['▲', '△', '☗', '☖', '▼', '▽'])
}

/// One game of a text of several: its lines, and the number of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub line: u64,
    pub lines: Vec<&'a str>,
}

/// The games of a text, one after the other: in CSA between lines `/`, in KIF and KI2 from headers to the next headers after moves. Of one that has more than
/// [`MOST_LINES`], those and one more.
pub(super) fn parts(format: Format, text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut lines = (1..).zip(text.lines());
    let mut part = Part { line: 1, lines: Vec::new() };
    let mut body = false;
    let mut ended = false;
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        for (number, line) in lines.by_ref() {
            let trimmed = line.trim();
            let begins = match format {
                Format::Csa => trimmed == "/",
                _ => body && (is_header(trimmed) || trimmed.starts_with("手数--")),
            };
            let whole = begins.then(|| std::mem::replace(&mut part, Part { line: number, lines: Vec::new() }));
            body = match format {
                Format::Csa => false,
                Format::Ki2 => body && !begins || is_ki2_moves(trimmed) || trimmed.starts_with("まで"),
                _ => {
                    let is_body = is_kif_move(trimmed) || trimmed.starts_with("手数--") || trimmed.starts_with("まで");
                    body && !begins || is_body
                }
            };
            if part.lines.len() <= MOST_LINES {
                // The separator of CSA belongs to no game; its empty line keeps the numbers.
                part.lines.push(if format == Format::Csa && begins { "" } else { line });
            }
            if whole.is_some() {
                return whole;
            }
        }
        ended = true;
        Some(std::mem::replace(&mut part, Part { line: 0, lines: Vec::new() }))
    })
}

impl Part<'_> {
    /// Whether it is a game at all: the text after the last separator may hold nothing but comments.
    pub fn is_game(&self, format: Format) -> bool {
        self.lines.iter().any(|line| {
            let line = line.trim();
            match format {
                Format::Csa => !line.is_empty() && !line.starts_with('\''),
                _ => is_header(line) || is_kif_move(line) || is_ki2_moves(line) || line.starts_with("手数--"),
            }
        })
    }
}
