//! Data that other people's programs made: small files in `tests/golden`, large ones beside the repository.

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

use crate::backends::demanded;
use crate::skipped::skipped;

/// The package's folder: `CARGO_MANIFEST_DIR` at run time, since a bundle may run in another checkout than it was built in.
pub fn package() -> PathBuf {
    let at_run = std::env::var_os("CARGO_MANIFEST_DIR");
    at_run.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from)
}

/// The workspace's root, found as [`package`].
pub fn workspace() -> PathBuf {
    package().join("..")
}

/// Where a small file of `tests/golden` lies.
pub fn path(name: &str) -> PathBuf {
    package().join("golden").join(name)
}

/// A small file of `tests/golden`.
///
/// # Panics
/// If it is not there: it is part of the repository.
pub fn text(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file of the large sets: in the folder that `WARPPLAY_SHARED` names, else in `../shared` beside the repository. `None`, said aloud, where it is
/// absent.
///
/// # Panics
/// With `WARPPLAY_REQUIRE_SHARED=1` if it is absent.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = shared_or_less(name);
    if path.is_none() {
        skipped(format_args!("{name} is absent (WARPPLAY_SHARED may name its folder)"));
    }
    path
}

/// The same where a part of the file is in the repository, which a test uses instead: nothing is left out then.
///
/// # Panics
/// As [`shared`].
pub fn shared_or_less(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WARPPLAY_SHARED").map_or_else(|| workspace().join("../shared"), PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    assert!(!demanded("WARPPLAY_REQUIRE_SHARED"), "WARPPLAY_REQUIRE_SHARED=1, but there is no {}", path.display());
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

/// Tensors of a safetensors file.
#[derive(Debug)]
pub struct Tensors {
    bytes: Vec<u8>,
    name: String,
}

/// A safetensors file of `tests/golden`.
///
/// # Panics
/// If it is not there: it is part of the repository.
pub fn tensors(name: &str) -> Tensors {
    Tensors::read(&path(name))
}

impl Tensors {
    /// Reads a file.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read(path: &Path) -> Self {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { bytes, name }
    }

    fn with<R>(&self, tensor: &str, read: impl FnOnce(Dtype, &[u8]) -> Option<R>) -> R {
        let file = SafeTensors::deserialize(&self.bytes).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let view = file.tensor(tensor).unwrap_or_else(|error| panic!("{}: {tensor}: {error}", self.name));
        let found = read(view.dtype(), view.data());
        found.unwrap_or_else(|| panic!("{}: {tensor} holds {:?}", self.name, view.dtype()))
    }

    /// A tensor's numbers, row-major: f32 or f64.
    ///
    /// # Panics
    /// If there is no such tensor, or it holds something else.
    pub fn floats(&self, tensor: &str) -> Vec<f64> {
        self.with(tensor, |dtype, data| match dtype {
            Dtype::F32 => Some(data.as_chunks().0.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes))).collect()),
            Dtype::F64 => Some(data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()),
            _ => None,
        })
    }

    /// A tensor's integers, row-major: bytes or 32 bits.
    ///
    /// # Panics
    /// If there is no such tensor, or it holds something else.
    pub fn integers(&self, tensor: &str) -> Vec<i64> {
        self.with(tensor, |dtype, data| match dtype {
            Dtype::U8 => Some(data.iter().map(|&byte| i64::from(byte)).collect()),
            Dtype::I32 => Some(data.as_chunks().0.iter().map(|&bytes| i64::from(i32::from_le_bytes(bytes))).collect()),
            _ => None,
        })
    }

    /// A tensor's integers, row-major, which must fit in bytes.
    ///
    /// # Panics
    /// If there is no such tensor, or it holds something else.
    pub fn bytes(&self, tensor: &str) -> Vec<u8> {
        let byte = |value: i64| u8::try_from(value).unwrap_or_else(|_| panic!("{}: {tensor}: {value}", self.name));
        self.integers(tensor).into_iter().map(byte).collect()
    }
}
