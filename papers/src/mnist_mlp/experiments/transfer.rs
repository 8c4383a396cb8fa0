//! Share of time in copies when each batch comes from host memory.

use warpplay::Result;
use warpplay::mlp::Residence;

use super::lab::{Lab, Way};
use super::published::Figures;
use super::record::{Setting, Table, or_dash, percent, seconds};
use crate::mnist_mlp::Options;

/// The table.
pub(super) fn table(lab: &mut Lab<'_>) -> Result<Option<Table>> {
    if lab.kernels_for("copies of batches").is_none() {
        return Ok(None);
    }
    let mut table = Table::new(
        "transfer",
        "Training set on the device, or each batch copied from pinned memory",
        &["set", "way", "seconds", "in copies", "accuracy"],
    );
    for stream in [Residence::Device, Residence::Host] {
        for (way, name) in [(Way::Paper, "paper's kernels"), (Way::Fast, "ours")] {
            let Some(run) = lab.run(way, &Options { stream, ..lab.base() })? else { continue };
            table.rows.push(vec![
                stream.to_string(),
                format!("{name} ({})", run.engine),
                or_dash(run.whole_seconds(), seconds),
                percent(run.transfer_share),
                percent(run.accuracy()),
            ]);
            table.runs.push(Setting { label: format!("{stream}, {name}"), value: None, run });
        }
    }
    table.notes.push(format!("published: {:.1} %", 100.0 * Figures::default().transfer_share));
    Ok(Some(table))
}
