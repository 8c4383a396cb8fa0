//! The bytes of a file of records, read piece by piece, and as often as it takes: what its encoding and its format are is known from all of it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::Error;
use crate::runtime::input_file;

/// Number of bytes read at once.
const PIECE: usize = 1 << 16;

/// The source of games.
#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    /// A file, and the counter of the bytes read.
    File(&'a Path, &'a AtomicU64),
    /// Bytes in memory.
    Bytes(&'a [u8]),
}

impl<'a> Content<'a> {
    /// Reads from the beginning, decompressing gzip.
    ///
    /// # Errors
    /// The reason why a file cannot be read. Devices and pipes, which may never end, are refused.
    pub fn open(self) -> Result<Unpacked<'a>, String> {
        let mut packed: Box<dyn BufRead + 'a> = match self {
            Self::Bytes(bytes) => Box::new(bytes),
            Self::File(path, read) => {
                input_file::expect_file(path).map_err(|error| match error {
                    Error::File { reason, .. } => reason,
                    error => error.to_string(),
                })?;
                let file = File::open(path).map_err(|error| unreadable(&error))?;
                Box::new(BufReader::with_capacity(PIECE, Counted { file, read }))
            }
        };
        let is_packed = packed.fill_buf().map_err(|error| unreadable(&error))?.starts_with(&[0x1F, 0x8B]);
        let bytes: Box<dyn BufRead + 'a> = match is_packed {
            true => Box::new(BufReader::with_capacity(PIECE, MultiGzDecoder::new(packed))),
            false => packed,
        };
        let mut unpacked = Unpacked { bytes, is_packed };
        // The first piece has all of a byte order mark, however little is unpacked at first.
        let mut first = Vec::with_capacity(4);
        while first.len() < 4 {
            let piece = unpacked.piece()?;
            let n = piece.len().min(4 - first.len());
            if n == 0 {
                break;
            }
            first.extend_from_slice(&piece[..n]);
            unpacked.consume(n);
        }
        unpacked.bytes = Box::new(Cursor::new(first).chain(unpacked.bytes));
        Ok(unpacked)
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

/// A file that counts the bytes read.
struct Counted<'a> {
    file: File,
    read: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A decompressed stream of bytes.
pub(super) struct Unpacked<'a> {
    bytes: Box<dyn BufRead + 'a>,
    is_packed: bool,
}

impl Unpacked<'_> {
    /// The next piece; empty at the end.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn piece(&mut self) -> Result<&[u8], String> {
        let is_packed = self.is_packed;
        self.bytes.fill_buf().map_err(|error| match is_packed {
            true => format!("cannot be unpacked by gzip: {error}"),
            false => unreadable(&error),
        })
    }

    /// Skips the first `n` bytes of the piece.
    pub fn consume(&mut self, n: usize) {
        self.bytes.consume(n);
    }
}
