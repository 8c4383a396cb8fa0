//! Files that a caller names: read with errors that say what is wrong and in which line.
//!
//! A path from a command line may be a folder, a pipe that never ends, or a file in another encoding. These functions refuse what is no file before it is opened, limit what
//! is read where a format has a limit, and report text that is not UTF-8 with its line.
//!
//! ```
//! use warpplay::input_file;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("game.txt");
//! std::fs::write(&path, "numPlayers = 2\n")?;
//! assert_eq!(input_file::read_text(&path)?, "numPlayers = 2\n");
//!
//! std::fs::write(&path, b"numPlayers = 2\nname = \xff\n")?;
//! let error = input_file::read_text(&path).unwrap_err().to_string();
//! assert!(error.contains("line 2: is not UTF-8 text"), "{error}");
//!
//! let error = input_file::read(folder.path()).unwrap_err().to_string();
//! assert!(error.contains("it is a folder, a device or a pipe"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | function | what it gives |
//! | --- | --- |
//! | [`read`], [`read_text`], [`read_short_text`] | bytes, text, text of a limited length |
//! | [`expect_file`], [`locked`] | that it is a file; the file opened, and locked against other processes |
//! | [`text_of`] | bytes of a file as text |
//! | [`json_reason`], [`json_reason_in`], [`is_cut_off_json`] | what is wrong with JSON, and in which field; whether its end is missing |

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::runtime::folder_lock;
use crate::{Error, Result};

/// Checks before opening that a path names a regular file: opening a pipe waits for a writer, and reading a device may never end.
///
/// # Errors
/// [`Error::File`] with the path and the reason.
pub fn expect_file(path: &Path) -> Result<()> {
    if fs::metadata(path).map_err(|error| failed(path, &error))?.is_file() {
        return Ok(());
    }
    Err(Error::file(path, None, "cannot be read: it is a folder, a device or a pipe, expected a file"))
}

/// Opens a file and holds its lock while it is open, which a program that reads the file and then replaces it needs.
///
/// # Errors
/// [`Error::File`] if it cannot be opened or locked, or another process has locked it.
pub fn locked(path: &Path) -> Result<File> {
    expect_file(path)?;
    let open = |path: &Path| File::open(path).map_err(|error| failed(path, &error));
    folder_lock::take_opened(path, open)?.ok_or_else(|| Error::file(path, None, "is used by another process"))
}

/// Describes what is wrong with JSON and in which column; [`Error::File`] names the line.
pub fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(&text[..], |(reason, _)| reason);
    // The name of a type says nothing to the reader of a file.
    let reason = match reason.rsplit_once(", expected ") {
        Some((found, expected)) => format!("{}, expected {}", found_in_words(found), expected_in_words(expected)),
        None => reason.to_string(),
    };
    let reason = match &reason[..] {
        "expected value" | "expected ident" => {
            "expected a value: a number such as 1.5, \"text\", [...], {...}, true, false or null".to_string()
        }
        "number out of range" => "the number is too large".to_string(),
        _ => reason,
    };
    if error.line() == 0 { reason } else { format!("{reason} (column {})", error.column()) }
}

/// What a value is, where its kind alone was found.
fn found_in_words(found: &str) -> String {
    match found {
        "invalid type: map" => "invalid type: an object {...}".to_string(),
        "invalid type: sequence" => "invalid type: a list [...]".to_string(),
        _ => found.replace("floating point `", "number `").replace("integer `", "number `"),
    }
}

/// A type of Rust as the reader of a file knows it.
fn expected_in_words(expected: &str) -> &str {
    match expected {
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a map" => "an object {...}",
        "a sequence" => "a list [...]",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    }
}

/// As [`json_reason`], with the path of the field of the text in which the error was found, such as `locks[0].seat`.
pub fn json_reason_in(text: &str, error: &serde_json::Error) -> String {
    match json_field(text, error) {
        // Where a value is missing or none, the field is known too.
        Some(field) if error.is_data() || is_about_value(error) => format!("field {field}: {}", json_reason(error)),
        _ => json_reason(error),
    }
}

fn is_about_value(error: &serde_json::Error) -> bool {
    let text = error.to_string();
    ["expected value", "expected ident", "number out of range", "invalid number"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Path of the field in which an error was found; `None` at the outermost level.
fn json_field(text: &str, error: &serde_json::Error) -> Option<String> {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let bytes = &text.as_bytes()[..text.len().min(before + error.column())];
    // What is open: a list with the number of its entry, or an object with the name of its field, once that has been read.
    let mut open: Vec<Result<usize, Option<&str>>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => open.push(Err(None)),
            b'[' => open.push(Ok(0)),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(Ok(entry)) => *entry += 1,
                Some(Err(name)) => *name = None,
                None => {}
            },
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                if let Some(Err(name @ None)) = open.last_mut() {
                    *name = text.get(start..at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for part in open {
        match part {
            Ok(entry) => path += &format!("[{entry}]"),
            Err(Some(name)) if path.is_empty() => path += name,
            Err(Some(name)) => path += &format!(".{name}"),
            Err(None) => {}
        }
    }
    (!path.is_empty()).then_some(path)
}

/// All bytes of a file.
///
/// # Errors
/// [`Error::File`] with the path and the reason.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    expect_file(path)?;
    fs::read(path).map_err(|error| failed(path, &error))
}

/// The text of a file.
///
/// # Errors
/// As [`read`], and as [`text_of`].
pub fn read_text(path: &Path) -> Result<String> {
    text_of(path, read(path)?)
}

/// Reads the text of a file of at most `most` bytes; reads no more than that.
///
/// # Errors
/// As [`read_text`], and for a larger file.
pub fn read_short_text(path: &Path, most: u64) -> Result<String> {
    expect_file(path)?;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes));
    read.map_err(|error| failed(path, &error))?;
    if bytes.len() as u64 > most {
        let reason = format!("cannot be read: it has more than {most} bytes, the most allowed");
        return Err(Error::file(path, None, reason));
    }
    text_of(path, bytes)
}

/// Converts a file's bytes to text.
///
/// # Errors
/// [`Error::File`] with the path and the line, where they are not UTF-8 text.
pub fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        Error::file(path, Some(line), "is not UTF-8 text")
    })
}

/// Whether a text is JSON (one value, or several in sequence) that was cut off.
///
/// This distinguishes a truncated file from a file of another kind. A typed deserialisation error cannot, since it stops at the first unexpected field.
pub fn is_cut_off_json(text: &str) -> bool {
    // Values, not skipped ones: of those, serde_json calls an end after `-`, `.` or `e` a wrong number.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.find_map(std::result::Result::err).is_some_and(|error| error.is_eof())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::file(path, None, format!("cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_json_is_in_a_field() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only read")]
        struct Outer {
            list: Vec<Inner>,
            #[serde(default)]
            other: u32,
        }
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "only read")]
        struct Inner {
            number: f64,
            words: Vec<String>,
        }
        for (text, field, reason) in [
            (r#"{"list": [{"number": 1, "words": []}, {"number": "x"}]}"#, Some("list[1].number"), "expected a number"),
            (r#"{"list": [{"number": 1, "words": ["a]{,\"", 5]}]}"#, Some("list[0].words[1]"), "expected a string"),
            ("{\"list\": [],\n \"other\":\n -1}", Some("other"), "expected a whole number, 0 or more"),
            (r#"{"list": [3]}"#, Some("list[0]"), "invalid type: number `3`, expected an object (column 11)"),
            (r#"{"other": 3}"#, None, "missing field `list`"),
            ("[]", None, "invalid length 0, expected an object"),
        ] {
            let error = serde_json::from_str::<Outer>(text).unwrap_err();
            assert_eq!(json_field(text, &error).as_deref(), field, "{text}: {error}");
            assert!(json_reason(&error).contains(reason), "{text}: {}", json_reason(&error));
        }
    }

    #[test]
    fn only_texts_of_the_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let text = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            read_short_text(&path, 4).map_err(|error| error.to_string())
        };
        assert_eq!(text(b"1234").as_deref(), Ok("1234"));
        assert!(text(b"12345").unwrap_err().ends_with("it has more than 4 bytes, the most allowed"));
        assert!(text(b"1\n\xFF").unwrap_err().ends_with("text, line 2: is not UTF-8 text"));
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_short_text(&path, u64::MAX).unwrap(), "12345");
        for path in [folder.path(), Path::new("/dev/zero")] {
            let error = read_text(path).unwrap_err().to_string();
            assert!(error.contains("expected a file"), "{error}");
        }
    }

    #[test]
    fn json_that_is_cut_off_anywhere_is_known() {
        let text = r#"{"a": [-1.5e-7, -0.25E+3, null, true], "b": {"c": "d\u00e9\"", "e": 12}}"#;
        for end in 1..text.len() {
            assert!(is_cut_off_json(&text[..end]), "{}", &text[..end]);
        }
        for whole in [text, "", "no JSON", "{]", &format!("{text}\n{text}\n")] {
            assert!(!is_cut_off_json(whole), "{whole}");
        }
        assert!(is_cut_off_json(&format!("{text}\n{{")));
    }
}
