//! Which format a text is in, and where its games begin.

use std::path::Path;

use super::encoding::{Lines, Wrong};
use super::{MOST_BYTES, MOST_LINES, files, usi};

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The format of the Computer Shogi Association.
    Csa,
    /// Kakinoki's format: moves with their origins, one per line.
    Kif,
    /// The short form of KIF: moves as people say them.
    Ki2,
    /// Lines of moves in USI.
    Usi,
}

/// The format of a text: the first line that only one format can have decides, otherwise the name's extension.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn of(path: &Path, lines: &mut Lines<'_>) -> Result<Option<Format>, Wrong> {
    let (mut headers, mut names) = (false, false);
    while let Some((_, line)) = lines.next()? {
        if is_csa(&line) {
            return Ok(Some(Format::Csa));
        }
        names |= line.starts_with(['N', '$', '%']);
        let line = line.trim();
        if is_kif_move(line) || line.starts_with("手数--") {
            return Ok(Some(Format::Kif));
        }
        if is_ki2_moves(line) {
            return Ok(Some(Format::Ki2));
        }
        if usi::looks_like(line) {
            return Ok(Some(Format::Usi));
        }
        headers |= is_header(line);
    }
    Ok(match files::ending(path).as_deref() {
        Some("csa") if names => Some(Format::Csa),
        Some("ki2" | "ki2u") if headers => Some(Format::Ki2),
        _ if headers => Some(Format::Kif),
        _ => None,
    })
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

/// A move of KIF: its number, then the move or the end of the game.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub line: u64,
    pub lines: Vec<String>,
    /// Bytes of the lines.
    bytes: usize,
    /// Whether lines were omitted, because there are more than [`MOST_LINES`], or more bytes than [`MOST_BYTES`].
    pub is_too_long: bool,
}

/// The games of a text, one after the other: in CSA between lines `/`, in KIF and KI2 from headers to the next headers after moves.
pub(super) struct Parts<'a> {
    format: Format,
    lines: Lines<'a>,
    /// The next game; `None` after the last.
    part: Option<Part>,
    body: bool,
}

impl<'a> Parts<'a> {
    /// The games of these lines.
    pub fn new(format: Format, lines: Lines<'a>) -> Self {
        Self { format, lines, part: Some(Part { line: 1, ..Part::default() }), body: false }
    }

    /// The next game; `None` after the last.
    ///
    /// # Errors
    /// Errors of reading the lines.
    pub fn next(&mut self) -> Result<Option<Part>, Wrong> {
        let Some(mut part) = self.part.take() else { return Ok(None) };
        while let Some((number, line)) = self.lines.next()? {
            let trimmed = line.trim();
            let begins = match self.format {
                Format::Csa => trimmed == "/",
                _ => self.body && (is_header(trimmed) || trimmed.starts_with("手数--")),
            };
            self.body = match self.format {
                Format::Csa => false,
                Format::Ki2 => self.body && !begins || is_ki2_moves(trimmed) || trimmed.starts_with("まで"),
                _ => {
                    let is_body = is_kif_move(trimmed) || trimmed.starts_with("手数--") || trimmed.starts_with("まで");
                    self.body && !begins || is_body
                }
            };
            if begins {
                let mut next = Part { line: number, ..Part::default() };
                // The separator of CSA belongs to no game; its empty line keeps the numbers.
                next.add(if self.format == Format::Csa { String::new() } else { line });
                self.part = Some(next);
                return Ok(Some(part));
            }
            part.add(line);
        }
        Ok(Some(part))
    }
}

impl Part {
    fn add(&mut self, line: String) {
        self.is_too_long |= self.lines.len() == MOST_LINES || self.bytes + line.len() > MOST_BYTES;
        if !self.is_too_long {
            self.bytes += line.len();
            self.lines.push(line);
        }
    }

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
