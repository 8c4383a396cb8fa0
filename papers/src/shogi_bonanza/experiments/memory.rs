//! Bytes of a position.

use std::time::Instant;

use super::super::program::Program;
use super::super::published::memory as published;
use super::super::reproduce::Reproducible;
use super::{Repetition, spread};
use crate::experiment::{Item, Run, Sheet, Stop, Table, text};
use warpplay::shogi::FIRST_VALUES;
use warpplay::shogi::material::{Engine, Histogram, Material};
use warpplay::{Backend, Device};
use warpplay_gpu::shogi::layout;

/// Times of each layout.
const TIMES: u32 = 5;

/// Bytes of a position with all that belongs to it here: the played child's number and the side in one word, the value in double precision.
const WHOLE: u64 = layout::BYTES as u64 + size_of::<u32>() as u64 + size_of::<f64>() as u64;

/// Seconds of one sum over all positions, of some; `check` is asked before each.
fn time(
    paper: &Repetition<'_>,
    device: &Device,
    stride: usize,
    mut check: impl FnMut() -> Result<(), Stop>,
) -> Result<Vec<f64>, Stop> {
    let settings = &paper.settings;
    let mut program = Program::new(device, &paper.shards, settings.objective, stride, settings.repeat, Some(1))?;
    check()?;
    program.sums(&FIRST_VALUES, 0..0)?;
    let once = |_| {
        check()?;
        let start = Instant::now();
        program.sums(&FIRST_VALUES, 0..0)?;
        Ok(start.elapsed().as_secs_f64())
    };
    (0..TIMES).map(once).collect()
}

pub(super) fn sheet(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let positions_per_parent = paper.children() as f64 / paper.parents().max(1) as f64;
    let positions = published::AVAILABLE / WHOLE;
    let mut table = Table::new("memory of the paper's layout").column("what").column("published").column("ours");
    for (what, theirs, ours) in [
        ("squares and counts of hands, bytes", published::USED as f64, f64::from(layout::USED)),
        ("filled up, bytes", published::BYTES as f64, f64::from(layout::BYTES)),
        ("with played child, side and value, bytes", published::WHOLE as f64, WHOLE as f64),
        ("positions in 900 MB", (published::MILLION_POSITIONS * 1e6).round(), positions as f64),
        ("parents in 900 MB", published::PARENTS as f64, (positions as f64 / positions_per_parent).round()),
    ] {
        table.row([what.into(), theirs.into(), ours.into()]);
    }
    let mut engines = Table::new("bytes a child on the device, while it learns").column("engine").digits("bytes", 2);
    for &engine in [Engine::Persistent, Engine::Plain, Engine::Fused, Engine::Histogram].iter() {
        let builder = Material::builder(paper.shards.as_slice()).engine(engine);
        let bytes = builder.memory_needed(&Device::simt())?.device();
        engines.row([engine.to_string().into(), (bytes as f64 / paper.children().max(1) as f64).into()]);
    }
    let has_gpu = run.device().backend() == Backend::Cuda;
    run.expect(if has_gpu { 4 } else { 2 });
    let mut times = Table::new("seconds of one sum over all positions")
        .column("where")
        .digits("96 bytes", 6)
        .digits("least", 6)
        .digits("most", 6)
        .digits("95 bytes", 6)
        .digits("least", 6)
        .digits("most", 6);
    let cpu = Device::cpu();
    for on_gpu in [false, true].into_iter().take(1 + usize::from(has_gpu)) {
        let name = if on_gpu { "the device" } else { "one core" };
        let mut row = vec![if on_gpu { run.device().name().into() } else { name.into() }];
        for stride in [96, 95] {
            let seconds: Vec<f64> = run.timed(&format!("memory: {stride} bytes on {name}"), |now| {
                now.check()?;
                time(paper, if on_gpu { now.device } else { &cpu }, stride, || now.check())
            })?;
            row.extend(spread(&seconds).map(Into::into));
        }
        times.row(row);
    }
    let sheet = Sheet::new(item)
        .table(table)
        .table(engines)
        .table(times)
        .note(format!("Every parent has {positions_per_parent:.1} positions: its legal moves, and the played one once more."))
        .note(format!(
            "The histogram needs its 8 bytes only while differences are counted; what it learns from are the distinct ones, {} of {} children.",
            text::number(Histogram::from_shards(&paper.shards).rows().len() as f64, None),
            text::number(paper.children() as f64, None)
        ));
    Ok(if has_gpu { sheet } else { sheet.left_out(format!("times on a GPU: {} has none", run.device())) })
}
