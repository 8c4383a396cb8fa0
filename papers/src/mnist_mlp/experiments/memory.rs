//! Memory of weights, values and gradients: the table of section 2.4 beside the sizes and what our program of the paper's kernels holds.

use std::sync::Arc;

use warpplay::Device;
use warpplay::mlp::Dataset;

use super::lab::Lab;
use crate::experiment::{Cell, Sheet, Stop, Table};
use crate::mnist_mlp::published::{BATCH, RESIZED, SIZES, memory};
use crate::mnist_mlp::{DeviceBytes, Forms, Options, Program};

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    lab.run.expect(1);
    // What is allocated is the same on every device; no kernel runs.
    let held: DeviceBytes = lab.run.exact("memory of the program", |_| {
        let train = blank(BATCH as usize)?;
        let options = Options { forms: Forms::published(), ..Options::default() };
        Ok(Program::new(&Device::simt(), &train, &options)?.device_bytes())
    })?;
    let [inputs, hidden, classes] = SIZES.map(u64::from);
    let batch = u64::from(BATCH);
    let (w1, w2, biases) = (4 * inputs * hidden, 4 * hidden * classes, 4 * (hidden + classes));
    let (input, values, output) = (4 * batch * inputs, 4 * batch * hidden, 4 * batch * classes);
    let mut table = Table::new("Bytes on the device, batch 64")
        .column("what")
        .column("published, bytes")
        .column("from the sizes")
        .digits("ratio", 2)
        .column("our program of the paper's kernels");
    let none = None::<f64>;
    let rows: [(&str, Option<f64>, u64, Option<u64>); 12] = [
        ("W1", Some(memory::W1), w1, None),
        ("W2", Some(memory::W2), w2, None),
        ("biases", Some(memory::BIASES), biases, None),
        ("weights and biases", Some(memory::WEIGHTS), w1 + w2 + biases, Some(held.parameters)),
        ("gradients", Some(memory::WEIGHTS), w1 + w2 + biases, Some(held.gradients)),
        ("input of a batch", Some(memory::INPUT), input, Some(held.input)),
        ("hidden values", Some(memory::HIDDEN), values, Some(held.hidden)),
        ("output", Some(memory::OUTPUT), output, Some(held.output)),
        ("hidden gradient", none, values, Some(held.backward)),
        ("labels and loss", none, 4 * batch + 4, Some(held.other)),
        ("training set, and weights saved before an epoch that may diverge", none, 0, Some(held.sets + held.kept)),
        (
            "total VRAM",
            Some(memory::TOTAL),
            2 * (w1 + w2 + biases) + input + 2 * values + output + 4 * batch + 4,
            Some(held.total()),
        ),
    ];
    for (name, published, bytes, ours) in rows {
        let ratio = published.map(|published| bytes as f64 / published);
        let cells: [Cell; 5] = [name.into(), published.into(), bytes.into(), ratio.into(), ours.into()];
        table.row(cells);
    }
    Ok(sheet.table(table).note(format!(
        "W1 alone, {w1} bytes, is more than the published total: 200 KB is its number of values, or the input's bytes"
    ))
    .note(format!(
        "batches of {} for the training and of {} for the evaluation, section 1.4: buffers grow with the larger; the table is of {BATCH}",
        RESIZED.0, RESIZED.1
    ))
    .note("ours keeps hidden values before ReLU too, for its mask, logits beside probabilities, and the gradient by the logits"))
}

/// Samples without a pixel: what is held depends on their number alone.
fn blank(n: usize) -> warpplay::Result<Arc<Dataset>> {
    let pixels = vec![0; n * SIZES[0] as usize];
    Ok(Arc::new(Dataset::new(pixels, vec![0; n], 28, 28, SIZES[2], "blank images")?))
}
