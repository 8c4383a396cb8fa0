//! The source's table: kernel, layer, block and model, by its kernels, by ours, and on the CPU.

use serde_json::json;
use warpplay::azero::paper::measure::{self, Errors, Level, PARTS, Part, RUNS, Times};
use warpplay::azero::paper::{InputForm, Model, Options, TorsoSums};
use warpplay::azero::{Execution, Network, NetworkShape};
use warpplay::{Backend, Device, Error, Precision, Result};

use crate::chart::{self, Bars};
use crate::measure::{Bench, Ready};
use crate::output::{Table, maybe, number};
use crate::plain::Reference;
use crate::published::SOURCE_SPEEDUPS;

/// Runs of the CPU on more than one position: they take seconds, and differ little.
const CPU_RUNS: usize = 3;

/// One row.
struct Row {
    level: Level,
    part: Part,
    program: String,
    copies: bool,
    times: Times,
    errors: Option<Errors>,
}

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let runs = if bench.device.backend() == Backend::Simt { 1 } else { RUNS };
    let batches: &[usize] = if bench.quick || bench.device.backend() == Backend::Simt { &[1] } else { &[1, 128] };
    for &n in batches {
        bench.output.progress(&format!("the source's table at batch {n}"));
        let rows = rows(bench, n, runs)?;
        print(bench, n, runs, &rows)?;
        if n == 1 {
            charts(bench, &rows)?;
        }
    }
    Ok(())
}

fn rows(bench: &mut Bench, n: usize, runs: usize) -> anyhow::Result<Vec<Row>> {
    let reference = Reference::new(&bench.network, bench.positions.first(n).0, n);
    let mut rows = Vec::new();
    for (level, part) in PARTS {
        for (program, all_cores) in [("cpu-ref, 1 thread", false), ("cpu-ref, all cores", true)] {
            if all_cores && part != Part::Network {
                continue;
            }
            let runs = if n == 1 { runs } else { runs.min(CPU_RUNS) };
            let times = reference.times(level, part, runs, all_cores);
            rows.push(Row { level, part, program: program.to_string(), copies: false, times, errors: None });
        }
    }
    if !bench.has_kernels() {
        return Ok(rows);
    }
    let stream = bench.device.stream()?;
    let mut model = Model::new(&stream, &bench.network, Options::default(), n)?;
    for (level, part) in PARTS {
        for (program, options) in forms(level, part, n) {
            model.set_options(options)?;
            for copies in [false, true] {
                // The forms are told apart by their kernels; copies are the same for all.
                if copies && options != Options::default() {
                    continue;
                }
                bench.output.progress(&format!("{level} {part} {program}"));
                let found = measure::run(&stream, &mut model, level, part, reference.operand(part), copies, runs)?;
                let output: Vec<f64> = found.output.iter().map(|&value| value.into()).collect();
                let errors = Some(Errors::between(&output, reference.expected(level, part)));
                rows.push(Row { level, part, program: program.clone(), copies, times: found.times, errors });
            }
        }
    }
    for precision in Bench::PRECISIONS {
        match ours(bench, precision, n, runs, &reference) {
            Ok(found) => rows.extend(found),
            Err(error) => {
                let cell = bench.refused(&error);
                bench.output.text(&format!("ours, {precision}: {cell}\n"))?;
            }
        }
    }
    Ok(rows)
}

/// The forms that are measured of a part: the source's with and without the bias and, of kernels alone, all others.
fn forms(level: Level, part: Part, n: usize) -> Vec<(String, Options)> {
    let base = Options::default();
    let mut forms = vec![("paper".to_string(), base), ("paper, no bias".to_string(), Options::published())];
    // Among the forms, "paper" is squares [10][33], and 128x8 global banked.
    if level != Level::Kernel || n > 1 {
        return forms;
    }
    match part {
        Part::Input => {
            for &input in InputForm::ALL {
                for padded in [true, false] {
                    let name = format!("paper, {input} {}", if padded { "[10][33]" } else { "[10][32]" });
                    forms.push((name, Options { input, padded, ..base }));
                }
            }
        }
        Part::Torso => {
            for &torso_sums in TorsoSums::ALL {
                for torso_layers in [8, 1] {
                    for banked in [true, false] {
                        let layout = if banked { "banked" } else { "plain" };
                        let name = format!("paper, 128x{torso_layers} {torso_sums} {layout}");
                        forms.push((name, Options { torso_sums, torso_layers, banked, ..base }));
                    }
                }
            }
        }
        Part::Output | Part::Network => {}
    }
    let mut known = Vec::new();
    forms.retain(|(_, options)| {
        let new = !known.contains(options);
        known.push(*options);
        new
    });
    forms
}

/// Our kernels: the model as it is, and a block by the difference of two depths, since ours have no single kernels.
fn ours(bench: &Bench, precision: Precision, n: usize, runs: usize, reference: &Reference) -> Result<Vec<Row>> {
    let program = format!("ours {precision}");
    let mut ready = bench.ready(&bench.network, precision, Execution::Auto, n)?;
    let mut rows = Vec::new();
    let row = |level, part, copies, times, errors| Row { level, part, program: program.clone(), copies, times, errors };
    let (observations, _) = bench.positions.first(n);
    let masks = vec![1u8; n * bench.network.shape().actions as usize];
    ready.stream.write(&mut ready.inputs.masks, 0, &masks)?;
    for copies in [false, true] {
        let times = model_times(&mut ready, &observations, &masks, copies, runs)?;
        let found: Vec<f64> = ready.stream.read(&ready.outputs.policy_logits)?.into_iter().map(f64::from).collect();
        let errors = Errors::between(&found, reference.expected(Level::Model, Part::Network));
        rows.push(row(Level::Model, Part::Network, copies, times, Some(errors)));
    }
    let shape = bench.network.shape();
    let [deep, shallow] = [8, 2].map(|depth| {
        let network = Network::seeded(NetworkShape { depth, ..shape }, 27)?;
        bench.ready(&network, precision, Execution::Auto, n)?.times(bench.seconds)
    });
    let block = (deep?.min - shallow?.min) / 6.0 * 1e6;
    let times = |us: f64| Times { first_us: us, runs_us: vec![us] };
    rows.push(row(Level::Block, Part::Torso, false, times(block), None));
    rows.push(row(Level::Layer, Part::Torso, false, times(block / 2.0), None));
    Ok(rows)
}

fn model_times(ready: &mut Ready, observations: &[f32], masks: &[u8], copies: bool, runs: usize) -> Result<Times> {
    let stream = ready.evaluator.device().stream()?;
    let (mut values, mut policies) = (vec![0.0f32; ready.n], vec![0.0f32; masks.len()]);
    ready.stream.synchronize()?;
    let times = measure::timed(&stream, runs, || {
        if copies {
            stream.write(&mut ready.inputs.observations, 0, observations)?;
            stream.write(&mut ready.inputs.masks, 0, masks)?;
        }
        ready.evaluator.enqueue(&stream, &ready.inputs, ready.n, &mut ready.outputs)?;
        if copies {
            stream.read_into(&ready.outputs.values, 0, &mut values)?;
            stream.read_into(&ready.outputs.policies, 0, &mut policies)?;
        }
        Ok(())
    })?;
    stream.synchronize()?;
    Ok(times)
}

/// Mean time of a program for a part, without copies.
fn mean_of(rows: &[Row], of: &Row, program: &str, copies: bool) -> Option<f64> {
    let found = rows
        .iter()
        .find(|row| row.level == of.level && row.part == of.part && row.program == program && row.copies == copies)?;
    Some(found.times.mean())
}

fn print(bench: &mut Bench, n: usize, runs: usize, rows: &[Row]) -> anyhow::Result<()> {
    let title = format!("PAPER, batch {n}: means of {runs} runs after the first, us");
    let headers = [
        "level",
        "part",
        "program",
        "copies",
        "first",
        "mean",
        "min",
        "max",
        "to cpu-ref",
        "to paper",
        "mean error",
        "largest",
        "verdict",
    ];
    let mut table = Table::new(&title, 4, &headers);
    for row in rows {
        let mean = row.times.mean();
        let cpu = mean_of(rows, row, "cpu-ref, 1 thread", false).map(|cpu| cpu / mean);
        let paper = mean_of(rows, row, "paper", row.copies).map(|paper| paper / mean);
        bench.output.json(&json!({
            "section": "paper", "batch": n, "level": row.level, "part": row.part, "program": row.program, "copies": row.copies,
            "first_us": row.times.first_us, "runs_us": row.times.runs_us, "mean_us": mean, "min_us": row.times.min(), "max_us": row.times.max(),
            "to_cpu": cpu, "to_paper": paper, "errors": row.errors, "device": bench.device.to_string(),
        }))?;
        let errors = match row.errors {
            Some(errors) => [
                format!("{:.1e}", errors.mean),
                format!("{:.1e}", errors.largest),
                if errors.within { "within" } else { "not within" }.to_string(),
            ],
            None => ["-", "-", "-"].map(str::to_string),
        };
        let cells = [
            row.level.to_string(),
            row.part.to_string(),
            row.program.clone(),
            if row.copies { "with" } else { "without" }.to_string(),
            number(row.times.first_us),
            number(mean),
            number(row.times.min()),
            number(row.times.max()),
            maybe(cpu),
            maybe(paper),
        ];
        table.row(cells.into_iter().chain(errors).collect());
    }
    table.note("cpu-ref: wall time, of 3 runs where there is more than one position. Ours, layer and block: by the difference of networks of 8 and 2 blocks, a layer being half a block; ours has no convolution alone.".into());
    let said: Vec<String> = SOURCE_SPEEDUPS.iter().map(|(what, ratio)| format!("{what} {ratio} times")).collect();
    table.note(format!("The source says of its kernels, against the library's: {}.", said.join(", ")));
    table.print(&bench.output)
}

/// The source's Figures 2 to 5.
fn charts(bench: &Bench, rows: &[Row]) -> anyhow::Result<()> {
    let Some(folder) = &bench.svg else { return Ok(()) };
    let main = |row: &&Row| {
        !row.copies
            && (matches!(row.program.as_str(), "cpu-ref, 1 thread" | "paper") || row.program.starts_with("ours"))
    };
    let bars = |levels: &[Level], value: &dyn Fn(&Row) -> Option<f64>| {
        let mut bars: Vec<Bars> = Vec::new();
        for row in rows.iter().filter(main).filter(|row| levels.contains(&row.level)) {
            let name = format!("{} {}", row.level, row.part);
            let Some(value) = value(row) else { continue };
            match bars.iter_mut().find(|bars| bars.name == name) {
                Some(bars) => bars.values.push((row.program.clone(), value)),
                None => bars.push(Bars { name, values: vec![(row.program.clone(), value)] }),
            }
        }
        bars
    };
    let time = |row: &Row| Some(row.times.mean());
    let speedup = |row: &Row| {
        if row.program == "cpu-ref, 1 thread" {
            None
        } else {
            Some(mean_of(rows, row, "cpu-ref, 1 thread", false)? / row.times.mean())
        }
    };
    let all = [Level::Kernel, Level::Layer, Level::Block, Level::Model];
    let device: &Device = &bench.device;
    for (file, title, unit, bars) in [
        ("kernels.svg", "a convolution alone, batch 1", "us", bars(&[Level::Kernel], &time)),
        ("layers.svg", "convolution, norm and rectifier, batch 1", "us", bars(&[Level::Layer], &time)),
        ("model.svg", "block and model, batch 1", "us", bars(&[Level::Block, Level::Model], &time)),
        ("speedups.svg", "times faster than the CPU's one thread, batch 1", "speed-up", bars(&all, &speedup)),
    ] {
        let path = folder.join(file);
        let svg = chart::bars(&format!("{title}, {}", device.name()), unit, &bars)?;
        std::fs::write(&path, svg).map_err(|error| Error::option("svg", path.display(), error.to_string()))?;
        bench.output.text(&format!("wrote {}\n", path.display()))?;
    }
    Ok(())
}
