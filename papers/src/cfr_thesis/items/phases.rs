//! Figures 30 and 31: what holds each phase, by what can be measured without a profiler.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpplay::{Backend, Buffer, Precision};

use super::measure::obstacle;
use super::thesis::Thesis;
use crate::cfr_thesis::kernels::sequence::{End, Sequence};
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::plan::{Plan, Profile};
use crate::cfr_thesis::published::Variant;
use crate::cfr_thesis::run::Run as Running;
use crate::experiment::{Axis, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};
use warpplay::cfr::game::{ACTIONS, Child};

/// Bytes that are written to find what the card's memory takes.
const CEILING: usize = 1 << 30;

#[derive(Serialize, Deserialize)]
struct Measured {
    profile: Profile,
    /// Bytes a second that the card takes when a large array is filled.
    fill: f64,
}

/// Bytes that the threads of a level ask for in a phase, with values of `value` bytes: each array of the kernels' heads, once a use.
pub(super) fn bytes(plan: &Plan, level: usize, first: bool, value: u64) -> u64 {
    let game = &plan.sequences;
    let (seats, actions) = (game.n_players as u64, ACTIONS as u64);
    let range = game.levels[level].start as usize..game.levels[level].end as usize;
    let of = |sequence: &warpplay::cfr::game::Sequence| {
        let node = size_of::<Sequence>() as u64 + 4;
        let children = sequence.children.iter().flatten();
        let ends = children.clone().filter(|child| matches!(child, Child::End(_))).count() as u64;
        let all = children.count() as u64;
        let next = all - ends;
        if first {
            // Regrets in, averages in and out, strategies out; the own reach, and all reaches in and out for each sequence behind.
            return node + (4 * actions + 1) * value + next * 2 * seats * value;
        }
        // Strategies in, regrets in and out, the others' reaches, utilities out; utilities in for each sequence behind, stakes and the end for each end.
        let behind = next * seats * value + ends * seats * (value + size_of::<End>() as u64);
        node + (all + 2 * actions + (seats - 1) + seats) * value + behind
    };
    game.sequences[range].iter().map(of).sum()
}

/// Figure 30 (first phase) or 31.
pub fn figure(thesis: &Thesis, item: &Item, first: bool, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let mut sheet = Sheet::new(item);
    // The dissertation profiles variant C; under simt only A can be.
    let variant = if run.device().backend() == Backend::Simt { Variant::A } else { Variant::C };
    if !thesis.has(variant) {
        return Ok(sheet.left_out(format!("variant {}: not among the games asked for", variant.letter())));
    }
    let plan = Arc::clone(thesis.plan(variant)?);
    let options = Options { program: Program::Levels, ..thesis.settings.options };
    let ncu = "ncu --section WarpStateStats --section MemoryWorkloadAnalysis --kernel-name regex:cfr_thesis_ --launch-skip 84 --launch-count 42 \
               warpplay papers cfr_thesis --only table15 --iterations 10 --repeats 1";
    sheet = sheet.note(format!("Printed: shares of stall reasons from a profiler. They need one here too: {ncu}"));
    let (quick, letter) = (run.quick(), variant.letter());
    if let Some(reason) = obstacle(&format!("{letter} {}", options.program), &plan, &options, run)? {
        return Ok(sheet.left_out(reason));
    }
    run.expect(1);
    let measured: Measured = run.timed(&format!("{letter} phases"), |now| {
        let mut running = Running::with_plan(now.device, &plan, &options)?;
        running.iterate(if quick { 1 } else { 100 })?;
        let profile = running.profile(if quick { 2 } else { 100 })?;
        drop(running);
        let stream = now.device.stream()?;
        let n = if now.device.backend() == Backend::Cuda { CEILING / 4 } else { 1 << 20 };
        let mut buffer: Buffer<u32> = stream.alloc(n)?;
        stream.synchronize()?;
        let start = Instant::now();
        (0..10).try_for_each(|_| stream.zero(&mut buffer))?;
        stream.synchronize()?;
        Ok(Measured { profile, fill: 10.0 * 4.0 * n as f64 / start.elapsed().as_secs_f64() })
    })?;
    let value = if options.precision == Precision::F64 { 8 } else { 4 };
    let times = if first { &measured.profile.down_ms } else { &measured.profile.up_ms };
    let mut table = Table::new(format!("variant {letter}, level by level"))
        .column("level")
        .column("sequences")
        .digits("µs", 2)
        .digits("KB asked for", 1)
        .digits("GB/s", 2)
        .digits("% of what the card takes", 2);
    let (mut all_ms, mut all_bytes) = (0.0, 0);
    let mut points = Vec::new();
    for (level, (&ms, &sequences)) in times.iter().zip(&measured.profile.sequences).enumerate() {
        let bytes = bytes(&plan, level, first, value);
        let rate = bytes as f64 / (ms * 1e-3);
        table.row([
            level.into(),
            sequences.into(),
            (ms * 1e3).into(),
            (bytes as f64 / 1e3).into(),
            (rate / 1e9).into(),
            (100.0 * rate / measured.fill).into(),
        ]);
        points.push([f64::from(sequences), ms * 1e3]);
        (all_ms, all_bytes) = (all_ms + ms, all_bytes + bytes);
    }
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let rate = all_bytes as f64 / (all_ms * 1e-3);
    table.row([
        "all".into(),
        plan.sequences.sequences.len().into(),
        (all_ms * 1e3).into(),
        (all_bytes as f64 / 1e3).into(),
        (rate / 1e9).into(),
        (100.0 * rate / measured.fill).into(),
    ]);
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let at_least = 100.0 * least * times.len() as f64 / all_ms;
    let phase = if first { "first" } else { "second" };
    Ok(sheet
        .table(table)
        .figure(Figure {
            file: item.name.into(),
            title: format!("The {phase} phase: time of a level by its sequences"),
            x: Axis::log("sequences of the level"),
            y: Axis::log("µs"),
            chart: Chart::Lines(vec![Line { name: format!("{phase} phase"), points, ..Line::default() }]),
        })
        .note(format!(
            "Filled with zeros, the card's memory takes {:.0} GB/s. If every level took as long as the shortest, that would be {at_least:.0} % of the phase: what is \
             left of launches and latency however few bytes there are.",
            measured.fill / 1e9
        )))
}
