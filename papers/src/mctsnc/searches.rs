//! Single searches, each a measurement.

use serde::{Deserialize, Serialize};
use warpplay::mcts::{
    ActionReport, Engine, KernelSet, Notation, Options as SearchOptions, Report, Search, StageMs, StoppedBy,
    TreesReport,
};
use warpplay::{Backend, Device, Progress};

use crate::experiment::{Run, Stop};

/// What a search comes to; a repetition with the same steps comes to the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SearchResult {
    pub steps: u64,
    pub playouts: u64,
    pub best: ActionReport,
    /// All actions; empty where they are not asked for.
    pub actions: Vec<ActionReport>,
    pub trees: TreesReport,
}

/// How long it took, and with which engine: a repetition may use another engine and comes to the same result, so the engine stands with the times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Timed {
    pub engine: Engine,
    pub seconds: f64,
    pub ms: StageMs,
    pub stage_times_from: String,
}

impl SearchResult {
    /// New nodes, in the mean over steps and trees. A leaf that ends the game, or that a full tree refuses, makes none.
    pub fn new_nodes(&self) -> f64 {
        (self.trees.mean_size - 1.0) / self.steps as f64
    }
}

/// Searches a position on the run's device; `key` names it in the journal. `keep_actions`: whether every action is recorded, or the best alone.
pub(super) fn search<G: KernelSet + Notation>(
    run: &mut Run<'_>,
    key: &str,
    position: &G,
    options: &SearchOptions,
    keep_actions: bool,
) -> Result<(SearchResult, Timed), Stop> {
    let device = run.device().clone();
    search_on(run, &device, key, position, options, keep_actions)
}

/// The same on a device that need not be the run's.
pub(super) fn search_on<G: KernelSet + Notation>(
    run: &mut Run<'_>,
    device: &Device,
    key: &str,
    position: &G,
    options: &SearchOptions,
    keep_actions: bool,
) -> Result<(SearchResult, Timed), Stop> {
    run.both(key, |now| {
        let mut options = options.clone();
        if let Some(before) = now.before {
            let before: &SearchResult = before;
            (options.steps, options.seconds) = (Some(before.steps), None);
        }
        let mut search = Search::<G>::builder().options(options).action_names(G::action_name).build(device)?;
        // A few steps first bring up the clocks of a GPU. On a CPU a step of Gomoku takes seconds, and there is nothing to gain.
        if device.backend() == Backend::Cuda {
            let limits = (search.options().steps, search.options().seconds);
            search.set_limits(Some(64), None)?;
            search.run(position, Progress::go_on)?;
            search.set_limits(limits.0, limits.1)?;
        }
        let report = search.run(position, |_| now.go_on())?;
        if report.stopped_by == StoppedBy::Request {
            return Err(Stop::Interrupted);
        }
        let Report { engine, seconds, best, actions, performance, .. } = report;
        let result = SearchResult {
            steps: performance.steps,
            playouts: performance.playouts,
            best,
            actions: if keep_actions { actions } else { Vec::new() },
            trees: performance.trees,
        };
        let timed = Timed { engine, seconds, ms: performance.ms, stage_times_from: performance.stage_times_from };
        Ok((result, timed))
    })
}

/// Steps a second of a search.
pub(super) fn steps_per_second(result: &SearchResult, timed: &Timed) -> f64 {
    result.steps as f64 / timed.seconds.max(1e-9)
}

/// Playouts a second of a search.
pub(super) fn playouts_per_second(result: &SearchResult, timed: &Timed) -> f64 {
    result.playouts as f64 / timed.seconds.max(1e-9)
}
