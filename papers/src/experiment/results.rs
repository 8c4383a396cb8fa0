//! The file of a run's results: a JSON object with the report and a checksum.

use serde::Serialize;
use serde_json::Value;
use warpplay::{Error, Fnv, Result};

/// Field of the checksum.
const FIELD: &str = "checksum";

/// The checksum that a file of results has in its field `checksum`: FNV-1a of all other fields as JSON without spaces, as 16 hexadecimal digits.
///
/// # Errors
/// [`Error::Option`] for what has no JSON form or is no object.
pub fn checksum(results: &impl Serialize) -> Result<String> {
    let wrong = |error: &dyn std::fmt::Display| Error::option("results", error, "a JSON object");
    let text = serde_json::to_string(results).map_err(|error| wrong(&error))?;
    // Through the text, so that numbers are those that a reader finds.
    let mut value: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let fields = value.as_object_mut().ok_or_else(|| wrong(&"another value"))?;
    fields.remove(FIELD);
    Ok(format!("{:016x}", Fnv::of(value.to_string().as_bytes())))
}

/// Checks the checksum of a file of results.
///
/// # Errors
/// What is wrong: there is none, or it is not that of the fields.
pub fn expect_checksum(results: &Value) -> std::result::Result<(), String> {
    let Some(said) = results[FIELD].as_str() else {
        return Err("the results have no checksum, as those of older builds".to_string());
    };
    let found = checksum(results).map_err(|error| error.to_string())?;
    match said == found {
        true => Ok(()),
        false => Err(format!("the results are damaged: their checksum is {found}, the file says {said}")),
    }
}
