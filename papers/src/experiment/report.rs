//! All items of a run.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Header, Item, Paper, Record, Replayed, Run, Sheet, Stop};

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Publication, options and machine.
    pub header: Header,
    /// Whether all items are there; not so in a run that was ended early.
    pub complete: bool,
    /// Time of the run, without what its journal held before.
    pub seconds: f64,
    /// A sheet an item.
    pub sheets: Vec<Sheet>,
    /// What was measured, by key.
    pub measurements: BTreeMap<String, Record>,
    /// What a replay repeated; its times are those of the file that it repeats, which another machine may have measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
}

/// Measures `items` of a paper; `on_sheet` sees each when it is ready, and may end the run.
///
/// # Errors
/// What [`Paper::sheet`] says, but for an end on request: the report then has the sheets that are ready, and is not [complete](Report::complete).
/// [`Stop::NotReached`] if a replay left out recorded measurements of these items; [`Stop::Differs`] if a replay of a file with tables comes to others.
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
        run.begin(item.name);
        match paper.sheet(item, &mut run) {
            Ok(sheet) => {
                run.expect_same(&sheet)?;
                sheets.push(sheet);
            }
            Err(Stop::Interrupted) => break,
            Err(stop) => return Err(stop),
        }
        if sheets.last().is_some_and(|sheet| on_sheet(sheet).is_break()) {
            break;
        }
    }
    let complete = sheets.len() == items.len();
    if complete {
        // An older file does not say which item a measurement is of: all items together reach all of them.
        let all = items.len() == paper.items().len();
        run.expect_reached(|of| if of.is_empty() { all } else { items.iter().any(|item| item.name == of) })?;
    }
    Ok(Report {
        header,
        complete,
        seconds: start.elapsed().as_secs_f64(),
        sheets,
        replayed: run.replayed(),
        measurements: run.into_journal().records().clone(),
    })
}
