//! Work, traffic and time of every launch of a step; plain against tiled product.

use serde_json::json;
use warpplay::{Backend, Result};

use super::lab::Lab;
use super::record::{Table, or_dash, thousands};
use crate::mnist_mlp::{Forms, Matmul, OperationTime, profile};

/// Single-precision operations and bytes a second that a card's maker states: what a share of peak refers to.
struct Peak {
    /// Part of the device's name.
    card: &'static str,
    flops: f64,
    bytes: f64,
}

const PEAKS: [Peak; 4] = [
    Peak { card: "H200", flops: 66.9e12, bytes: 4.8e12 },
    Peak { card: "H100", flops: 66.9e12, bytes: 3.35e12 },
    Peak { card: "A100", flops: 19.5e12, bytes: 1.555e12 },
    Peak { card: "T4", flops: 8.1e12, bytes: 320e9 },
];

fn peak(name: &str) -> Option<&'static Peak> {
    PEAKS.iter().find(|peak| name.contains(peak.card))
}

/// A figure of the compiled kernel; `simt` has none.
fn known(registers: u32) -> Option<u32> {
    (registers > 0).then_some(registers)
}

fn occupancy(operation: &OperationTime) -> String {
    or_dash(known(operation.registers), |_| format!("{:.0} %", 100.0 * operation.occupancy))
}

/// What a training step must compute and move, whatever runs it; and, where kernels run, each launch of the paper's.
pub(super) fn step(lab: &mut Lab<'_>) -> Result<Vec<Table>> {
    let options = lab.base();
    let sizes = options.sizes(lab.train.n_inputs(), lab.train.n_classes());
    let mut tables = vec![counted(&sizes, options.batch)];
    let Some(device) = lab.kernels_for("times of each launch of a step") else { return Ok(tables) };
    let operations = profile(&device, &sizes, options.batch, &options.forms)?;
    let name = device.name();
    let peak = peak(&name);
    let mut table = Table::new(
        "operations",
        format!("Each launch of a step of the paper's kernels on {} ({name})", device.backend()),
        &[
            "operation",
            "shape",
            "FLOP",
            "bytes asked for",
            "footprint",
            "µs",
            "GFLOP/s",
            "of peak",
            "GB/s",
            "of peak",
            "blocks x threads",
            "registers",
            "occupancy",
        ],
    );
    let share = |rate: f64, most: fn(&Peak) -> f64| or_dash(peak, |peak| format!("{:.2} %", 100.0 * rate / most(peak)));
    for operation in &operations {
        let seconds = operation.microseconds * 1e-6;
        let (flops, bytes) = (operation.flops as f64 / seconds, operation.footprint_bytes as f64 / seconds);
        table.rows.push(vec![
            operation.name.clone(),
            operation.shape.clone(),
            thousands(operation.flops),
            thousands(operation.bytes),
            thousands(operation.footprint_bytes),
            format!("{:.3}", operation.microseconds),
            format!("{:.1}", flops / 1e9),
            share(flops, |peak| peak.flops),
            format!("{:.1}", bytes / 1e9),
            share(bytes, |peak| peak.bytes),
            format!("{} x {}", operation.blocks, operation.threads),
            or_dash(known(operation.registers), |n| n.to_string()),
            occupancy(operation),
        ]);
        table.values.push(json!(operation));
    }
    let sum: f64 = operations.iter().map(|operation| operation.microseconds).sum();
    let flops: u64 = operations.iter().map(|operation| operation.flops).sum();
    table.notes.push(format!("the launches of a step: {sum:.1} µs and {:.2} MFLOP in all", flops as f64 / 1e6));
    if peak.is_none() {
        table.notes.push("no peak is known here for this device, so no share of it is given".to_string());
    }
    if device.backend() == Backend::Simt {
        table.notes.push(
            "simt: the times are those of the CPU that plays the kernels, and say nothing about them".to_string(),
        );
    }
    tables.push(table);
    Ok(tables)
}

/// Work and footprint from the sizes alone, with the paper's slips corrected.
fn counted(sizes: &[u32], batch: u32) -> Table {
    let mut table = Table::new(
        "work",
        format!("Work of a step of batch {batch}, from the sizes"),
        &["layer", "weights", "bytes of W", "forward, MFLOP", "backward, MFLOP"],
    );
    let rows = f64::from(batch);
    let (mut forward_sum, mut backward_sum) = (0.0, 0.0);
    for (at, size) in sizes.windows(2).enumerate() {
        let n = u64::from(size[0]) * u64::from(size[1]);
        let forward = 2e-6 * rows * n as f64;
        // The gradient of the weights, and of the inputs where there is a layer below.
        let backward = if at == 0 { forward } else { 2.0 * forward };
        forward_sum += forward;
        backward_sum += backward;
        table.rows.push(vec![
            (at + 1).to_string(),
            format!("{} x {}", size[0], size[1]),
            thousands(4 * n),
            format!("{forward:.2}"),
            format!("{backward:.2}"),
        ]);
        table
            .values
            .push(json!({ "layer": at + 1, "bytes": 4 * n, "forward_mflop": forward, "backward_mflop": backward }));
    }
    table.rows.push(vec![
        "step".into(),
        String::new(),
        String::new(),
        format!("{forward_sum:.2}"),
        format!("{backward_sum:.2}"),
    ]);
    let first = 4 * u64::from(sizes[0]) * u64::from(sizes[1]);
    table.notes.push(format!(
        "W1 takes {} bytes ({:.0} KB); a training step is {:.1} MFLOP of products, of which the forward pass, which the paper counts alone, is {forward_sum:.1}",
        thousands(first),
        first as f64 / 1e3,
        forward_sum + backward_sum
    ));
    table
}

/// The products of a step by the plain kernel and by tiles of 8, 16, 32.
pub(super) fn products(lab: &mut Lab<'_>) -> Result<Option<Table>> {
    let Some(device) = lab.kernels_for("plain against tiled product") else { return Ok(None) };
    let options = lab.base();
    let sizes = options.sizes(lab.train.n_inputs(), lab.train.n_classes());
    let mut table = Table::new(
        "matmul",
        "Plain against tiled product at the shapes of a step",
        &["product", "shape", "form", "µs", "GFLOP/s", "against plain", "registers", "shared", "occupancy"],
    );
    let forms = [(Matmul::Plain, 16), (Matmul::Tiled, 8), (Matmul::Tiled, 16), (Matmul::Tiled, 32)];
    let mut measured: Vec<(String, Vec<OperationTime>)> = Vec::new();
    for (matmul, tile) in forms {
        let forms = Forms { matmul, tile, ..options.forms };
        let mut operations = profile(&device, &sizes, options.batch, &forms)?;
        operations.retain(|operation| operation.kernel.contains("matmul"));
        measured.push((format!("{matmul}, {tile} x {tile}"), operations));
    }
    let plain = measured[0].1.clone();
    for (at, reference) in plain.iter().enumerate() {
        for (form, operations) in &measured {
            let Some(operation) = operations.get(at) else { continue };
            table.rows.push(vec![
                operation.name.clone(),
                operation.shape.clone(),
                form.clone(),
                format!("{:.3}", operation.microseconds),
                format!("{:.1}", operation.flops as f64 / operation.microseconds / 1e3),
                format!("{:.2}x", reference.microseconds / operation.microseconds),
                or_dash(known(operation.registers), |n| n.to_string()),
                or_dash(known(operation.registers), |_| operation.shared_bytes.to_string()),
                occupancy(operation),
            ]);
            let mut value = json!(operation);
            value["form"] = form.clone().into();
            table.values.push(value);
        }
    }
    Ok(Some(table))
}
