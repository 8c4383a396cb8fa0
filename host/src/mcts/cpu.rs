//! The CPU back end: the plain search of `warpplay-cpu-ref` on a device game.

use std::time::Instant;

use warpplay_cpu_ref::mcts as reference;
use warpplay_gpu::mcts::game::MAX_PLAYOUT_WORDS;
use warpplay_gpu::mcts::{Draw, Game, Outcome, Scratch};

/// A device game as the CPU reference takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapted<G>(pub G);

/// A reference stream as a device game draws from it.
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

/// What the CPU back end needs beside the reference's own parameters.
pub(super) struct CpuSearch {
    /// `None`: the caller's pool of threads; one thread: the sequential form.
    pub pool: Option<rayon::ThreadPool>,
    pub sequential: bool,
    pub params: reference::Params,
}

impl CpuSearch {
    /// Steps `position` while `goes_on(steps)`; returns the statistics, the time of each stage, and that of the reductions in milliseconds.
    pub fn run<G: Game>(
        &self,
        position: &G,
        mut goes_on: impl FnMut(u64) -> bool + Send,
    ) -> (reference::Statistics, reference::StageTimes, f64) {
        let mut search = reference::Search::new(self.params, Adapted(*position));
        let mut steps = 0;
        let mut run = || {
            while goes_on(steps) {
                if self.sequential {
                    search.step()
                } else {
                    search.step_parallel()
                }
                steps += 1;
            }
        };
        match &self.pool {
            Some(pool) => pool.install(run),
            None => run(),
        }
        let start = Instant::now();
        let statistics = search.statistics();
        (statistics, search.stage_times(), start.elapsed().as_secs_f64() * 1e3)
    }
}
