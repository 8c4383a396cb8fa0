//! Table I and Figures 2 to 5.

use super::super::forms::{PAPER, SHARED_SUMS};
use super::super::measure::{Level, Part, Times};
use super::super::plan::{Setup, runs};
use super::super::published::{COLUMNS, Component, FIGURE_5, TABLE_1, summary};
use super::super::table::{CPU_1, CPU_ALL, Rows};
use super::super::{Baseline, Program};
use super::{NO_KERNELS, has_kernels};
use crate::experiment::{Axis, Bar, Cell, Chart, Figure, Group, Run, Sheet, Stop, Table};

/// Measurements of a component.
const MEASUREMENTS: u64 = 3;

/// All programs' times of a component.
fn component(setup: &Setup, run: &mut Run<'_>, what: (Level, Part), n: usize) -> Result<Rows, Stop> {
    let (study, name) = (&setup.study, format!("{} {}, {n} positions", what.0, what.1));
    let reference = || setup.reference(n);
    let mut found: Rows =
        run.timed(&format!("cpu: {name}"), |now| Ok(study.cpu_times(what, runs(now.device, now.quick), &reference())))?;
    if !has_kernels(run.device()) {
        return Ok(found);
    }
    let kernels: Rows = run.timed(&format!("kernels: {name}"), |now| {
        Ok(study.kernel_times(now.device, what, runs(now.device, now.quick), false, &reference())?)
    })?;
    let ours: Rows = run.timed(&format!("ours: {name}"), |now| {
        Ok(study.our_times(now.device, what, runs(now.device, now.quick), &reference())?)
    })?;
    for part in [kernels, ours] {
        found.rows.extend(part.rows);
        found.not_offered.extend(part.not_offered);
    }
    Ok(found)
}

/// The library's times where they are of this number of positions.
fn baseline(setup: &Setup, n: usize) -> Option<&Baseline> {
    setup.plan.baseline.as_ref().filter(|baseline| baseline.batch == n)
}

fn ratio(library: Option<&Times>, times: Option<&Times>) -> Option<f64> {
    Some(library?.mean() / times?.mean())
}

/// Table I.
pub fn table_1(setup: &Setup, run: &mut Run<'_>, mut sheet: Sheet) -> Result<Sheet, Stop> {
    let batches = setup.batches(run.device(), run.quick());
    run.expect(batches.len() as u64 * (TABLE_1.len() as u64 + 2) * MEASUREMENTS);
    for &n in &batches {
        let mut table = Table::new(format!("mean speed-ups without the first run, {n} positions a call"))
            .column("component")
            .digits("published vs GPU", 3)
            .digits("published vs CPU", 3)
            .digits("their runs' medians vs GPU", 3)
            .digits("their runs' medians vs CPU", 3)
            .digits("paper's kernels vs library, GPU", 3)
            .digits("paper's kernels vs library, CPU", 3)
            .digits("paper's kernels vs cpu-ref, 1 thread", 3)
            .digits("repository's kernels vs cpu-ref, 1 thread", 3)
            .digits("ours f32 vs paper's kernels", 3);
        let mut not_offered = Vec::new();
        for published in &TABLE_1 {
            let found = component(setup, run, (published.level, published.part), n)?;
            let (gpu, cpu) = baseline(setup, n).map_or((None, None), |baseline| baseline.times(published.name));
            let [on_cpu, on_gpu, theirs] = [0, 1, 2].map(|column| summary(published.runs, column).median);
            let (paper, reference) = (found.times(PAPER), found.times(CPU_1));
            table.row([
                published.name.into(),
                published.vs_gpu.into(),
                published.vs_cpu.into(),
                (on_gpu / theirs).into(),
                (on_cpu / theirs).into(),
                ratio(gpu.as_ref(), paper).into(),
                ratio(cpu.as_ref(), paper).into(),
                ratio(reference, paper).into(),
                ratio(reference, found.times(Program::Repository.name())).into(),
                ratio(paper, found.times("ours f32")).into(),
            ]);
            not_offered.extend(found.not_offered);
        }
        sheet = sheet.table(table).table(whole(setup, run, n)?);
        sheet = not_offered.into_iter().fold(sheet, Sheet::left_out);
    }
    sheet = sheet
        .note(
            "Speed-ups are the library's or the reference's time over that of the kernels: above 1 the \
             kernels are faster.",
        )
        .note(
            "cpu-ref is wall time of this package's plain program; libraries' convolutions are faster than \
             it on a CPU.",
        )
        .note("Ours has no single kernels: a layer is a twelfth of what networks of 8 and of 2 blocks differ by.");
    Ok(with_left_out(setup, run, sheet, &batches))
}

/// What Table I has not: a residual block, and the network with both heads, with and without the copies.
fn whole(setup: &Setup, run: &mut Run<'_>, n: usize) -> Result<Table, Stop> {
    let mut table = Table::new(format!("block and whole network, us, {n} positions a call"))
        .column("component")
        .column("program")
        .column("copies")
        .digits("first", 1)
        .digits("mean", 1)
        .digits("min", 1)
        .digits("max", 1)
        .column("largest error")
        .column("verdict");
    for what in [(Level::Block, Part::Torso), (Level::Model, Part::Network)] {
        for row in component(setup, run, what, n)?.rows {
            let [first, mean, min, max] = numbers(&row.times);
            table.row([
                format!("{} {}", what.0, what.1).into(),
                row.program.into(),
                if row.copies { "with" } else { "without" }.into(),
                first,
                mean,
                min,
                max,
                row.errors.map(|errors| errors.largest).into(),
                row.errors.map(|errors| if errors.within { "within" } else { "beyond" }).into(),
            ]);
        }
    }
    Ok(table)
}

fn with_left_out(setup: &Setup, run: &Run<'_>, sheet: Sheet, batches: &[usize]) -> Sheet {
    let sheet = match &setup.plan.baseline {
        None => sheet.left_out("the library that the paper compares with: --baseline FILE gives its times"),
        Some(baseline) if batches.contains(&baseline.batch) => sheet.note(format!(
            "The library is {} on {} and, with {} threads, on {}.",
            baseline.library, baseline.device, baseline.threads, baseline.cpu
        )),
        Some(baseline) => sheet.left_out(format!("the library: its times are of {} positions a call", baseline.batch)),
    };
    if has_kernels(run.device()) { sheet } else { sheet.left_out(format!("the kernels: {NO_KERNELS}")) }
}

fn numbers(times: &Times) -> [Cell; 4] {
    [times.first_us, times.mean(), times.min(), times.max()].map(Cell::from)
}

/// A table of runs and its figure.
struct Drawn {
    table: Table,
    groups: Vec<Group>,
}

impl Drawn {
    fn new(title: String) -> Self {
        let table = Table::new(title)
            .column("component")
            .column("program")
            .digits("first", 1)
            .digits("mean", 1)
            .digits("min", 1)
            .digits("max", 1);
        Self { table, groups: Vec::new() }
    }

    fn group(&mut self, name: &str) {
        self.groups.push(Group { name: name.to_string(), bars: Vec::new() });
    }

    /// One program's runs in microseconds: first, mean, least, most of the others.
    fn bar(&mut self, program: String, [first, mean, min, max]: [f64; 4]) {
        let Some(group) = self.groups.last_mut() else { return };
        self.table.row([
            group.name.clone().into(),
            program.clone().into(),
            first.into(),
            mean.into(),
            min.into(),
            max.into(),
        ]);
        group.bars.push(Bar { name: program, mean, min, max });
    }

    fn published(&mut self, runs: &[[f64; 3]; 20]) {
        for (column, program) in COLUMNS.iter().enumerate() {
            let found = summary(runs, column);
            let us = [found.first, found.mean, found.min, found.max].map(|ms| ms * 1e3);
            self.bar(format!("published: {program}"), us);
        }
    }

    fn times(&mut self, program: String, times: &Times) {
        self.bar(program, [times.first_us, times.mean(), times.min(), times.max()]);
    }

    fn on(self, sheet: Sheet, file: &str, title: &str) -> Sheet {
        let figure = Figure {
            file: file.to_string(),
            title: title.to_string(),
            x: Axis::linear(""),
            y: Axis::log("time, us"),
            chart: Chart::Bars(self.groups),
        };
        sheet.table(self.table).figure(figure).note(
            "Means, least and most leave out the first run, which is shown apart: in the paper it is the slowest.",
        )
    }
}

/// Figures 2, 3 and 4.
pub fn figure(setup: &Setup, run: &mut Run<'_>, sheet: Sheet, name: &str) -> Result<Sheet, Stop> {
    let (level, title) = match name {
        "figure2" => (Level::Kernel, "A convolution alone"),
        "figure3" => (Level::Layer, "Convolution, batch norm and rectifier"),
        _ => (Level::Model, "The semi-model"),
    };
    let n = 1;
    let components: Vec<&Component> = TABLE_1.iter().filter(|component| component.level == level).collect();
    run.expect(components.len() as u64 * MEASUREMENTS);
    let mut drawn = Drawn::new(format!("{title}, us, {n} position a call"));
    for published in components {
        let found = component(setup, run, (level, published.part), n)?;
        drawn.group(published.name);
        drawn.published(published.runs);
        if let Some(baseline) = baseline(setup, n) {
            let (gpu, cpu) = baseline.times(published.name);
            for (times, device) in [(cpu, &baseline.cpu), (gpu, &baseline.device)] {
                let Some(times) = times else { continue };
                drawn.times(format!("{}, {device}", baseline.library), &times);
            }
        }
        for row in found.rows.iter().filter(|row| !row.copies && row.program != SHARED_SUMS) {
            drawn.times(row.program.clone(), &row.times);
        }
    }
    let sheet = drawn.on(sheet, name, title);
    Ok(with_left_out(setup, run, sheet, &[n]))
}

/// Figure 5.
pub fn figure_5(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    run.expect(FIGURE_5.len() as u64 * MEASUREMENTS);
    let title = "Sums in shared memory";
    let mut drawn = Drawn::new(format!("{title}, us, 1 position a call"));
    for (name, part, runs) in FIGURE_5 {
        let found = component(setup, run, (Level::Kernel, part), 1)?;
        drawn.group(name);
        drawn.published(runs);
        for program in [CPU_1, PAPER, SHARED_SUMS] {
            if let Some(times) = found.times(program) {
                drawn.times(program.to_string(), times);
            }
        }
    }
    let sheet = drawn.on(sheet, "figure5", title).note(
        "No revision of the repository has a kernel with sums in shared memory; the files behind this \
         figure are named V3, and its V3 is another kernel.",
    );
    Ok(if has_kernels(run.device()) { sheet } else { sheet.left_out(format!("the kernels: {NO_KERNELS}")) })
}

/// Every form of every kernel.
pub fn kernels(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    if !has_kernels(run.device()) {
        return Ok(sheet.left_out(format!("all: {NO_KERNELS}")));
    }
    let parts = [Part::Input, Part::Torso, Part::Output];
    run.expect(parts.len() as u64);
    let mut sheet = sheet;
    for part in parts {
        let found: Rows = run.timed(&format!("forms: {part}"), |now| {
            let runs = runs(now.device, now.quick);
            Ok(setup.study.kernel_times(now.device, (Level::Kernel, part), runs, true, &setup.reference(1))?)
        })?;
        let mut table = Table::new(format!("{part} kernel, us, 1 position"))
            .column("form")
            .digits("first", 1)
            .digits("mean", 1)
            .digits("min", 1)
            .digits("max", 1)
            .column("mean error")
            .column("largest error")
            .column("verdict");
        for row in found.rows {
            let [first, mean, min, max] = numbers(&row.times);
            table.row([
                row.program.into(),
                first,
                mean,
                min,
                max,
                row.errors.map(|errors| errors.mean).into(),
                row.errors.map(|errors| errors.largest).into(),
                row.errors.map(|errors| if errors.within { "within" } else { "beyond" }).into(),
            ]);
        }
        sheet = sheet.table(table);
    }
    Ok(sheet
        .note(
            "The first row of each table is the paper's kernel. Where sums are added up in global memory, \
             the launch that clears them is in the time.",
        )
        .note(format!("{CPU_1} and {CPU_ALL} are in table1 and the figures.")))
}
