//! Section V: what the authors would do next.

use super::super::plan::{Setup, runs};
use super::super::{cache, fused};
use super::{NO_KERNELS, has_kernels, positions};
use crate::experiment::{Axis, Bar, Chart, Figure, Group, Run, Sheet, Stop, Table};
use warpplay::Backend;

/// The measurement of the item `fused`.
fn fused_key(n: usize) -> String {
    format!("fused: {n} positions")
}

/// Fewer launches.
pub fn fused(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    if !has_kernels(run.device()) {
        return Ok(sheet.left_out(format!("all: {NO_KERNELS}")));
    }
    let batches = setup.future_batches(run.device(), run.quick());
    run.expect(batches.len() as u64);
    let mut table = Table::new("the whole network, device time of a call among calls back to back, the fastest run")
        .column("positions")
        .column("program")
        .column("kernel launches")
        .digits("us", 1)
        .digits("us a position", 2)
        .digits("times faster than the paper's kernels", 2);
    let (mut groups, mut left_out) = (Vec::new(), Vec::new());
    for n in batches {
        // Times differ and are taken as they were; programs and numbers of launches do not.
        let what = |rows: &[fused::Row]| rows.iter().map(|row| (row.program.clone(), row.launches)).collect::<Vec<_>>();
        let (rows, not_offered): (Vec<fused::Row>, Vec<String>) = run.near(
            &fused_key(n),
            |now| Ok(setup.study.fused(now.device, n, runs(now.device, now.quick))?),
            |recorded: &(Vec<fused::Row>, Vec<String>), now| what(&recorded.0) == what(&now.0),
        )?;
        let paper = rows.first().map_or(0.0, |row| row.us);
        let mut bars = Vec::new();
        for row in rows {
            table.row([
                n.into(),
                row.program.clone().into(),
                row.launches.into(),
                row.us.into(),
                (row.us / n as f64).into(),
                (paper / row.us).into(),
            ]);
            bars.push(Bar { name: row.program, mean: row.us, min: row.us, max: row.us });
        }
        groups.push(Group { name: positions(n), bars });
        left_out.extend(not_offered);
    }
    let figure = Figure {
        file: "fused".to_string(),
        title: "The whole network".to_string(),
        x: Axis::linear(""),
        y: Axis::log("time of a call, us"),
        chart: Chart::Bars(groups),
    };
    let sheet = sheet.table(table).figure(figure).note(
        "Launches of ours are those that a recording of an evaluation holds. A kernel a layer: on a GPU they are \
         replayed by one call of the driver. All convolutions in one kernel: where there are two launches, the second \
         computes the fully connected layers of both heads.",
    );
    Ok(left_out.into_iter().fold(sheet, Sheet::left_out))
}

/// The second-level cache.
pub fn cache(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    if run.device().backend() != Backend::Cuda {
        return Ok(sheet.left_out("all: it needs a GPU"));
    }
    let batches = setup.future_batches(run.device(), run.quick());
    run.expect(batches.len() as u64);
    let mut table = Table::new(
        "the network by the paper's kernels, device time of a call among calls back to back, the fastest run, without \
         and with a window of the cache over the weights",
    )
    .column("positions")
    .digits("us without", 1)
    .digits("us with", 1)
    .digits("times faster", 3)
    .digits("kept, MB", 2)
    .digits("window, MB", 2);
    let mut beside = Vec::new();
    for n in batches {
        let row: Option<cache::Row> = run.timed(&format!("cache: {n} positions"), |now| {
            Ok(setup.study.cache(now.device, n, runs(now.device, now.quick))?)
        })?;
        let Some(row) = row else { continue };
        beside.extend(fused_us(run, n).map(|us| (n, us, row.off_us)));
        let mb = |bytes: usize| bytes as f64 / 1e6;
        table.row([
            n.into(),
            row.off_us.into(),
            row.on_us.into(),
            (row.off_us / row.on_us).into(),
            mb(row.kept_bytes).into(),
            mb(row.window_bytes).into(),
        ]);
    }
    let sheet = sheet
        .table(table)
        .note("Both times of a row are of one model in the same memory: they are to be compared with each other.")
        .note(
            "The cache holds what is read again without being asked to; the window only keeps other data \
         from taking its place.",
        );
    Ok(beside_fused(&beside).into_iter().fold(sheet, Sheet::note))
}

/// Microseconds of the paper's kernels in the item `fused`, if this run has them; nothing is measured for it.
fn fused_us(run: &Run<'_>, n: usize) -> Option<f64> {
    let record = run.journal().get(&fused_key(n))?;
    let (rows, _): (Vec<fused::Row>, Vec<String>) = serde_json::from_value(record.near.clone()).ok()?;
    Some(rows.first()?.us)
}

/// What the items `fused` and `cache` have of the same kernels: positions, microseconds there, microseconds here without the window.
fn beside_fused(times: &[(usize, f64, f64)]) -> Option<String> {
    let said: Vec<String> = times
        .iter()
        .map(|&(n, fused, cache)| {
            format!(
                "for {} {fused:.1} us there and {cache:.1} here ({:+.1} %)",
                positions(n),
                100.0 * (cache / fused - 1.0)
            )
        })
        .collect();
    (!said.is_empty()).then(|| {
        format!(
            "The item fused times the same kernels by the same method, in other memory and without the window: {}. \
             The cause of such differences was not determined.",
            said.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_items_stand_beside_each_other() {
        let said = beside_fused(&[(1, 500.0, 550.0), (8, 1000.0, 1000.0)]).expect("two");
        assert!(said.contains("for 1 position 500.0 us there and 550.0 here (+10.0 %), for 8 positions"), "{said}");
        assert!(said.contains("1000.0 here (+0.0 %)"), "{said}");
        assert_eq!(beside_fused(&[]), None);
    }
}
