//! Sections 4.3.1 and 4.3.2: each memory optimisation left out by itself; and the threads of a block.

use std::sync::Arc;

use super::measure::{milliseconds, obstacle};
use super::thesis::Thesis;
use crate::cfr_thesis::options::{BLOCK_SIZES, Lists, Options, Program, Rows};
use crate::cfr_thesis::published::Variant;
use crate::cfr_thesis::run::Run as Running;
use crate::cfr_thesis::statistics::are_alike;
use crate::experiment::statistics::{deviation, least, median, most};
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
        let (mut with_all, mut computed, mut unshared, mut utilities) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, (name, options)) in cases.iter().enumerate() {
            let key = format!("ablation {letter} {number}");
            let (won, values) = milliseconds(&key, &plan, options, sizes(thesis, variant, run.quick()), run)?;
            if number == 0 {
                with_all = values.clone();
            }
            if options.lists == Lists::Computed {
                computed = values.clone();
            }
            if options.rows == Rows::Global {
                unshared = values.clone();
            }
            utilities.push(won);
            let copied = match number {
                0 | 1 => {
                    run.expect(1);
                    Some(run.both(&format!("copies {letter} {number}"), |now| {
                        let mut running = Running::with_plan(now.device, &plan, options)?;
                        running.copy_lists(1)?;
                        let (n_arrays, seconds) = running.copy_lists(COPIES)?;
                        Ok((n_arrays, seconds * 1e3))
                    })?)
                }
                _ => None,
            };
            table.row([
                (*name).into(),
                median(&values).into(),
                deviation(&values).into(),
                (median(&values) / median(&with_all)).into(),
                copied.map(|(n_arrays, _)| n_arrays).into(),
                copied.map(|(_, ms)| ms).into(),
            ]);
        }
        let same = utilities.iter().all(|won| *won == utilities[0]);
        sheet = sheet.table(table).note(format!(
            "Variant {letter}: the average utilities of all forms are {} to the bit.",
            if same { "the same" } else { "not the same" }
        ));
        sheet = sheet.note(format!("Variant {letter}: {}", of_sharing(&with_all, &unshared)));
        sheet = sheet.note(format!("Variant {letter}: {}", of_computing(&with_all, &computed)));
    }
    Ok(sheet.note("The paper publishes no figures of these. Lists are copied once a solve, so that flattening is in the copies and not in the iterations."))
}

/// Whether something is faster, by the milliseconds of an iteration with it and without it.
fn faster(with: &[f64], without: &[f64]) -> &'static str {
    match (are_alike(with, without), median(with) < median(without)) {
        (true, _) => "the difference is within the sum of the deviations",
        (false, true) => "it is",
        (false, false) => "it is slower",
    }
}

/// What section 4.3.2 says of shared memory comes to here.
fn of_sharing(shared: &[f64], global: &[f64]) -> String {
    format!(
        "without shared memory an iteration takes {:.3} times as long. Section 4.3.2 (p. 32) says that shared memory is faster: here {}.",
        median(global) / median(shared),
        faster(shared, global)
    )
}

/// What section 6.2 comes to here: sequences' numbers that are loaded from the lists, or computed.
fn of_computing(loaded: &[f64], computed: &[f64]) -> String {
    format!(
        "sequences' numbers that are computed instead of loaded from the lists take {:.3} times as long. Section 6.2 expects that to compute instead of to store is faster: here {}.",
        median(computed) / median(loaded),
        faster(computed, loaded)
    )
}

/// The bar of a size of blocks, from the milliseconds of its runs.
fn bar(block: u32, values: &[f64]) -> Bar {
    Bar { name: format!("{block} threads"), mean: median(values), min: least(values), max: most(values) }
}

/// The sizes of blocks that are best: that of the least median, and those that differ from it by no more than the deviations.
fn best(sizes: &[(u32, Vec<f64>)]) -> String {
    let fastest = sizes.iter().map(|(_, values)| values).min_by(|a, b| median(a).total_cmp(&median(b)));
    let is_best = |(_, values): &&(u32, Vec<f64>)| fastest.is_some_and(|fastest| are_alike(values, fastest));
    sizes.iter().filter(is_best).map(|(block, _)| block.to_string()).collect::<Vec<_>>().join(", ")
}

/// Blocks of 32 to 256 threads.
pub fn blocks(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let mut table =
        Table::new(format!("{}: ms an iteration, median of the runs", Program::Levels.label())).column("variant");
    for block in BLOCK_SIZES {
        table = table.column(format!("{block} threads")).column("deviation");
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
        let (mut cells, mut bars, mut measured) = (vec![letter.into()], Vec::new(), Vec::new());
        for block in BLOCK_SIZES {
            let options = Options { block, ..theirs };
            let key = format!("block {letter} {block}");
            let (_, values) = milliseconds(&key, &plan, &options, sizes(thesis, variant, run.quick()), run)?;
            cells.extend([median(&values).into(), deviation(&values).into()]);
            bars.push(bar(block, &values));
            measured.push((block, values));
        }
        cells.push(best(&measured).into());
        table.row(cells);
        groups.push(Group { name: format!("variant {letter}"), bars });
    }
    if !groups.is_empty() {
        sheet = sheet.figure(Figure {
            file: item.name.into(),
            title: "Threads of a block: the median run, the fastest and the slowest".into(),
            x: Axis::linear("variant"),
            y: Axis::log("ms an iteration"),
            chart: Chart::Bars(groups),
        });
    }
    Ok(sheet.table(table).note("Printed: 64 threads were found to be best; no times are given.").note(
        "Best: the size of the least median, and those whose difference from it is within the sum of both deviations.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The deviation is 5.2: a bar of median and deviation would begin below 0, where a logarithmic axis has nothing.
    #[test]
    fn a_bar_ends_at_its_least_and_largest_value() {
        let Bar { name, mean, min, max } = bar(64, &[1.0, 10.0, 1.0]);
        assert_eq!((name.as_str(), mean, min, max), ("64 threads", 1.0, 1.0, 10.0));
    }

    #[test]
    fn computed_numbers_are_faster_only_beyond_the_deviations() {
        let loaded = [1.0, 1.1, 0.9];
        let faster = of_computing(&loaded, &[0.5, 0.6, 0.4]);
        assert!(faster.contains("take 0.500 times as long") && faster.ends_with("here it is."), "{faster}");
        let within = of_computing(&loaded, &[0.9, 1.0, 0.8]);
        assert!(within.ends_with("here the difference is within the sum of the deviations."), "{within}");
        let slower = of_computing(&loaded, &[2.0, 2.1, 1.9]);
        assert!(slower.ends_with("here it is slower."), "{slower}");
    }

    #[test]
    fn shared_memory_is_faster_only_beyond_the_deviations() {
        let shared = [1.0, 1.1, 0.9];
        let slower = of_sharing(&shared, &[2.0, 2.1, 1.9]);
        assert!(slower.contains("takes 2.000 times as long") && slower.ends_with("here it is."), "{slower}");
        let within = of_sharing(&shared, &[0.9, 1.0, 0.8]);
        assert!(within.ends_with("here the difference is within the sum of the deviations."), "{within}");
        let faster = of_sharing(&shared, &[0.5, 0.6, 0.4]);
        assert!(faster.ends_with("here it is slower."), "{faster}");
    }

    #[test]
    fn sizes_within_the_deviations_of_the_fastest_are_best_too() {
        let sizes =
            [(32, vec![3.0, 3.1, 3.0]), (64, vec![1.1, 1.3, 1.0]), (128, vec![1.0, 1.2, 1.0]), (256, vec![2.0])];
        assert_eq!(best(&sizes), "64, 128");
        assert_eq!(best(&[]), "");
    }
}
