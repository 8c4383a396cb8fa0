//! Files of data sets, plain or compressed with gzip, read with limits.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::runtime::error::bytes as in_units;
use crate::runtime::input_file;
use crate::{Error, Result};

/// Maximum size of an uncompressed set in bytes.
pub(super) const MAX_BYTES: u64 = 1 << 36;
/// Maximum ratio of uncompressed to compressed size of a deflate stream.
const MAX_INFLATION: u64 = 1032;

/// The content of a file of images.
pub(super) struct Images {
    pub rows: u32,
    pub cols: u32,
    /// `[n, rows, cols]`.
    pub pixels: Vec<u8>,
}

impl Images {
    /// Bytes of an image.
    pub fn n_pixels(&self) -> usize {
        self.rows as usize * self.cols as usize
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.pixels.len() / self.n_pixels()
    }
}

/// A file that is read from its beginning and decompressed on the way.
pub(super) struct Source<'a> {
    path: &'a Path,
    reader: Box<dyn BufRead>,
    packed: bool,
    /// Bytes of the file on the disk.
    stored: u64,
    header_bytes: u64,
}

impl<'a> Source<'a> {
    /// Opens a file, plain or compressed with gzip.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, or is a folder, a device or a pipe.
    pub fn open(path: &'a Path) -> Result<Self> {
        let failed = |error: io::Error| Error::file(path, None, format!("cannot be read: {error}"));
        input_file::expect_file(path)?;
        let file = File::open(path).map_err(failed)?;
        let stored = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let packed = reader.fill_buf().map_err(failed)?.starts_with(&[0x1F, 0x8B]);
        let reader: Box<dyn BufRead> =
            if packed { Box::new(BufReader::new(MultiGzDecoder::new(reader))) } else { Box::new(reader) };
        Ok(Self { path, reader, packed, stored, header_bytes: 0 })
    }

    /// The file's path.
    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// An error about the file.
    pub fn wrong(&self, reason: String) -> Error {
        Error::file(self.path, None, reason)
    }

    /// An error of reading it.
    pub fn failed(&self, error: &io::Error) -> Error {
        self.wrong(match (self.packed, error.kind()) {
            (true, io::ErrorKind::UnexpectedEof) => "the gzip data is truncated".to_string(),
            (true, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                format!("the gzip data is damaged: {error}")
            }
            _ => format!("cannot be read: {error}"),
        })
    }

    /// The next `N` bytes, of the header's field `field`.
    pub fn take<const N: usize>(&mut self, field: &str) -> Result<[u8; N]> {
        let bytes = self.take_vec(N, field)?;
        bytes.try_into().map_err(|_| self.wrong(format!("the header's field {field} has another length than {N}")))
    }

    /// The next `n` bytes, of the header's field `field`.
    pub fn take_vec(&mut self, n: usize, field: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(n);
        self.reader.by_ref().take(n as u64).read_to_end(&mut bytes).map_err(|error| self.failed(&error))?;
        if bytes.len() < n {
            let at = self.header_bytes + bytes.len() as u64;
            return Err(self.wrong(format!("truncated: the file ends after {at} bytes, in the header's field {field}")));
        }
        self.header_bytes += n as u64;
        Ok(bytes)
    }

    /// Whether the next bytes, at most as many as are buffered, are these; they are not taken.
    pub fn starts_with(&mut self, bytes: &[u8]) -> Result<bool> {
        let found = self.reader.fill_buf().map(|buffer| buffer.starts_with(bytes));
        found.map_err(|error| self.failed(&error))
    }

    /// What follows, decompressed; its length is not limited.
    pub fn reader(&mut self) -> &mut dyn BufRead {
        &mut self.reader
    }

    /// Reads the body: exactly `expected` bytes. It never allocates more memory than the file's size justifies.
    pub fn body(mut self, expected: u128, promise: &str) -> Result<Vec<u8>> {
        let most = MAX_BYTES;
        let Some(expected) = u64::try_from(expected).ok().filter(|&expected| expected <= most) else {
            let text = format!("the header says {promise}, {expected} bytes; at most {} are allowed", in_units(most));
            return Err(self.wrong(text));
        };
        let holds = match self.packed {
            true => self.stored.saturating_mul(MAX_INFLATION),
            false => self.stored.saturating_sub(self.header_bytes),
        };
        if holds < expected {
            let most = if self.packed { "at most " } else { "" };
            let text = format!(
                "truncated: the header says {promise}, {expected} bytes, the file holds {most}{holds} after the header"
            );
            return Err(self.wrong(text));
        }
        let mut body = Vec::new();
        // One byte more than promised: that the file ends there is part of the check.
        self.reader.by_ref().take(expected + 1).read_to_end(&mut body).map_err(|error| self.failed(&error))?;
        let found = body.len() as u64;
        if found < expected {
            let text = format!(
                "truncated: the header says {promise}, {expected} bytes, the file holds {found} after the header"
            );
            return Err(self.wrong(text));
        }
        if found > expected {
            let text = format!("trailing bytes: the header says {promise}, {expected} bytes, and the file has more");
            return Err(self.wrong(text));
        }
        Ok(body)
    }
}
