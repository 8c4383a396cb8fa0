//! How a bench ends, and how long a row lasts.

use std::process::ExitCode;

/// The end of a bench: 0; 1 if rows failed or something else went wrong; 2 for an option that is not allowed.
pub fn exit(result: anyhow::Result<usize>) -> ExitCode {
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(n_failed) => {
            eprintln!("error: {n_failed} rows failed, see the tables");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            let usage = matches!(error.downcast_ref(), Some(warpplay::Error::Option { .. }));
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

/// Seconds of a row: what was asked for, or 2, or 0.2 for a quick run.
///
/// # Errors
/// [`warpplay::Error::Option`] unless it is a finite number above 0.
pub fn seconds(asked: Option<f64>, quick: bool) -> warpplay::Result<f64> {
    let seconds = asked.unwrap_or(if quick { 0.2 } else { 2.0 });
    if seconds.is_finite() && seconds > 0.0 {
        return Ok(seconds);
    }
    Err(warpplay::Error::option("seconds", seconds, "a finite number above 0"))
}
