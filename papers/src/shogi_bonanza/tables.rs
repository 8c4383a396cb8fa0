//! The paper's tables of the single learning that the command line asks for: 2 (ranks), 6 (CPU and GPU), 7 (values), each time measured once. The items of
//! [`experiments`](super::experiments) measure the same programs several times.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::Serialize;
use warpplay::shogi::material::{Engine, Material};
use warpplay::shogi::quiescence;
use warpplay::shogi::ranks::{self, Ranks, Threads};
use warpplay::shogi::{Evaluator, FeatureSet, Row, Selection, Shard, Values};
use warpplay::{Backend, Device, Result};

use super::engine::PaperEngine;
use super::job::{self, Job, Options};
use super::part::part;
use super::published;
use super::reproduce::{Split, ideal_speed_up, reproduce};

/// Ranks of Table 2 where the program was not started as several: one more than the paper's, to show that five gain no more than four.
const RANKS: usize = 5;

/// What was measured and learnt.
#[derive(Clone, Debug, Serialize)]
pub struct Tables {
    /// Table 2.
    pub ranks: Vec<RankTime>,
    /// How the ranks of Table 2 were run.
    pub ranks_as: &'static str,
    /// Table 6.
    pub times: Vec<Time>,
    /// Table 7.
    pub values: Values,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The same with quiescence search, where it was asked for.
    pub values_with_quiescence: Option<Values>,
    /// What the paper measured.
    pub published: Published,
}

/// One line of Table 6, measured here.
#[derive(Clone, Debug, Serialize)]
pub struct Time {
    /// What ran.
    pub engine: String,
    /// Where.
    pub device: String,
    /// Threads of the CPU, 0 on a GPU.
    pub threads: usize,
    /// Updates that were measured.
    pub iterations: u32,
    /// Evaluations of a position that they stand for.
    pub evaluations: f64,
    /// Time.
    pub seconds: f64,
}

impl Time {
    /// Positions a second.
    pub fn rate(&self) -> f64 {
        self.evaluations / self.seconds.max(1e-12)
    }
}

/// One line of Table 2, measured here.
#[derive(Clone, Debug, Serialize)]
pub struct RankTime {
    /// Processes, or threads that act as such.
    pub ranks: u32,
    /// Time.
    pub seconds: f64,
    /// Against one.
    pub speed_up: f64,
    /// (L + 1) / (L / P + 1).
    pub ideal: f64,
    /// The same with whole values.
    pub ideal_of_whole: f64,
    /// Positions a second.
    pub rate: f64,
}

/// The paper's own figures.
#[derive(Clone, Debug, Serialize)]
pub struct Published {
    /// The whole job on one core.
    pub cpu_seconds: f64,
    /// On its GPU.
    pub gpu_seconds: f64,
    /// Which.
    pub gpu: &'static str,
    /// Evaluations of positions of the job.
    pub evaluations: f64,
    /// Processes of its best run with MPI.
    pub mpi_ranks: u32,
    /// How many times faster that was than one.
    pub mpi_speed_up: f64,
}

/// What is measured.
pub struct Wanted<'a> {
    /// The job.
    pub options: &'a Options,
    /// Updates of each measurement of Tables 2 and 6.
    pub iterations: u32,
    /// For the second column of Table 7: quiet lines are searched anew after so many updates.
    pub quiescence_every: Option<u32>,
    /// Whether to stop now; asked while each measurement lasts, and what was ended is left out.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Measures all; `rows` is what was learnt. All ranks take part, and rank 0 has the answer.
///
/// # Errors
/// Those of the jobs; [`Error::Rank`](warpplay::Error::Rank) if another rank failed.
pub fn measure(
    wanted: &Wanted<'_>,
    group: &dyn Ranks,
    shards: &[&Shard],
    device: &Device,
    rows: &[Row],
) -> Result<Tables> {
    let work = Work { wanted, shards };
    let (ranks, ranks_as) = work.by_ranks(group)?;
    let leads = group.rank() == 0;
    let times = if leads { work.by_form(device)? } else { Vec::new() };
    let with_quiescence = match wanted.quiescence_every.filter(|_| leads) {
        Some(every) => with_quiescence(shards, wanted.options, every, &mut || (wanted.stop)())?,
        None => None,
    };
    // Ranks that leave early would be missed.
    ranks::agree(group, Ok(()))?;
    Ok(Tables {
        ranks,
        ranks_as,
        times,
        values: rows.last().map_or(wanted.options.init, |row| row.values),
        values_with_quiescence: with_quiescence,
        published: Published {
            cpu_seconds: published::CPU_SECONDS,
            gpu_seconds: published::GPU_SECONDS,
            gpu: published::GPU,
            evaluations: published::EVALUATIONS,
            mpi_ranks: published::MPI.0,
            mpi_speed_up: published::MPI.1,
        },
    })
}

/// One of the paper's figures: the course from `first` for all values, by the histogram.
///
/// # Errors
/// Those of the fit.
pub fn figure(first: u32, shards: &[&Shard], options: &Options, iterations: u32) -> Result<Vec<Row>> {
    let builder = Material::builder(shards).objective(options.objective).init([first.into(); 12]);
    let report = builder.iterations(iterations).build(&Device::cpu())?.run(|_| ControlFlow::Continue(()))?;
    Ok(report.rows)
}

struct Work<'a> {
    wanted: &'a Wanted<'a>,
    shards: &'a [&'a Shard],
}

impl Work<'_> {
    fn children(&self) -> f64 {
        let children: usize = self.shards.iter().map(|shard| shard.n_children()).sum();
        children as f64 * f64::from(self.wanted.options.repeat)
    }

    /// Evaluations of a run: the state after the last update is evaluated too.
    fn evaluations(&self) -> f64 {
        self.children() * 13.0 * f64::from(self.wanted.iterations + 1)
    }

    /// Table 2: the paper's program on one thread of the CPU a rank, for 1 rank and more, which share the changed values.
    fn by_ranks(&self, group: &dyn Ranks) -> Result<(Vec<RankTime>, &'static str)> {
        let (seconds, ranks_as) = match group.size() {
            1 => {
                let time = |size| {
                    let times = Threads::run(size, |ranks| self.as_rank(ranks))?;
                    let times: Option<Vec<f64>> = times.into_iter().collect();
                    Ok(times.map(|times| times.into_iter().fold(0.0, f64::max)))
                };
                (until_ended(RANKS, time)?, "threads of one process")
            }
            all => {
                let time = |size| {
                    // Where it was ended, it was on all ranks.
                    let Some(mine) = self.as_rank(&Part { group, size })? else { return Ok(None) };
                    Ok(Some(group.gather(&[mine])?.into_iter().fold(0.0, f64::max)))
                };
                (until_ended(all, time)?, "processes")
            }
        };
        let alone = seconds.first().copied().unwrap_or(f64::NAN);
        let row = |(ranks, &seconds): (u32, &f64)| RankTime {
            ranks,
            seconds,
            speed_up: alone / seconds,
            ideal: published::ideal(ranks),
            ideal_of_whole: ideal_speed_up(ranks as usize),
            rate: self.evaluations() / seconds.max(1e-12),
        };
        Ok(((1..).zip(&seconds).map(row).collect(), ranks_as))
    }

    /// The job by another engine, on one thread or more, with the updates of a measurement.
    fn job(&self, engine: PaperEngine, threads: Option<usize>) -> Options {
        Options { engine, threads, iterations: self.wanted.iterations, ..self.wanted.options.clone() }
    }

    /// One rank's time, from when all are ready; `None` where it was ended.
    fn as_rank(&self, ranks: &dyn Ranks) -> Result<Option<f64>> {
        let job = self.job(PaperEngine::Paper, Some(1));
        Ok(as_rank(ranks, self.shards, &job, self.wanted.stop)?.map(|(_, seconds)| seconds))
    }

    /// Table 6: the paper's way on one core and on all, then every engine of the device.
    fn by_form(&self, device: &Device) -> Result<Vec<Time>> {
        let cpu = Device::cpu();
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let (plain, histogram) = (PaperEngine::Warpplay(Engine::Plain), PaperEngine::Warpplay(Engine::Histogram));
        let mut runs = vec![
            (&cpu, PaperEngine::Paper, Some(1)),
            (&cpu, PaperEngine::Paper, Some(all)),
            (&cpu, plain, Some(1)),
            (&cpu, plain, Some(all)),
            (&cpu, histogram, Some(1)),
        ];
        if device.backend() == Backend::Cuda {
            runs.extend(PaperEngine::ALL.iter().map(|&engine| (device, engine, None)));
        }
        let mut times = Vec::new();
        for (device, engine, threads) in runs {
            let options = self.job(engine, threads);
            let Some(seconds) = job::seconds(device, self.shards, &options, || going_on(self.wanted.stop))? else {
                break;
            };
            times.push(Time {
                engine: engine.to_string(),
                device: device.to_string(),
                threads: threads.unwrap_or(0),
                iterations: options.iterations,
                evaluations: self.evaluations(),
                seconds,
            });
        }
        Ok(times)
    }
}

/// Times of 1 to so many ranks, up to the first that was ended.
fn until_ended(most: usize, time: impl FnMut(usize) -> Result<Option<f64>>) -> Result<Vec<f64>> {
    (1..=most).map(time).map_while(Result::transpose).collect()
}

fn going_on(stop: &(dyn Fn() -> bool + Sync)) -> ControlFlow<()> {
    if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// A rank's part of the learning, which shares the changed values: the last values, the same on every rank, and its time from when all are ready. `None`, on every rank, where `stop`
/// ended it on one.
pub(super) fn as_rank(
    ranks: &dyn Ranks,
    shards: &[&Shard],
    job: &Options,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<(Values, f64)>> {
    let split = Split::Features;
    let mut work = part(ranks, split, shards, |shards| Job::new(&Device::cpu(), shards, job))?;
    let start = Instant::now();
    let watch = |_: Option<&Row>| going_on(stop);
    let rows = reproduce(&mut *work, ranks, split, &job.objective, &job.init, job.iterations, watch)?;
    let seconds = start.elapsed().as_secs_f64();
    let last = rows.last().filter(|_| job.is_whole(&rows));
    Ok(last.map(|row| (row.values, seconds)))
}

/// Parents for each thread whose quiet lines are searched before `stop` is asked again: some hundred thousand positions, less than a second.
const PIECE: usize = 256;

/// The values of Table 7 where every child is the quiet position behind it, searched anew after every so many updates; `None` where `stop` ended it.
pub(super) fn with_quiescence(
    shards: &[&Shard],
    options: &Options,
    every: u32,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Values>> {
    let Options { init, iterations, objective, .. } = options;
    let (mut values, mut objective, mut done) = (*init, *objective, 0);
    while done < *iterations {
        let evaluator = Evaluator::new(FeatureSet::Material, FeatureSet::Material.weights_of(&values))?;
        let mut leaves: Vec<Shard> = Vec::new();
        for &shard in shards {
            let parents: Vec<u32> = (0..shard.n_parents() as u32).collect();
            for piece in parents.chunks(PIECE * rayon::current_num_threads()) {
                if stop() {
                    return Ok(None);
                }
                let piece = Selection { shard, parents: Some(piece) }.to_shard()?;
                leaves.push(quiescence::rebuild(&piece, &evaluator, &quiescence::Options::default())?.shard);
            }
        }
        let n = every.min(iterations - done);
        let builder = Material::builder(leaves.as_slice()).objective(objective).init(values).iterations(n);
        let report = builder.build(&Device::cpu())?.run(|_| ControlFlow::Continue(()))?;
        if let Some(last) = report.rows.last() {
            values = last.values;
            objective.h = last.h;
        }
        done += n;
    }
    Ok(Some(values))
}

/// The first ranks of a group, as a group; the others wait, and take part in every exchange with nothing.
pub(super) struct Part<'a> {
    pub group: &'a dyn Ranks,
    pub size: usize,
}

impl Ranks for Part<'_> {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, values: &mut [i64]) -> Result<()> {
        self.group.sum(values)
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        self.group.gather(values)
    }

    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.group.gather_bytes(bytes)
    }

    fn abort(&self, reason: &str) {
        self.group.abort(reason);
    }
}
