//! Table I and Figures 2 to 5.

use super::super::forms::{PAPER, SHARED_SUMS, forms};
use super::super::measure::{Level, Part, Times};
use super::super::plan::{Setup, runs};
use super::super::published::{COLUMNS, Component, FIGURE_5, Run as Published, TABLE_1, summary};
use super::super::table::{CPU_1, CPU_ALL, Rows};
use super::super::{Baseline, InputForm, Options, Program, Sums, TorsoForm};
use super::{NO_KERNELS, error, has_kernels, positions, verdict};
use crate::experiment::{Axis, Bar, Cell, Chart, Figure, Group, Run, Sheet, Stop, Table, text};
use warpplay::Backend;

/// What the published layers' times are of.
const TRAINING_MODE: &str = "The published runs of layers have batch norm in training mode: each computes the statistics of its \
     batch and updates the running ones. Ours, and the library's here, have the statistics of inference.";

/// Measurements of a component.
const MEASUREMENTS: u64 = 3;

/// How most times are measured: the title of a table says it, since a call among others back to back takes less.
const SINGLE: &str = "each call alone between two events";
/// What the column of times back to back holds.
const BACK_TO_BACK: &str = "Back to back: the device time of calls that follow without a gap, divided by their number, in the fastest of the runs. It leaves out the start of \
     the first launch; where a call is long, it may still exceed the mean of single calls. Our engine launches no block or layer by itself: its time of a block is the difference between \
     networks of 8 and of 2 blocks divided by 6, that of a layer the same divided by 12. The paper's kernels are timed back to back too, to compare.";

/// What the programs of this sheet and of the figures are.
const PROGRAMS: &str = "Programs, here and in the figures: paper is the paper's kernels with the bias (`Program::Paper`); paper, shared sums the same with sums in shared memory; \
     repository what its repository launches in the last revision: input V3, torso V2, output V2, no bias (`Program::Repository`); repository_40 the same with its input kernel V2 of 40 \
     threads (`Program::RepositoryRows`); repository_first its first kernels, with weights and filters in global memory and 40 threads for the input (`Program::RepositoryFirst`); ours this \
     library's engine (`warpplay::azero::Evaluator`), by arithmetic; cpu-ref this package's plain program on the CPU, in wall time.";

/// The measurement of the published kernels' times of a component.
fn kernels_key((level, part): (Level, Part), n: usize) -> String {
    format!("kernels: {level} {part}, {n} positions")
}

/// The measurement of all forms of a kernel.
fn forms_key(part: Part) -> String {
    format!("forms: {part}")
}

/// All programs' times of a component.
fn component(setup: &Setup, run: &mut Run<'_>, what: (Level, Part), n: usize) -> Result<Rows, Stop> {
    let (study, name) = (&setup.study, format!("{} {}, {n} positions", what.0, what.1));
    let reference = || setup.reference(n);
    let mut found: Rows =
        run.timed(&format!("cpu: {name}"), |now| Ok(study.cpu_times(what, runs(now.device, now.quick), &reference())))?;
    if !has_kernels(run.device()) {
        return Ok(found);
    }
    // With the times come errors, which a replay compares: atomic additions decide their last bits.
    let kernels: Rows = run.near(
        &kernels_key(what, n),
        |now| Ok(study.kernel_times(now.device, what, runs(now.device, now.quick), false, &reference())?),
        Rows::agrees,
    )?;
    let ours: Rows = run.near(
        &format!("ours: {name}"),
        |now| Ok(study.our_times(now.device, what, runs(now.device, now.quick), &reference())?),
        Rows::agrees,
    )?;
    for part in [kernels, ours] {
        found.rows.extend(part.rows);
        found.back_to_back.extend(part.back_to_back);
        found.not_offered.extend(part.not_offered);
    }
    Ok(found)
}

/// The library's times where they are of this number of positions.
fn baseline(setup: &Setup, n: usize) -> Option<&Baseline> {
    setup.plan.baseline.as_ref().filter(|baseline| baseline.batch == n)
}

/// How often a program's times go into a library's: mean into mean, and median into median. Their runs were timed independently, so that a mean of the runs' ratios
/// would pair runs that have nothing to do with each other.
fn ratios(library: Option<&Times>, times: Option<&Times>) -> [Option<f64>; 2] {
    let both = library.zip(times);
    [
        both.map(|(library, times)| library.mean() / times.mean()),
        both.map(|(library, times)| library.median() / times.median()),
    ]
}

/// Table I.
pub fn table_1(setup: &Setup, run: &mut Run<'_>, mut sheet: Sheet) -> Result<Sheet, Stop> {
    let batches = setup.batches(run.device(), run.quick());
    run.expect(batches.len() as u64 * (TABLE_1.len() as u64 + 2) * MEASUREMENTS);
    let has_library = batches.iter().any(|&n| baseline(setup, n).is_some());
    let (mut plain, mut layers) = (Vec::new(), Vec::new());
    for &n in &batches {
        let mut table = Table::new(format!(
            "Table I: library / paper's kernels, without the first run, {}, {SINGLE}",
            positions(n)
        ))
        .column("component");
        for device in ["GPU", "CPU"] {
            table = table
                .digits(format!("{device}: published, mean of ratios"), 3)
                .digits(format!("{device}: published, mean / mean"), 3)
                .digits(format!("{device}: here, mean / mean"), 3)
                .digits(format!("{device}: published, median / median"), 3)
                .digits(format!("{device}: here, median / median"), 3);
        }
        let mut others = Table::new(format!(
            "the paper's kernels here beside other programs, without the first run, {}",
            positions(n)
        ))
        .column("component")
        .digits("cpu-ref, 1 thread / paper, mean / mean", 3)
        .digits("cpu-ref, 1 thread / paper, median / median", 3)
        .digits("cpu-ref, 1 thread / repository, mean / mean", 3)
        .digits("cpu-ref, 1 thread / repository, median / median", 3)
        .digits("paper / ours f32, both back to back", 3);
        let (mut not_offered, mut cpu_means) = (Vec::new(), Vec::new());
        for published in &TABLE_1 {
            let found = component(setup, run, (published.level, published.part), n)?;
            let (gpu, cpu) = baseline(setup, n).map_or((None, None), |baseline| baseline.times(published.name));
            let [on_cpu, on_gpu, theirs] = [0, 1, 2].map(|column| summary(published.runs, column));
            let (paper, reference) = (found.times(PAPER), found.times(CPU_1));
            let both = cpu.as_ref().zip(reference);
            cpu_means.extend(both.map(|(library, plain)| (published.name, library.mean(), plain.mean())));
            let mut cells: Vec<Cell> = vec![Cell::from(published.name)];
            for (printed, library, here) in [(published.vs_gpu, on_gpu, gpu), (published.vs_cpu, on_cpu, cpu)] {
                let [mean, median] = ratios(here.as_ref(), paper);
                cells.extend([
                    Cell::from(printed),
                    Cell::from(library.mean / theirs.mean),
                    Cell::from(mean),
                    Cell::from(library.median / theirs.median),
                    Cell::from(median),
                ]);
            }
            table.row(cells);
            let [mean, median] = ratios(reference, paper);
            let [repository_mean, repository_median] = ratios(reference, found.times(Program::Repository.name()));
            let ours = found.back_to_back_us(PAPER).zip(found.back_to_back_us("ours f32"));
            others.row([
                published.name.into(),
                mean.into(),
                median.into(),
                repository_mean.into(),
                repository_median.into(),
                ours.map(|(paper, ours)| paper / ours).into(),
            ]);
            sheet = not_above_0(sheet, published.name, &found);
            not_offered.extend(found.not_offered);
        }
        // Published runs are of one position: without times of the library the table would repeat them and have nothing beside them. Where there are none at all,
        // they stand once.
        sheet = if baseline(setup, n).is_some() || !has_library && batches.first() == Some(&n) {
            sheet.table(table)
        } else {
            sheet.left_out(format!("Table I for {}: no times of the library for so many in a call", positions(n)))
        };
        sheet = whole(setup, run, sheet.table(others), n)?;
        sheet = not_offered.into_iter().fold(sheet, Sheet::left_out);
        plain.extend(baseline(setup, n).and_then(|library| beside_plain(n, library.threads, &cpu_means)));
        layers.extend(baseline(setup, n).and_then(layers_alike));
    }
    sheet = sheet
        .note(
            "Speed-ups are the library's or the reference's time over that of the kernels: above 1 the \
             kernels are faster.",
        )
        .note(
            "Table I is a mean of ratios: each published run, of one position, has a time of the library and one of the \
             kernels. Our runs of the library and of the kernels were made apart and form no pairs, so that we compare \
             means and medians; those of the published runs stand beside them.",
        );
    sheet = plain.into_iter().chain(layers).fold(sheet, Sheet::note);
    sheet = sheet.note(TRAINING_MODE).note(PROGRAMS).note(BACK_TO_BACK);
    Ok(with_left_out(setup, run, sheet, &batches))
}

/// Where the library takes less time on the CPU than this package's plain program, and where not: components with both means in microseconds, the library's first.
fn beside_plain(n: usize, threads: u32, means: &[(&str, f64, f64)]) -> Option<String> {
    let names = |less: bool| {
        let so = means.iter().filter(|&&(_, library, plain)| (library < plain) == less);
        let names: Vec<&str> = so.map(|&(name, ..)| name).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    };
    (!means.is_empty()).then(|| {
        format!(
            "{}, on the CPU, by the means: the library with {threads} threads takes less time than cpu-ref with one for: {}; \
             not less for: {}.",
            positions(n),
            names(true),
            names(false)
        )
    })
}

/// What may make the library slower beside the kernels than in Table I: what its layers take on the GPU, by the means, beside their work.
fn layers_alike(library: &Baseline) -> Option<String> {
    // Multiplications of a position: channels in, channels out, taps, squares.
    let work = [5.0 * 128.0 * 9.0 * 64.0, 128.0 * 128.0 * 9.0 * 64.0, 128.0 * 2.0 * 64.0];
    let us = |name: &str| Some(library.times(name).0?.mean());
    let [input, torso, output] = ["Input Layer", "Torso Layer", "Output Layer"].map(us);
    let (input, torso, output) = (input?, torso?, output?);
    Some(format!(
        "{}, by the means: the library on the GPU takes {input:.0}, {torso:.0} and {output:.0} us for input, torso and \
         output layer, of which the torso's has {:.1} times the multiplications of the input's and {:.0} times those of \
         the output's. Times that differ by less than their work are of what a call costs whatever its work, the start of its \
         launches among it; how much that is was not measured.",
        positions(library.batch),
        work[1] / work[0],
        work[1] / work[2]
    ))
}

/// Says where the difference of two networks gave no time.
fn not_above_0(sheet: Sheet, component: &str, found: &Rows) -> Sheet {
    let without = found.back_to_back.iter().filter(|row| row.us.is_none());
    without.fold(sheet, |sheet, row| {
        sheet.note(format!(
            "{component}, {}: the network of 8 blocks took no longer than that of 2, so that there is no time of one.",
            row.program
        ))
    })
}

/// What Table I has not: a residual block, and the network with both heads, with and without the copies.
fn whole(setup: &Setup, run: &mut Run<'_>, mut sheet: Sheet, n: usize) -> Result<Sheet, Stop> {
    let mut table = Table::new(format!("block and whole network, us, {}, {SINGLE}", positions(n)))
        .column("component")
        .column("program")
        .column("copies from and to the host")
        .digits("first", 1)
        .digits("mean", 1)
        .digits("min", 1)
        .digits("max", 1)
        .digits("back to back", 1)
        .column("largest error")
        .column("verdict");
    for what in [(Level::Block, Part::Torso), (Level::Model, Part::Network)] {
        let (name, found) = (format!("{} {}", what.0, what.1), component(setup, run, what, n)?);
        sheet = not_above_0(sheet, &name, &found);
        for row in found.rows {
            let [first, mean, min, max] = numbers(&row.times);
            table.row([
                name.clone().into(),
                row.program.into(),
                if row.copies { "with" } else { "without" }.into(),
                first,
                mean,
                min,
                max,
                Cell::Empty,
                row.errors.map(|errors| error(errors.largest)).into(),
                row.errors.map(|errors| verdict(errors.within)).into(),
            ]);
        }
        for row in found.back_to_back {
            table.row([
                name.clone().into(),
                row.program.into(),
                "without".into(),
                Cell::Empty,
                Cell::Empty,
                Cell::Empty,
                Cell::Empty,
                row.us.into(),
            ]);
        }
    }
    Ok(sheet.table(table))
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
    fn new(title: &str) -> Self {
        let table = Table::new(format!("{title}, us, {}, {SINGLE}", positions(1)))
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

    /// A time of a call among others, which has no first, least and largest run.
    fn back_to_back(&mut self, program: &str, us: Option<f64>) {
        let (Some(group), Some(us)) = (self.groups.last_mut(), us) else { return };
        let program = format!("{program}, back to back");
        self.table.row([group.name.clone().into(), program.clone().into(), Cell::Empty, us.into()]);
        group.bars.push(Bar { name: program, mean: us, min: us, max: us });
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
            "Mean, min and max leave out the first run, which has its own column: in the paper it is the slowest.",
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
    let (mut drawn, mut sheet, mut notes) = (Drawn::new(title), sheet, Vec::new());
    for published in components {
        let found = component(setup, run, (level, published.part), n)?;
        drawn.group(published.name);
        drawn.published(published.runs);
        if let Some(baseline) = baseline(setup, n) {
            let (gpu, cpu) = baseline.times(published.name);
            if level == Level::Model {
                notes.extend(library_on_both(published.runs, baseline, gpu.as_ref(), cpu.as_ref()));
            }
            for (times, device) in [(cpu, &baseline.cpu), (gpu, &baseline.device)] {
                let Some(times) = times else { continue };
                drawn.times(format!("{}, {device}", baseline.library), &times);
            }
        }
        for row in found.rows.iter().filter(|row| !row.copies && row.program != SHARED_SUMS) {
            drawn.times(row.program.clone(), &row.times);
        }
        for row in &found.back_to_back {
            drawn.back_to_back(&row.program, row.us);
        }
        sheet = not_above_0(sheet, published.name, &found);
    }
    let sheet = drawn.on(sheet, name, title);
    let sheet = match level {
        Level::Layer => {
            sheet.note(TRAINING_MODE).note(BACK_TO_BACK).note("A time back to back stands in the column of means.")
        }
        _ => notes.into_iter().fold(sheet, Sheet::note),
    };
    Ok(with_left_out(setup, run, sheet, &[n]))
}

/// Section IV.C: with the whole model the library gains from the GPU. What it takes there and on the CPU, published and here.
fn library_on_both(
    runs: &[Published; 20],
    library: &Baseline,
    gpu: Option<&Times>,
    cpu: Option<&Times>,
) -> Option<String> {
    let [cpu_us, gpu_us] = [0, 1].map(|column| text::number(1e3 * summary(runs, column).mean, Some(1)));
    let (gpu, cpu) = (gpu?.mean(), cpu?.mean());
    let so = if gpu < cpu { "faster on the GPU here too" } else { "not faster on the GPU here" };
    Some(format!(
        "Section IV.C: with the semi-model the library is faster on the GPU ({gpu_us} us by the mean of the published runs) than on the CPU \
         ({cpu_us} us). Here {} takes {} us on the GPU and {} us on the CPU with {} threads: it is {so}.",
        library.library,
        text::number(gpu, Some(1)),
        text::number(cpu, Some(1)),
        library.threads
    ))
}

/// Figure 5.
pub fn figure_5(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    run.expect(FIGURE_5.len() as u64 * MEASUREMENTS);
    let title = "Sums in shared memory";
    let (mut drawn, mut notes, mut elsewhere) = (Drawn::new(title), Vec::new(), Vec::new());
    for (name, part, runs) in FIGURE_5 {
        let found = component(setup, run, (Level::Kernel, part), 1)?;
        drawn.group(name);
        drawn.published(runs);
        for program in [CPU_1, PAPER, SHARED_SUMS] {
            if let Some(times) = found.times(program) {
                drawn.times(program.to_string(), times);
            }
        }
        if is_timed(run) {
            notes.extend(shared_sums(name, part, runs, &found));
            elsewhere.extend(in_kernels(run, part));
        }
    }
    notes.extend(two_series(&elsewhere));
    let sheet = drawn.on(sheet, "figure5", title).note(
        "No revision of the repository has a kernel with sums in shared memory; the files behind this \
         figure are named V3, and its V3 is another kernel.",
    );
    let sheet = notes.into_iter().fold(sheet, Sheet::note);
    Ok(if has_kernels(run.device()) { sheet } else { sheet.left_out(format!("the kernels: {NO_KERNELS}")) })
}

/// Whether times are those of a GPU: under `simt` they are those of the CPU that plays the kernels.
fn is_timed(run: &Run<'_>) -> bool {
    run.device().backend() == Backend::Cuda
}

/// What sums in shared memory cost here beside those in global memory, and what in the published runs.
fn shared_sums(name: &str, part: Part, shared: &[Published; 20], found: &Rows) -> Option<String> {
    let global = TABLE_1.iter().find(|component| (component.level, component.part) == (Level::Kernel, part))?;
    let published = summary(shared, 2).mean / summary(global.runs, 2).mean;
    let (shared, global) = (found.times(SHARED_SUMS)?.mean(), found.times(PAPER)?.mean());
    let so = if shared > global { "they are slower here too" } else { "that they are slower is not repeated here" };
    Some(format!(
        "{name} of 128 x 8 threads: sums in shared memory take {shared:.1} us on this device, {:.2} times those in \
         global memory ({global:.1} us); in the published runs {published:.2} times: {so}.",
        shared / global
    ))
}

/// All forms of a kernel from the item kernels, if this run has it; nothing is measured for them.
fn forms_measured(run: &Run<'_>, part: Part) -> Option<Rows> {
    let record = run.journal().get(&forms_key(part))?;
    serde_json::from_value(record.near.clone()).ok()
}

/// What the item kernels has of the two forms that are in both items, if this run has it; nothing is measured for it.
fn in_kernels(run: &Run<'_>, part: Part) -> Option<String> {
    let found = forms_measured(run, part)?;
    let us = |sums: Sums| Some(found.times(&format!("128x8 [256][32], sums {sums}"))?.mean());
    Some(format!("{part} {:.2}", us(Sums::Shared)? / us(Sums::Global)?))
}

/// What may make the ratios of one pair of forms differ between the items, with those of the item kernels.
fn two_series(kernels: &[String]) -> Option<String> {
    (!kernels.is_empty()).then(|| {
        format!(
            "Item kernels times both forms (128x8 [256][32]) by the same method, in a series of its own. There the times \
             with sums in shared memory over those with sums in global memory are: {}. A call with sums in global memory \
             has two launches, of which the first clears the sums, and one with sums in shared memory has one. The time \
             between the events includes any wait for the host's next launch, and this wait may differ between series. Whether \
             it is the whole difference was not determined.",
            kernels.join(", ")
        )
    })
}

/// The notes of `shared_sums` from the times that this run has already; nothing is measured for them.
pub fn shared_sums_measured(setup: &Setup, run: &mut Run<'_>) -> Result<Vec<String>, Stop> {
    let mut notes = Vec::new();
    for (name, part, shared) in FIGURE_5 {
        let what = (Level::Kernel, part);
        if is_timed(run) && run.journal().get(&kernels_key(what, 1)).is_some() {
            notes.extend(shared_sums(name, part, shared, &component(setup, run, what, 1)?));
        }
    }
    Ok(notes)
}

/// Which ways of 320 threads take less time than 64, if this run has the item kernels.
pub fn threads_measured(run: &Run<'_>) -> Option<String> {
    let found = is_timed(run).then(|| forms_measured(run, Part::Input))??;
    of_320_threads(&beside(Part::Input, &found, CHOICES[0].2))
}

/// A ratio of times that is written as less than 1.00.
const LESS: f64 = 0.995;

/// The verdict on 320 threads from the times of their forms over those of 64.
fn of_320_threads(ratios: &[(String, f64)]) -> Option<String> {
    let of = |less: bool| {
        let those = ratios.iter().filter(|(_, ratio)| (*ratio < LESS) == less);
        those.map(|(form, ratio)| format!("{form}: {ratio:.2}")).collect::<Vec<_>>()
    };
    let (faster, slower) = (of(true), of(false));
    let all = |those: &[String]| if those.is_empty() { "none".to_string() } else { those.join("; ") };
    (!ratios.is_empty()).then(|| {
        format!(
            "{} of {} take less time on this device. Less: {}. Alike, or not less: {}",
            faster.len(),
            ratios.len(),
            all(&faster),
            all(&slower)
        )
    })
}

/// What stands over what in a comparison of forms of a kernel, and the form that another one is compared with: itself where there is nothing to compare.
type Choice = (Part, &'static str, fn(Options) -> Options);

/// What the paper and its repository chose between.
const CHOICES: [Choice; 6] = [
    (Part::Input, "320 threads (planes) over 64 (squares)", |form| match form.input {
        InputForm::Planes | InputForm::PlanesAtomic | InputForm::PlanesGlobal => {
            Options { input: InputForm::Squares, ..form }
        }
        _ => form,
    }),
    (Part::Input, "the array with padding over the array without", |form| Options { padded: false, ..form }),
    (Part::Torso, "tiles in the order of memory over tiles of a bank a channel", |form| Options {
        banked: true,
        ..form
    }),
    // The three of them are filled alike, and differ in what they leave in global memory.
    (
        Part::Torso,
        "filters (repository_1) or boards (repository_3) in global memory over both in shared memory (repository_2)",
        |form| match form.torso {
            TorsoForm::Repository1 | TorsoForm::Repository3 => Options { torso: TorsoForm::Repository2, ..form },
            _ => form,
        },
    ),
    (Part::Torso, "sums in shared memory over sums in global memory", |form| Options {
        torso_sums: Sums::Global,
        ..form
    }),
    (Part::Output, "sums in shared memory over sums in global memory", |form| Options {
        output_sums: Sums::Global,
        ..form
    }),
];

/// Every form that `other` makes another form of: its name, and its mean over the other's.
fn beside(part: Part, found: &Rows, other: fn(Options) -> Options) -> Vec<(String, f64)> {
    let all = forms(part);
    let us = |options: Options| {
        let (name, _) = all.iter().find(|(_, form)| *form == options)?;
        Some(found.times(name)?.mean())
    };
    let compared = all.iter().filter(|(_, form)| other(*form) != *form);
    compared.filter_map(|(name, form)| Some((name.clone(), us(*form)? / us(other(*form))?))).collect()
}

/// The choices of a kernel by the times of its forms.
fn choices(part: Part, found: &Rows) -> Vec<String> {
    let of = CHOICES.into_iter().filter(|choice| choice.0 == part);
    let compared = of.map(|(_, what, other)| (what, beside(part, found, other)));
    let said = compared.filter(|(_, ratios)| !ratios.is_empty()).map(|(what, ratios)| {
        let ratios: Vec<String> = ratios.into_iter().map(|(form, ratio)| format!("{form}: {ratio:.2}")).collect();
        format!("{part} kernel, {what}, mean / mean: {}.", ratios.join("; "))
    });
    said.collect()
}

/// Every form of every kernel.
pub fn kernels(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    if !has_kernels(run.device()) {
        return Ok(sheet.left_out(format!("all: {NO_KERNELS}")));
    }
    let parts = [Part::Input, Part::Torso, Part::Output];
    run.expect(parts.len() as u64);
    let (mut sheet, mut notes) = (sheet, Vec::new());
    for part in parts {
        let found: Rows = run.near(
            &forms_key(part),
            |now| {
                let runs = runs(now.device, now.quick);
                Ok(setup.study.kernel_times(now.device, (Level::Kernel, part), runs, true, &setup.reference(1))?)
            },
            Rows::agrees,
        )?;
        if is_timed(run) {
            notes.extend(choices(part, &found));
        }
        let mut table = Table::new(format!("{part} kernel, us, {}, {SINGLE}", positions(1)))
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
                row.errors.map(|errors| error(errors.mean)).into(),
                row.errors.map(|errors| error(errors.largest)).into(),
                row.errors.map(|errors| verdict(errors.within)).into(),
            ]);
        }
        sheet = sheet.table(table);
    }
    let sheet = sheet
        .note(
            "The first row of each table is the paper's kernel. Where sums are added up in global memory, \
             the launch that clears them is in the time.",
        )
        .note(format!("{CPU_1} and {CPU_ALL} are in table1 and the figures."));
    if notes.is_empty() {
        return Ok(sheet);
    }
    let sheet = sheet.note(
        "One form over another, of the means in the tables: above 1 the first takes longer. The padded index of the input \
         costs operations too; its share was not determined.",
    );
    Ok(notes.into_iter().fold(sheet, Sheet::note))
}

#[cfg(test)]
mod tests {
    use super::super::super::table::{BackToBack, Row};
    use super::*;
    use crate::experiment::Item;

    /// The sentence about Figure 5 follows the measurement, kernel by kernel.
    #[test]
    fn sums_in_shared_memory_are_called_slower_where_they_are() {
        let rows = |global: f64, shared: f64| {
            let row = |(program, us): (&str, f64)| Row {
                program: program.to_string(),
                copies: false,
                times: Times { first_us: us, runs_us: vec![us; 3] },
                errors: None,
            };
            Rows { rows: [(PAPER, global), (SHARED_SUMS, shared)].map(row).to_vec(), ..Rows::default() }
        };
        let (name, part, shared) = FIGURE_5[0];
        let of = |found: &Rows| shared_sums(name, part, shared, found).expect("both are measured");
        let slower = of(&rows(20.0, 30.0));
        assert!(slower.contains("1.50 times") && slower.ends_with("slower here too."), "{slower}");
        let faster = of(&rows(20.0, 10.0));
        assert!(faster.contains("0.50 times") && faster.ends_with("is not repeated here."), "{faster}");
        assert_eq!(shared_sums(name, part, shared, &Rows::default()), None);
        let said = two_series(&["torso 1.00".into(), "output 1.46".into()]).expect("two");
        assert!(said.contains("global memory are: torso 1.00, output 1.46."), "{said}");
        assert_eq!(two_series(&[]), None);
    }

    /// Every choice has forms on both sides, and the ratio is that of the two forms.
    #[test]
    fn the_papers_choices_are_compared_form_by_form() {
        let timed = |part, slow: &str| {
            let us = |name: &str| if name == slow { 15.0 } else { 10.0 };
            let row = |(program, _): (String, Options)| Row {
                copies: false,
                times: Times { first_us: 99.0, runs_us: vec![us(&program); 3] },
                errors: None,
                program,
            };
            Rows { rows: forms(part).into_iter().map(row).collect(), ..Rows::default() }
        };
        for (part, what, n, slow) in [
            (Part::Input, "the array with padding", 4, "squares [10][33], weights global"),
            (Part::Input, "320 threads (planes)", 5, "planes [10][33], weights shared"),
            (Part::Torso, "tiles in the order of memory", 4, "128x8 [128][64], sums global"),
            (Part::Torso, "filters (repository_1)", 2, "repository_3"),
            (Part::Torso, "sums in shared memory", 4, "128x1 [128][64], sums shared"),
            (Part::Output, "sums in shared memory", 2, "128x8 [256][32], sums shared"),
        ] {
            let said = choices(part, &timed(part, slow));
            let note = said.iter().find(|note| note.contains(what)).unwrap_or_else(|| panic!("{what}: {said:?}"));
            assert_eq!(note.matches(": 1.00").count() + 1, n, "{note}");
            assert!(note.contains(&format!("{slow}: 1.50")), "{note}");
        }
        assert_eq!(choices(Part::Torso, &Rows::default()), Vec::<String>::new());
    }

    #[test]
    fn the_ways_of_320_threads_are_judged_by_their_times() {
        let of = |ratios: &[f64]| {
            let named: Vec<(String, f64)> =
                ratios.iter().zip("ab".chars()).map(|(&us, name)| (name.into(), us)).collect();
            of_320_threads(&named)
        };
        let said = of(&[0.5, 1.25]).expect("two");
        assert_eq!(said, "1 of 2 take less time on this device. Less: a: 0.50. Alike, or not less: b: 1.25");
        let alike = "0 of 1 take less time on this device. Less: none. Alike, or not less: a: 1.00";
        assert_eq!([of(&[1.0]).as_deref(), of(&[0.996]).as_deref()], [Some(alike); 2]);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn the_library_is_compared_on_both_devices() {
        let text = r#"{"schema":1,"library":"l","device":"d","cpu":"c","threads":3,"batch":1,"components":[
            {"name":"Model","gpu_us":[9.0,1000.0],"cpu_us":[9.0,2000.0]}]}"#;
        let library = Baseline::parse("b.json", text).expect("read");
        let (gpu, cpu) = library.times("Model");
        let of = |gpu: &Option<Times>, cpu: &Option<Times>| {
            library_on_both(TABLE_1[6].runs, &library, gpu.as_ref(), cpu.as_ref())
        };
        let said = of(&gpu, &cpu).expect("both");
        assert!(said.contains("(2,222.7 us") && said.contains("(2,862.1 us)"), "{said}");
        assert!(
            said.ends_with(
                "1,000.0 us on the GPU and 2,000.0 us on the CPU with 3 threads: it is faster on the GPU here too."
            ),
            "{said}"
        );
        assert!(of(&cpu, &gpu).expect("both").ends_with("not faster on the GPU here."));
        assert_eq!(of(&gpu, &None), None);
    }

    #[test]
    fn the_library_is_called_faster_on_the_cpu_where_it_is() {
        let said = beside_plain(1, 4, &[("Input Kernel", 36.0, 15.0), ("Model", 1000.0, 2000.0)]).expect("two");
        assert!(said.starts_with("1 position, ") && said.contains("with 4 threads"), "{said}");
        assert!(said.ends_with("with one for: Model; not less for: Input Kernel."), "{said}");
        let said = beside_plain(8, 4, &[("Model", 1.0, 2.0)]).expect("one");
        assert!(said.ends_with("with one for: Model; not less for: none."), "{said}");
        assert_eq!(beside_plain(1, 4, &[]), None);
    }

    #[test]
    fn the_librarys_layers_stand_beside_their_work() {
        let head = r#""schema":1,"library":"l","device":"d","cpu":"c","threads":1,"batch":1"#;
        let of = |names: &[&str]| {
            let one = |name: &&str| format!(r#"{{"name":"{name} Layer","gpu_us":[9.0,181.0,183.0],"cpu_us":[]}}"#);
            let components: Vec<String> = names.iter().map(one).collect();
            let text = format!(r#"{{{head},"components":[{}]}}"#, components.join(","));
            layers_alike(&Baseline::parse("b.json", &text).expect("read"))
        };
        let said = of(&["Input", "Torso", "Output"]).expect("all three");
        // 128 / 5, and 128 * 9 / 2.
        assert!(said.starts_with("1 position, ") && said.contains("takes 182, 182 and 182 us"), "{said}");
        assert!(said.contains("25.6 times") && said.contains("576 times"), "{said}");
        assert_eq!(of(&["Input", "Torso"]), None);
    }

    #[test]
    fn a_difference_that_is_not_above_0_is_no_time() {
        let row = |program: &str, us| BackToBack { program: program.to_string(), us };
        let back_to_back = vec![row(PAPER, Some(50.0)), row("ours f32", Some(3.0)), row("ours f16", None)];
        let found = Rows { back_to_back, ..Rows::default() };
        let sheet = not_above_0(Sheet::new(&Item::new("figure3", "times", "Figure 3")), "Torso Layer", &found);
        assert_eq!(sheet.notes.len(), 1, "{:?}", sheet.notes);
        assert!(sheet.notes[0].starts_with("Torso Layer, ours f16: "), "{:?}", sheet.notes);

        let mut drawn = Drawn::new("layers");
        drawn.group("Torso Layer");
        for row in &found.back_to_back {
            drawn.back_to_back(&row.program, row.us);
        }
        // A derived number has neither first nor least nor largest run.
        let program = Cell::from("ours f32, back to back");
        let derived = [Cell::from("Torso Layer"), program, Cell::Empty, Cell::from(3.0), Cell::Empty, Cell::Empty];
        assert_eq!((drawn.table.rows.len(), &drawn.table.rows[1][..]), (2, &derived[..]));
        assert_eq!(drawn.groups[0].bars.len(), 2);
    }

    #[test]
    fn ratios_are_of_means_and_of_medians() {
        let times = |runs_us: &[f64]| Times { first_us: 1e6, runs_us: runs_us.to_vec() };
        let (library, kernels) = (times(&[1.0, 2.0, 9.0]), times(&[1.0, 1.0, 1.0]));
        assert_eq!(ratios(Some(&library), Some(&kernels)), [Some(4.0), Some(2.0)]);
        assert_eq!(ratios(None, Some(&kernels)), [None, None]);
    }
}
