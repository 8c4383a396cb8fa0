//! The main experiment: 10 epochs, time, accuracy, loss.

use super::kernels;
use super::lab::Lab;
use super::training::{Trained, Way};
use crate::experiment::{Axis, Cell, Chart, Figure, Line, Sheet, Stop, Table};
use crate::mnist_mlp::checks::speed;
use crate::mnist_mlp::published::{self, main_run};
use crate::mnist_mlp::{Forms, Options};

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    lab.run.expect(5);
    let options = lab.main();
    let all_threads = format!("CPU: {} threads, averaged", lab.run.cpu_threads());
    let runs = [
        ("CPU program: 1 thread, summed".to_string(), lab.cpu_program(&options)?),
        (all_threads, lab.train(Way::CpuAll, &options)?),
        ("paper's kernels".into(), lab.train(Way::Published, &options)?),
        ("ours".into(), lab.train(Way::Fast, &options)?),
    ];
    // Work of an epoch, whatever its size.
    let work = speed::step_flop(&lab.sizes(&options), 1) * lab.train.len() as f64;
    let mut sheet = sheet.table(measured(&runs, work)).table(losses(&runs)).figure(figure(&runs)).note(format!(
        "published GPU: {}, compute capability {:.1}, {} multiprocessors, {} GB; the published CPU is not named",
        published::DEVICE,
        published::COMPUTE_CAPABILITY,
        published::MULTIPROCESSORS,
        published::DEVICE_GB
    ));
    if let Some(run) = &runs[3].1 {
        sheet = sheet.note(format!("ours: engine {}", run.times.engine));
    }
    if let Some(run) = &runs[2].1 {
        sheet = steps(sheet, lab, &options, run)?;
    }
    let falls = runs.iter().filter_map(|(name, run)| {
        let losses = &run.as_ref()?.outcome.losses;
        let (before, last) = (losses.len().checked_sub(2)?, losses.len() - 1);
        Some(format!(
            "{name}: in the last epoch the loss falls by {:.2} %",
            100.0 * (1.0 - losses[last] / losses[before])
        ))
    });
    Ok(falls.collect::<Vec<_>>().into_iter().fold(sheet, Sheet::note))
}

/// Which forms the paper's kernels have here, and how a step compares with its launches one by one.
fn steps(sheet: Sheet, lab: &mut Lab<'_, '_>, options: &Options, run: &Trained) -> Result<Sheet, Stop> {
    let Forms { block, tile, matmul, column_sums, softmax, loss, divide, .. } = options.forms;
    let sheet = sheet.note(format!(
        "paper's kernels: product {matmul}, blocks of {block} and of {tile} x {tile}, bias gradients {column_sums}, softmax {softmax}, loss {loss}, mean in the {divide}; losses read every {} steps",
        options.read_every
    ));
    let n_steps = lab.train.len().div_ceil(options.batch as usize);
    let step_us = run.epoch_s().map(|seconds| 1e6 * seconds / n_steps as f64);
    let Some(step_us) = step_us else { return Ok(sheet) };
    let of_launches = match kernels::known_sum(lab)? {
        Some(sum_us) => {
            format!("its launches, each timed by itself in the same forms (item kernels), are {sum_us:.1} µs")
        }
        None => "its launches are timed one by one in item kernels, which was not measured in this run".into(),
    };
    Ok(sheet.note(format!("paper's kernels: {step_us:.1} µs a step by the host's clock; {of_launches}")))
}

type Runs = [(String, Option<Trained>)];

fn measured(runs: &Runs, work: f64) -> Table {
    let mut table = Table::new("Measured performance")
        .column("what")
        // The published milliseconds have two digits behind the point.
        .digits("seconds", 5)
        .digits("s an epoch", 4)
        .digits("accuracy, %", 2)
        .digits("speed-up over the CPU program", 1)
        .digits("GFLOP/s", 2)
        .column("as printed");
    let flop = speed::training_flop();
    let printed = |ms: f64, seconds: f64, epoch: String| format!("{ms:.2} ms, {seconds:.2} s; {epoch} s an epoch");
    let of_cpu = printed(main_run::CPU_MS, main_run::CPU_S, format!("{:.2}", main_run::CPU_EPOCH_S));
    let of_gpu = printed(main_run::GPU_MS, main_run::GPU_S, format!("{:.3}", main_run::GPU_EPOCH_S));
    let of_gpu = format!("{of_gpu}; {} times", main_run::SPEED_UP);
    for (name, ms, accuracy, printed) in [
        ("published CPU", main_run::CPU_MS, main_run::CPU_ACCURACY, of_cpu),
        ("published GPU", main_run::GPU_MS, main_run::GPU_ACCURACY, of_gpu),
    ] {
        let seconds = ms / 1e3;
        let cells: [Cell; 7] = [
            name.into(),
            seconds.into(),
            (seconds / f64::from(main_run::EPOCHS)).into(),
            accuracy.into(),
            (main_run::CPU_MS / ms).into(),
            (flop / seconds / 1e9).into(),
            printed.into(),
        ];
        table.row(cells);
    }
    let cpu = runs[0].1.as_ref().and_then(Trained::seconds);
    for (name, run) in runs {
        let Some(run) = run else { continue };
        let seconds = run.seconds();
        table.row([
            name.clone().into(),
            seconds.into(),
            run.epoch_s().into(),
            run.outcome.accuracy().into(),
            cpu.zip(seconds).map(|(cpu, seconds)| cpu / seconds).into(),
            run.epoch_s().map(|seconds| work / seconds / 1e9).into(),
        ]);
    }
    table
}

fn losses(runs: &Runs) -> Table {
    let mut table =
        Table::new("Mean loss of each epoch").column("epoch").digits("published CPU", 4).digits("published GPU", 4);
    let there: Vec<&(String, Option<Trained>)> = runs.iter().filter(|(_, run)| run.is_some()).collect();
    for (name, _) in &there {
        table = table.digits(name.clone(), 4);
    }
    let n_epochs = there.iter().filter_map(|(_, run)| Some(run.as_ref()?.outcome.losses.len())).max().unwrap_or(0);
    for epoch in 1..=n_epochs.max(main_run::EPOCHS as usize) {
        let published = |losses: &[(u32, f64)]| -> Cell {
            losses.iter().find(|(of, _)| *of as usize == epoch).map(|(_, loss)| *loss).into()
        };
        let mut cells = vec![epoch.into(), published(&main_run::CPU_LOSSES), published(&main_run::GPU_LOSSES)];
        let ours = |run: &Option<Trained>| run.as_ref().and_then(|run| run.outcome.losses.get(epoch - 1).copied());
        cells.extend(there.iter().map(|(_, run)| Cell::from(ours(run))));
        table.row(cells);
    }
    table
}

fn figure(runs: &Runs) -> Figure {
    let published = |name: &str, losses: &[(u32, f64)]| Line {
        name: name.into(),
        points: losses.iter().map(|&(epoch, loss)| [f64::from(epoch), loss]).collect(),
        band: Vec::new(),
        published: true,
    };
    let mut lines =
        vec![published("published CPU", &main_run::CPU_LOSSES), published("published GPU", &main_run::GPU_LOSSES)];
    for (name, run) in runs {
        let Some(run) = run else { continue };
        let points = (1..).map(f64::from).zip(&run.outcome.losses).map(|(epoch, &loss)| [epoch, loss]).collect();
        lines.push(Line { name: name.clone(), points, ..Line::default() });
    }
    Figure {
        file: "main-losses".into(),
        title: "Loss by epoch: the two published programs and ours".into(),
        x: Axis::linear("epoch"),
        y: Axis::log("mean loss"),
        chart: Chart::Lines(lines),
    }
}
