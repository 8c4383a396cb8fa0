//! Saved strategies and solved spots, which some commands read alike.

use std::fs;
use std::path::Path;

use anyhow::Result;
use warpplay::Error;
use warpplay::cfr::SolvedSpot;

use crate::cfr::kinds::{self, Kind};
use crate::common::table::{count, fixed};
use crate::common::{self, Usage};

/// Whether a file is a solved spot; otherwise it should be a strategy.
///
/// # Errors
/// [`Error::File`] if it cannot be read, or is empty.
pub fn is_spot(path: &Path) -> Result<bool> {
    kinds::expect(path, &[Kind::Spot, Kind::Strategy])?;
    let is_spot = common::without_results(|| SolvedSpot::is_saved_at(path))?;
    if !is_spot && fs::metadata(path).is_ok_and(|file| file.len() == 0) {
        let reason = "the file is empty, expected a strategy, written by solve --strategy, or a spot, written by solve-spot --save";
        return Err(Error::file(path, None, reason).into());
    }
    Ok(is_spot)
}

/// The exploitability of a solved spot, behind its iterations: that of an earlier iteration with its number.
pub fn quality(solved: &SolvedSpot) -> String {
    match solved.measured() {
        Some((at, chips)) if at == solved.iterations() => format!(", exploitability {}", fixed(chips, 3)),
        Some((at, chips)) => {
            format!(", exploitability {} after {} and not measured since", fixed(chips, 3), count(at, "iteration"))
        }
        None => ", exploitability not measured".to_string(),
    }
}

/// What the history of a flag leads to. One that cannot be played is a wrong use of the flag.
///
/// # Errors
/// [`Usage`] for such a history; others as they are.
pub fn after<T>(flag: &str, found: warpplay::Result<T>) -> Result<T> {
    found.map_err(|error| match error {
        Error::Moves { .. } => Usage(format!("{flag}: {error}")).into(),
        other => other.into(),
    })
}
