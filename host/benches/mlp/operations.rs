//! The kernels of the source alone, at the network's shapes.

use serde_json::json;
use warpplay::Backend;
use warpplay::mlp::{ColumnSums, PaperMatmul, PaperOptions, paper};

use crate::measure::Bench;
use crate::output::{Table, number, percent};

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    if bench.device.backend() == Backend::Cpu {
        return bench.output.text("\nKERNELS are left out: no kernels are run.\n");
    }
    let mut table = Table::new(
        "KERNELS of the source, one step at batch 64 (device time)",
        4,
        &["choice", "operation", "kernel", "shape", "us", "GFLOP/s", "GB/s", "registers", "occupancy"],
    );
    let base = PaperOptions::default();
    let tiled = |tile| (format!("tiled {tile}"), PaperOptions { tile, ..base });
    let plain = ("plain".to_string(), PaperOptions { matmul: PaperMatmul::Plain, ..base });
    let sums = |column_sums: ColumnSums| (column_sums.to_string(), PaperOptions { column_sums, ..base });
    let products = [plain, tiled(8), tiled(16), tiled(32)].map(|choice| (choice, "matmul"));
    let sums = [ColumnSums::Tree, ColumnSums::Atomic, ColumnSums::Warp].map(|form| (sums(form), "column_sums"));
    let options = bench.options(64);
    let sizes = options.sizes(bench.train.n_inputs(), bench.train.n_classes());
    for ((choice, options), kernel) in products.into_iter().chain(sums) {
        match paper::profile(&bench.device, &sizes, 64, &options) {
            Ok(operations) => {
                for operation in operations.iter().filter(|operation| operation.kernel.contains(kernel)) {
                    bench.output.json(&json!({
                        "section": "kernels", "choice": choice, "device": bench.device.to_string(), "operation": operation,
                    }))?;
                    let rate = |n: u64| number(n as f64 / operation.microseconds / 1e3);
                    table.row(vec![
                        choice.clone(),
                        operation.name.clone(),
                        operation.kernel.to_string(),
                        operation.shape.clone(),
                        number(operation.microseconds),
                        rate(operation.flops),
                        rate(operation.bytes),
                        operation.registers.to_string(),
                        percent(operation.occupancy),
                    ]);
                }
            }
            Err(error) => {
                let cell = bench.refused(&error);
                table.row(vec![choice, cell]);
            }
        }
    }
    table.print(&bench.output)
}
