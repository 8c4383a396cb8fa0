//! Lines on stdout.

use anyhow::Result;

use crate::common;

/// Prints, except with `--quiet`.
pub fn say(quiet: bool, text: String) -> Result<()> {
    if quiet { Ok(()) } else { common::print(text) }
}
