//! Games of CSA and KIF, by the parsers of the crate `rsshogi`; of KI2 it reads the headers, and [`ki2`] the moves.
//!
//! Before a parser sees a game, its variations are cut off, and what is not kept is blanked, line by line, so that lines keep their numbers: the parsers stumble over
//! bookmarks (`&`) and comments of `#` among the moves, and over clock times of absurd length. Every game is checked by our own board afterwards.

use std::path::Path;

use rsshogi::records::formats::csa::{CsaError, parse_csa_str};
use rsshogi::records::formats::kif::{KifError, parse_ki2_str, parse_kif_str};
use rsshogi::records::record::Record;

use super::encoding::{Lines, Wrong};
use super::format::{Format, Part, Parts, is_csa_move, is_ki2_moves, is_kif_move};
use super::ki2::{self, Word};
use super::room::Room;
use super::{Game, MOST_BYTES, MOST_LINES, Outcome, Records, Skipped, Source};
use crate::shogi::board::{Board, Move, Rules, START, ours, unsound};

/// Position of an error in a game.
enum Location {
    /// The line with this text.
    Text(String),
    /// The move of this number, from 0.
    Move(usize),
    /// The line of this number, from 0 in the game.
    Line(usize),
    /// Unknown.
    Whole,
}

/// An error in a game.
struct Fault {
    location: Location,
    reason: String,
}

/// Adds the games of a text to `records` while there is room.
///
/// # Errors
/// The line of the first game beyond the room; errors of reading the lines.
pub(super) fn read(
    path: &Path,
    format: Format,
    lines: Lines<'_>,
    records: &mut Records,
    room: &mut Room<'_>,
) -> Result<(), Wrong> {
    let mut parts = Parts::new(format, lines);
    while let Some(part) = parts.next()? {
        if !part.is_game(format) {
            continue;
        }
        room.expect(part.line)?;
        let skipped = |line: u64, reason: String| Skipped { source: Source { file: path.to_path_buf(), line }, reason };
        if part.is_too_long {
            let reason = format!("a game of more than {MOST_LINES} lines or {MOST_BYTES} bytes");
            records.add(Err(skipped(part.line, reason)), room);
            continue;
        }
        let begin = part.lines.iter().position(|line| !line.trim().is_empty()).unwrap_or_default();
        let source = Source { file: path.to_path_buf(), line: part.line + begin as u64 };
        let read = game(format, &part, &source).map_err(|fault| {
            let line = part.line + line_of(format, &part, &fault.location).unwrap_or(begin) as u64;
            skipped(line, fault.reason)
        });
        records.add(read, room);
    }
    Ok(())
}

fn game(format: Format, part: &Part, source: &Source) -> Result<Game, Fault> {
    let mut lines: Vec<String> = Vec::with_capacity(part.lines.len());
    let mut board = false;
    let mut handicap = None;
    for line in &part.lines {
        let trimmed = line.trim();
        if format == Format::Csa {
            lines.push(plain_csa(trimmed));
            continue;
        }
        if trimmed.starts_with("変化") {
            break;
        }
        board |= trimmed.starts_with("+--");
        if let Some(value) = trimmed.strip_prefix("手合割").and_then(|rest| rest.strip_prefix(['：', ':'])) {
            handicap = Some(value.trim().to_owned());
        }
        if format == Format::Kif && is_kif_move(trimmed) && from_no_square(trimmed) {
            // The crate counts ranks from 1 and would take 1 from this 0.
            let location = Location::Line(lines.len());
            return Err(Fault { location, reason: format!("not a KIF move: {trimmed}") });
        }
        lines.push(plain_kif(format, line));
    }
    let whole = |reason: String| Fault { location: Location::Whole, reason };
    let (start, moves, outcome) = match format {
        Format::Ki2 => spoken(&lines)?,
        _ => {
            let is_move = |line: &String| is_csa_move(line) || is_kif_move(line.trim());
            let headers = lines.iter().position(is_move).unwrap_or(lines.len());
            sound(parsed(format, &lines[..headers])?.init_position_sfen())?;
            let (record, ended) = match parsed(format, &lines) {
                Ok(record) => (record, None),
                Err(fault) => {
                    // An illegal move that the record itself says ended the game is its end, and no fault of the record.
                    let Location::Move(number) = fault.location else { return Err(fault) };
                    let Some(before) = before_illegal_end(format, part, &lines, number) else { return Err(fault) };
                    let record = parsed(format, before)?;
                    let loser = side_after(&record);
                    (record, Some(winner(1 - loser)))
                }
            };
            let moves = record
                .main_moves()
                .map(|entry| ours(entry.mv()).ok_or_else(|| whole("a move is not the move of a piece".to_owned())))
                .collect::<Result<_, _>>()?;
            let result = record.result();
            let outcome = match result.winner_color() {
                Some(color) => winner(color.to_index() as u32),
                None if result.is_draw() => Outcome::Draw,
                None => Outcome::Unknown,
            };
            (record.init_position_sfen().to_owned(), moves, ended.unwrap_or(outcome))
        }
    };
    let even = start.split_whitespace().take(3).eq(START.split_whitespace().take(3));
    if let Some(handicap) = handicap
        && even
        && !board
        && !handicap.starts_with("平手")
        && !handicap.is_empty()
    {
        return Err(whole(format!("the handicap {handicap} is not known, and there is no board")));
    }
    let start = (!even).then_some(start.as_str());
    Game::new(start, moves, outcome, source.clone()).map_err(|error| whole(error.to_string()))
}

/// The board at a start position. It refuses impossible positions, whose moves the crate's parsers cannot handle.
fn sound(start: &str) -> Result<Board, Fault> {
    let whole = |reason: String| Fault { location: Location::Whole, reason };
    let board = Board::from_sfen(start).map_err(|error| whole(error.to_string()))?;
    match unsound(&board) {
        Some(reason) => Err(whole(format!("no game starts from {start}: {reason}"))),
        None => Ok(board),
    }
}

/// A line of CSA without comments, names, headings and clock times (whose numbers may be of any size). An omitted line becomes an empty comment.
fn plain_csa(line: &str) -> String {
    if line.is_empty() || line.starts_with(['\'', 'N', '$', 'T']) {
        return "'".to_owned();
    }
    line.split(',').filter(|token| !token.trim_start().starts_with('T')).collect::<Vec<_>>().join(",")
}

/// A line of KIF or KI2 without the parts that are ignored.
fn plain_kif(format: Format, line: &str) -> String {
    let trimmed = line.trim();
    match trimmed {
        "上手番" => return "後手番".to_owned(),
        "下手番" => return "先手番".to_owned(),
        _ => {}
    }
    let heading = trimmed.contains(['：', ':']) && !is_kif_move(trimmed) && !is_ki2_moves(trimmed);
    let kept = trimmed.starts_with("手合割") || trimmed.contains("の持駒") || trimmed.starts_with("まで");
    let time = trimmed.contains("消費時間") && !trimmed.starts_with("手数");
    if trimmed.starts_with(['&', '#', '*', '\'']) || time || heading && !kept {
        return String::new();
    }
    if format == Format::Kif && is_kif_move(trimmed) {
        // The origin is two digits in brackets; the clock's brackets hold more.
        let origin = line.as_bytes().windows(4).position(|bytes| bytes[0] == b'(' && bytes[3] == b')');
        let end = origin.map(|at| at + 4).or_else(|| line.find('(')).unwrap_or(line.len());
        return line.get(..end).unwrap_or(line).to_owned();
    }
    line.to_owned()
}

/// Whether a move's origin, two digits in brackets, has a 0.
fn from_no_square(line: &str) -> bool {
    line.as_bytes().windows(4).any(|bytes| {
        let digits = &bytes[1..3];
        bytes[0] == b'(' && bytes[3] == b')' && digits.iter().all(u8::is_ascii_digit) && digits.contains(&b'0')
    })
}

const fn winner(side: u32) -> Outcome {
    if side == 0 { Outcome::Black } else { Outcome::White }
}

/// Start, moves and result of a game of KI2.
fn spoken(lines: &[String]) -> Result<(String, Vec<Move>, Outcome), Fault> {
    let is_moves = |line: &&String| is_ki2_moves(line.trim()) || line.trim().starts_with("まで");
    let first = lines.iter().position(|line| is_moves(&line)).unwrap_or(lines.len());
    let (headers, body) = lines.split_at(first);
    let header = parse_ki2_str(&headers.join("\n"))
        .map_err(|error| Fault { location: Location::Whole, reason: format!("its headers cannot be read: {error}") })?;
    let start = header.init_position_sfen().to_owned();
    let mut board = sound(&start)?;
    let (mut moves, mut legal, mut outcome) = (Vec::new(), Vec::new(), None);
    for (number, line) in (first..).zip(body) {
        let fault = |reason: String| Fault { location: Location::Line(number), reason };
        let line = line.trim();
        if line.starts_with("まで") {
            // Their summaries are surer than a last word.
            match ki2::summary(line) {
                Outcome::Unknown => {}
                told => outcome = Some(told),
            }
            break;
        }
        if line.is_empty() || line.starts_with(['*', '\'']) || line.contains("消費時間") || line.starts_with("手数")
        {
            continue;
        }
        if !is_ki2_moves(line) || outcome.is_some() {
            return Err(fault(format!("not a line of KI2: {line}")));
        }
        let mut words = ki2::words(line);
        while let Some(word) = words.next() {
            match ki2::read(&board, word, moves.last().map(|played: &Move| played.to()), &mut legal) {
                Ok(_) if outcome.is_some() => return Err(fault(format!("the game has ended before: {word}"))),
                Ok(Word::Move(played)) if board.play(played) => moves.push(played),
                Ok(Word::Move(_)) => return Err(fault(format!("an illegal move: {word}"))),
                Ok(Word::End(told)) => outcome = Some(told),
                // The record's end, where it says that this move was illegal.
                Err((_, true))
                    if words.next().is_none()
                        && body.get(number - first + 1).is_some_and(|line| line.contains("反則")) =>
                {
                    outcome = Some(winner(1 - board.side()));
                }
                Err((reason, _)) => return Err(fault(reason)),
            }
        }
    }
    Ok((start, moves, outcome.unwrap_or(Outcome::Unknown)))
}

fn parsed(format: Format, lines: &[String]) -> Result<Record, Fault> {
    let text = lines.join("\n");
    let illegal =
        |index: usize| Fault { location: Location::Move(index), reason: format!("move {} is illegal", index + 1) };
    let line =
        |text: String, what: &str| Fault { reason: format!("{what}: {}", text.trim()), location: Location::Text(text) };
    let other = |reason: String| Fault { location: Location::Whole, reason };
    match format {
        Format::Csa => parse_csa_str(&text).map_err(|error| match error {
            CsaError::IllegalMove { index } => illegal(index),
            CsaError::InvalidLine(text) => line(text, "not a line of CSA"),
            CsaError::InvalidBoard(text) => line(text, "not a board of CSA"),
            CsaError::InvalidMove(text) => line(text, "not a CSA move"),
            CsaError::MoveSideMismatch(text) => line(text, "a move of the side that is not to move"),
            error => other(error.to_string()),
        }),
        _ => parse_kif_str(&text).map_err(|error| match error {
            KifError::IllegalMove { index } => illegal(index),
            KifError::InvalidLine(text) => line(text, "not a line of KIF"),
            KifError::InvalidMove(text) => line(text, "not a KIF move that is possible here"),
            error => other(error.to_string()),
        }),
    }
}

/// The side to move after the record's moves.
fn side_after(record: &Record) -> u32 {
    let first = Board::from_sfen(record.init_position_sfen()).map_or(0, |board| board.side());
    (first + record.main_moves().count() as u32) % 2
}

/// The lines before an illegal move, if the record ends by declaring it illegal.
fn before_illegal_end<'a>(format: Format, part: &Part, lines: &'a [String], number: usize) -> Option<&'a [String]> {
    let at = line_of(format, part, &Location::Move(number))?;
    let says_so = |line: &String| match format {
        Format::Csa => ["%ILLEGAL", "%+ILLEGAL", "%-ILLEGAL"].iter().any(|end| line.trim_start().starts_with(end)),
        _ => !line.trim_start().starts_with('*') && line.contains("反則"),
    };
    let moves = |line: &String| match format {
        Format::Csa => is_csa_move(line),
        _ => is_kif_move(line.trim()) && !line.contains("反則"),
    };
    let after = lines.get(at + 1..)?;
    let end = after.iter().position(says_so)?;
    if after[..end].iter().any(moves) { None } else { lines.get(..at) }
}

/// The line of a location, counted from the game's first.
fn line_of(format: Format, part: &Part, location: &Location) -> Option<usize> {
    match location {
        Location::Whole => None,
        Location::Line(line) => Some(*line),
        Location::Text(text) => {
            let text = text.trim();
            let lines = || part.lines.iter();
            lines().position(|line| line.trim() == text).or_else(|| lines().position(|line| line.contains(text)))
        }
        Location::Move(number) => {
            let mut moves = 0;
            part.lines.iter().position(|line| {
                moves += match format {
                    Format::Csa => line.split(',').filter(|token| is_csa_move(token)).count(),
                    _ => usize::from(is_kif_move(line.trim())),
                };
                moves > *number
            })
        }
    }
}
