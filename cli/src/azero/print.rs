//! Lines on stdout.

use anyhow::Result;

use crate::common;

/// Prints, unless told to be quiet.
pub fn say(quiet: bool, text: String) -> Result<()> {
    if quiet { Ok(()) } else { common::print(text) }
}
