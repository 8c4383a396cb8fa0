//! The solver of one spot: runs in steps, measures, stops at a target, saves and resumes.

mod builder;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub use builder::SpotSolverBuilder;

use super::aggregate::BoardValues;
use super::aggregate::values::decisions;
use super::file::Spot;
use super::report::{FirstNode, Run, SpotReport, first_street};
use super::saved::{self, Head, SpotForm};
use super::solved::SolvedSpot;
use super::target::SpotTarget;
use crate::cfr::dispatch::Plan;
use crate::cfr::engines::Solve;
use crate::cfr::engines::cpu::{Evaluator, Play};
use crate::cfr::game::betting::BettingTree;
use crate::cfr::layout::{Measured, Table, Values, VectorGame};
use crate::cfr::options::Options;
use crate::runtime::keep::Keep;
use crate::runtime::pace::Pace;
use crate::{Device, Error, Memory, Progress, Result};

/// First iteration after which a solve with a target is measured; each later measurement comes after a tenth more iterations.
const FIRST_MEASUREMENT: u64 = 10;

/// A solve of one spot, which can be run in steps, inspected, saved and resumed.
///
/// ```
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::cfr::spot::{SolvedSpot, Spot, SpotForm, SpotSolver, SpotTarget};
///
/// let spot = Spot::parse(
///     r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s",
///         "ranges": ["AA,65s", "QQ"]}"#,
/// )?;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("river.spot");
/// let mut solver = SpotSolver::builder(&spot).target(SpotTarget::PartOfPot(0.005)).build(&Device::cpu())?;
/// let chips = solver.run(|_| ControlFlow::Continue(()))?;
/// assert!(chips <= 0.5);
/// solver.save(&path, SpotForm::Full)?;
///
/// // Queried: after the bet, QQ calls about half the time.
/// let solved = SolvedSpot::open(&path)?;
/// let answer = solved.root().child("r100")?;
/// assert_eq!((answer.seat(), answer.actions()), (Some(1), vec!["f".to_string(), "c".to_string()]));
/// assert!((answer.strategy("QsQh")?[1] - 0.5).abs() < 0.1);
///
/// // Resumed, to a closer target.
/// let mut solver = SpotSolver::resume(&path)?.target(SpotTarget::PartOfPot(0.001)).build(&Device::cpu())?;
/// assert!(solver.run(|_| ControlFlow::Continue(()))? <= 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An engine on a device gives the same bits every time, however the iterations are divided among calls; a solve that is saved and resumed by the same engine gives the same bits, too.
pub struct SpotSolver {
    device: Device,
    spot: Arc<Spot>,
    options: Options,
    plan: Plan,
    game: Arc<VectorGame>,
    tree: Arc<BettingTree>,
    engine: Box<dyn Solve>,
    iteration: u64,
    seconds: f64,
    trajectory: BTreeMap<u64, f64>,
    /// What was measured last, and after which iteration.
    measured: Option<(u64, Measured)>,
    measure_at: Vec<u64>,
    target: Option<SpotTarget>,
    form: SpotForm,
    keep: Keep,
    /// Iterations, measurements and form of the file written last.
    kept: Option<(u64, usize, SpotForm)>,
}

impl std::fmt::Debug for SpotSolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpotSolver")
            .field("device", &self.device)
            .field("plan", &self.plan)
            .field("options", &self.options)
            .field("iteration", &self.iteration)
            .finish_non_exhaustive()
    }
}

impl SpotSolver {
    /// Iterates until the [`target`](SpotSolverBuilder::target) is reached or a total of [`iterations`](SpotSolverBuilder::iterations) is done, and returns the exploitability then, in
    /// chips. Calls `watch` about ten times a second, and with every measurement but that after an early stop; if it returns `Break`, the solver stops early and can be run again.
    ///
    /// The exploitability is measured after the iterations of [`measure_at`](SpotSolverBuilder::measure_at) and at the end; with a target also after 10, 20 and so on; from 100
    /// iterations on, each time after a tenth more. The [`checkpoint`](SpotSolverBuilder::checkpoint) is written at the end too. One that cannot be written before the end is logged as an
    /// error and tried again after the same time; the run goes on.
    ///
    /// # Errors
    /// Errors of the device, after which the solver is unusable; [`Error::File`] if the checkpoint cannot be written at the end. The solver then has its results all the same, and can save
    /// them elsewhere.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<f64>) -> ControlFlow<()>) -> Result<f64> {
        let (began, limit) = (Instant::now(), self.options.iterations);
        self.keep.begin();
        let mut pace = Pace::new();
        while !self.is_finished() {
            let stop = self.next_measurement();
            let now = pace.next(stop - self.iteration);
            let start = Instant::now();
            self.engine.run(now)?;
            let seconds = start.elapsed().as_secs_f64();
            self.seconds += seconds;
            self.iteration += u64::from(now);
            let latest = if self.iteration == stop { Some(self.measure()?) } else { None };
            let (steps, n_steps, elapsed) = (self.iteration, Some(limit), began.elapsed());
            let go_on = watch(&Progress { steps, n_steps, elapsed, time_limit: None, latest }).is_continue();
            if !go_on {
                break;
            }
            if self.keep.is_due() {
                self.keep_if_possible()?;
            }
            pace.took(now, seconds);
        }
        let chips = self.measure()?;
        self.keep_state(if self.is_finished() { self.form } else { SpotForm::Full })?;
        Ok(chips)
    }

    /// Whether all iterations are done, or the target is reached.
    pub fn is_finished(&self) -> bool {
        self.is_target_reached() || self.iteration >= self.options.iterations
    }

    /// Whether the exploitability was measured after the last iteration, and is at most the target, if there is one.
    pub fn is_target_reached(&self) -> bool {
        let chips = self.trajectory.get(&self.iteration);
        chips.zip(self.target).is_some_and(|(chips, target)| *chips <= target.chips(self.spot.pot))
    }

    /// The iteration after which the next measurement is due: the same whether or not the solve was resumed.
    fn next_measurement(&self) -> u64 {
        let limit = self.options.iterations;
        let mut next = self.measure_at.iter().copied().filter(|&at| at > self.iteration).min().unwrap_or(limit);
        if self.target.is_some() {
            let mut at = FIRST_MEASUREMENT;
            while at <= self.iteration {
                at = at.saturating_add(FIRST_MEASUREMENT.max(at / 10));
            }
            next = next.min(at);
        }
        next.min(limit)
    }

    /// Measures the exploitability of the average strategies now, in chips (half the sum of both players' possible gains), and adds it to the trajectory.
    ///
    /// # Errors
    /// Errors of the device. The checkpoint is written before the error is returned; a failure to write it is not reported.
    pub fn measure(&mut self) -> Result<f64> {
        if let Some(&chips) = self.trajectory.get(&self.iteration) {
            return Ok(chips);
        }
        let measured = self.engine.measure().inspect_err(|_| {
            // The caller gets the error of the measurement, even if the file cannot be written.
            let _ = self.keep_state(SpotForm::Full);
        });
        let measured = measured?;
        let chips = measured.nash_conv() / 2.0;
        self.measured = Some((self.iteration, measured));
        self.trajectory.insert(self.iteration, chips);
        Ok(chips)
    }

    /// Writes the file if one was given; a full disk or a lost folder does not end the run.
    fn keep_if_possible(&mut self) -> Result<()> {
        match self.keep_state(SpotForm::Full) {
            Err(error @ Error::File { .. }) => {
                tracing::error!("{error}; the solve goes on, and tries to save again");
                self.keep.begin();
                Ok(())
            }
            kept => kept,
        }
    }

    /// Writes the file if one was given that does not hold this state already.
    fn keep_state(&mut self, form: SpotForm) -> Result<()> {
        let now = Some((self.iteration, self.trajectory.len(), form));
        if self.kept == now {
            return Ok(());
        }
        if let Some(path) = self.keep.path.clone() {
            self.save(&path, form)?;
            self.keep.begin();
            self.kept = now;
        }
        Ok(())
    }

    /// Writes the solve to a new file beside `path`, syncs that file, and then renames it to `path`. [`SolvedSpot::open`] reads it; a solve can be
    /// [resumed](Self::resume) from form `full`.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; an existing file is unchanged. Errors of the device.
    pub fn save(&mut self, path: impl AsRef<Path>, form: SpotForm) -> Result<()> {
        let head = self.head(form)?;
        let Self { engine, game, .. } = self;
        saved::write(path.as_ref(), &head, game, |table, seat| engine.table(table, seat))
    }

    fn head(&mut self, form: SpotForm) -> Result<Head> {
        Ok(Head {
            spot: Spot::clone(&self.spot),
            form,
            layout: self.plan.layout.fingerprint(),
            engine: self.plan.engine(),
            device: self.device.to_string(),
            options: self.options,
            target: self.target,
            iteration: self.iteration,
            seconds: self.seconds,
            trajectory: self.trajectory.clone(),
            utilities: self.engine.utilities()?,
            // What only a solve that goes on needs.
            random: if form == SpotForm::Full { self.engine.random()? } else { Vec::new() },
        })
    }

    /// The current average strategies, to be read node by node without a file.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn solved(&mut self) -> Result<SolvedSpot> {
        let averages = [self.engine.table(Table::Averages, 0)?, self.engine.table(Table::Averages, 1)?];
        SolvedSpot::in_memory(self.head(SpotForm::Full)?, self.plan.layout.clone(), averages)
    }

    /// The values and frequencies of a board: what [`report`](Self::report) says, without its hands. Values are those that the engine measures, on its device.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn board_values(&mut self) -> Result<BoardValues> {
        let measured = match self.measured.clone().filter(|(iteration, _)| *iteration == self.iteration) {
            Some((_, measured)) => measured,
            None => self.engine.measure()?,
        };
        let game = &self.game;
        let first = [self.engine.first_street(0)?, self.engine.first_street(1)?];
        let nodes = first_street(game, &self.tree);
        let strategy =
            |node: &FirstNode| game.average(&first[node.seat], node.seat, 0, 0, node.slot, node.actions.len());
        let strategies: BTreeMap<&str, Vec<Vec<f64>>> =
            nodes.iter().map(|node| (&*node.history, strategy(node))).collect();
        let played = |_: usize, history: &str, action: usize| {
            strategies.get(history).and_then(|strategy| strategy.get(action)).cloned().unwrap_or_default()
        };
        let hands = [0, 1]
            .map(|seat| game.hands[seat].iter().copied().zip(game.weights[seat].iter().copied()).collect::<Vec<_>>());
        let actions = nodes.iter().map(|node| (node.history.clone(), node.actions.clone())).collect();
        let evaluator = Evaluator::new(Arc::clone(game));
        let none = Values::default();
        let equity = [0, 1].map(|seat| evaluator.total(seat, &evaluator.values(seat, Play::Equity, &[&none; 2])));
        Ok(BoardValues {
            ev: [0, 1].map(|seat| measured.values[seat]),
            equity,
            decisions: decisions(&hands, &actions, &played),
            exploitability: Some(measured.nash_conv() / 2.0),
            iterations: self.iteration,
            seconds: self.seconds,
            device: self.device.to_string(),
        })
    }

    /// The report of all hands at the first street's nodes. Values of hands are computed on all cores of the CPU, whatever the device.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn report(&mut self) -> Result<SpotReport> {
        let averages = [self.engine.table(Table::Averages, 0)?, self.engine.table(Table::Averages, 1)?];
        let run = Run {
            trajectory: self.trajectory.clone(),
            iterations: self.iteration,
            seconds: self.seconds,
            device: self.device.to_string(),
            engine: self.plan.engine(),
            options: self.options,
        };
        Ok(SpotReport::new(&self.game, &self.tree, averages.each_ref(), run))
    }

    /// Memory that was requested.
    pub fn memory_needed(&self) -> &Memory {
        self.plan.memory_needed()
    }

    /// Iterations done.
    pub fn iterations(&self) -> u64 {
        self.iteration
    }

    /// Exploitability in chips, by iteration, where it was measured.
    pub fn trajectory(&self) -> &BTreeMap<u64, f64> {
        &self.trajectory
    }

    /// The plan of the solve.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The exploitability at which runs end, if one was given.
    pub fn target(&self) -> Option<SpotTarget> {
        self.target
    }

    /// The spot being solved.
    pub fn spot(&self) -> &Spot {
        &self.spot
    }
}
