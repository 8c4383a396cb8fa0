//! Tables 7 to 18, figures 23, 25, 27 and 29, and the ratios that are claimed of them.

use super::measure::{self, Timed};
use super::thesis::Thesis;
use crate::cfr_thesis::options::Program;
use crate::cfr_thesis::peers::PEERS;
use crate::cfr_thesis::published::{CLAIMS, TIMES, Variant};
use crate::cfr_thesis::statistics::{Spread, is_rounded};
use crate::experiment::statistics::{least, most};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};

/// The programs of the dissertation, in the order of its tables, and ours.
const PROGRAMS: [Program; 4] = [Program::Recursive, Program::Iterative, Program::Levels, Program::Graph];

fn not_asked(item: &Item, variant: Variant) -> Sheet {
    Sheet::new(item).left_out(format!("variant {}: not among the games asked for", variant.letter()))
}

/// With the time of another's program on the same game, where one is known.
fn with_peer(sheet: Sheet, variant: Variant) -> Sheet {
    match variant.peer() {
        Some(peer) => {
            sheet.note(format!("For comparison: {}, {} an iteration ({}).", peer.name, peer.range(), peer.source))
        }
        None => sheet,
    }
}

/// One of Tables 7 to 18.
pub fn table(thesis: &Thesis, item: &Item, number: u8, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let Some(theirs) = TIMES.iter().find(|times| times.table == number) else { return Ok(Sheet::new(item)) };
    if !thesis.has(theirs.variant) {
        return Ok(not_asked(item, theirs.variant));
    }
    let ours = measure::program(thesis, theirs.variant, theirs.program, run)?;
    let title = format!("program {}, variant {}, seconds", theirs.program, theirs.variant.letter());
    let mut table = Table::new(title).column("iterations");
    for run in 1..=5 {
        table = table.digits(format!("printed, run {run}"), 3);
    }
    table = table
        .column("printed average")
        .column("printed deviation")
        .column("ours, average")
        .column("ours, deviation")
        .column("printed, ms an iteration")
        .column("ours, ms an iteration")
        .digits("printed / ours", 1);
    let mut iterations: Vec<u32> = theirs.rows.iter().map(|row| row.iterations).collect();
    iterations.extend(ours.points.iter().map(|point| point.iterations));
    iterations.sort_unstable();
    iterations.dedup();
    for n in iterations {
        let (printed, point) = (theirs.rows.iter().find(|row| row.iterations == n), ours.at(n));
        let spread = point.map(|point| point.spread());
        let mut cells: Vec<Cell> = vec![n.into()];
        cells.extend((0..5).map(|at| Cell::from(printed.map(|row| row.seconds[at]))));
        cells.extend([
            Cell::from(printed.map(|row| row.average)),
            Cell::from(printed.map(|row| row.deviation)),
            Cell::from(spread.map(|spread| spread.mean)),
            Cell::from(spread.map(|spread| spread.sd)),
            Cell::from(printed.map(|row| row.milliseconds())),
            Cell::from(point.map(|point| point.milliseconds())),
            Cell::from(printed.zip(point).map(|(row, point)| row.milliseconds() / point.milliseconds())),
        ]);
        table.row(cells);
    }
    let mut sheet = Sheet::new(item).table(table).note(
        "Every run of ours begins with new tables, so that it pays for the first touch of every page, as theirs do.",
    );
    if let Some(warm) = ours.warm_ms() {
        let sd = Spread::of(&ours.warm).sd * 1e3;
        sheet =
            sheet.note(format!("On tables that have been used before: {warm:.4} ms an iteration, deviation {sd:.4}."));
    }
    sheet.left_out.extend(ours.left_out);
    Ok(with_peer(sheet, theirs.variant))
}

/// One of figures 23, 25, 27 and 29.
pub fn figure(thesis: &Thesis, item: &Item, variant: Variant, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    if !thesis.has(variant) {
        return Ok(not_asked(item, variant));
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
        let name = format!("{}, printed", times.program);
        lines.push(Line { name, points, band: Vec::new(), published: true });
    }
    for program in PROGRAMS {
        let ours = measure::program(thesis, variant, program, run)?;
        let points: Vec<[f64; 2]> =
            ours.points.iter().map(|point| [f64::from(point.iterations), point.spread().mean]).collect();
        let band = ours.points.iter().map(|point| [least(&point.seconds), most(&point.seconds)]).collect();
        if !points.is_empty() {
            lines.push(Line { name: format!("{program}, ours"), points, band, published: false });
        }
        table.row([
            program.name().into(),
            Cell::from(variant.times(program).map(|times| times.last().milliseconds())),
            Cell::from(ours.points.last().map(|point| point.milliseconds())),
            Cell::from(ours.warm_ms()),
        ]);
        sheet.left_out.extend(ours.left_out);
    }
    match measure::walk(thesis, variant, run)? {
        Ok(walked) => table.row([
            format!("the product's walk, {} deals at once", walked.batch).into(),
            Cell::Empty,
            (walked.cold * 1e3 / f64::from(walked.deals)).into(),
            (Spread::of(&walked.warm).mean * 1e3).into(),
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
    Ok(with_peer(sheet.table(table).figure(figure), variant))
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
        .digits("ours, new tables", 2)
        .digits("ours, used tables", 2);
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
        let cold = |program| Some(ours(program)?.points.last()?.milliseconds());
        let warm = |program| ours(program)?.warm_ms();
        let (printed, of_five) = (claim.printed(), claim.of_all_five());
        table.row([
            claim.location.into(),
            claim.variant.letter().into(),
            claim.slow.name().into(),
            claim.fast.name().into(),
            claim.ratio.into(),
            Cell::from(printed),
            Cell::from(of_five),
            Cell::from(match printed {
                Some(printed) if is_rounded(claim.ratio, printed, claim.digits) => "yes",
                _ => "no",
            }),
            Cell::from(cold(claim.slow).zip(cold(claim.fast)).map(|(slow, fast)| slow / fast)),
            Cell::from(warm(claim.slow).zip(warm(claim.fast)).map(|(slow, fast)| slow / fast)),
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
                program.name().into(),
                printed.into(),
                ours.and_then(|timed| Some(timed.points.last()?.milliseconds())).into(),
                ours.and_then(Timed::warm_ms).into(),
            ]);
        }
        peers.row([letter.into(), peer.name.into(), Cell::Empty, Cell::Empty, Cell::Empty, peer.range().into()]);
        sheet = sheet.note(format!("Variant {letter}, measured elsewhere: {}.", peer.source));
    }
    sheet.left_out.sort();
    sheet.left_out.dedup();
    Ok(sheet
        .table(table)
        .table(peers)
        .note("Section 5.5 says 2.99 and 1.70 of the GPU: these are the ratios of the iterative program on the CPU, as section 5.1.2 and 5.2.2 have them.")
        .note("Section 6.1 says that the GPU is 3.6 times as fast as the iterative program on the CPU: 3.6 is the ratio of the recursive one to the iterative one."))
}
