//! What was fitted, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::options::{Engine, Options};
use crate::shogi::objective::Row;
use crate::shogi::report::StoppedBy;

/// Report of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// Version of these fields, [`SCHEMA`](crate::shogi::SCHEMA).
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// What ran; never [`Engine::Auto`].
    pub engine: Engine,
    /// Children, counting those of played moves twice.
    pub children: u64,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// Time in [`Material::run`](super::Material::run).
    pub seconds: f64,
    /// One row per iteration, the first before any step.
    pub rows: Vec<Row>,
    /// The options. There are no random numbers, hence no seed.
    pub options: Options,
}

impl fmt::Display for FitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device_name, engine, children, stopped_by, seconds, rows, .. } = self;
        let iterations = rows.last().map_or(0, |row| row.iteration);
        write!(f, "{iterations} iterations over {children} children in {seconds:.3} s, ended by {stopped_by}; ")?;
        write!(f, "engine {engine} on {device_name}")?;
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            write!(f, "\nobjective {:.9} to {:.9}\nvalues   ", first.j, last.j)?;
            for value in last.values {
                write!(f, " {value:.4}")?;
            }
        }
        Ok(())
    }
}
