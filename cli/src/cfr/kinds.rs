//! What a file is that a command may have been given by mistake.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Result;
use warpplay::Error;

/// How much of a file is looked at: metadata stand at its beginning.
const LOOKED_AT: u64 = 1 << 16;

/// The kinds of file that commands of this family read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    SpotJson,
    Spot,
    Strategy,
    Abstraction,
    Checkpoint,
}

impl Kind {
    /// What it is, and what reads it.
    fn told(self) -> &'static str {
        match self {
            Self::SpotJson => {
                "is a spot as JSON, which is not solved: use solve-spot, whose --save FILE.spot writes what other commands read"
            }
            Self::Spot => "is a solved spot: use query, browse, play or info",
            Self::Strategy => "is a strategy, written by solve: use query, play, exploitability or match",
            Self::Abstraction => "is an abstraction: use solve --abstraction",
            Self::Checkpoint => "is a checkpoint: use solve --resume",
        }
    }
}

/// The kind of a file; `None` for all others, and where it cannot be read.
pub fn of(path: &Path) -> Option<Kind> {
    // A pipe is read once, by what it is for.
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let has = |key: &str| text.contains(&format!("\"warpplay_cfr_{key}\":"));
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    match () {
        () if is_json && text.contains("\"ranges\"") => Some(Kind::SpotJson),
        () if is_json => None,
        () if has("spot") => Some(Kind::Spot),
        () if has("strategy") => Some(Kind::Strategy),
        () if has("abstraction") => Some(Kind::Abstraction),
        () if has("checkpoint") => Some(Kind::Checkpoint),
        () => None,
    }
}

/// Refuses a file of a kind that is known and not wanted.
///
/// # Errors
/// [`Error::File`] says what it is, and what reads it.
pub fn expect(path: &Path, wanted: &[Kind]) -> Result<()> {
    match of(path) {
        Some(kind) if !wanted.contains(&kind) => Err(Error::file(path, None, kind.told()).into()),
        _ => Ok(()),
    }
}
