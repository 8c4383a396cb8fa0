//! Plain against tiled product at the shapes of a step: what the tiles save in loads, and in time.

use super::kernels::profiled;
use super::lab::Lab;
use crate::experiment::{Axis, Bar, Cell, Chart, Figure, Group, Sheet, Stop, Table};
use crate::mnist_mlp::checks::speed::loads;
use crate::mnist_mlp::published::{BATCH, memory};
use crate::mnist_mlp::{Forms, Matmul, OperationTime};

const SIDES: [u32; 3] = [8, 16, 32];

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let sheet = sheet.table(counted(lab));
    if !lab.has_kernels("times of plain and tiled products") {
        return Ok(sheet);
    }
    lab.run.expect(2 * SIDES.len() as u64);
    let mut measured: Vec<(String, Matmul, u32, Vec<OperationTime>)> = Vec::new();
    for matmul in [Matmul::Plain, Matmul::Tiled] {
        for tile in SIDES {
            let mut operations = profiled(lab, BATCH, Forms { matmul, tile, ..Forms::published() })?;
            operations.retain(|operation| operation.kernel.contains("matmul"));
            measured.push((format!("{matmul}, {tile} x {tile}"), matmul, tile, operations));
        }
    }
    let mut table = Table::new("The products of a step in all forms")
        .column("product")
        .column("shape")
        .column("form")
        .column("loads from global memory, bytes")
        .digits("µs", 3)
        .digits("GFLOP/s", 1)
        .digits("against plain, 16 x 16", 2)
        .column("published gain")
        .column("registers")
        .column("shared, bytes")
        .digits("occupancy, %", 0);
    let (mut groups, mut gains) = (Vec::new(), Vec::new());
    let plain: Vec<OperationTime> = measured
        .iter()
        .find(|(_, matmul, tile, _)| (*matmul, *tile) == (Matmul::Plain, 16))
        .map(|(.., operations)| operations.clone())
        .unwrap_or_default();
    for (at, reference) in plain.iter().enumerate() {
        let mut bars = Vec::new();
        for (form, matmul, tile, operations) in &measured {
            let Some(operation) = operations.get(at) else { continue };
            let compiled = operation.registers > 0;
            let gain = reference.microseconds / operation.microseconds;
            let is_published = (*matmul, *tile) == (Matmul::Tiled, 16);
            if is_published {
                gains.push(gain);
            }
            let claimed = format!("{} to {}", memory::TILED_GAIN.0, memory::TILED_GAIN.1);
            table.row([
                operation.name.clone().into(),
                operation.shape.clone().into(),
                form.clone().into(),
                operation.bytes.into(),
                operation.microseconds.into(),
                (operation.flops as f64 / operation.microseconds / 1e3).into(),
                gain.into(),
                is_published.then_some(claimed).into(),
                compiled.then_some(operation.registers).into(),
                compiled.then_some(operation.shared_bytes).into(),
                compiled.then_some(100.0 * operation.occupancy).into(),
            ]);
            let mean = operation.microseconds;
            bars.push(Bar { name: form.clone(), mean, min: mean, max: mean });
        }
        groups.push(Group { name: reference.name.clone(), bars });
    }
    let figure = Figure {
        file: "matmul".into(),
        title: "The products of a step, plain and tiled".into(),
        x: Axis::linear("product"),
        y: Axis::log("µs"),
        chart: Chart::Bars(groups),
    };
    let range = gains.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &gain| (low.min(gain), high.max(gain)));
    Ok(sheet.table(table).figure(figure).note(format!(
        "tiles of 16 against the plain product of the same blocks: {:.2} to {:.2} times as fast; published: {} to {}, expected and not measured",
        range.0, range.1, memory::TILED_GAIN.0, memory::TILED_GAIN.1
    )))
}

/// Loads of the products from the sizes alone.
fn counted(lab: &Lab<'_, '_>) -> Table {
    let sizes = lab.sizes(&lab.base());
    let mut table = Table::new("Values that a product's threads load from global memory")
        .column("product")
        .column("m x n x k")
        .column("plain")
        .column("tiles of 16")
        .digits("gain", 2)
        .column("published gain")
        .column("published reuse");
    let claimed = format!("{} to {}", memory::TILED_GAIN.0, memory::TILED_GAIN.1);
    let mut products = Vec::new();
    for (layer, pair) in (1..).zip(sizes.windows(2)) {
        let (inputs, outputs) = (pair[0], pair[1]);
        products.push((format!("forward, layer {layer}"), [BATCH, outputs, inputs]));
        products.push((format!("gradient of W{layer}"), [inputs, outputs, BATCH]));
        if layer > 1 {
            products.push((format!("gradient of the inputs, layer {layer}"), [BATCH, inputs, outputs]));
        }
    }
    products.push(("square, 1024".into(), [1024; 3]));
    products.push(("square, 2048".into(), [2048; 3]));
    for (name, [m, n, k]) in products {
        let (plain, tiled) = (loads(m, n, k, 1), loads(m, n, k, 16));
        let cells: [Cell; 7] = [
            name.into(),
            format!("{m} x {n} x {k}").into(),
            plain.into(),
            tiled.into(),
            (plain / tiled).into(),
            claimed.clone().into(),
            memory::TILE_REUSE.into(),
        ];
        table.row(cells);
    }
    table
}
