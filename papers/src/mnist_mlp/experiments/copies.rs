//! Copies between host and device in a step: the cycle of Figure 1, counted and timed.

use std::collections::BTreeSet;

use warpplay::mlp::Residence;
use warpplay::{Backend, Device, Event};

use super::lab::Lab;
use super::training::Way;
use crate::experiment::{Cell, Sheet, Stop, Table};
use crate::mnist_mlp::checks::speed;
use crate::mnist_mlp::published::{BATCH, SIZES, TRAIN_SAMPLES, main_run, makers, memory};
use crate::mnist_mlp::{Options, Traffic};

/// Copies of which the mean counts.
const COPIES: u32 = 200;

/// The cycles: the published one, and those that need fewer copies.
const CYCLES: [(&str, Residence, u32); 3] = [
    ("each batch copied, the loss read after every step: the published cycle", Residence::Host, 1),
    ("each batch copied, losses read every 64 steps", Residence::Host, 64),
    ("data on the device, losses read every 64 steps", Residence::Device, 64),
];

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let sheet = timed(counted(sheet), lab)?;
    bus(sheet, lab)
}

/// Copies of a step: the mean over an epoch, computed from the sizes.
fn counted(sheet: Sheet) -> Sheet {
    let title =
        format!("Copies of a step of batch {BATCH}, computed: the mean over an epoch of {TRAIN_SAMPLES} samples");
    let mut table = Table::new(title)
        .column("cycle")
        .digits("copies to the device", 4)
        .digits("bytes to the device", 0)
        .digits("copies from the device", 4)
        .digits("bytes from the device", 1);
    let published = memory::INPUT + memory::LABELS;
    table.row([
        "200 KB of pixels as floats and 256 B of labels, published (1.4), added up here".into(),
        2.0.into(),
        published.into(),
        1.0.into(),
        memory::LOSS.into(),
    ]);
    let exact = f64::from(4 * BATCH * SIZES[0]) + memory::LABELS;
    table.row([
        "the same computed from the sizes, a full batch".into(),
        2.0.into(),
        exact.into(),
        1.0.into(),
        Cell::from(memory::LOSS),
    ]);
    for (name, stream, read_every) in CYCLES {
        let found = of_epoch([TRAIN_SAMPLES, SIZES[0], BATCH], stream, read_every);
        let a_step = |n: u64| n as f64 / found.steps as f64;
        let cells: [Cell; 5] = [
            format!("ours: {name}").into(),
            a_step(found.copies_in).into(),
            a_step(found.bytes_in).into(),
            a_step(found.copies_out).into(),
            a_step(found.bytes_out).into(),
        ];
        table.row(cells);
    }
    sheet.table(table).note("ours copies pixels as bytes, a quarter of the published floats; with the data on the device an epoch's order is copied once")
}

/// What [`Program::traffic`](crate::mnist_mlp::Program::traffic) counts in an epoch of so many samples, of so many pixels, in such batches.
fn of_epoch([n, n_inputs, batch]: [u32; 3], stream: Residence, read_every: u32) -> Traffic {
    let [n, n_inputs, batch, read_every] = [n, n_inputs, batch, read_every].map(u64::from);
    let steps = n.div_ceil(batch);
    let (copies_in, bytes_in) = match stream {
        // Pixels and labels of each step, bytes all.
        Residence::Host => (2 * steps, n * (n_inputs + 1)),
        // The order, a number of four bytes a sample.
        Residence::Device => (1, 4 * n),
    };
    Traffic { steps, copies_in, bytes_in, copies_out: steps.div_ceil(read_every), bytes_out: 4 * steps }
}

/// Trainings by the three cycles.
fn timed(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    if !lab.has_kernels("trainings by the three cycles") {
        return Ok(sheet);
    }
    lab.run.expect(2 * CYCLES.len() as u64);
    let mut table = Table::new("Trainings by the three cycles")
        .column("cycle")
        .column("what runs")
        .column("engine")
        .column("seconds")
        .digits("in copies, %", 2)
        .digits("published in copies, %", 1)
        .digits("accuracy, %", 2);
    let mut engines = BTreeSet::new();
    for (name, stream, read_every) in CYCLES {
        for way in [Way::Published, Way::Fast] {
            // Ours has no choice of when its losses are read.
            if way == Way::Fast && (stream, read_every) == (Residence::Host, 1) {
                continue;
            }
            let options = Options { stream, read_every, ..lab.base() };
            let Some(run) = lab.train(way, &options)? else { continue };
            let engine = (way == Way::Fast).then(|| run.times.engine.clone());
            engines.extend(engine.clone());
            let cells: [Cell; 7] = [
                name.into(),
                way.name().into(),
                engine.into(),
                run.seconds().into(),
                run.transfer_share().map(|share| 100.0 * share).into(),
                (read_every == 1).then_some(100.0 * memory::TRANSFER_SHARE).into(),
                run.outcome.accuracy().into(),
            ];
            table.row(cells);
        }
    }
    let sheet = sheet.table(table);
    Ok(if engines.len() > 1 {
        sheet.note(
            "ours: its rows are of two engines, whose times are not comparable: they do not show what the copies cost",
        )
    } else {
        sheet
    })
}

/// What the published bytes need: by the bus of its card, and measured here.
fn bus(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let mut table = Table::new("The copies of a published step")
        .column("where")
        .digits("to the device, µs", 2)
        .digits("loss back, µs", 2)
        .digits("of the published step, %", 2);
    table.row([
        "published".into(),
        (1e6 * memory::TRANSFER_S).into(),
        Cell::Empty,
        Cell::from(100.0 * memory::TRANSFER_SHARE),
    ]);
    let least = speed::transfer_s();
    let name = format!("T4, {:.2} GB/s, no latency", makers::T4_BUS / 1e9);
    table.row([name.into(), (1e6 * least).into(), Cell::Empty, Cell::from(100.0 * least / speed::step_s())]);
    if lab.run.device().backend() == Backend::Cuda {
        lab.run.expect(1);
        let (there, back) = lab.run.timed("copies of a published step", |now| Ok(copies(now.device)?))?;
        let name = format!("here, {}", lab.run.device().name());
        // The published step is of another card, so that these are no share of it.
        table.row([name.into(), (1e6 * there).into(), Cell::from(1e6 * back)]);
    } else {
        lab.leave_out("time of the copies of a published step: needs a GPU");
    }
    Ok(sheet.table(table).note(format!(
        "a published step takes {:.1} µs: {} ms for {} steps",
        1e6 * speed::step_s(),
        main_run::GPU_MS,
        main_run::GPU_MS / 1e3 / speed::step_s()
    )))
}

/// Seconds to copy 64 inputs as floats and 64 labels to the device, and to copy 4 bytes back.
fn copies(device: &Device) -> warpplay::Result<(f64, f64)> {
    let stream = device.stream()?;
    let (n_input, n_labels) = ((BATCH * SIZES[0]) as usize, BATCH as usize);
    let (input, labels) = (stream.pinned::<f32>(n_input)?, stream.pinned::<u32>(n_labels)?);
    let (mut input_there, mut labels_there) = (stream.alloc::<f32>(n_input)?, stream.alloc::<u32>(n_labels)?);
    let loss = stream.alloc::<f32>(1)?;
    let (start, end) = (stream.event()?, stream.event()?);
    // Once before the clock runs.
    stream.write_pinned(&mut input_there, 0, &input, n_input)?;
    stream.record(&start)?;
    for _ in 0..COPIES {
        stream.write_pinned(&mut input_there, 0, &input, n_input)?;
        stream.write_pinned(&mut labels_there, 0, &labels, n_labels)?;
    }
    stream.record(&end)?;
    let there = f64::from(Event::elapsed_ms(&start, &end)?) / 1e3 / f64::from(COPIES);
    // The host waits for each, as the published cycle does.
    let clock = std::time::Instant::now();
    for _ in 0..COPIES {
        stream.read_into(&loss, 0, &mut [0.0f32])?;
    }
    Ok((there, clock.elapsed().as_secs_f64() / f64::from(COPIES)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpplay::Progress;
    use warpplay::mlp::Dataset;

    use super::*;
    use crate::mnist_mlp::Program;

    #[test]
    fn copies_of_an_epoch_are_those_that_the_program_counts() -> warpplay::Result<()> {
        // 23 samples in batches of 5: the last is short, and 5 steps are read in 5, 3 and 1 copies.
        let (n, n_inputs, batch) = (23, 6, 5);
        let labels = (0..n).map(|at| (at % 3) as u8).collect();
        let set = Arc::new(Dataset::new(vec![7; (n * n_inputs) as usize], labels, 2, 3, 3, "even grey")?);
        for stream in [Residence::Device, Residence::Host] {
            for (read_every, copies_out) in [(1, 5), (2, 3), (64, 1)] {
                let options = Options { hidden: vec![2], batch, epochs: 1, stream, read_every, ..Options::default() };
                let mut program = Program::new(&Device::simt(), &set, &options)?;
                program.run(None, Progress::go_on)?;
                let expected = of_epoch([n, n_inputs, batch], stream, read_every);
                assert_eq!((program.traffic(), expected.copies_out), (expected, copies_out), "{stream}, {read_every}");
            }
        }
        Ok(())
    }
}
