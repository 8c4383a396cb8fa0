//! Lines on stdout.

use anyhow::Result;

use crate::common::{self, table};

/// Prints, except with `--quiet`.
pub fn say(quiet: bool, text: String) -> Result<()> {
    if quiet { Ok(()) } else { common::print(text) }
}

/// A line of the batches that were evaluated twice; none where there were none.
pub fn repeated(batches: u64) -> String {
    match batches {
        0 => String::new(),
        batches => {
            let (number, noun) = (table::thousands(batches), if batches == 1 { "batch" } else { "batches" });
            format!("{number} {noun} evaluated twice: numbers were too large for the engine fused\n")
        }
    }
}
