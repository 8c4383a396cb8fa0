//! What a command writes with `--json`: one object, in every command of the same shape.

use serde::Serialize;

/// Version of these fields; 1 had the report's beside the command's.
pub const SCHEMA: u32 = 2;

/// The file: which command wrote it, its own facts, and among them `report`, the library's report as it serializes, where the library made one.
#[derive(Serialize)]
pub struct Record<F> {
    schema: u32,
    /// The command.
    kind: &'static str,
    /// The program, with the family.
    program: String,
    version: &'static str,
    #[serde(flatten)]
    facts: F,
}

impl<F: Serialize> Record<F> {
    /// Of a command by its words, as `mlp train`.
    pub fn new(command: &'static str, facts: F) -> Self {
        let (program, kind) = match command.rsplit_once(' ') {
            Some((family, kind)) => (format!("warpplay {family}"), kind),
            None => ("warpplay".to_string(), command),
        };
        Self { schema: SCHEMA, kind, program, version: env!("CARGO_PKG_VERSION"), facts }
    }
}

/// The facts of a command that has none but the report.
#[derive(Serialize)]
pub struct Reported<'a, R> {
    pub report: &'a R,
}
