//! CSV files of labelled samples: a line for each, with its label and its pixels.
//!
//! ```text
//! label,1x1,1x2,…        a header, or none
//! 7,0,0,84,…             whole numbers of 0 to 255
//! ```

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::rc::Rc;
use std::str::FromStr;

use csv::{ByteRecord, ErrorKind, ReaderBuilder, Terminator};

use super::features::finite_in_single;
use super::source::{Images, MAX_BYTES, Source};
use super::{idx, npy};
use crate::runtime::error::bytes as in_units;
use crate::{Error, Result};

/// Most bytes of a line.
const MAX_LINE: u64 = 1 << 24;
/// Characters of a field that an error shows.
const SHOWN: usize = 40;

/// What a CSV file of a [`Dataset`](super::Dataset) looks like: fields between commas, quoted or not, one line a sample.
///
/// ```
/// use warpplay::mlp::{CsvFormat, Dataset};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("train.csv");
/// std::fs::write(&path, "a,b,class\n0,255,1\n128,0,0\n")?;
/// let format = CsvFormat { label: Some("class".into()), ..CsvFormat::default() };
/// let set = Dataset::load_csv(&path, &format, None)?;
/// assert_eq!((set.labels(), set.images()), (&[1, 0][..], &[0, 255, 128, 0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvFormat {
    /// Name of the column of labels, in the header; `None`: the first column.
    pub label: Option<String>,
    /// Whether the first line is a header. `None`: it is one if `label` is given, or if none of its fields is a number.
    pub header: Option<bool>,
    /// Rows and columns of an image, whose pixels are the other columns, row by row; `None`: one row.
    pub image_size: Option<(u32, u32)>,
}

/// What is wrong: reading, or a line's content.
enum Fault {
    Read(io::Error),
    Line(u64, String),
}

/// Names of the columns of a file's header but that of the labels or targets; empty without a header.
type Columns = Vec<String>;

/// Reads a file: its columns, images, and a label of each below `n_classes`.
///
/// # Errors
/// [`Error::File`] with line and column; [`Error::Option`] for a named column without a header.
pub(super) fn read(path: &Path, format: &CsvFormat, n_classes: u32) -> Result<(Columns, Images, Vec<u8>)> {
    open(path, format, |input| parse(input, format, n_classes))
}

/// Reads a file: its columns, images, and a target of each.
///
/// # Errors
/// As [`read`].
pub(super) fn read_targets(path: &Path, format: &CsvFormat) -> Result<(Columns, Images, Vec<f32>)> {
    open(path, format, |input| {
        let (mut pixels, mut targets) = (Vec::new(), Vec::new());
        let (columns, rows, cols) = parse_lines(input, format, |is_answer, field| match is_answer {
            true => take_number("the target", field, &mut targets),
            false => take_pixel(field, &mut pixels),
        })?;
        Ok((columns, Images { rows, cols, pixels }, targets))
    })
}

/// Reads a file: its columns, the number of features, the features of all samples, and a label of each below `n_classes`.
///
/// # Errors
/// As [`read`].
pub(super) fn read_features(
    path: &Path,
    format: &CsvFormat,
    n_classes: u32,
) -> Result<(Columns, u32, Vec<f64>, Vec<u8>)> {
    open(path, format, |input| {
        let (mut features, mut labels) = (Vec::new(), Vec::new());
        let (columns, rows, cols) = parse_lines(input, format, |is_answer, field| match is_answer {
            true => take_label(field, n_classes, &mut labels),
            false => take_number("the feature", field, &mut features),
        })?;
        Ok((columns, rows * cols, features, labels))
    })
}

/// Reads a file: its columns, the number of features, the features of all samples, and a target of each.
///
/// # Errors
/// As [`read`].
pub(super) fn read_features_and_targets(path: &Path, format: &CsvFormat) -> Result<(Columns, u32, Vec<f64>, Vec<f32>)> {
    open(path, format, |input| {
        let (mut features, mut targets) = (Vec::new(), Vec::new());
        let (columns, rows, cols) = parse_lines(input, format, |is_answer, field| match is_answer {
            true => take_number("the target", field, &mut targets),
            false => take_number("the feature", field, &mut features),
        })?;
        Ok((columns, rows * cols, features, targets))
    })
}

/// Reads a file whose columns are all features, but for a named one of labels or targets, which is passed over: the number of features, and those of all samples.
///
/// # Errors
/// As [`read`].
pub(super) fn read_features_alone(path: &Path, format: &CsvFormat) -> Result<(u32, Vec<f64>)> {
    read_alone(path, format, |field, features| take_number("the feature", field, features))
}

/// Reads a file whose columns are all pixels, as [`read_features_alone`].
///
/// # Errors
/// As [`read`].
pub(super) fn read_pixels_alone(path: &Path, format: &CsvFormat) -> Result<(u32, Vec<u8>)> {
    read_alone(path, format, take_pixel)
}

fn read_alone<T>(
    path: &Path,
    format: &CsvFormat,
    take: impl Fn(&[u8], &mut Vec<T>) -> Result<(), Wrong>,
) -> Result<(u32, Vec<T>)> {
    if let (Some(label), Some(false)) = (&format.label, format.header) {
        return Err(Error::option("label", label, "none without a header, which names the columns"));
    }
    open(path, format, |input| {
        let mut values = Vec::new();
        let (_, rows, cols) =
            parse_columns(input, format, format.label.is_some(), |is_answer, field| match is_answer {
                true => Ok(()),
                false => take(field, &mut values),
            })?;
        Ok((rows * cols, values))
    })
}

/// Opens a file, and says where it is wrong.
fn open<T>(path: &Path, format: &CsvFormat, parse: impl FnOnce(&mut dyn BufRead) -> Result<T, Fault>) -> Result<T> {
    if let (Some(label), Some(false)) = (&format.label, format.header) {
        return Err(Error::option("label", label, "none without a header: the first column has the labels"));
    }
    let mut source = Source::open(path)?;
    for (magic, name) in [(npy::MAGIC, "an .npy file"), (&idx::IMAGES_MAGIC.to_be_bytes()[..], "an IDX file")] {
        if source.starts_with(magic)? {
            return Err(source.wrong(format!("is {name}, not CSV: its labels are expected in a file of their own")));
        }
    }
    parse(source.reader()).map_err(|fault| match fault {
        Fault::Read(error) => source.failed(&error),
        Fault::Line(line, reason) => Error::file(path, Some(line), reason),
    })
}

/// What a field is, and what is allowed there, where it is something else.
type Wrong = (&'static str, String);

fn take_pixel(field: &[u8], pixels: &mut Vec<u8>) -> Result<(), Wrong> {
    pixels.push(byte(field).ok_or_else(|| ("the pixel", "a whole number of 0 to 255".into()))?);
    Ok(())
}

fn take_label(field: &[u8], n_classes: u32, labels: &mut Vec<u8>) -> Result<(), Wrong> {
    let label = byte(field).filter(|&label| u32::from(label) < n_classes);
    let allowed = || format!("a whole number of 0 to {}", n_classes.saturating_sub(1));
    labels.push(label.ok_or_else(|| ("the label", allowed()))?);
    Ok(())
}

/// A number of the precision that is kept, finite in single precision.
fn take_number<T: Copy + FromStr + Into<f64>>(
    what: &'static str,
    field: &[u8],
    numbers: &mut Vec<T>,
) -> Result<(), Wrong> {
    let text = std::str::from_utf8(field).unwrap_or_default().trim();
    let found: Option<T> = text.parse().ok().filter(|&value: &T| (value.into() as f32).is_finite());
    let allowed = || {
        let value: f64 = text.parse().unwrap_or(f64::NAN);
        // More than double precision holds is a number too, but the word `inf` is not.
        let is_large = value.is_infinite() && text.contains(|character: char| character.is_ascii_digit());
        finite_in_single(if is_large { f64::MAX } else { value }).into()
    };
    numbers.push(found.ok_or_else(|| (what, allowed()))?);
    Ok(())
}

fn parse(input: impl Read, format: &CsvFormat, n_classes: u32) -> Result<(Columns, Images, Vec<u8>), Fault> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    let (columns, rows, cols) = parse_lines(input, format, |is_answer, field| match is_answer {
        true => take_label(field, n_classes, &mut labels),
        false => take_pixel(field, &mut pixels),
    })?;
    Ok((columns, Images { rows, cols, pixels }, labels))
}

/// As [`parse_columns`], of lines with a label or target.
fn parse_lines(
    input: impl Read,
    format: &CsvFormat,
    take: impl FnMut(bool, &[u8]) -> Result<(), Wrong>,
) -> Result<(Columns, u32, u32), Fault> {
    parse_columns(input, format, true, take)
}

/// Gives all fields to `take`, and whether each is the label's, or target's, if a line has one; it says what a field is and what is allowed where that is something else. Returns the columns, and rows and columns of an image.
fn parse_columns(
    input: impl Read,
    format: &CsvFormat,
    has_label: bool,
    mut take: impl FnMut(bool, &[u8]) -> Result<(), Wrong>,
) -> Result<(Columns, u32, u32), Fault> {
    let line_left = Rc::new(Cell::new(MAX_LINE));
    let input = Limited { input, line_left: line_left.clone(), left: MAX_BYTES, last: b'\n' };
    // A carriage return is then part of the last field, as other white space around a value.
    let end = Terminator::Any(b'\n');
    let mut lines = ReaderBuilder::new().has_headers(false).flexible(true).terminator(end).from_reader(input);
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| loop {
        line_left.set(MAX_LINE);
        let found = lines.read_byte_record(record).map_err(|error| match error.into_kind() {
            ErrorKind::Io(error) => Fault::Read(error),
            // No other kind arises without headers, lengths and text.
            other => Fault::Read(io::Error::other(format!("{other:?}"))),
        })?;
        if !found {
            return Ok::<_, Fault>(None);
        }
        // Where the record begins; the reader is in the line after it, or, where a quote was never closed, at the end of the file.
        let is_open = record.as_slice().last() == Some(&b'\n');
        let within = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        if record.len() > 1 || !record.as_slice().trim_ascii().is_empty() {
            return Ok(Some(lines.position().line().saturating_sub(within + u64::from(!is_open)).max(1)));
        }
    };
    let empty = || Fault::Line(1, "holds no samples, at least 1 is expected".into());
    let mut line = next(&mut record)?.ok_or_else(empty)?;
    let first = line;
    let n_fields = record.len();
    let is_number = |field: &[u8]| std::str::from_utf8(field).is_ok_and(|text| text.trim().parse::<f64>().is_ok());
    let header = format.header.unwrap_or_else(|| format.label.is_some() || !record.iter().any(is_number));
    let names = header.then(|| record.clone());
    let label_at = match (&format.label, &names) {
        (Some(label), Some(names)) => Some(named(names, label).map_err(|reason| Fault::Line(line, reason))?),
        _ => has_label.then_some(0),
    };
    if header {
        let is_broken = record.as_slice().contains(&b'\n');
        line = next(&mut record)?.ok_or_else(|| match is_broken {
            true => Fault::Line(first, "has a line break between quotes: is a quote not closed?".into()),
            false => empty(),
        })?;
    }
    let n_pixels = n_fields.saturating_sub(usize::from(has_label)) as u64;
    let (rows, cols) = format.image_size.unwrap_or((1, u32::try_from(n_pixels).unwrap_or(u32::MAX)));
    if u64::from(rows) * u64::from(cols) != n_pixels || n_pixels == 0 {
        let expected = match format.image_size {
            Some(_) => format!("{rows} x {cols} pixels and a label are expected"),
            None => "at least 2, a label and a pixel, are expected".into(),
        };
        return Err(Fault::Line(first, format!("has {n_fields} columns, {expected}")));
    }
    loop {
        // No number has one: a quote that is never closed takes all that follows, and its last line break with it.
        if let Some(at) = record.iter().position(|field| field.contains(&b'\n')) {
            let reason = format!("column {} has a line break between quotes: is a quote not closed?", at + 1);
            return Err(Fault::Line(line, reason));
        }
        if record.len() != n_fields {
            let reason = format!("has {} columns, {n_fields} are expected as in line {first}", record.len());
            return Err(Fault::Line(line, reason));
        }
        for (at, field) in record.iter().enumerate() {
            let wrong = |what: &str, allowed: String| {
                let name = names.as_ref().and_then(|names| names.get(at));
                let name = name.map(|name| format!(" ({})", shown(name))).unwrap_or_default();
                let reason = format!("{what} in column {}{name} is {}, {allowed} is expected", at + 1, shown(field));
                Fault::Line(line, reason)
            };
            take(Some(at) == label_at, field).map_err(|(what, allowed)| wrong(what, allowed))?;
        }
        match next(&mut record)? {
            Some(number) => line = number,
            None => {
                let names = names.iter().flatten().enumerate().filter(|&(at, _)| Some(at) != label_at);
                let columns = names.map(|(_, name)| String::from_utf8_lossy(name.trim_ascii()).into_owned());
                return Ok((columns.collect(), rows, cols));
            }
        }
    }
}

/// Index of the column of this name, or why there is none.
fn named(names: &ByteRecord, label: &str) -> Result<usize, String> {
    let mut found =
        names.iter().enumerate().filter(|&(_, name)| name.trim_ascii() == label.trim().as_bytes()).map(|(at, _)| at);
    let label = shown(label.as_bytes());
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(at), Some(second)) => {
            Err(format!("the header has the column {label} twice: columns {} and {}", at + 1, second + 1))
        }
        _ => {
            let some: Vec<String> = names.iter().take(4).map(shown).collect();
            let more = if names.len() > some.len() { ", …" } else { "" };
            Err(format!(
                "the header has no column {label}, expected one of its {}: {}{more}",
                names.len(),
                some.join(", ")
            ))
        }
    }
}

/// A whole number of 0 to 255, also written as 12.0 or 1e2.
fn byte(field: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(field).ok()?.trim();
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        ((0.0..=255.0).contains(&value) && value.fract() == 0.0).then_some(value as u8)
    })
}

/// A field as an error shows it.
fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field.trim_ascii());
    let short: String = text.chars().take(SHOWN).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{more}")
}

/// Input whose last line ends as all others; reading ends with an error where a line or the whole is too long.
struct Limited<R> {
    input: R,
    /// Bytes that the present line may still have.
    line_left: Rc<Cell<u64>>,
    left: u64,
    /// The last byte so far.
    last: u8,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut n = self.input.read(buffer)?;
        if let Some(first) = buffer.first_mut().filter(|_| n == 0 && self.last != b'\n') {
            *first = b'\n';
            n = 1;
        }
        self.last = if n > 0 { buffer[n - 1] } else { self.last };
        let (line, all) = (self.line_left.get().checked_sub(n as u64), self.left.checked_sub(n as u64));
        let too_long = |what: &str, most: u64| io::Error::other(format!("{what} has more than {}", in_units(most)));
        self.line_left.set(line.ok_or_else(|| too_long("a line", MAX_LINE))?);
        self.left = all.ok_or_else(|| too_long("the set", MAX_BYTES))?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited() {
        let endless = io::repeat(b'7');
        let Err(Fault::Read(error)) = parse(endless, &CsvFormat::default(), 10) else {
            panic!("a line without an end")
        };
        assert_eq!(error.to_string(), "a line has more than 16.00 MiB");
    }

    #[test]
    fn numbers_are_bytes_or_nothing() {
        for (text, value) in [("0", 0), ("255", 255), ("12.0", 12), ("1e2", 100), ("+3", 3), ("007", 7)] {
            assert_eq!(byte(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "256", "-1", "0.5", "nan", "inf", "1e400", "x", "1 2", "0x10"] {
            assert_eq!(byte(text.as_bytes()), None, "{text}");
        }
        assert_eq!(byte(b"\xFF"), None);
    }
}
