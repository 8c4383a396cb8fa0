//! Table 6: a CPU and a GPU.

use super::super::PaperEngine;
use super::super::job::{self, Options};
use super::super::published::{CPU, CPU_SECONDS, EVALUATIONS, GPU, GPU_RATIO, GPU_SECONDS, TABLE2};
use super::processes::evaluations;
use super::{Repetition, spread};
use crate::experiment::{Item, Run, Sheet, Stop, Table};
use warpplay::shogi::material::Engine;
use warpplay::{Backend, Device};

/// Times of each engine.
const TIMES: u32 = 3;

/// What was measured of an engine.
pub(super) struct Timed {
    pub engine: PaperEngine,
    /// On the run's device, or so many threads of the CPU.
    pub threads: Option<usize>,
    /// Mean, least and largest seconds.
    pub seconds: [f64; 3],
    /// Evaluations of positions a second, by the mean.
    pub rate: f64,
}

/// An engine's times, from the journal where they are there.
pub(super) fn timed(
    paper: &Repetition<'_>,
    run: &mut Run<'_>,
    engine: PaperEngine,
    threads: Option<usize>,
) -> Result<Timed, Stop> {
    let times = if run.quick() { 1 } else { TIMES };
    let on = threads.map_or("the device".to_string(), |threads| format!("{threads} threads"));
    let mut seconds = Vec::new();
    for number in 1..=times {
        let key = format!("table6: {engine} on {on}, time {number}");
        seconds.push(run.timed(&key, |now| {
            now.check()?;
            let device = if threads.is_some() { &Device::cpu() } else { now.device };
            let options = Options { engine, threads, ..paper.job(paper.settings.table_iterations) };
            job::seconds(device, &paper.shards, &options, || now.go_on())?.ok_or(Stop::Interrupted)
        })?);
    }
    let seconds = spread(&seconds);
    Ok(Timed {
        engine,
        threads,
        seconds,
        rate: evaluations(paper.children() * u64::from(paper.settings.repeat), paper.settings.table_iterations)
            / seconds[0],
    })
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
    run.expect(wanted.len() as u64 * if run.quick() { 1 } else { u64::from(TIMES) });
    let mut found = Vec::new();
    for (engine, threads) in wanted {
        found.push(timed(paper, run, engine, threads)?);
    }
    let one_core = found.first().map_or(f64::NAN, |first| first.rate);
    let iterations = paper.settings.table_iterations;
    let mut table = Table::new(format!(
        "{iterations} updates of {} positions",
        paper.children() * u64::from(paper.settings.repeat)
    ))
    .column("program")
    .column("where")
    .digits("published, s", 1)
    .digits("published ratio", 2)
    .digits("ours, s", 4)
    .digits("least", 4)
    .digits("most", 4)
    .digits("million evaluations/s", 1)
    .digits("the paper's job, s", 3)
    .digits("our ratio", 2);
    for Timed { engine, threads, seconds: [mean, least, most], rate } in found {
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
                Some(cores) => format!("{cores} cores").into(),
            },
            published.map(|(seconds, _)| seconds).into(),
            published.map(|(_, ratio)| ratio).into(),
            mean.into(),
            least.into(),
            most.into(),
            (rate / 1e6).into(),
            (EVALUATIONS / rate).into(),
            (rate / one_core).into(),
        ]);
    }
    if !has_gpu {
        table.row(["paper".into(), GPU.into(), GPU_SECONDS.into(), GPU_RATIO.into()]);
    }
    let mut sheet = Sheet::new(item).table(table);
    sheet = sheet.note(format!("Published: {CPU} and {GPU}; {CPU_SECONDS} / {GPU_SECONDS} is {:.2}, and {GPU_RATIO} is printed, which the times before they were rounded can give.", CPU_SECONDS / GPU_SECONDS));
    sheet = sheet.note(format!(
        "The published CPU time is that of another program than Table 2's, whose one process took {} s: {:.1} % less; against that one the GPU is {:.1} times as fast, and against its four processes {:.1} times.",
        TABLE2[0].seconds,
        100.0 * (1.0 - TABLE2[0].seconds / CPU_SECONDS),
        TABLE2[0].seconds / GPU_SECONDS,
        TABLE2[3].seconds / GPU_SECONDS
    ));
    sheet = sheet.note("paper and paper95 are the paper's two kernels on positions of 96 and 95 bytes, and on the CPU the same sums; plain, fused, persistent and histogram are engines of warpplay with the same results.");
    Ok(if has_gpu { sheet } else { sheet.left_out(format!("the GPU's rows: {} has none", run.device())) })
}
