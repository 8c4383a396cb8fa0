//! All items of a run.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Header, Item, Paper, Record, Run, Sheet, Stop};

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What it was of, and where.
    pub header: Header,
    /// Whether all items are there; not so in a run that was ended early.
    pub complete: bool,
    /// Time of the run, without what its journal held before.
    pub seconds: f64,
    /// A sheet an item.
    pub sheets: Vec<Sheet>,
    /// What was measured, by key.
    pub measurements: BTreeMap<String, Record>,
}

/// Measures `items` of a paper; `on_sheet` sees each when it is ready, and may end the run.
///
/// # Errors
/// What [`Paper::sheet`] says, but for an end on request: the report then has the sheets that are ready, and is not [complete](Report::complete).
pub fn measure(
    paper: &dyn Paper,
    items: &[Item],
    mut run: Run<'_>,
    mut on_sheet: impl FnMut(&Sheet) -> ControlFlow<()>,
) -> Result<Report, Stop> {
    let start = Instant::now();
    let header = match run.journal().header() {
        Some(header) => header.clone(),
        None => Header::new(paper.name(), paper.options()?, run.device(), run.quick()),
    };
    let mut sheets = Vec::new();
    for item in items {
        match paper.sheet(item, &mut run) {
            Ok(sheet) => sheets.push(sheet),
            Err(Stop::Interrupted) => break,
            Err(stop) => return Err(stop),
        }
        if sheets.last().is_some_and(|sheet| on_sheet(sheet).is_break()) {
            break;
        }
    }
    Ok(Report {
        header,
        complete: sheets.len() == items.len(),
        seconds: start.elapsed().as_secs_f64(),
        sheets,
        measurements: run.into_journal().records().clone(),
    })
}
