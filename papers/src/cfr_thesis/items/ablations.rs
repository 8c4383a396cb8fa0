//! Section 4.3.2: each memory optimisation left out by itself; and the threads of a block.

use std::sync::Arc;

use super::measure::{milliseconds, obstacle};
use super::thesis::Thesis;
use crate::cfr_thesis::options::{Lists, Options, Program, Rows};
use crate::cfr_thesis::published::Variant;
use crate::cfr_thesis::run::Run as Running;
use crate::cfr_thesis::statistics::Spread;
use crate::experiment::statistics::{least, mean, median, most};
use crate::experiment::{Axis, Bar, Chart, Figure, Group, Item, Run, Sheet, Stop, Table};

/// Copies of the lists that a time is the mean of.
const COPIES: u32 = 20;

/// Iterations before, iterations of a run, runs.
fn sizes(thesis: &Thesis, variant: Variant, quick: bool) -> (u32, u32, u32) {
    let repeats = thesis.repeats(quick);
    match (quick, variant) {
        (true, Variant::A | Variant::B) => (1, 10, repeats),
        (true, _) => (1, 2, repeats),
        (false, Variant::A | Variant::B) => (100, 1_000, repeats),
        _ => (10, 100, repeats),
    }
}

/// What each memory optimisation brings, on every game.
pub fn ablations(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let theirs = Options {
        program: Program::Levels,
        rows: Rows::Shared,
        constant: true,
        lists: Lists::ReadOnly,
        flattened: true,
        renumbered: true,
        ..thesis.settings.options
    };
    let cases = [
        ("all of them", theirs),
        ("no flattening: a list and a copy a level", Options { flattened: false, ..theirs }),
        ("no texture: lists by ordinary loads", Options { lists: Lists::Global, ..theirs }),
        ("no lists: numbers are computed", Options { lists: Lists::Computed, ..theirs }),
        ("no shared memory: rows and utilities in global memory", Options { rows: Rows::Global, ..theirs }),
        ("rows in registers, utilities in shared memory", Options { rows: Rows::Registers, ..theirs }),
        ("no constant memory: the deal in global memory", Options { constant: false, ..theirs }),
        ("no renumbering: depth first", Options { renumbered: false, ..theirs }),
    ];
    let mut sheet = Sheet::new(item);
    for &variant in &thesis.settings.variants {
        let plan = Arc::clone(thesis.plan(variant)?);
        let letter = variant.letter();
        if let Some(reason) = obstacle(&format!("{letter} {}", theirs.program), &plan, &theirs, run)? {
            sheet.left_out.push(format!("variant {letter}: {reason}"));
            continue;
        }
        let mut table = Table::new(format!("{}, variant {letter}", theirs.program.label()))
            .column("optimisation")
            .column("ms an iteration, median")
            .column("deviation")
            .digits("times as long as with all", 3)
            .column("copies of the lists")
            .column("ms of these copies");
        let (mut with_all, mut computed, mut utilities) = (0.0, f64::NAN, Vec::new());
        for (number, (name, options)) in cases.iter().enumerate() {
            let key = format!("ablation {letter} {number}");
            let (won, values) = milliseconds(&key, &plan, options, sizes(thesis, variant, run.quick()), run)?;
            let ms = median(&values);
            if number == 0 {
                with_all = ms;
            }
            if options.lists == Lists::Computed {
                computed = ms / with_all;
            }
            utilities.push(won);
            let copies = if options.flattened { 1 } else { plan.sequences.levels.len() };
            let copied = match number {
                0 | 1 => {
                    run.expect(1);
                    Some(run.timed(&format!("copies {letter} {number}"), |now| {
                        let mut running = Running::with_plan(now.device, &plan, options)?;
                        running.copy_lists(1)?;
                        Ok(running.copy_lists(COPIES)? * 1e3)
                    })?)
                }
                _ => None,
            };
            table.row([
                (*name).into(),
                ms.into(),
                Spread::of(&values).sd.into(),
                (ms / with_all).into(),
                copies.into(),
                copied.into(),
            ]);
        }
        let same = utilities.iter().all(|won| *won == utilities[0]);
        sheet = sheet.table(table).note(format!(
            "Variant {letter}: the average utilities of all forms are {} to the bit.",
            if same { "the same" } else { "not the same" }
        ));
        sheet = sheet.note(format!(
            "Variant {letter}: sequences' numbers that are computed instead of loaded from the lists take {computed:.3} times as long. Section 6.2 expects that to compute instead of to store is faster: here it {}.",
            if computed < 1.0 { "is" } else { "is not" }
        ));
    }
    Ok(sheet.note("The dissertation publishes no figures of these. Lists are copied once a solve, so that flattening is in the copies and not in the iterations."))
}

/// The bar of a size of blocks, from the milliseconds of its runs.
fn bar(block: u32, values: &[f64]) -> Bar {
    Bar { name: format!("{block} threads"), mean: mean(values), min: least(values), max: most(values) }
}

/// Blocks of 32 to 256 threads.
pub fn blocks(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let sizes_of_blocks = [32, 64, 128, 256];
    let mut table =
        Table::new(format!("{}: ms an iteration, mean of the runs", Program::Levels.label())).column("variant");
    for block in sizes_of_blocks {
        table = table.column(format!("{block} threads"));
    }
    table = table.column("best");
    let (mut sheet, mut groups) = (Sheet::new(item), Vec::new());
    for &variant in &thesis.settings.variants {
        let plan = Arc::clone(thesis.plan(variant)?);
        let letter = variant.letter();
        let theirs = Options { program: Program::Levels, ..thesis.settings.options };
        if let Some(reason) = obstacle(&format!("{letter} {}", theirs.program), &plan, &theirs, run)? {
            sheet.left_out.push(format!("variant {letter}: {reason}"));
            continue;
        }
        let (mut cells, mut bars, mut best) = (vec![letter.into()], Vec::new(), (f64::INFINITY, 0));
        for block in sizes_of_blocks {
            let options = Options { block, ..theirs };
            let key = format!("block {letter} {block}");
            let (_, values) = milliseconds(&key, &plan, &options, sizes(thesis, variant, run.quick()), run)?;
            let bar = bar(block, &values);
            cells.push(bar.mean.into());
            if bar.mean < best.0 {
                best = (bar.mean, block);
            }
            bars.push(bar);
        }
        cells.push(best.1.into());
        table.row(cells);
        groups.push(Group { name: format!("variant {letter}"), bars });
    }
    if !groups.is_empty() {
        sheet = sheet.figure(Figure {
            file: item.name.into(),
            title: "Threads of a block".into(),
            x: Axis::linear("variant"),
            y: Axis::log("ms an iteration"),
            chart: Chart::Bars(groups),
        });
    }
    Ok(sheet.table(table).note("Printed: 64 threads were found to be best; no times are given."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and deviation are 4 and 5.2: a bar of mean and deviation would begin below 0, where a logarithmic axis has nothing.
    #[test]
    fn a_bar_ends_at_its_least_and_largest_value() {
        let Bar { name, mean, min, max } = bar(64, &[1.0, 10.0, 1.0]);
        assert_eq!((name.as_str(), mean, min, max), ("64 threads", 4.0, 1.0, 10.0));
    }
}
