//! The CPU back end: the plain search of `warpplay-cpu-ref` on a device game.

use std::time::{Duration, Instant};

use warpplay_cpu_ref::mcts as reference;
use warpplay_gpu::mcts::game::MAX_PLAYOUT_WORDS;
use warpplay_gpu::mcts::tree::MAX_DEPTH;
use warpplay_gpu::mcts::{Draw, Game, Outcome, Scratch};

use super::Found;
use crate::Result;
use crate::mcts::clock::Clock;
use crate::mcts::options::Options;
use crate::mcts::report::{StageMs, TreesReport};
use crate::runtime::threads::Threads;

/// A device game in the form that the CPU reference takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapted<G>(pub G);

/// A random stream of the reference in the form from which a device game draws.
struct Lane<'a>(&'a mut reference::Stream);

impl Draw for Lane<'_> {
    fn below(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }
}

/// Scratch memory of one playout.
struct Words([u32; MAX_PLAYOUT_WORDS as usize]);

impl Scratch for Words {
    fn get(&self, word: u32) -> u32 {
        self.0[word as usize]
    }

    fn set(&mut self, word: u32, value: u32) {
        self.0[word as usize] = value;
    }
}

fn result(outcome: Outcome) -> Option<reference::GameResult> {
    match outcome {
        Outcome::Ongoing => None,
        Outcome::Draw => Some(reference::GameResult::Draw),
        Outcome::Win(player) => Some(reference::GameResult::Win(player.index())),
    }
}

impl<G: Game> reference::Game for Adapted<G> {
    fn max_actions(&self) -> usize {
        G::MAX_ACTIONS as usize
    }

    fn to_move(&self) -> usize {
        self.0.to_move().index()
    }

    fn is_legal(&self, action: usize) -> bool {
        self.0.is_legal(action as u32)
    }

    fn apply(&mut self, action: usize) {
        self.0.apply(action as u32);
    }

    fn result_after(&self, action: usize) -> Option<reference::GameResult> {
        result(self.0.outcome_after(action as u32))
    }

    fn result(&self) -> Option<reference::GameResult> {
        result(self.0.outcome())
    }

    fn playout(&self, stream: &mut reference::Stream) -> (reference::GameResult, u32) {
        let playout = self.0.playout(&mut Lane(stream), &mut Words([0; MAX_PLAYOUT_WORDS as usize]));
        (result(playout.outcome).unwrap_or(reference::GameResult::Draw), playout.plies)
    }
}

/// The plain search: its parameters and its threads.
pub(in crate::mcts) struct CpuSearch {
    threads: Threads,
    params: reference::Params,
}

impl CpuSearch {
    /// Starts the threads.
    pub fn new(options: &Options, capacity: u32) -> Result<Self> {
        Ok(Self {
            threads: Threads::new(options.threads)?,
            params: reference::Params {
                variant: if options.variant.plays_all_children() {
                    reference::Variant::Acp
                } else {
                    reference::Variant::Ocp
                },
                n_trees: options.n_trees as usize,
                n_playouts: options.n_playouts as usize,
                max_tree_nodes: capacity as usize,
                ucb_c: options.ucb_c,
                draw_value: options.draw_value,
                seed: options.seed,
                max_depth: MAX_DEPTH as usize,
            },
        })
    }

    /// Sets the seed of the next searches.
    pub fn set_seed(&mut self, seed: u64) {
        self.params.seed = seed;
    }

    /// Searches `position` until the clock ends it.
    pub fn search<G: Game>(&self, position: &G, clock: &mut Clock<'_>) -> Found {
        let mut search = reference::Search::new(self.params, Adapted(*position));
        let mut steps = 0;
        self.threads.run(|| {
            while clock.goes_on(steps) {
                if self.threads.is_one() {
                    search.step()
                } else {
                    search.step_parallel()
                }
                steps += 1;
            }
        });
        let start = Instant::now();
        let statistics = search.statistics();
        let stages = search.stage_times();
        let reduce_ms = start.elapsed().as_secs_f64() * 1e3;
        found(&statistics, stages, reduce_ms, clock.total_ms())
    }
}

fn found(statistics: &reference::Statistics, stages: reference::StageTimes, reduce_ms: f64, total_ms: f64) -> Found {
    let mean = |stage: Duration| Some(stage.as_secs_f64() * 1e3 / statistics.steps.max(1) as f64);
    Found {
        steps: statistics.steps,
        n_root: statistics.n_root,
        actions: statistics
            .actions
            .iter()
            .map(|action| [action.action as u64, action.n, action.wins, action.draws, u64::from(action.win_flag)])
            .collect(),
        best: statistics.best as u32,
        ms: StageMs {
            total: total_ms,
            loop_: total_ms - reduce_ms,
            mean_select: mean(stages.select),
            mean_expand: mean(stages.expand),
            mean_playout: mean(stages.playout),
            mean_backup: mean(stages.backup),
            // The reference sums up and chooses in one pass.
            reduce_over_trees: reduce_ms,
            reduce_over_actions: 0.0,
        },
        stage_times_from: "the search itself, by the clock".to_string(),
        trees: TreesReport {
            count: statistics.trees.count as u32,
            mean_depth: statistics.trees.mean_depth,
            max_depth: statistics.trees.max_depth,
            mean_size: statistics.trees.mean_size,
            max_size: statistics.trees.max_size,
            full: statistics.trees.full as u32,
            refused: statistics.trees.refused,
        },
    }
}
