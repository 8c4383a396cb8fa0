//! What every publication's repetition is made of: its items, the sheet of each, and the journal of what is measured.
//!
//! An [`Item`] is a table, a figure or a claim of the paper. [`Paper::sheet`] makes its [`Sheet`]: the published values beside ours. Every measurement goes through
//! the [`Run`], which keeps it in a [`Journal`]: a run that was killed goes on where it ended, and a [replay](Run::replay) measures everything that is not a time anew
//! and fails where it is not the same, or is left out.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay_papers::experiment::{Cell, Item, Journal, Paper, Run, Sheet, Step, Stop, Table, measure};
//!
//! struct Squares;
//!
//! impl Paper for Squares {
//!     fn name(&self) -> &'static str {
//!         "squares"
//!     }
//!     fn items(&self) -> &'static [Item] {
//!         const { &[Item::new("table1", "squares", "Table 1")] }
//!     }
//!     fn options(&self) -> warpplay::Result<serde_json::Value> {
//!         Ok(serde_json::json!({ "up_to": 3 }))
//!     }
//!     fn sheet(&self, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
//!         run.expect(3);
//!         let mut table = Table::new("squares").column("n").column("square");
//!         for n in 1..=3u32 {
//!             let square = run.exact(&format!("square {n}"), |_| Ok(n * n))?;
//!             table.row([Cell::from(n), square.into()]);
//!         }
//!         Ok(Sheet::new(item).table(table))
//!     }
//! }
//!
//! let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
//! let run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
//! let report = measure(&Squares, Squares.items(), run, |_| ControlFlow::Continue(()))?;
//! assert_eq!(report.sheets[0].tables[0].rows.len(), 3);
//! # Ok::<(), Stop>(())
//! ```

mod figure;
mod journal;
mod report;
mod results;
mod run;
mod sheet;
pub mod statistics;
#[cfg(test)]
mod tests;
pub(crate) mod text;

pub use figure::{Axis, Bar, Chart, Figure, Group, Line};
pub use journal::{Header, Journal, Record};
pub use report::{Report, measure};
pub use results::{checksum, expect_checksum};
pub use run::{Measurement, Replayed, Run, Step, Stop};
pub use sheet::{Cell, Column, Sheet, Table};

/// A table, a figure or a claim of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Item {
    /// Its name on the command line, as `table3`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Where it stands in the publication, as `Table 3, p. 36`.
    pub location: &'static str,
}

impl Item {
    /// An item by its name, title and location.
    pub const fn new(name: &'static str, title: &'static str, location: &'static str) -> Self {
        Self { name, title, location }
    }
}

/// A publication with its items.
pub trait Paper {
    /// Its name, as `cfr_thesis`.
    fn name(&self) -> &'static str;

    /// All its items, in their order in the publication.
    fn items(&self) -> &'static [Item];

    /// The options that measurements depend on. Runs with other options do not go on with each other's journals.
    ///
    /// # Errors
    /// [`Error::Option`](warpplay::Error::Option) for one that is not allowed.
    fn options(&self) -> warpplay::Result<serde_json::Value>;

    /// Measures one item.
    ///
    /// # Errors
    /// [`Stop::Interrupted`] when the caller ends the run; what the measurements say; what the journal says.
    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop>;
}
