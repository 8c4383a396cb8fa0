//! The course of learning: evaluate, tell, step.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;

use super::batch::Batches;
use super::checkpoint::{Checkpoint, State};
use super::course::{Best, Course};
use super::lbfgs::{Point, Steps};
use super::leaves::Leaves;
use super::options::{EarlyStopping, Engine, Options};
use super::report::{LearnReport, LearnRow, Measures, Whole};
use super::weights::{Weights, hand, material};
use crate::shogi::loss::Totals;
use crate::shogi::ranks::{agree, expect_same};
use crate::shogi::report::{SCHEMA, StoppedBy};
use crate::shogi::selection::{ColumnCheck, Selection};
use crate::shogi::shard::Shard;
use crate::shogi::update::{MOST, Optimizer, Update};
use crate::{Device, Error, Memory, Progress, Result};

/// Learns an evaluation from games.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::shogi::dataset::Dataset;
/// use warpplay::shogi::learner::Learner;
/// use warpplay::shogi::{FeatureSet, Optimizer};
///
/// let (train, held_out) = Dataset::open("data".as_ref())?.split(0.2)?;
/// let builder = Learner::builder(&train).held_out(&held_out).features(FeatureSet::KingPiece).optimizer(Optimizer::Adam);
/// let mut learner = builder.learning_rate(0.01).iterations(50).build(&Device::auto())?;
/// let report = learner.run(|progress| {
///     if let Some(row) = &progress.latest {
///         println!("{} {:.6}", row.iteration, row.train.j);
///     }
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(report.rows.len(), 51);
/// learner.weights()?.save("kp.safetensors")?;
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Learner<'a> {
    course: Course<'a>,
    leaves: Option<Leaves>,
    /// Number of positions of all ranks that the leaves omit.
    left_out: u64,
    /// The iteration with whose weights the lines were searched, if it was in this run.
    searched: Option<u32>,
    present: Option<Present>,
    /// Measures of the present weights on all positions, with mini-batches.
    whole: Option<Whole>,
    /// Whether a step failed, so that the weights may be partly updated.
    failed: bool,
}

/// The positions of a sum.
#[derive(Clone, Copy)]
enum Which {
    /// The positions of the next step: all training positions, or a mini-batch.
    Step,
    /// All training positions.
    Train,
    /// The held-out positions.
    HeldOut,
}

/// The objective at the present weights. The engine and the point hold its gradient.
struct Present {
    totals: Totals,
    point: Option<Point>,
}

impl<'a> Learner<'a> {
    pub(super) fn new(course: Course<'a>) -> Self {
        Self { course, leaves: None, left_out: 0, searched: None, present: None, whole: None, failed: false }
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.course.options
    }

    /// Steps done.
    pub fn iteration(&self) -> u32 {
        self.course.status.iteration
    }

    /// The device it learns on.
    pub fn device(&self) -> &Device {
        &self.course.device
    }

    /// The engine that learns; never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.course.which
    }

    /// Memory that was requested for weights, gradient and optimiser; positions take additional memory as far as there is room.
    pub fn memory_needed(&self) -> &Memory {
        &self.course.memory
    }

    /// Sets the total number of steps; a course that has done fewer continues at the next [`run`](Self::run).
    pub fn set_limit(&mut self, iterations: u32) {
        self.course.options.iterations = iterations;
    }

    /// The rows so far.
    pub fn rows(&self) -> &[LearnRow] {
        &self.course.status.rows
    }

    /// Learns until the total number of steps (including those before a checkpoint) is done, the objective on held-out positions no longer decreases, or `watch` returns
    /// `Break` on any rank. `watch` is called with every new row, the first before any step, the last after the last one. After a stop, another call of `run` continues.
    ///
    /// # Errors
    /// [`Error::Option`] with the rate if a weight leaves the range; [`Error::Shape`] for so many children that a sum of the gradient may not fit into 64 bits (with
    /// [`batch`](Options::batch), fewer are summed); [`Error::Rank`] if another rank failed; [`Error::File`] if a checkpoint cannot be written; errors of the device; after
    /// any of these, [`Error::Order`].
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<LearnRow>) -> ControlFlow<()>) -> Result<LearnReport> {
        if self.failed {
            let reason = "an earlier step failed: build a new learner, from a checkpoint to keep its results".into();
            return Err(Error::Order { what: "learner", reason });
        }
        let report = self.go_on(&mut watch);
        self.failed = report.is_err();
        report
    }

    fn go_on(&mut self, watch: &mut dyn FnMut(&Progress<LearnRow>) -> ControlFlow<()>) -> Result<LearnReport> {
        let iterations = self.course.options.iterations;
        expect_same(self.course.ranks, "number of iterations", &iterations.to_string())?;
        let begin = Instant::now();
        let mut start = Instant::now();
        let mut seconds = self.course.status.rows.last().map_or(0.0, |row| row.seconds);
        let mut saved = None;
        self.course.keep.begin();
        let stopped_by = loop {
            let mut stop = false;
            if self.course.status.rows.len() <= self.iteration() as usize {
                self.prepare()?;
                let row = self.row(self.iteration() < iterations, seconds + start.elapsed().as_secs_f64())?;
                seconds = row.seconds;
                start = Instant::now();
                self.note_best(&row)?;
                let progress = Progress {
                    steps: row.iteration.into(),
                    n_steps: Some(iterations.into()),
                    elapsed: begin.elapsed(),
                    time_limit: None,
                    latest: Some(row.clone()),
                };
                stop = watch(&progress).is_break();
                self.course.status.rows.push(row);
            }
            // Rank 0's clock is the one that counts.
            let due = self.course.ranks.rank() == 0 && self.course.keep.is_due();
            let mut anyone = [i64::from(stop), i64::from(due)];
            self.course.ranks.sum(&mut anyone)?;
            let [stops, due] = anyone.map(|n| n > 0);
            if due {
                self.keep_state()?;
                saved = Some(self.iteration());
            }
            if self.iteration() >= iterations {
                break StoppedBy::Iterations;
            }
            if self.is_stale() {
                break StoppedBy::EarlyStopping;
            }
            if stops {
                break StoppedBy::Request;
            }
            if !self.step()? {
                break StoppedBy::Converged;
            }
        };
        if self.course.batches.is_some() && self.whole.is_none() {
            let train = Measures::from(&self.totals_of(Which::Train, false)?);
            let held_out = match self.course.has_held_out {
                true => Measures::of(&self.totals_of(Which::HeldOut, false)?),
                false => None,
            };
            self.whole = Some(Whole { train, held_out });
        }
        if self.course.keep.is_wanted() && saved != Some(self.iteration()) {
            self.keep_state()?;
        }
        Ok(self.report(stopped_by))
    }

    /// The report on the learning so far.
    pub fn report(&self, stopped_by: StoppedBy) -> LearnReport {
        let Course { which, device, ranks, options, status, fingerprint, batches, exchange, .. } = &self.course;
        LearnReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            device: device.backend().to_string(),
            device_name: device.name(),
            engine: *which,
            seed: options.seed,
            seconds: status.rows.last().map_or(0.0, |row| row.seconds),
            ranks: ranks.size(),
            n_weights: options.features.len(),
            data_fingerprint: format!("{fingerprint:016x}"),
            stopped_by,
            best_iteration: status.best.as_ref().map(|best| best.iteration),
            steps_per_epoch: batches.as_ref().map(Batches::per_epoch),
            whole: self.whole,
            exchange: (ranks.size() > 1).then_some(*exchange),
            rows: status.rows.clone(),
            options: options.clone(),
        }
    }

    /// The present weights.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn weights(&self) -> Result<Weights> {
        Weights::new(self.course.options.features, self.course.engine.weights()?)
    }

    /// The weights with the lowest objective on held-out positions; `None` without [`Options::early_stopping`], or if the lowest objective precedes a checkpoint written
    /// without it.
    ///
    /// # Errors
    /// None at present: the weights were checked when they were learnt.
    pub fn best_weights(&self) -> Result<Option<Weights>> {
        let features = self.course.options.features;
        self.course.status.best.as_ref().map(|best| Weights::new(features, best.weights.clone())).transpose()
    }

    /// Measures the present weights on other positions; each rank measures the positions given to it, and the result is over all ranks.
    ///
    /// # Errors
    /// [`Error::Shape`] without positions; [`Error::Rank`] if another rank failed; errors of the device.
    pub fn measure(&mut self, shards: &[&Shard]) -> Result<Measures> {
        let whole: Vec<Selection<'_>> = shards.iter().map(|&shard| shard.into()).collect();
        let totals = self.course.totals(&whole, ColumnCheck::Needed, &self.course.options.loss(), false)?;
        // They may be gone before the next pass.
        agree(self.course.ranks, self.course.engine.forget())?;
        if totals.children == 0 {
            return Err(Error::shape("positions to measure on", "1 or more", 0));
        }
        Ok(Measures::from(&totals))
    }

    /// The present state, from which a later run continues as if it had never stopped.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        let Course { engine, options, fingerprint, status, .. } = &self.course;
        let state = State::new(options.clone(), *fingerprint, engine.weights()?, engine.memory()?, status.clone());
        Ok(crate::Checkpoint(state))
    }

    fn keep_state(&mut self) -> Result<()> {
        let ranks = self.course.ranks;
        let written = match ranks.rank() {
            0 => self.checkpoint().and_then(|state| self.course.keep.write(&state)),
            _ => Ok(()),
        };
        agree(ranks, written)
    }

    /// Searches quiet lines, if enabled and due.
    fn prepare(&mut self) -> Result<()> {
        let Some(quiet) = self.course.options.quiet else { return Ok(()) };
        let iteration = self.iteration();
        let due = iteration.is_multiple_of(quiet.every) && self.searched != Some(iteration);
        if due || self.leaves.is_none() {
            let course = &mut self.course;
            if due || course.status.leaf_weights.is_none() {
                course.status.leaf_weights = Some(agree(course.ranks, course.engine.weights())?);
            }
            let weights = course.status.leaf_weights.as_deref().unwrap_or_default();
            // The old ones go first: there is room for one set only.
            agree(course.ranks, course.engine.forget())?;
            self.leaves = None;
            let leaves = Leaves::search(
                course.options.features,
                weights,
                quiet,
                course.options.threads,
                &course.train,
                &course.held_out,
            );
            let leaves = agree(course.ranks, leaves)?;
            let mut left_out = [leaves.left_out as i64];
            course.ranks.sum(&mut left_out)?;
            self.left_out = left_out[0] as u64;
            self.leaves = Some(leaves);
            self.searched = due.then_some(iteration);
            if due {
                // What was remembered belongs to another objective.
                course.status.memory = Steps::default();
                self.present = None;
            }
        }
        Ok(())
    }

    /// Evaluates the present weights, with the gradient if a step follows.
    fn row(&mut self, gradient: bool, seconds_before: f64) -> Result<LearnRow> {
        let start = Instant::now();
        let measures = self.course.batches.as_ref().is_none_or(|batches| batches.begins_epoch(self.iteration()));
        let held_out = match self.course.has_held_out && measures {
            true => Measures::of(&self.totals_of(Which::HeldOut, false)?),
            false => None,
        };
        let totals = match &self.present {
            Some(present) => present.totals,
            None => self.evaluate(gradient)?,
        };
        let course = &self.course;
        if totals.children == 0 && course.batches.is_none() {
            return Err(Error::shape("children that count", "1 or more", 0));
        }
        let values = agree(course.ranks, course.engine.values())?;
        Ok(LearnRow {
            iteration: course.status.iteration,
            train: Measures::from(&totals),
            held_out,
            values: material(&values),
            hand: hand(course.options.features, &values),
            left_out: self.left_out,
            learning_rate: course.options.rate_at(course.status.iteration),
            seconds: seconds_before + start.elapsed().as_secs_f64(),
        })
    }

    /// The objective at the present weights; with `gradient`, the engine then holds the gradient, and [`present`](Self::present) the point.
    fn evaluate(&mut self, gradient: bool) -> Result<Totals> {
        let totals = self.totals_of(Which::Step, gradient)?;
        if gradient {
            let lbfgs = self.course.options.optimizer == Optimizer::Lbfgs;
            let point = if lbfgs { Some(self.course.point(&totals)?) } else { None };
            self.present = Some(Present { totals, point });
        }
        Ok(totals)
    }

    /// Sums over positions of all ranks.
    fn totals_of(&mut self, which: Which, gradient: bool) -> Result<Totals> {
        let Self { course, leaves, .. } = self;
        let iteration = course.status.iteration;
        let lengths: Vec<usize> = course.train.iter().map(|shard| shard.n_parents()).collect();
        let mut loss = course.options.loss();
        let mut lists = match (&mut course.batches, which) {
            // Every rank has all games, and finds the same.
            (Some(batches), Which::Step) => {
                loss.seed = batches.siblings_seed(iteration);
                Some(batches.of(iteration, lengths.into_iter())?)
            }
            _ => None,
        };
        if let (Some(lists), Some(leaves)) = (&mut lists, &*leaves) {
            for (shard, list) in lists.iter_mut().enumerate() {
                *list = leaves.numbers(shard, list);
            }
        }
        // While they are lent, the course is without them.
        let (train, held_out) = (std::mem::take(&mut course.train), std::mem::take(&mut course.held_out));
        let shards: Vec<&Shard> = match (which, &*leaves) {
            (Which::HeldOut, Some(leaves)) => leaves.held_out.iter().collect(),
            (Which::HeldOut, None) => held_out.iter().map(|shard| &**shard).collect(),
            (_, Some(leaves)) => leaves.train.iter().collect(),
            (_, None) => train.iter().map(|shard| &**shard).collect(),
        };
        let parents = |at: usize| lists.as_ref().map(|lists| lists.get(at).map_or(&[][..], Vec::as_slice));
        let part = |(at, shard)| Selection { shard, parents: parents(at) };
        let parts: Vec<Selection<'_>> = shards.into_iter().enumerate().map(part).collect();
        // What this rank learns from was checked when it was built; leaves are new.
        let check = if leaves.is_some() { ColumnCheck::Needed } else { ColumnCheck::Done };
        let totals = course.totals(&parts, check, &loss, gradient);
        (course.train, course.held_out) = (train, held_out);
        totals
    }

    /// One step of the optimiser; `false` if no step lowers the objective.
    fn step(&mut self) -> Result<bool> {
        self.prepare()?;
        if self.present.is_none() {
            self.evaluate(true)?;
        }
        let Some(present) = self.present.take() else { return Ok(false) };
        self.whole = None;
        let course = &mut self.course;
        let options = &course.options;
        let rate = options.rate_at(course.status.iteration);
        match present.point {
            Some(point) => {
                let (history, mut memory) = (options.history as usize, std::mem::take(&mut course.status.memory));
                let found = memory.step(&point, history, rate, &mut |weights| self.trial(weights));
                let course = &mut self.course;
                course.status.memory = memory;
                match (found?, &course.batches) {
                    (Some(found), None) => {
                        agree(course.ranks, course.engine.set_weights(&found.weights))?;
                        self.present = Some(Present { totals: found.totals, point: Some(found) });
                    }
                    // The next step has other positions: what was found on these is of no use there.
                    (Some(found), Some(_)) => agree(course.ranks, course.engine.set_weights(&found.weights))?,
                    // Another mini-batch may have a step that lowers it.
                    (None, Some(_)) => agree(course.ranks, course.engine.set_weights(&point.weights))?,
                    (None, None) => {
                        agree(course.ranks, course.engine.set_weights(&point.weights))?;
                        self.present = Some(Present { totals: present.totals, point: Some(point) });
                        return Ok(false);
                    }
                }
            }
            // A mini-batch whose quiet leaves were all left out moves nothing.
            None if present.totals.children == 0 && course.batches.is_some() => {}
            None => {
                let update = Update {
                    optimizer: options.optimizer,
                    step: course.status.iteration.saturating_add(1),
                    learning_rate: rate as f32,
                    l1: options.l1 as f32,
                    l2: options.l2 as f32,
                    beta1: options.beta1 as f32,
                    beta2: options.beta2 as f32,
                    epsilon: options.epsilon as f32,
                };
                let keep_scale = options.keep_scale;
                agree(course.ranks, course.engine.update(&update, present.totals.children))?;
                if keep_scale {
                    agree(course.ranks, course.rescale())?;
                }
            }
        }
        self.course.status.iteration += 1;
        Ok(true)
    }

    /// The objective at other weights, for the line search; `None` if they are out of range.
    fn trial(&mut self, weights: Vec<f32>) -> Result<Option<Point>> {
        if weights.par_iter().any(|weight| weight.is_nan() || weight.abs() >= MOST) {
            return Ok(None);
        }
        agree(self.course.ranks, self.course.engine.set_weights(&weights))?;
        let totals = self.totals_of(Which::Step, true)?;
        self.course.point(&totals).map(Some)
    }

    fn note_best(&mut self, row: &LearnRow) -> Result<()> {
        let (Some(stopping), Some(held_out)) = (self.course.options.early_stopping, row.held_out) else {
            return Ok(());
        };
        let least = stopping.min_delta;
        if self.course.status.lowest().is_none_or(|(_, j)| held_out.j < j - least) {
            let weights = agree(self.course.ranks, self.course.engine.weights())?;
            self.course.status.best = Some(Best { iteration: row.iteration, j: held_out.j, weights });
        }
        Ok(())
    }

    /// Whether the objective on held-out positions has not decreased for too long.
    fn is_stale(&self) -> bool {
        match (self.course.options.early_stopping, self.course.status.lowest()) {
            (Some(EarlyStopping { patience, .. }), Some((iteration, _))) => {
                // Only a measurement can tell that it no longer falls.
                let measured = self.rows().last().is_some_and(|row| row.held_out.is_some());
                measured && self.iteration() - iteration >= patience
            }
            _ => false,
        }
    }
}

impl std::fmt::Debug for Learner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Learner")
            .field("device", &self.course.device)
            .field("options", &self.course.options)
            .field("iteration", &self.course.status.iteration)
            .finish()
    }
}
