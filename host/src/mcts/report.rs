//! What a search found, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpplay_gpu::cuda::math;
use warpplay_gpu::mcts::select::{mean_value, upper_bound};

use super::options::{Engine, Options};

/// Version of the report's fields. Version 1 does not count full trees.
pub const SCHEMA: u32 = 2;

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// The limit of steps was reached.
    Steps,
    /// The limit of time was reached.
    Seconds,
    /// The caller stopped it; the report holds the results so far.
    Request,
}

/// Everything about one search. `q` and `ucb` are `None` (JSON null) where they are not finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// Name of the game.
    pub game: String,
    /// The moves that led to the position. A search does not know them: the field is empty unless the program sets it, which is necessary for replaying the report from a file.
    pub moves: String,
    /// The options.
    pub options: Options,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// The engine that ran the search. Reports of version 0.1 lack it.
    #[serde(default)]
    pub engine: Engine,
    /// Seed of all random streams.
    pub seed: u64,
    /// Time of the whole search, without the profiling run. Reports of version 0.1 have only `performance.ms.total`.
    #[serde(default)]
    pub seconds: f64,
    /// Why the search ended.
    pub stopped_by: StoppedBy,
    /// The action to play: a proven win, else the action with the most playouts, then the most wins, then the lowest number.
    pub best: ActionReport,
    /// All legal actions, ascending.
    pub actions: Vec<ActionReport>,
    /// How fast it was.
    pub performance: Performance,
}

impl fmt::Display for Report {
    /// Prints what the paper's program prints after a search (its Fig. 6), as a table: a line for each action, the best action, and the performance.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { game, device, device_name, engine, seed, best, .. } = self;
        writeln!(f, "search      {game} on {device} ({device_name}), engine {engine}, seed {seed}")?;
        writeln!(f, "best        {}, action {}", best.name, best.index)?;
        let Performance { steps, steps_per_second, playouts, playouts_per_second, ms, stage_times_from, trees } =
            &self.performance;
        writeln!(f, "steps       {steps}, {steps_per_second:.1} a second")?;
        writeln!(f, "playouts    {playouts}, {playouts_per_second:.0} a second; {} through the roots", best.n_root)?;
        let name_width = self.actions.iter().map(|action| action.name.chars().count()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:>6}  {:<name_width$}  {:>12}  {:>12}  {:>12}  {:>9}  {:>9}",
            "action", "name", "playouts", "wins", "draws", "q", "ucb"
        )?;
        for ActionReport { index, name, n, wins, draws, q, ucb, win_flag, .. } in &self.actions {
            let finite = |x: &Option<f32>| x.map_or("-".to_string(), |x| format!("{x:.6}"));
            let (q, ucb, end) = (finite(q), finite(ucb), if *win_flag { "  wins at once" } else { "" });
            writeln!(f, "{index:>6}  {name:<name_width$}  {n:>12}  {wins:>12}  {draws:>12}  {q:>9}  {ucb:>9}{end}")?;
        }
        writeln!(
            f,
            "time        {:.3} ms: loop {:.3}, reduction over trees {:.3}, over actions {:.3}",
            ms.total, ms.loop_, ms.reduce_over_trees, ms.reduce_over_actions
        )?;
        let mean = |stage: Option<f64>| stage.map_or("-".to_string(), |ms| format!("{ms:.4}"));
        writeln!(
            f,
            "a step      {} ms select, {} expand, {} playout, {} backup ({stage_times_from})",
            mean(ms.mean_select),
            mean(ms.mean_expand),
            mean(ms.mean_playout),
            mean(ms.mean_backup)
        )?;
        write!(
            f,
            "trees       {}: mean depth {:.3}, largest {}; mean size {:.1}, largest {}; {} full, {} expansions refused",
            trees.count, trees.mean_depth, trees.max_depth, trees.mean_size, trees.max_size, trees.full, trees.refused
        )
    }
}

/// Statistics of one action over all trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionReport {
    /// The action.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Playouts through the roots of all trees.
    pub n_root: u64,
    /// Playouts through the action.
    pub n: u64,
    /// Playouts through the action won by the player to move.
    pub wins: u64,
    /// Playouts through the action that were drawn.
    pub draws: u64,
    /// Estimated value, `(wins + draw_value · draws) / n`; `None` where no playout went through the action.
    pub q: Option<f32>,
    /// Upper confidence bound over all trees, `q + C √(ln n_root / n)`: equation (8).
    pub ucb: Option<f32>,
    /// Whether the action wins at once.
    pub win_flag: bool,
}

impl ActionReport {
    /// Lists every field that differs in a repetition: its name and both values.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        differences!(self, now, index, name, n_root, n, wins, draws, q, ucb, win_flag)
    }

    #[allow(clippy::too_many_arguments, reason = "one row of the report")]
    pub(super) fn new(
        options: &Options,
        index: u32,
        name: String,
        n_root: u64,
        n: u64,
        wins: u64,
        draws: u64,
        win_flag: bool,
    ) -> Self {
        let finite = |x: f32| x.is_finite().then_some(x);
        let ln_n_root = math::ln(n_root as f32);
        Self {
            index,
            name,
            n_root,
            n,
            wins,
            draws,
            q: finite(mean_value(n, wins, draws, options.draw_value)),
            ucb: finite(upper_bound(n, wins, draws, ln_n_root, options.ucb_c, options.draw_value)),
            win_flag,
        }
    }
}

/// How fast a search was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Steps done.
    pub steps: u64,
    /// Steps per second of the whole search.
    pub steps_per_second: f64,
    /// Playouts of all trees.
    pub playouts: u64,
    /// Playouts per second of the whole search.
    pub playouts_per_second: f64,
    /// Times in milliseconds.
    pub ms: StageMs,
    /// How the mean times of the stages were measured.
    pub stage_times_from: String,
    /// How large the trees grew.
    pub trees: TreesReport,
}

/// Wall-clock times of a search in milliseconds; the means of the stages are device time per step. `None` if a stage was not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageMs {
    /// From the call to the result, without the profiling run.
    pub total: f64,
    /// All steps.
    #[serde(rename = "loop")]
    pub loop_: f64,
    /// Selection.
    pub mean_select: Option<f64>,
    /// Expansion, both halves.
    pub mean_expand: Option<f64>,
    /// Playouts.
    pub mean_playout: Option<f64>,
    /// Backup, both halves.
    pub mean_backup: Option<f64>,
    /// The sums over the trees.
    pub reduce_over_trees: f64,
    /// The choice of the best action.
    pub reduce_over_actions: f64,
}

/// Mean device time of each stage in a step, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTimes {
    /// Steps measured.
    pub steps: u32,
    /// Selection.
    pub select_ms: f64,
    /// Expansion, both halves.
    pub expand_ms: f64,
    /// Playouts.
    pub playout_ms: f64,
    /// Backup, both halves.
    pub backup_ms: f64,
}

/// How large the trees grew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreesReport {
    /// Number of trees.
    pub count: u32,
    /// Mean depth of all nodes of all trees.
    pub mean_depth: f64,
    /// Depth of the deepest node.
    pub max_depth: u32,
    /// Mean number of nodes.
    pub mean_size: f64,
    /// Largest number of nodes.
    pub max_size: u64,
    /// Number of full trees: at least one leaf could not be expanded for lack of nodes, and was played out itself. A larger [`device_memory_gb`](Options::device_memory_gb)
    /// gives trees more nodes, up to 2²⁴ each. Reports of version 0.1 lack it.
    #[serde(default)]
    pub full: u32,
    /// Expansions refused for that reason, over all trees. Reports of version 0.1 lack it.
    #[serde(default)]
    pub refused: u64,
}
