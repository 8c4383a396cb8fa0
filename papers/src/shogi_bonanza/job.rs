//! The paper's job by any engine: the paper's, or one of `warpplay`.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use serde::Serialize;
use warpplay::shogi::material::Material;
use warpplay::shogi::ranks::{Alone, Ranks};
use warpplay::shogi::{Objective, Row, Shard, Values};
use warpplay::{Backend, Device, Progress, Result};

use super::engine::PaperEngine;
use super::part::part;
use super::program::Program;
use super::reproduce::{Reproducible, Split, reproduce};
use warpplay::shogi::material::Engine;

/// What is learnt, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// What holds the children.
    pub engine: PaperEngine,
    /// What is minimised, and by which steps.
    pub objective: Objective,
    /// First values.
    pub init: Values,
    /// Updates.
    pub iterations: u32,
    /// The data are taken as if they were there so many times: the paper had 6.3 million children.
    pub repeat: u32,
    /// Threads of the CPU: 1 is the sequential program, `None` all cores.
    pub threads: Option<usize>,
    /// What is divided among ranks.
    pub split: Split,
}

impl Default for Options {
    /// The paper's numbers, by the histogram.
    fn default() -> Self {
        Self {
            engine: PaperEngine::Warpplay(Engine::Histogram),
            objective: Objective::default(),
            init: [3.0; 12],
            iterations: 50,
            repeat: 1,
            threads: None,
            split: Split::Data,
        }
    }
}

impl Options {
    /// Whether a learning with these options was not ended before its last update.
    pub(super) fn is_whole(&self, rows: &[Row]) -> bool {
        rows.last().is_some_and(|row| row.iteration == self.iterations)
    }
}

/// Children, held by any engine.
pub struct Job {
    work: Work,
}

enum Work {
    Paper(Box<Program>),
    Engine(Box<Material>),
}

impl Job {
    /// Takes over the children of shards.
    ///
    /// # Errors
    /// Those of [`Program::new`] and of [`Material::builder`].
    pub fn new(device: &Device, shards: &[&Shard], options: &Options) -> Result<Self> {
        let Options { engine, objective, init, iterations, repeat, threads, .. } = *options;
        let program =
            |stride| Ok(Work::Paper(Box::new(Program::new(device, shards, objective, stride, repeat, threads)?)));
        let work = match engine {
            PaperEngine::Paper => program(96),
            PaperEngine::Paper95 => program(95),
            PaperEngine::Warpplay(engine) => {
                let builder = Material::builder(shards).engine(engine).objective(objective).init(init);
                let builder = builder.iterations(iterations).repeat(repeat).threads(threads);
                builder.build(device).map(|material| Work::Engine(Box::new(material)))
            }
        };
        Ok(Self { work: work? })
    }

    /// All rows on this rank alone; where the engine makes all iterations in one launch, in one launch. `watch` is asked as by [`reproduce`], by engines of `warpplay` with rows alone.
    ///
    /// # Errors
    /// Those of [`reproduce`], and of [`Material::run`].
    pub fn run(
        &mut self,
        options: &Options,
        mut watch: impl FnMut(Option<&Row>) -> ControlFlow<()>,
    ) -> Result<Vec<Row>> {
        match &mut self.work {
            Work::Engine(material) => {
                material.restart();
                material.set_limit(options.iterations);
                Ok(material.run(|progress: &Progress<Row>| watch(progress.latest.as_ref()))?.rows)
            }
            Work::Paper(_) => {
                let Options { split, objective, init, iterations, .. } = options;
                reproduce(self, &Alone, *split, objective, init, *iterations, watch)
            }
        }
    }
}

impl Reproducible for Job {
    fn sums(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        match &mut self.work {
            Work::Paper(program) => program.sums(values, features),
            Work::Engine(material) => material.evaluate_some(values, features),
        }
    }

    fn sums_while(
        &mut self,
        values: &Values,
        features: Range<usize>,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Vec<i128>>> {
        match &mut self.work {
            Work::Paper(program) => program.sums_while(values, features, go_on),
            Work::Engine(_) if go_on().is_break() => Ok(None),
            Work::Engine(material) => material.evaluate_some(values, features).map(Some),
        }
    }

    fn children(&self) -> u64 {
        match &self.work {
            Work::Paper(program) => program.children(),
            Work::Engine(material) => material.children(),
        }
    }
}

/// Seconds of a learning on this rank alone, from when all positions are there; `None` where `go_on` ended it. With `least` the mean of learnings one after the other, until so many seconds
/// have passed: `go_on`, which may take as long as a short learning, is then asked between them only.
///
/// # Errors
/// Those of [`Job::new`] and of [`Job::run`].
pub(super) fn seconds(
    device: &Device,
    shards: &[&Shard],
    options: &Options,
    least: Option<f64>,
    mut go_on: impl FnMut() -> ControlFlow<()>,
) -> Result<Option<f64>> {
    let mut job = Job::new(device, shards, options)?;
    // The first run on a device loads what it needs.
    if device.backend() != Backend::Cpu {
        job.sums(&options.init, 0..12)?;
    }
    let (start, mut n) = (Instant::now(), 0.0);
    loop {
        let rows = job.run(options, |_| if least.is_none() { go_on() } else { ControlFlow::Continue(()) })?;
        let seconds = start.elapsed().as_secs_f64();
        n += 1.0;
        if !options.is_whole(&rows) {
            return Ok(None);
        }
        if least.is_none_or(|least| seconds >= least) {
            return Ok(Some(seconds / n));
        }
        if go_on().is_break() {
            return Ok(None);
        }
    }
}

/// The paper's learning by all ranks of a group: all rows, the same on every rank. `watch` is asked as by [`reproduce`].
///
/// # Errors
/// Those of [`Job::new`] and of [`reproduce`].
pub fn learn(
    device: &Device,
    ranks: &dyn Ranks,
    shards: &[&Shard],
    options: &Options,
    watch: impl FnMut(Option<&Row>) -> ControlFlow<()>,
) -> Result<Vec<Row>> {
    let one_by_one = device.backend() == Backend::Cpu || !matches!(options.engine, PaperEngine::Warpplay(_));
    if ranks.size() == 1 && !one_by_one {
        return Job::new(device, shards, options)?.run(options, watch);
    }
    let mut work = part(ranks, options.split, shards, |shards| Job::new(device, shards, options))?;
    reproduce(&mut *work, ranks, options.split, &options.objective, &options.init, options.iterations, watch)
}
