//! The source's tables, measured: 2 (ranks), 6 (CPU and GPU), 7 (values).

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use warpplay::shogi::material::{Form, Material};
use warpplay::shogi::quiescence;
use warpplay::shogi::ranks::{self, Ranks, Split, Threads};
use warpplay::shogi::{Evaluator, FeatureSet, Objective, Row, Shard, Values};
use warpplay::{Backend, Device};

use crate::common::table::{grid, seconds, thousands};
use crate::shogi::args::ReproduceArgs;
use crate::shogi::data::Data;
use crate::shogi::published::{self, RankTime, Time};
use crate::shogi::table::of_values;

/// Ranks of Table 2 where the program was not started as several.
const RANKS: usize = 5;

/// What was measured and learnt.
#[derive(Serialize)]
pub struct Tables {
    /// Table 2.
    ranks: Vec<RankTime>,
    /// How the ranks of Table 2 were run.
    ranks_as: &'static str,
    /// Table 6.
    times: Vec<Time>,
    /// Table 7.
    values: Values,
    #[serde(skip_serializing_if = "Option::is_none")]
    values_with_quiescence: Option<Values>,
    published: Published,
}

/// The source's own figures.
#[derive(Serialize)]
struct Published {
    cpu_seconds: f64,
    gpu_seconds: f64,
    gpu: &'static str,
    evaluations: f64,
    mpi_ranks: u32,
    mpi_speed_up: f64,
}

/// Measures all; `rows` is what was learnt. All ranks take part, and rank 0 has the answer.
pub fn measure(
    args: &ReproduceArgs,
    group: &dyn Ranks,
    data: &Data,
    device: &Device,
    objective: Objective,
    rows: &[Row],
) -> Result<Tables> {
    let shards = data.dataset.views();
    let work = Work { args, shards: &shards, objective };
    let (ranks, ranks_as) = work.by_ranks(group)?;
    let leads = group.rank() == 0;
    let times = if leads { work.by_form(device)? } else { Vec::new() };
    let with_quiescence = if leads && args.quiescence { Some(work.with_quiescence()?) } else { None };
    // Ranks that leave early would be missed.
    ranks::agree(group, Ok(()))?;
    Ok(Tables {
        ranks,
        ranks_as,
        times,
        values: rows.last().map_or(args.rule.init, |row| row.values),
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

/// What is measured.
struct Work<'a> {
    args: &'a ReproduceArgs,
    shards: &'a [&'a Shard],
    objective: Objective,
}

impl Work<'_> {
    fn children(&self) -> f64 {
        let children: usize = self.shards.iter().map(|shard| shard.n_children()).sum();
        children as f64 * f64::from(self.args.repeat)
    }

    /// Evaluations of a run: the state after the last update is evaluated too.
    fn evaluations(&self) -> f64 {
        self.children() * 13.0 * f64::from(self.args.table_iterations + 1)
    }

    /// Table 2: the plain form on one thread of the CPU a rank, for 1 rank and more, which share the changed values as in the source.
    fn by_ranks(&self, group: &dyn Ranks) -> Result<(Vec<RankTime>, &'static str)> {
        let (seconds, ranks_as) = match group.size() {
            1 => {
                let time = |size| {
                    let times = Threads::run(size, |ranks| self.as_rank(ranks))?;
                    Ok(times.into_iter().fold(0.0, f64::max))
                };
                ((1..=RANKS).map(time).collect::<Result<Vec<f64>>>()?, "threads of one process")
            }
            all => {
                let time = |size| {
                    let mine = self.as_rank(&Part { group, size })?;
                    Ok(group.gather(&[mine])?.into_iter().fold(0.0, f64::max))
                };
                ((1..=all).map(time).collect::<Result<Vec<f64>>>()?, "processes")
            }
        };
        let alone = seconds.first().copied().unwrap_or(f64::NAN);
        let row = |(ranks, &seconds): (u32, &f64)| RankTime {
            ranks,
            seconds,
            speed_up: alone / seconds,
            ideal: published::ideal(ranks),
            ideal_of_whole: ranks::ideal_speed_up(ranks as usize),
            rate: self.evaluations() / seconds.max(1e-12),
        };
        Ok(((1..).zip(&seconds).map(row).collect(), ranks_as))
    }

    /// One rank's time, from when all are ready.
    fn as_rank(&self, ranks: &dyn Ranks) -> warpplay::Result<f64> {
        let (split, repeat) = (Split::Features, self.args.repeat);
        let mut work = ranks::part(ranks, split, self.shards, |shards| {
            Material::build_repeated(&Device::cpu(), Form::Plain, shards, self.objective, 1, repeat)
        })?;
        let start = Instant::now();
        let (init, iterations) = (&self.args.rule.init, self.args.table_iterations);
        ranks::reproduce(&mut *work, ranks, split, &self.objective, init, iterations, |_| ControlFlow::Continue(()))?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Table 6: the source's way on one core and on all, then every form of the device.
    fn by_form(&self, device: &Device) -> Result<Vec<Time>> {
        let cpu = Device::cpu();
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let mut runs =
            vec![(&cpu, Form::Paper, 1), (&cpu, Form::Paper, all), (&cpu, Form::Plain, 1), (&cpu, Form::Plain, all)];
        runs.push((&cpu, Form::Histogram, 1));
        if device.backend() == Backend::Cuda {
            runs.extend(Form::ALL.iter().map(|&form| (device, form, 0)));
        }
        let mut times = Vec::new();
        for (device, form, threads) in runs {
            if crate::common::interrupted() {
                break;
            }
            let mut material =
                Material::build_repeated(device, form, self.shards, self.objective, threads, self.args.repeat)?;
            // The first run on a device loads what it needs.
            if device.backend() != Backend::Cpu {
                material.run(self.args.rule.init, 0)?;
            }
            let start = Instant::now();
            material.run(self.args.rule.init, self.args.table_iterations)?;
            times.push(Time {
                form: form.to_string(),
                device: device.to_string(),
                threads,
                iterations: self.args.table_iterations,
                evaluations: self.evaluations(),
                seconds: start.elapsed().as_secs_f64(),
            });
        }
        Ok(times)
    }

    /// The values of Table 7 where every child is the quiet position behind it.
    fn with_quiescence(&self) -> Result<Values> {
        let mut values = self.args.rule.init;
        let mut objective = self.objective;
        let mut done = 0;
        while done < self.args.iterations && !crate::common::interrupted() {
            let evaluator = Evaluator::new(FeatureSet::Material, FeatureSet::Material.weights_of(&values))?;
            let leaves = self
                .shards
                .iter()
                .map(|shard| Ok(quiescence::rebuild(shard, &evaluator, &quiescence::Options::default())?.shard))
                .collect::<Result<Vec<Shard>>>()?;
            let lent: Vec<&Shard> = leaves.iter().collect();
            let n = self.args.quiescence_every.min(self.args.iterations - done);
            let rows = Material::build(&Device::cpu(), Form::Histogram, &lent, objective, 0)?.run(values, n)?;
            if let Some(last) = rows.last() {
                values = last.values;
                objective.h = last.h;
            }
            done += n;
        }
        Ok(values)
    }
}

/// The first ranks of a group, as a group; the others wait, and take part in every exchange with nothing.
struct Part<'a> {
    group: &'a dyn Ranks,
    size: usize,
}

impl Ranks for Part<'_> {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, values: &mut [i64]) -> warpplay::Result<()> {
        self.group.sum(values)
    }

    fn gather(&self, values: &[f64]) -> warpplay::Result<Vec<f64>> {
        self.group.gather(values)
    }

    fn gather_bytes(&self, bytes: &[u8]) -> warpplay::Result<Vec<Vec<u8>>> {
        self.group.gather_bytes(bytes)
    }

    fn abort(&self, reason: &str) {
        self.group.abort(reason);
    }
}

impl Tables {
    /// The tables as text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "\nTable 2  ranks ({}) that share the changed values, the plain form on one core each\n",
            self.ranks_as
        );
        let ranks = self.ranks.iter().map(|row| {
            vec![
                row.ranks.to_string(),
                seconds(row.seconds),
                thousands(row.rate as u64),
                format!("{:.2}", row.speed_up),
                format!("{:.2}", row.ideal),
                format!("{:.2}", row.ideal_of_whole),
                if row.ranks == published::MPI.0 { format!("{:.2}", published::MPI.1) } else { String::new() },
            ]
        });
        let head = ["ranks", "time", "positions/s", "speed-up", "(L+1)/(L/P+1)", "of whole values", "source"];
        text += &grid(&head, &ranks.collect::<Vec<_>>());
        text += "\nTable 6  CPU and GPU\n";
        let first = self.times.first().map_or(f64::NAN, Time::rate);
        let mut rows: Vec<Vec<String>> = self
            .times
            .iter()
            .map(|time| {
                let place = match time.threads {
                    0 => time.device.clone(),
                    1 => format!("{}, 1 core", time.device),
                    n => format!("{}, {n} cores", time.device),
                };
                let whole = published::EVALUATIONS / time.rate();
                vec![
                    time.form.clone(),
                    place,
                    seconds(time.seconds),
                    thousands(time.rate() as u64),
                    format!("{:.2}", time.rate() / first),
                    seconds(whole),
                ]
            })
            .collect();
        for (place, whole) in [("one core", published::CPU_SECONDS), (published::GPU, published::GPU_SECONDS)] {
            rows.push(vec![
                "the source's".into(),
                place.into(),
                seconds(whole),
                thousands((published::EVALUATIONS / whole) as u64),
                format!("{:.2}", published::CPU_SECONDS / whole),
                seconds(whole),
            ]);
        }
        text += &grid(&["form", "where", "time", "positions/s", "ratio", "6.3 M x 50 x 13"], &rows);
        text += "\nTable 7  values\n";
        let mut columns = vec![("learnt".to_string(), self.values)];
        columns.extend(self.values_with_quiescence.map(|values| ("with quiescence".to_string(), values)));
        text + &of_values(&columns)
    }
}
