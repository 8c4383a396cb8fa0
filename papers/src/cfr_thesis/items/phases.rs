//! Figures 30 and 31: what limits each phase, by what can be measured without a profiler.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpplay::{Backend, Buffer, Precision};

use super::counts::KB;
use super::measure::obstacle;
use super::thesis::Thesis;
use crate::cfr_thesis::kernels::sequence::{End, Sequence};
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::plan::{Plan, Profile};
use crate::cfr_thesis::published::Variant;
use crate::cfr_thesis::run::Run as Running;
use crate::experiment::statistics::least;
use crate::experiment::{Axis, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};
use warpplay::cfr::game::{ACTIONS, Child};

/// Bytes that are written to find the fill rate.
const CEILING: usize = 1 << 30;

#[derive(Serialize, Deserialize)]
struct Measured {
    profile: Profile,
    /// Milliseconds of an iteration by the clock, with its deal and without events between the levels.
    iteration_ms: f64,
    /// The fill rate: bytes a second that the card takes when a large array is filled with zeros.
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

/// Percent of a phase that as many levels take as it has, each as long as its shortest.
fn shortest(times: &[f64]) -> f64 {
    100.0 * least(times) * times.len() as f64 / times.iter().sum::<f64>()
}

/// What both phases say of page 43: that they depend on memory, and the first one more.
fn verdict(plan: &Plan, measured: &Measured, value: u64) -> String {
    let profile = &measured.profile;
    let [down, up] = [(true, &profile.down_ms), (false, &profile.up_ms)].map(|(first, times)| {
        let bytes: u64 = (0..times.len()).map(|level| bytes(plan, level, first, value)).sum();
        let rate = bytes as f64 / (times.iter().sum::<f64>() * 1e-3);
        (bytes as f64 / KB, 100.0 * rate / measured.fill, shortest(times))
    });
    let more = if down.0 > up.0 { "more" } else { "less" };
    // A phase that takes less than a tenth of the rate, most of whose time a level without work takes too.
    let is_floor = |(_, rate, floor): (f64, f64, f64)| rate < 10.0 && floor > 50.0;
    let so = if is_floor(down) && is_floor(up) {
        "Here launches and latency limit both phases, and not the rate of memory."
    } else {
        "By these figures the rate of memory may limit them here."
    };
    format!(
        "Page 43 says that both phases depend heavily on memory, and the first one more, since only it accesses the averages. Ours: the first phase asks for {:.0} KB and the second for \
         {:.0} KB, so the first for {more}. They reach {:.2} and {:.2} % of the fill rate, and with every level as short as the shortest they would take {:.0} and {:.0} % of their times. {so}",
        down.0, up.0, down.1, up.1, down.2, up.2
    )
}

/// Figure 30 (first phase) or 31.
pub fn figure(thesis: &Thesis, item: &Item, first: bool, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    // The paper profiles variant C; under simt only A can be.
    let variant = if run.device().backend() == Backend::Simt { Variant::A } else { Variant::C };
    if let Some(sheet) = thesis.not_asked(item, variant) {
        return Ok(sheet);
    }
    let plan = Arc::clone(thesis.plan(variant)?);
    let options = Options { program: Program::Levels, ..thesis.settings.options };
    let ncu = "ncu --section WarpStateStats --section MemoryWorkloadAnalysis --kernel-name regex:cfr_thesis_ --launch-skip 84 --launch-count 42 \
               warpplay papers cfr_thesis --only table15 --iterations 10 --repeats 1";
    let sheet = Sheet::new(item).note(format!(
        "Printed: shares of stall reasons, from a profiler. Here are none of ours; this command shows them: {ncu}"
    ));
    let (quick, letter) = (run.quick(), variant.letter());
    if let Some(reason) = obstacle(&format!("{letter} {}", options.program), &plan, &options, run)? {
        return Ok(sheet.left_out(reason));
    }
    run.expect(1);
    let measured: Measured = run.timed(&format!("{letter} phases"), |now| {
        let mut running = Running::with_plan(now.device, &plan, &options)?;
        let iterations = if quick { 2 } else { 100 };
        running.iterate(if quick { 1 } else { 100 })?;
        let before = running.seconds();
        running.iterate(iterations)?;
        let iteration_ms = (running.seconds() - before) * 1e3 / f64::from(iterations);
        let profile = running.profile(iterations)?;
        drop(running);
        let stream = now.device.stream()?;
        let n = if now.device.backend() == Backend::Cuda { CEILING / 4 } else { 1 << 20 };
        let mut buffer: Buffer<u32> = stream.alloc(n)?;
        stream.synchronize()?;
        let start = Instant::now();
        (0..10).try_for_each(|_| stream.zero(&mut buffer))?;
        stream.synchronize()?;
        Ok(Measured { profile, iteration_ms, fill: 10.0 * 4.0 * n as f64 / start.elapsed().as_secs_f64() })
    })?;
    let (phase, what) = match first {
        true => ("first", "strategies and reaches, from the root down"),
        false => ("second", "utilities and regrets, from the last level up"),
    };
    let value = if options.precision == Precision::F64 { 8 } else { 4 };
    let times = if first { &measured.profile.down_ms } else { &measured.profile.up_ms };
    let mut table = Table::new(format!("{phase} phase ({what}), variant {letter}, level by level"))
        .column("level")
        .column("sequences")
        .digits("µs", 2)
        .digits("KB of 1,024 bytes asked for", 1)
        .digits("GB/s", 2)
        .digits("% of the fill rate", 2);
    let (mut all_ms, mut all_bytes) = (0.0, 0);
    let mut points = Vec::new();
    for (level, (&ms, &sequences)) in times.iter().zip(&measured.profile.sequences).enumerate() {
        let bytes = bytes(&plan, level, first, value);
        let rate = bytes as f64 / (ms * 1e-3);
        table.row([
            level.into(),
            sequences.into(),
            (ms * 1e3).into(),
            (bytes as f64 / KB).into(),
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
        (all_bytes as f64 / KB).into(),
        (rate / 1e9).into(),
        (100.0 * rate / measured.fill).into(),
    ]);
    let at_least = shortest(times);
    let both: f64 = measured.profile.down_ms.iter().chain(&measured.profile.up_ms).sum();
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
            "The fill rate, at which the card's memory is filled with zeros, is {:.0} GB/s. If every level took as long as the shortest, the phase would take {at_least:.0} % of its time: so \
             much is launches and latency, however few bytes a level asks for.",
            measured.fill / 1e9
        ))
        .note(format!(
            "Timed one by one, the levels of both phases add up to {:.1} µs; an iteration by the clock, with its deal and without events between the levels, takes {:.1} µs. Each level's time has \
             an event and the start of its launch in it, so their sum is not the time of an iteration.",
            both * 1e3,
            measured.iteration_ms * 1e3
        ))
        .note(verdict(&plan, &measured, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page 43 has it the other way round: on variant C the second phase asks for more, although it leaves the averages alone.
    #[test]
    fn the_second_phase_of_variant_c_asks_for_more_bytes_than_the_first() {
        let plan = Plan::of(&Variant::C.game().expect("a game")).expect("laid out");
        let levels = plan.sequences.levels.len();
        let [down, up] = [true, false].map(|first| (0..levels).map(|level| bytes(&plan, level, first, 4)).sum::<u64>());
        assert!(up > down, "{down} bytes in the first phase, {up} in the second");
    }

    #[test]
    fn the_verdict_on_the_phases_follows_the_record() {
        let plan = Plan::of(&Variant::A.game().expect("a game")).expect("laid out");
        let of = |down_ms: [f64; 3]| {
            let profile = Profile { down_ms: down_ms.to_vec(), up_ms: vec![0.01; 3], sequences: vec![1, 2, 1] };
            verdict(&plan, &Measured { profile, iteration_ms: 0.05, fill: 4e12 }, 4)
        };
        let floor = of([0.01; 3]);
        assert!(
            floor.contains("would take 100 and 100 % of their times") && floor.ends_with("not the rate of memory."),
            "{floor}"
        );
        let uneven = of([0.01, 1.0, 1.0]);
        assert!(uneven.ends_with("the rate of memory may limit them here."), "{uneven}");
    }
}
