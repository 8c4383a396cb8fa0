//! Section 5.5: sequences a level decide, buckets do not.

use std::sync::Arc;

use warpplay::Backend;
use warpplay::cfr::GameDef;

use super::measure::{milliseconds, obstacle};
use super::thesis::Thesis;
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::plan::Plan;
use crate::cfr_thesis::sweep::{Point, bucket_game, crossover, sweep_game};
use crate::experiment::statistics::mean;
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};

/// A game laid out, milliseconds of programs on it, `None` where one does not run here, and the reasons.
type Times = (Arc<Plan>, Vec<Option<f64>>, Vec<String>);

/// Times programs on a game.
fn times(
    thesis: &Thesis,
    key: &str,
    game: &GameDef,
    programs: &[Program],
    n: u32,
    run: &mut Run<'_>,
) -> Result<Times, Stop> {
    let plan = Arc::new(Plan::of(game)?);
    let (mut ms, mut reasons) = (Vec::new(), Vec::new());
    for &program in programs {
        let options = Options { program, ..thesis.settings.options };
        let key = format!("{key} {program}");
        if let Some(reason) = obstacle(&key, &plan, &options, run)? {
            ms.push(None);
            reasons.push(reason);
            continue;
        }
        let sizes = (n.div_ceil(10), n, thesis.repeats(run.quick()));
        let (_, values) = milliseconds(&key, &plan, &options, sizes, run)?;
        ms.push(Some(mean(&values)));
    }
    Ok((plan, ms, reasons))
}

/// Players × raises, with 13 buckets.
pub fn sweep(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let (players, raises, n): (&[usize], &[u32], u32) = match run.quick() {
        true => (&[2, 3], &[1, 2], 5),
        false => (&[2, 3, 4, 5, 6], &[1, 2, 3, 4], 50),
    };
    let mut table = Table::new("13 buckets; ms an iteration")
        .column("players")
        .column("raises")
        .column("sequences")
        .digits("sequences a level", 1)
        .column("recursive")
        .column("iterative, CPU")
        .column("levels, GPU")
        .digits("CPU / GPU", 2);
    let (mut points, mut line, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for &players in players {
        for &raises in raises {
            let game = sweep_game(players, raises, 13)?;
            let key = format!("sweep {players} {raises}");
            let programs = [Program::Recursive, Program::Iterative, Program::Levels];
            let (plan, ms, reasons) = times(thesis, &key, &game, &programs, n, run)?;
            let sequences = plan.sequences.sequences.len();
            let per_level = sequences as f64 / plan.sequences.levels.len() as f64;
            let both = ms[1].zip(ms[2]);
            table.row([
                players.into(),
                raises.into(),
                sequences.into(),
                per_level.into(),
                ms[0].into(),
                ms[1].into(),
                ms[2].into(),
                Cell::from(both.map(|(cpu, gpu)| cpu / gpu)),
            ]);
            if let Some((cpu_ms, gpu_ms)) = both {
                points.push(Point { per_level, cpu_ms, gpu_ms });
                line.push([per_level, cpu_ms / gpu_ms]);
            }
            left_out.extend(reasons);
        }
    }
    left_out.dedup();
    let mut sheet = Sheet::new(item).table(table);
    if !line.is_empty() {
        line.sort_by(|a, b| a[0].total_cmp(&b[0]));
        sheet = sheet.figure(Figure {
            file: item.name.into(),
            title: "How many times as fast the GPU is as the iterative program".into(),
            x: Axis::log("sequences a level"),
            y: Axis::log("CPU / GPU"),
            chart: Chart::Lines(vec![Line { name: "levels".into(), points: line, ..Line::default() }]),
        });
        if run.device().backend() == Backend::Cuda {
            sheet = sheet.note(match crossover(&points) {
                Some(n) => format!("The GPU is the faster one at every point from {n:.1} sequences a level on."),
                None => "The GPU is not the faster one at the largest game.".into(),
            });
        }
    }
    sheet.left_out.extend(left_out);
    Ok(sheet.note("Printed: between 1.33 sequences a level (variants A and B, slower) and 1,013.6 (variant C, faster than the recursive program; slower than the iterative one, which only variant D with 20,553 turns round)."))
}

/// The betting of A and B with 630 to 8,347,680 buckets.
pub fn buckets(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let (boards, n): (&[usize], u32) = if run.quick() { (&[0, 2], 50) } else { (&[0, 1, 2, 3, 4, 5], 2_000) };
    let mut table = Table::new("4 sequences; µs an iteration")
        .column("cards of the board")
        .column("buckets")
        .digits("recursive", 3)
        .digits("iterative, CPU", 3)
        .digits("levels, GPU", 3);
    let programs = [Program::Recursive, Program::Iterative, Program::Levels];
    let names = ["recursive", "iterative", "levels"];
    let mut lines: Vec<Line> = names.map(|name| Line { name: name.into(), ..Line::default() }).to_vec();
    let mut left_out = Vec::new();
    for &board in boards {
        let game = bucket_game(board)?;
        let (plan, ms, reasons) = times(thesis, &format!("buckets {board}"), &game, &programs, n, run)?;
        let us = |at: usize| ms[at].map(|ms| ms * 1e3);
        table.row([board.into(), plan.n_buckets.into(), us(0).into(), us(1).into(), us(2).into()]);
        for (line, us) in lines.iter_mut().zip([us(0), us(1), us(2)]) {
            line.points.extend(us.map(|us| [f64::from(plan.n_buckets), us]));
        }
        left_out.extend(reasons);
    }
    left_out.dedup();
    lines.retain(|line| !line.points.is_empty());
    let mut sheet = Sheet::new(item).table(table).figure(Figure {
        file: item.name.into(),
        title: "Times by the number of buckets".into(),
        x: Axis::log("buckets"),
        y: Axis::log("µs an iteration"),
        chart: Chart::Lines(lines),
    });
    sheet.left_out.extend(left_out);
    Ok(sheet.note(format!(
        "Printed, for 10,000 iterations of A and B (4 and 8,347,680 buckets): recursive {} and {} s, iterative {} and {} s, GPU {} and {} s.",
        0.063, 0.191, 0.1886, 0.324, 15.0624, 15.06025
    )))
}
