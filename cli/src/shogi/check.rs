//! What must hold of every result, whatever was learnt.

use anyhow::{Result, ensure};
use warpplay::shogi::Row;

/// Checks a trajectory of the paper's rule.
///
/// # Errors
/// The first thing that does not hold: a fault of the program, not of its user.
pub fn trajectory(rows: &[Row]) -> Result<()> {
    ensure!(!rows.is_empty(), "check failed: there is no row");
    for (row, number) in rows.iter().zip(0..) {
        ensure!(row.iteration == number, "check failed: iteration {} is row {number}", row.iteration);
        share("objective", number, row.j)?;
        finite(number, row.values.iter().chain(&row.differences))?;
    }
    Ok(())
}

/// Checks that values are numbers.
///
/// # Errors
/// As [`trajectory`].
pub fn finite<'a>(iteration: u32, values: impl IntoIterator<Item = &'a f64>) -> Result<()> {
    for value in values {
        ensure!(value.is_finite(), "check failed: iteration {iteration} has a value of {value}");
    }
    Ok(())
}

/// Checks that something lies between 0 and 1.
///
/// # Errors
/// As [`trajectory`].
pub fn share(what: &str, iteration: u32, value: f64) -> Result<()> {
    ensure!((0.0..=1.0).contains(&value), "check failed: the {what} of iteration {iteration} is {value}");
    Ok(())
}
