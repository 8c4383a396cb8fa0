//! Texts that users write: definitions of games, spots.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::runtime::atomic_file;
use crate::{Error, Result};

/// The text of a file of at most `most` bytes; no more are read.
///
/// # Errors
/// [`Error::File`] where it is no file, cannot be read, is larger, or is no text: then with the line.
pub(in crate::cfr) fn read(path: &Path, most: u64) -> Result<String> {
    let failed = |error: io::Error| Error::file(path, None, format!("cannot be read: {error}"));
    atomic_file::expect_file(path)?;
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(Error::file(
            path,
            None,
            format!("cannot be read: it has more than {most} bytes, the most allowed"),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        Error::file(path, Some(line), "is no text in UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_the_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let text = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read(&path, 4).map_err(|error| error.to_string())
        };
        assert_eq!(text(b"1234").as_deref(), Ok("1234"));
        assert!(text(b"12345").unwrap_err().ends_with("it has more than 4 bytes, the most allowed"));
        assert!(text(b"1\n\xFF").unwrap_err().ends_with("text, line 2: is no text in UTF-8"));
        let error = read(folder.path(), 4).unwrap_err().to_string();
        assert!(error.contains("expected a file"), "{error}");
    }
}
