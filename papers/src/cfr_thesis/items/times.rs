//! Tables 7 to 18, figures 23, 25, 27 and 29, and the ratios that are claimed of them.

use super::measure::{self, Timed};
use super::thesis::Thesis;
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::peers::PEERS;
use crate::cfr_thesis::plan::on_gpu;
use crate::cfr_thesis::published::{CLAIMS, TIMES, Variant};
use crate::cfr_thesis::statistics::{Spread, is_rounded};
use crate::experiment::statistics::{least, median, most};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};

/// The programs of the paper, in the order of its tables, and ours.
const PROGRAMS: [Program; 4] = [Program::Recursive, Program::Iterative, Program::Levels, Program::Graph];

/// With the time of another's program on the same game, where one is known.
fn with_peer(sheet: Sheet, variant: Variant) -> Sheet {
    match variant.peer() {
        Some(peer) => {
            sheet.note(format!("For comparison: {}, {} an iteration ({}).", peer.name, peer.range(), peer.source))
        }
        None => sheet,
    }
}

/// A value as it is printed: with its own digits, none added and none cut.
pub(super) fn printed(value: f64) -> Cell {
    Cell::Text(value.to_string())
}

/// With four significant digits.
fn significant(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize };
    format!("{value:.digits$}")
}

/// What used tables take beside new ones, and whether the difference says anything; `kb` is the program's memory, `on_gpu` whether it is the device's, which has
/// no pages to touch.
fn used_tables(ours: &Timed, kb: f64, on_gpu: bool) -> Option<String> {
    let last = ours.points.last()?;
    let used = ours.used_ms()?;
    let new = last.milliseconds();
    let [new_sd, used_sd] = [last.spread().sd * 1e3 / f64::from(last.iterations), Spread::of(&ours.used).sd * 1e3];
    let mut said = format!(
        "Medians of the longest runs: {} ms an iteration on new tables (deviation {}), {} ms on tables that have been used before (deviation {}).",
        significant(new),
        significant(new_sd),
        significant(used),
        significant(used_sd)
    );
    said += &if ours.is_alike_on_used_tables()? {
        " The difference is within the sum of the deviations.".to_string()
    } else if on_gpu {
        " The difference is more than the deviations; the device has no pages to touch, and what else is the cause was not determined."
            .to_string()
    } else if used < new {
        format!(" First touches of pages are thus {:.0} % of the time on new tables.", 100.0 * (1.0 - used / new))
    } else {
        " Used tables are slower by more than the deviations, although the work is the same; first touches cannot be the cause, which was not determined."
            .to_string()
    };
    if !on_gpu && used >= new && kb < 1024.0 {
        said += &format!(" The program's {kb:.1} KB are soon in the processor's caches, so used tables save nothing.");
    }
    Some(said)
}

/// One of Tables 7 to 18.
pub fn table(thesis: &Thesis, item: &Item, number: u8, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let Some(theirs) = TIMES.iter().find(|times| times.table == number) else { return Ok(Sheet::new(item)) };
    if let Some(sheet) = thesis.not_asked(item, theirs.variant) {
        return Ok(sheet);
    }
    let ours = measure::program(thesis, theirs.variant, theirs.program, run)?;
    let title = format!("{}, variant {}, seconds", theirs.program.label(), theirs.variant.letter());
    let mut table = Table::new(title).column("iterations");
    for run in 1..=5 {
        table = table.column(format!("printed, run {run}"));
    }
    table = table
        .column("printed average")
        .column("printed deviation")
        .column("ours, average")
        .column("ours, median")
        .column("ours, deviation")
        .column("printed average, ms an iteration")
        .column("our median on new tables, ms an iteration")
        .digits("printed average / our median, new tables", 2)
        .digits("printed average / our median, used tables", 2);
    let used = ours.used_ms();
    let mut iterations: Vec<u32> = theirs.rows.iter().map(|row| row.iterations).collect();
    iterations.extend(ours.points.iter().map(|point| point.iterations));
    iterations.sort_unstable();
    iterations.dedup();
    for n in iterations {
        let (row, point) = (theirs.rows.iter().find(|row| row.iterations == n), ours.at(n));
        let spread = point.map(|point| point.spread());
        let mut cells: Vec<Cell> = vec![n.into()];
        cells.extend((0..5).map(|at| Cell::from(row.map(|row| printed(row.seconds[at])))));
        cells.extend([
            Cell::from(row.map(|row| printed(row.average))),
            Cell::from(row.map(|row| printed(row.deviation))),
            Cell::from(spread.map(|spread| spread.mean)),
            Cell::from(point.map(|point| median(&point.seconds))),
            Cell::from(spread.map(|spread| spread.sd)),
            Cell::from(row.map(|row| row.milliseconds())),
            Cell::from(point.map(|point| point.milliseconds())),
            Cell::from(row.zip(point).map(|(row, point)| row.milliseconds() / point.milliseconds())),
            Cell::from(row.zip(used).map(|(row, used)| row.milliseconds() / used)),
        ]);
        table.row(cells);
    }
    let on_gpu = on_gpu(theirs.program);
    let mut sheet = Sheet::new(item).table(table).note(format!(
        "Average, median and deviation of ours are of all runs, the first too; each begins with new tables, {}. The column of used tables divides by one time for all lines, that of the note below.",
        if on_gpu { "which the device has zeroed" } else { "so that the first touch of every page is in their times" }
    ));
    let delayed = ours.points.iter().filter(|point| most(&point.seconds) > 1.5 * median(&point.seconds)).count();
    if delayed > 0 {
        sheet = sheet.note(format!(
            "In {delayed} of {} lines of ours the slowest run took more than 1.5 times the median. Such a run moves average and deviation; times an iteration and ratios are of the median.",
            ours.points.len()
        ));
    }
    let memory = thesis.plan(theirs.variant)?.memory(&Options { program: theirs.program, ..thesis.settings.options });
    let kb = memory.device().saturating_add(memory.host()) as f64 / 1024.0;
    if let Some(said) = used_tables(&ours, kb, on_gpu) {
        sheet = sheet.note(said);
    }
    sheet.left_out.extend(ours.left_out);
    Ok(with_peer(sheet, theirs.variant))
}

/// One of figures 23, 25, 27 and 29.
pub fn figure(thesis: &Thesis, item: &Item, variant: Variant, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    if let Some(sheet) = thesis.not_asked(item, variant) {
        return Ok(sheet);
    }
    let mut lines = Vec::new();
    let mut table = Table::new(format!("milliseconds an iteration, variant {}", variant.letter()))
        .column("program")
        .column("printed")
        .column("ours, new tables")
        .column("ours, used tables");
    let mut sheet = Sheet::new(item);
    for times in TIMES.iter().filter(|times| times.variant == variant) {
        let points = times.rows.iter().map(|row| [f64::from(row.iterations), row.average]).collect();
        let name = format!("{}, printed", times.program.label());
        lines.push(Line { name, points, band: Vec::new(), published: true });
    }
    for program in PROGRAMS {
        let ours = measure::program(thesis, variant, program, run)?;
        let points: Vec<[f64; 2]> =
            ours.points.iter().map(|point| [f64::from(point.iterations), median(&point.seconds)]).collect();
        let band = ours.points.iter().map(|point| [least(&point.seconds), most(&point.seconds)]).collect();
        if !points.is_empty() {
            lines.push(Line { name: format!("{}, ours", program.label()), points, band, published: false });
        }
        table.row([
            program.label().into(),
            Cell::from(variant.times(program).map(|times| times.last().milliseconds())),
            Cell::from(ours.points.last().map(|point| point.milliseconds())),
            Cell::from(ours.used_ms()),
        ]);
        sheet.left_out.extend(ours.left_out);
    }
    match measure::walk(thesis, variant, run)? {
        Ok(walked) => table.row([
            format!("our engine walk, {} deals at once", walked.batch).into(),
            Cell::Empty,
            (walked.cold * 1e3 / f64::from(walked.deals)).into(),
            (median(&walked.warm) * 1e3).into(),
        ]),
        Err(reason) => sheet.left_out.push(reason),
    }
    let figure = Figure {
        file: item.name.into(),
        title: format!("Execution times, variant {}", variant.letter().to_uppercase()),
        x: Axis::linear("iterations"),
        y: Axis::log("seconds"),
        chart: Chart::Lines(lines),
    };
    let sheet = sheet.table(table).figure(figure).note("Ours are medians of the runs (of the engine walk on new tables there is one run); the bands of the figure reach from the fastest run to the slowest.");
    Ok(with_peer(sheet, variant))
}

/// Names the programs of which new and used tables cannot be told apart by the times.
fn alike(measured: &[(Variant, Program, Timed)]) -> Option<String> {
    let is_alike = |(.., timed): &&(Variant, Program, Timed)| timed.is_alike_on_used_tables() == Some(true);
    let name = |(variant, program, _): &(Variant, Program, Timed)| {
        format!("variant {}, {}", variant.letter(), program.label())
    };
    let names: Vec<String> = measured.iter().filter(is_alike).map(name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Of these programs the difference between new and used tables is within the sum of the deviations: {}.",
            names.join("; ")
        )
    })
}

/// Ratios of the most iterations: as claimed, from the printed tables, ours.
pub fn ratios(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let mut table = Table::new("how many times as long the first takes as the second")
        .column("location")
        .column("variant")
        .column("first")
        .column("second")
        .column("printed")
        .digits("from the printed averages", 4)
        .digits("from the means of all five", 4)
        .column("agrees")
        .digits("ours, used tables", 2)
        .digits("ours, new tables, with the CPU's first touches of pages", 2);
    let mut sheet = Sheet::new(item);
    let mut measured: Vec<(Variant, Program, Timed)> = Vec::new();
    for claim in &CLAIMS {
        for program in [claim.slow, claim.fast] {
            let is_there = measured.iter().any(|(variant, of, _)| (*variant, *of) == (claim.variant, program));
            if thesis.has(claim.variant) && !is_there {
                let timed = measure::program(thesis, claim.variant, program, run)?;
                sheet.left_out.extend(timed.left_out.iter().cloned());
                measured.push((claim.variant, program, timed));
            }
        }
        let ours = |program| {
            let found = measured.iter().find(|(variant, of, _)| (*variant, *of) == (claim.variant, program));
            found.map(|(_, _, timed)| timed)
        };
        let on_new = |program| Some(ours(program)?.points.last()?.milliseconds());
        let on_used = |program| ours(program)?.used_ms();
        let (computed, of_five) = (claim.printed(), claim.of_all_five());
        table.row([
            claim.location.into(),
            claim.variant.letter().into(),
            claim.slow.label().into(),
            claim.fast.label().into(),
            format!("{:.*}", claim.digits as usize, claim.ratio).into(),
            Cell::from(computed),
            Cell::from(of_five),
            Cell::from(match computed {
                Some(computed) if is_rounded(claim.ratio, computed, claim.digits) => "yes",
                _ => "no",
            }),
            Cell::from(on_used(claim.slow).zip(on_used(claim.fast)).map(|(slow, fast)| slow / fast)),
            Cell::from(on_new(claim.slow).zip(on_new(claim.fast)).map(|(slow, fast)| slow / fast)),
        ]);
    }
    let mut peers = Table::new("milliseconds an iteration, beside other programs")
        .column("variant")
        .column("program")
        .column("printed")
        .column("ours, new tables")
        .column("ours, used tables")
        .column("measured elsewhere");
    for peer in &PEERS {
        let letter = peer.variant.letter();
        for program in [Program::Recursive, Program::Iterative, Program::Levels] {
            let printed = peer.variant.times(program).map(|times| times.last().milliseconds());
            let found = measured.iter().find(|(variant, of, _)| (*variant, *of) == (peer.variant, program));
            let ours = found.map(|(.., timed)| timed);
            peers.row([
                letter.into(),
                program.label().into(),
                printed.into(),
                ours.and_then(|timed| Some(timed.points.last()?.milliseconds())).into(),
                ours.and_then(Timed::used_ms).into(),
            ]);
        }
        peers.row([letter.into(), peer.name.into(), Cell::Empty, Cell::Empty, Cell::Empty, peer.range().into()]);
        sheet = sheet.note(format!("Variant {letter}, measured elsewhere: {}.", peer.source));
    }
    sheet.left_out.sort();
    sheet.left_out.dedup();
    if let Some(said) = alike(&measured) {
        sheet = sheet.note(said);
    }
    Ok(sheet
        .table(table)
        .table(peers)
        .note("Ours are ratios of the medians of the longest runs, the first run counted. The printed averages of B, C and D leave the first of five out (item averages). In the column agrees, yes: the printed ratio is that of the printed averages, rounded to the digits that it is printed with.")
        .note("On new tables the programs of the CPU touch every page for the first time, and that of the GPU does not: the ratios of used tables are those of the programs' work.")
        .note("Section 5.5 says 2.99 and 1.70 of the GPU: these are the ratios of the iterative program on the CPU, as sections 5.1.2 and 5.2.2 have them.")
        .note("Section 6.1 says that the GPU is 3.6 times as fast as the iterative program on the CPU: 3.6 is the ratio of the recursive one to the iterative one."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_tables_are_compared_with_new_ones_by_their_deviations() {
        let of = |new: [f64; 3], used: [f64; 3], kb| {
            let points = vec![measure::Point { iterations: 10, seconds: new.to_vec() }];
            let timed = Timed { points, used: used.map(|ms| ms * 1e-3).to_vec(), ..Timed::default() };
            let [on_cpu, on_gpu] =
                [false, true].map(|on_gpu| used_tables(&timed, kb, on_gpu).expect("both are measured"));
            // What the device takes is never first touches.
            assert!(!on_gpu.contains("First touches") && !on_gpu.contains("caches"), "{on_gpu}");
            on_cpu
        };
        let faster = of([0.1, 0.1, 0.1], [4.0, 4.0, 4.0], 1e6);
        assert!(
            faster.contains("10.00 ms an iteration on new tables")
                && faster.ends_with("60 % of the time on new tables."),
            "{faster}"
        );
        let scattered = of([0.1, 0.13, 0.1], [9.0, 11.0, 9.0], 1e6);
        assert!(scattered.ends_with("within the sum of the deviations."), "{scattered}");
        let small = of([0.1, 0.1, 0.1], [12.0, 12.0, 12.0], 0.75);
        assert!(small.contains("slower by more") && small.ends_with("used tables save nothing."), "{small}");
        assert_eq!(used_tables(&Timed::default(), 1.0, false), None);
    }

    #[test]
    fn programs_whose_tables_make_no_difference_are_named_beside_the_ratios() {
        let of = |program, new: [f64; 2], used: [f64; 2]| {
            let points = vec![measure::Point { iterations: 10, seconds: new.to_vec() }];
            (Variant::D, program, Timed { points, used: used.to_vec(), ..Timed::default() })
        };
        let scattered = of(Program::Recursive, [1.0, 1.4], [0.11, 0.15]);
        let apart = of(Program::Iterative, [1.0, 1.0], [0.04, 0.04]);
        let left_out = (Variant::D, Program::Levels, Timed::default());
        assert_eq!(alike(&[apart.clone(), left_out.clone()]), None);
        let said = alike(&[scattered, apart, left_out]).expect("one of them");
        assert!(said.ends_with("within the sum of the deviations: variant d, recursive."), "{said}");
    }

    #[test]
    fn printed_values_keep_their_digits() {
        let shown = [239.06, 0.0, 0.02, 22.33925, 20553.07].map(printed);
        assert_eq!(shown, ["239.06", "0", "0.02", "22.33925", "20553.07"].map(Cell::from));
    }
}
