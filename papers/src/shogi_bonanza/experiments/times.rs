//! Table 6: a CPU and a GPU.

use super::super::PaperEngine;
use super::super::job::{self, Options};
use super::super::published::{CPU, CPU_SECONDS, EVALUATIONS, GPU, GPU_RATIO, GPU_SECONDS, TABLE2, conditions};
use super::processes::{self, evaluations, parents};
use super::{Repetition, children, spread};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table, text};
use warpplay::shogi::Shard;
use warpplay::shogi::material::Engine;
use warpplay::{Backend, Device};

/// Times of each engine, but the paper's program on one core, whose times are those of Table 2.
const TIMES: u32 = 3;
/// Seconds that a time of a fast engine takes at least, in which it learns as often as it can.
const LEAST: f64 = 0.5;

/// What was measured of an engine.
pub(super) struct Timed {
    pub engine: PaperEngine,
    /// On the run's device, or so many threads of the CPU.
    pub threads: Option<usize>,
    /// Updates of a learning.
    pub updates: u32,
    /// Mean, least and largest seconds of one.
    pub seconds: [f64; 3],
    /// Evaluations of positions a second, by the mean.
    pub rate: f64,
}

/// How often an engine is timed.
pub(super) fn times(run: &Run<'_>, engine: PaperEngine, threads: Option<usize>) -> u32 {
    match (engine, threads) {
        (PaperEngine::Paper, Some(1)) => processes::times(run),
        _ if run.quick() => 1,
        _ => TIMES,
    }
}

/// An engine's times, from the journal where they are there.
pub(super) fn timed(
    paper: &Repetition<'_>,
    run: &mut Run<'_>,
    engine: PaperEngine,
    threads: Option<usize>,
) -> Result<Timed, Stop> {
    let part = paper.first(parents(run))?;
    let shards: Vec<&Shard> = part.iter().map(|shard| &**shard).collect();
    // A launch of some updates takes as long as the launch: those that are fast do as many as the paper did, again and again.
    let fast = match engine {
        PaperEngine::Warpplay(engine) => threads.is_none() || engine == Engine::Histogram,
        PaperEngine::Paper | PaperEngine::Paper95 => false,
    };
    let updates = if fast { conditions::ITERATIONS } else { paper.settings.table_iterations };
    let seconds: Vec<f64> = if (engine, threads) == (PaperEngine::Paper, Some(1)) {
        processes::measured(paper, run, 1)?.into_iter().map(|(_, took)| took).collect()
    } else {
        let times = times(run, engine, threads);
        let on = threads.map_or("the device".to_string(), |threads| format!("{threads} threads"));
        let once = |time| {
            run.timed(&format!("table6: {engine} on {on}, {updates} updates, time {time}"), |now| {
                now.check()?;
                let device = if threads.is_some() { &Device::cpu() } else { now.device };
                let options = Options { engine, threads, ..paper.job(updates) };
                let least = fast.then_some(LEAST);
                job::seconds(device, &shards, &options, least, || now.go_on())?.ok_or(Stop::Interrupted)
            })
        };
        (1..=times).map(once).collect::<Result<_, Stop>>()?
    };
    let seconds = spread(&seconds);
    let rate = evaluations(children(&shards) * u64::from(paper.settings.repeat), updates) / seconds[0];
    Ok(Timed { engine, threads, updates, seconds, rate })
}

/// A number with three significant digits.
fn three(value: f64) -> String {
    if !(value.is_finite() && value != 0.0) {
        return value.to_string();
    }
    let places = 2 - value.abs().log10().floor() as i32;
    let unit = 10_f64.powi(places);
    text::number((value * unit).round() / unit, usize::try_from(places).ok().or(Some(0)))
}

pub(super) fn sheet(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let cores = paper.settings.threads.unwrap_or_else(|| run.cpu_threads());
    let (plain, histogram) = (PaperEngine::Warpplay(Engine::Plain), PaperEngine::Warpplay(Engine::Histogram));
    let has_gpu = run.device().backend() == Backend::Cuda;
    let mut wanted = vec![(PaperEngine::Paper, Some(1)), (PaperEngine::Paper, Some(cores))];
    if cores == 1 {
        wanted.pop();
    }
    wanted.extend([(plain, Some(1)), (histogram, Some(1))]);
    if has_gpu {
        wanted.extend(PaperEngine::ALL.iter().map(|&engine| (engine, None)));
    }
    let n: u32 = wanted.iter().map(|&(engine, threads)| times(run, engine, threads)).sum();
    run.expect(n.into());
    let mut found = Vec::new();
    for (engine, threads) in wanted {
        found.push(timed(paper, run, engine, threads)?);
    }
    let one_core = found.first().map_or(f64::NAN, |first| first.rate);
    let positions = children(&paper.first(parents(run))?) * u64::from(paper.settings.repeat);
    let title =
        format!("updates and the last state (so many passes of 13 sums, and one more) of {positions} positions");
    let mut table = Table::new(title)
        .column("program")
        .column("where")
        .column("updates")
        .digits("published, s", 1)
        .digits("published ratio", 2)
        .column("ours, s")
        .column("least")
        .column("most")
        .digits("million evaluations/s, as the paper counts", 1)
        .column("the paper's job, s")
        .column("our ratio");
    for Timed { engine, threads, updates, seconds: [mean, least, most], rate } in found {
        let published = match (engine, threads) {
            (PaperEngine::Paper, Some(1)) => Some((CPU_SECONDS, 1.0)),
            (PaperEngine::Paper, None) => Some((GPU_SECONDS, GPU_RATIO)),
            _ => None,
        };
        table.row([
            engine.to_string().into(),
            match threads {
                None => run.device().name().into(),
                Some(1) => "one core".into(),
                Some(threads) => format!("{threads} threads").into(),
            },
            updates.into(),
            published.map(|(seconds, _)| seconds).into(),
            published.map(|(_, ratio)| ratio).into(),
            mean.into(),
            least.into(),
            most.into(),
            (rate / 1e6).into(),
            (EVALUATIONS / rate).into(),
            three(rate / one_core).into(),
        ]);
    }
    if !has_gpu {
        table.row(["paper".into(), GPU.into(), Cell::Empty, GPU_SECONDS.into(), GPU_RATIO.into()]);
    }
    let mut sheet = Sheet::new(item).table(table);
    sheet = sheet.note(format!("Published: {CPU} and {GPU}; {CPU_SECONDS} / {GPU_SECONDS} is {:.2}, and {GPU_RATIO} is printed, which the times before they were rounded can give.", CPU_SECONDS / GPU_SECONDS));
    sheet = sheet.note(format!(
        "The published CPU time is {:.1} % above that of Table 2's one process, {} s, which the text calls nearly the same; Table 6 was compiled for 32 bits, Table 2 for 64. Against that process the GPU is {:.1} times as fast, and against its four processes {:.1} times.",
        100.0 * (CPU_SECONDS / TABLE2[0].seconds - 1.0),
        TABLE2[0].seconds,
        TABLE2[0].seconds / GPU_SECONDS,
        TABLE2[3].seconds / GPU_SECONDS
    ));
    sheet = sheet.note("paper and paper95 are the paper's two kernels on positions of 96 and 95 bytes, and on the CPU the same sums; plain, fused, persistent and histogram are engines of warpplay with the same results.");
    sheet = sheet.note("Times begin when positions or differences are there: finding the differences, and counting them for the histogram, is not in them. The first row's are those of Table 2.");
    Ok(if has_gpu { sheet } else { sheet.left_out(format!("the GPU's rows: {} has none", run.device())) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_three_digits() {
        let cases = [(308_443.29, "308,000"), (200.67, "201"), (13.49, "13.5"), (1.0, "1.00"), (0.0123456, "0.0123")];
        for (value, expected) in cases {
            assert_eq!(three(value), expected);
        }
    }
}
