//! The fit: evaluate all thirteen sums, step against the signs, again.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use super::options::{Engine, Options};
use super::report::FitReport;
use crate::shogi::dispatch;
use crate::shogi::engines::fit::{Fit, Run};
use crate::shogi::evaluation::{Evaluation, LEARNT, check_features};
use crate::shogi::objective::{Objective, Row, Values, check_values};
use crate::shogi::report::{SCHEMA, StoppedBy};
use crate::{Device, Error, Memory, Progress, Result};

/// Fits twelve values to the children of shards ([module](super)).
pub struct Material {
    engine: Box<dyn Fit>,
    device: Device,
    options: Options,
    children: u64,
    rows: Vec<Row>,
    /// The evaluation of the last row.
    last: Option<Evaluation>,
    seconds: f64,
    memory: Memory,
}

impl Material {
    pub(super) fn new(engine: Box<dyn Fit>, device: Device, children: u64, options: Options, memory: Memory) -> Self {
        Self { engine, device, options, children, rows: Vec::new(), last: None, seconds: 0.0, memory }
    }

    /// Children, counting those of played moves twice.
    pub fn children(&self) -> u64 {
        self.children
    }

    /// The engine that runs; never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        dispatch::chosen(self.options.engine)
    }

    /// The device that the children are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Memory that was requested.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Sets the total number of steps; a fit that has done fewer continues at the next [`run`](Self::run).
    pub fn set_limit(&mut self, iterations: u32) {
        self.options.iterations = iterations;
    }

    /// Discards the fit; the next run begins with the initial values.
    pub fn restart(&mut self) {
        (self.rows, self.last, self.seconds) = (Vec::new(), None, 0.0);
    }

    /// The objective, and its difference for each value raised by Δ.
    ///
    /// # Errors
    /// [`Error::Option`] for values that are not finite or too large; errors of the back end.
    pub fn evaluate(&mut self, values: &Values) -> Result<Evaluation> {
        check_values("values", values)?;
        let run = Run { objective: self.options.objective, values: *values, evaluations: 1, features: 0..LEARNT };
        let (sums, _) = self.first(&run)?;
        Ok(Evaluation { sums, children: self.children })
    }

    /// Σ T in multiples of 2⁻³⁶: at the values, then with each of the values `features` (of 0 to 12) raised. A rank's share of an evaluation.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`Error::Option`] for a range that is not in 0 to 12.
    pub fn evaluate_some(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        check_values("values", values)?;
        check_features(&features)?;
        let run =
            Run { objective: self.options.objective, values: *values, evaluations: 1, features: features.clone() };
        let (sums, _) = self.first(&run)?;
        let wanted = std::iter::once(0).chain(features.map(|feature| feature + 1));
        Ok(wanted.filter_map(|sum| sums.get(sum).copied()).collect())
    }

    fn first(&mut self, run: &Run) -> Result<crate::shogi::engines::fit::Evaluated> {
        let found = self.engine.evaluate(run)?;
        found.first().copied().ok_or_else(|| Error::shape("evaluations", "1 or more", 0))
    }

    /// Fits until the total number of steps is done, or `watch` returns `Break`. There is a row for each state, the first before any step, the last after the last step.
    ///
    /// `watch` receives every row. Engines on a device make all iterations in one launch and call `watch` afterwards; iterations beyond the row that ends the fit are discarded.
    ///
    /// # Errors
    /// Errors of the back end.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<Row>) -> ControlFlow<()>) -> Result<FitReport> {
        let start = Instant::now();
        let before = self.seconds;
        let limit = self.options.iterations;
        let mut stopped_by = StoppedBy::Iterations;
        'all: while self.rows.last().is_none_or(|row| row.iteration < limit) {
            let run = self.next();
            let first = self.rows.last().map_or(0, |row| row.iteration + 1);
            let mut h = run.objective.h;
            for (iteration, (sums, values)) in (first..).zip(self.engine.evaluate(&run)?) {
                let evaluation = Evaluation { sums, children: self.children };
                let row = evaluation.row(iteration, values, h);
                h *= self.options.objective.factor;
                let progress = Progress {
                    steps: iteration.into(),
                    n_steps: Some(limit.into()),
                    elapsed: start.elapsed(),
                    time_limit: None,
                    latest: Some(row.clone()),
                };
                self.rows.push(row);
                self.last = Some(evaluation);
                if watch(&progress).is_break() && iteration < limit {
                    stopped_by = StoppedBy::Request;
                    break 'all;
                }
            }
        }
        self.seconds = before + start.elapsed().as_secs_f64();
        Ok(self.report(stopped_by))
    }

    /// The remaining evaluations.
    fn next(&self) -> Run {
        let Options { objective, init, iterations, .. } = &self.options;
        let (mut values, mut h, mut done) = (*init, objective.h, 0);
        if let (Some(row), Some(last)) = (self.rows.last(), &self.last) {
            (values, h, done) = (row.values, row.h, row.iteration + 1);
            last.step(&mut values, h);
            h *= objective.factor;
        }
        let evaluations = iterations.saturating_sub(done).saturating_add(1);
        Run { objective: Objective { h, ..*objective }, values, evaluations, features: 0..LEARNT }
    }

    /// The report on the fit so far.
    pub fn report(&self, stopped_by: StoppedBy) -> FitReport {
        FitReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            engine: self.engine(),
            children: self.children,
            stopped_by,
            seconds: self.seconds,
            rows: self.rows.clone(),
            options: self.options.clone(),
        }
    }

    /// The analytic gradient `∂J/∂v`, for [`Engine::Histogram`] only.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other engines; as [`evaluate`](Self::evaluate).
    pub fn gradient(&mut self, values: &Values) -> Result<Values> {
        check_values("values", values)?;
        let gradient = self.engine.gradient(&self.options.objective, values)?;
        gradient.ok_or_else(|| Error::Unsupported {
            what: format!("the gradient of engine {}", self.engine()),
            backend: self.device.backend().to_string(),
            remedy: "use engine histogram".to_string(),
        })
    }
}

impl std::fmt::Debug for Material {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { device, options, children, rows, .. } = self;
        let iterations = rows.last().map_or(0, |row| row.iteration);
        f.debug_struct("Material")
            .field("device", device)
            .field("options", options)
            .field("children", children)
            .field("iterations", &iterations)
            .finish_non_exhaustive()
    }
}
