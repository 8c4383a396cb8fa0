//! Each launch of a step: who computes what (section 1.2), threads, work, time; and the forms of the sums.

use warpplay::{Backend, Result};

use super::lab::Lab;
use crate::experiment::{Cell, Sheet, Stop, Table};
use crate::mnist_mlp::published::{self, makers::peak};
use crate::mnist_mlp::{ColumnSums, Forms, LossForm, OperationTime, profile};

/// What the table of section 1.2 says of an operation: its part of the GPU's work, and how. Its words of softmax are quoted: kernel 3 of section 1.3 has a block a sample.
const STRATEGY: [(&str, &str); 7] = [
    ("product", "2D grid, a thread an element"),
    ("bias", "1D grid, a thread an element"),
    ("ReLU", "1D grid, a thread an element"),
    ("ReLU backward", "1D grid, a thread an element"),
    ("softmax", "\"1 block/batch\", parallel reduction"),
    ("bias gradient", "parallel tree reduction; atomic additions for columns"),
    ("update", "1D grid, a thread a weight"),
];

/// Which row of [`STRATEGY`] an operation is of.
fn strategy(operation: &OperationTime) -> Option<&'static str> {
    let name = operation.name.as_str();
    let kind = if operation.kernel.contains("matmul") {
        "product"
    } else if name.contains("update") {
        "update"
    } else {
        let kinds = ["ReLU backward", "ReLU", "bias gradient", "bias", "softmax"];
        kinds.into_iter().find(|kind| name.starts_with(kind)).filter(|_| name != "softmax gradient")?
    };
    STRATEGY.iter().find(|(of, _)| *of == kind).map(|(_, how)| *how)
}

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let sheet = sheet.table(thirteen()).note(format!(
        "{} kernels are counted (3.4), {} described, {} more must be there: what the others are ({}) cannot be determined from the text",
        published::KERNELS,
        published::DESCRIBED.len(),
        published::IMPLIED.len(),
        published::KERNELS as usize - published::DESCRIBED.len() - published::IMPLIED.len()
    ));
    let sheet = sheet
        .table(components())
        .note("the table of section 2.1 calls every component complete, and has no numbers but the 5 gradients (item arithmetic)");
    if !lab.has_kernels("times of each launch of a step") {
        return Ok(sheet);
    }
    let sheet = launches(sheet, lab)?;
    forms(sheet, lab)
}

/// The kernels that are described, and those that must be there beside them.
fn thirteen() -> Table {
    let mut table = Table::new("Kernels of the paper").column("kernel").column("where").column("ours");
    for (at, (name, ours)) in published::DESCRIBED.iter().enumerate() {
        table.row([(*name).into(), format!("1.3, kernel {}", at + 1).into(), Cell::from(*ours)]);
    }
    for (name, location, ours) in published::IMPLIED {
        table.row([name.into(), location.into(), Cell::from(ours)]);
    }
    table
}

/// The table of section 2.1 beside ours.
fn components() -> Table {
    let mut table =
        Table::new("Components of the program (2.1)").column("component").column("details, printed").column("ours");
    for component in &published::COMPONENTS {
        table.row([component.name.into(), component.details.into(), Cell::from(component.ours)]);
    }
    table
}

/// Every launch of a step of these forms, from the journal or measured.
pub(super) fn profiled(lab: &mut Lab<'_, '_>, batch: u32, forms: Forms) -> Result<Vec<OperationTime>, Stop> {
    let sizes = lab.sizes(&lab.base());
    lab.run.timed(&key(&sizes, batch, forms), |now| Ok(profile(now.device, &sizes, batch, &forms)?))
}

/// Microseconds of all launches of a step in the published forms, if they were timed before; nothing is timed.
pub(super) fn known_sum(lab: &mut Lab<'_, '_>) -> Result<Option<f64>, Stop> {
    let (batch, forms) = (published::BATCH, Forms::published());
    if lab.run.journal().get(&key(&lab.sizes(&lab.base()), batch, forms)).is_none() {
        return Ok(None);
    }
    Ok(Some(profiled(lab, batch, forms)?.iter().map(|operation| operation.microseconds).sum()))
}

/// What the launches of a step are called in the journal.
fn key(sizes: &[u32], batch: u32, forms: Forms) -> String {
    let Forms { block, tile, matmul, column_sums, softmax, accumulate, loss, divide } = forms;
    format!(
        "launches: {sizes:?}, batch {batch}, {block} {tile} {matmul} {column_sums} {softmax} {accumulate} {loss} {divide}"
    )
}

fn launches(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    lab.run.expect(1);
    let operations = profiled(lab, published::BATCH, Forms::published())?;
    let name = lab.run.device().name();
    let peak = peak(&name);
    let mut table = Table::new(format!("Each launch of a step in the published forms, on {name}"))
        .column("operation")
        .column("kernel")
        .column("published work partition, 1.2")
        .column("blocks")
        .column("threads")
        .column("FLOP")
        .column("bytes asked for")
        .column("footprint, bytes")
        .digits("µs", 3)
        .digits("GFLOP/s", 1)
        .digits("of peak FLOP/s, %", 2)
        .digits("GB/s", 1)
        .digits("of peak bandwidth, %", 2)
        .column("registers")
        .digits("occupancy, %", 0);
    for operation in &operations {
        let seconds = operation.microseconds * 1e-6;
        let (flops, bytes) = (operation.flops as f64 / seconds, operation.footprint_bytes as f64 / seconds);
        // `simt` has no registers, and its times are those of the CPU that plays the kernels.
        let compiled = operation.registers > 0;
        table.row([
            operation.name.clone().into(),
            operation.kernel.clone().into(),
            strategy(operation).into(),
            operation.blocks.into(),
            operation.threads.into(),
            operation.flops.into(),
            operation.bytes.into(),
            operation.footprint_bytes.into(),
            operation.microseconds.into(),
            (flops / 1e9).into(),
            peak.map(|peak| 100.0 * flops / peak.flops).into(),
            (bytes / 1e9).into(),
            peak.map(|peak| 100.0 * bytes / peak.bytes).into(),
            compiled.then_some(operation.registers).into(),
            compiled.then_some(100.0 * operation.occupancy).into(),
        ]);
    }
    let sum: f64 = operations.iter().map(|operation| operation.microseconds).sum();
    let flops: u64 = operations.iter().map(|operation| operation.flops).sum();
    let mut sheet = sheet.table(table).note(format!(
        "the {} launches of a step: {sum:.1} µs and {:.2} MFLOP in all",
        operations.len(),
        flops as f64 / 1e6
    ));
    if lab.run.device().backend() == Backend::Simt {
        sheet = sheet.note("simt: the times are those of the CPU that plays the kernels, and say nothing about them");
    }
    Ok(sheet)
}

/// Column sums and losses in all forms, at the smallest and the largest published batch.
fn forms(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let of_sums = [
        (ColumnSums::AtomicThread, "kernel 6: a block a column, an atomic addition a thread"),
        (ColumnSums::AtomicBlock, "a block a column, an atomic addition a block"),
        (ColumnSums::Atomic, "a thread a value, an atomic addition each"),
        (ColumnSums::Tree, "a block a column, a tree in shared memory (1.2; named as future work in 2.2)"),
        (ColumnSums::Warp, "a warp a column, shuffles (3.5, future)"),
    ];
    let batches = [published::BATCH, published::BATCHES[3].value as u32];
    lab.run.expect((of_sums.len() + 2) as u64 * batches.len() as u64);
    let mut sums = Table::new("Bias gradients in all forms")
        .column("form")
        .column("batch")
        .column("rows × columns")
        .column("blocks")
        .column("threads")
        .column("bytes asked for")
        .digits("µs", 3);
    let mut losses = Table::new("The loss of a batch in both forms")
        .column("form")
        .column("batch")
        .column("launches")
        .column("blocks of the first")
        .digits("µs", 3);
    for batch in batches {
        for (column_sums, words) in of_sums {
            let operations = profiled(lab, batch, Forms { column_sums, ..Forms::published() })?;
            for (operation, columns) in gradients(&operations) {
                sums.row([
                    words.into(),
                    batch.into(),
                    columns.into(),
                    operation.blocks.into(),
                    operation.threads.into(),
                    operation.bytes.into(),
                    operation.microseconds.into(),
                ]);
            }
        }
        for (loss, words) in [
            (LossForm::Atomic, "2.2, decision 1: a thread a sample, added atomically to one float"),
            (LossForm::Tree, "a block a sample from the logits, then one block in a fixed order"),
        ] {
            let operations = profiled(lab, batch, Forms { loss, ..Forms::published() })?;
            let of_loss: Vec<_> = operations.iter().filter(|operation| operation.name.starts_with("loss")).collect();
            let micros: f64 = of_loss.iter().map(|operation| operation.microseconds).sum();
            losses.row([
                words.into(),
                batch.into(),
                of_loss.len().into(),
                of_loss.first().map(|operation| operation.blocks).into(),
                micros.into(),
            ]);
        }
    }
    Ok(sheet.table(sums).table(losses))
}

/// The bias gradients of a step, with their columns.
fn gradients(operations: &[OperationTime]) -> Vec<(&OperationTime, String)> {
    let of = operations.iter().filter(|operation| operation.name.starts_with("bias gradient"));
    of.map(|operation| (operation, operation.shape.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpplay::Device;

    #[test]
    fn peaks_are_those_of_the_named_card() {
        let flops = |name: &str| peak(name).map(|peak| peak.flops);
        assert_eq!((flops("NVIDIA H100 80GB HBM3"), flops("NVIDIA H100 PCIe")), (Some(67e12), Some(51e12)));
        // Names that hold that of another card: a T4 is no T400, and a slice of an H100 is no H100.
        for unknown in ["NVIDIA T400 4GB", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GH200 480GB", "simt"] {
            assert_eq!(flops(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_row_of_the_strategy_table_has_a_launch() -> Result<()> {
        let operations = profile(&Device::simt(), &[15, 9, 4], 6, &Forms::published())?;
        for (kind, how) in STRATEGY {
            assert!(operations.iter().any(|operation| strategy(operation) == Some(how)), "{kind}");
        }
        // A thread an element: as many threads as elements, and less than a block more.
        for operation in operations.iter().filter(|operation| operation.name.starts_with("bias, ")) {
            assert!(operation.blocks * u64::from(operation.threads) < operation.flops + 256, "{operation:?}");
        }
        Ok(())
    }
}
