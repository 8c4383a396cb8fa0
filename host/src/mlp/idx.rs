//! The IDX format of MNIST and its relatives, plain or compressed with gzip.
//!
//! ```text
//! images  u32 2051, u32 samples, u32 rows, u32 cols, then samples x rows x cols bytes
//! labels  u32 2049, u32 samples, then samples bytes            (all u32 big-endian)
//! ```

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::runtime::error::bytes as in_units;
use crate::runtime::input_file;
use crate::{Error, Result};

/// First number of a file of images.
pub(super) const IMAGES_MAGIC: u32 = 2051;
/// First number of a file of labels.
pub(super) const LABELS_MAGIC: u32 = 2049;
/// Maximum size of an uncompressed set in bytes.
const MAX_BYTES: u64 = 1 << 36;
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

/// Reads a file of images.
///
/// # Errors
/// [`Error::File`] naming the invalid field, or the number of missing or surplus bytes.
pub(super) fn read_images(path: &Path) -> Result<Images> {
    let mut source = Source::open(path)?;
    let [n, rows, cols] = source.header(IMAGES_MAGIC, "images", ["samples", "rows", "cols"])?;
    let size = u64::from(rows) * u64::from(cols);
    if size > u64::from(u32::MAX) {
        return Err(source.wrong(format!("images are {rows} x {cols} pixels, at most {} are allowed", u32::MAX)));
    }
    let promise = format!("{n} images of {rows} x {cols}");
    let pixels = source.body(u128::from(n) * u128::from(size), &promise)?;
    Ok(Images { rows, cols, pixels })
}

/// Reads a file of labels.
///
/// # Errors
/// As [`read_images`].
pub(super) fn read_labels(path: &Path) -> Result<Vec<u8>> {
    let mut source = Source::open(path)?;
    let [n] = source.header(LABELS_MAGIC, "labels", ["samples"])?;
    source.body(n.into(), &format!("{n} labels"))
}

/// The bytes of a plain file with this header.
pub(super) fn to_bytes(header: &[u32], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 * header.len() + body.len());
    for number in header {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(body);
    bytes
}

/// A file that is read from its beginning and decompressed on the way.
struct Source<'a> {
    path: &'a Path,
    reader: Box<dyn Read>,
    packed: bool,
    /// Bytes of the file on the disk.
    stored: u64,
    header_bytes: u64,
}

impl<'a> Source<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let failed = |error: io::Error| Error::file(path, None, format!("cannot be read: {error}"));
        input_file::expect_file(path)?;
        let file = File::open(path).map_err(failed)?;
        let stored = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let packed = reader.fill_buf().map_err(failed)?.starts_with(&[0x1F, 0x8B]);
        let reader: Box<dyn Read> = if packed { Box::new(MultiGzDecoder::new(reader)) } else { Box::new(reader) };
        Ok(Self { path, reader, packed, stored, header_bytes: 0 })
    }

    fn wrong(&self, reason: String) -> Error {
        Error::file(self.path, None, reason)
    }

    fn failed(&self, error: &io::Error) -> Error {
        self.wrong(match (self.packed, error.kind()) {
            (true, io::ErrorKind::UnexpectedEof) => "the gzip data is truncated".to_string(),
            (true, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                format!("the gzip data is damaged: {error}")
            }
            _ => format!("cannot be read: {error}"),
        })
    }

    /// Reads the magic number, then the named fields, none of which may be 0.
    fn header<const N: usize>(&mut self, magic: u32, what: &str, fields: [&str; N]) -> Result<[u32; N]> {
        let found = self.number("magic")?;
        if found != magic {
            return Err(self.wrong(format!("magic is {found}, {magic} is expected for {what}")));
        }
        let mut values = [0; N];
        for (value, field) in values.iter_mut().zip(fields) {
            *value = self.number(field)?;
            if *value == 0 {
                return Err(self.wrong(format!("{field} is 0, at least 1 is expected")));
            }
        }
        Ok(values)
    }

    fn number(&mut self, field: &str) -> Result<u32> {
        let mut bytes = Vec::with_capacity(4);
        self.reader.by_ref().take(4).read_to_end(&mut bytes).map_err(|error| self.failed(&error))?;
        let Ok(bytes) = <[u8; 4]>::try_from(bytes.as_slice()) else {
            let at = self.header_bytes + bytes.len() as u64;
            return Err(self.wrong(format!("truncated: the file ends after {at} bytes, in the header's field {field}")));
        };
        self.header_bytes += 4;
        Ok(u32::from_be_bytes(bytes))
    }

    /// Reads the body: exactly `expected` bytes. It never allocates more memory than the file's size justifies.
    fn body(mut self, expected: u128, promise: &str) -> Result<Vec<u8>> {
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
