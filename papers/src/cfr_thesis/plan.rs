//! A game laid out for the programs, and what a program can do.

use std::sync::{Arc, OnceLock};

use warpplay::cfr::engines::walk::{Checksums, Set};
use warpplay::cfr::game::{ACTIONS, Buckets, Sequences, Unordered};
use warpplay::cfr::{BettingTree, GameDef};
use warpplay::{Error, Memory, Precision, Result};
use warpplay_cpu_ref::cfr::sampled;

use super::launch;
use super::options::{Options, Program};

/// Times of the two phases, the mean of some iterations, by level from the root.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Profile {
    /// Strategies and reaches, in milliseconds.
    pub down_ms: Vec<f64>,
    /// Utilities and regrets, in milliseconds.
    pub up_ms: Vec<f64>,
    /// Sequences of each level.
    pub sequences: Vec<u32>,
}

/// What a program can do.
pub(super) trait Running: Send {
    /// Does `n` more iterations, and returns when they are done.
    fn run(&mut self, n: u32) -> Result<()>;
    /// Sum of the root's utilities over all iterations, by seat.
    fn utilities(&self) -> Result<Vec<f64>>;
    fn set(&self, sequence: u32, bucket: u32) -> Result<Set>;
    fn checksums(&self) -> Result<Checksums>;
    /// Copies the lists of the levels to the device again, and returns when they are there; how many arrays they are.
    fn copy_lists(&mut self) -> Result<usize>;
    /// `n` iterations with a look at the clock after every level.
    fn profile(&mut self, n: u32) -> Result<Profile>;
}

/// A game and what a program keeps of it.
pub(super) struct Plan {
    pub game: GameDef,
    pub sequences: Sequences,
    pub buckets: Box<dyn Buckets>,
    pub n_buckets: u32,
    /// The same betting as the programs of the CPU have it, made when the first of them asks.
    plain: OnceLock<Arc<sampled::Sequences>>,
}

impl Plan {
    pub fn of(game: &GameDef) -> Result<Self> {
        if game.n_rounds != 1 {
            return Err(Error::option("numRounds", game.n_rounds, "1: the paper's buckets are those of one round"));
        }
        let sequences = Sequences::of(&BettingTree::new(game)?)?;
        if sequences.has_side_pots() {
            return Err(Error::option(
                "stack",
                "short stacks",
                "stacks that no line of play uses up: the paper knows no side pots",
            ));
        }
        let buckets = Unordered::new(game).ok_or_else(|| {
            Error::option("numHoleCards", game.n_hole_cards, "at most 8 cards of a player and the board")
        })?;
        let n_buckets = buckets.n_buckets(0);
        Ok(Self { game: game.clone(), sequences, n_buckets, buckets: Box::new(buckets), plain: OnceLock::new() })
    }
}

/// Whether a program runs kernels.
pub(super) fn on_gpu(program: Program) -> bool {
    matches!(program, Program::Levels | Program::Graph)
}

impl Plan {
    /// The betting for the programs of the CPU.
    pub fn plain(&self) -> &Arc<sampled::Sequences> {
        self.plain.get_or_init(|| Arc::new(sampled::Sequences::new(&(&self.game).into())))
    }

    /// Bytes that a program needs.
    pub fn memory(&self, options: &Options) -> Memory {
        if on_gpu(options.program) {
            let value = if options.precision == Precision::F64 { 8 } else { 4 };
            return launch::memory(&self.sequences, self.n_buckets, value);
        }
        let (n, seats) = (self.sequences.sequences.len() as u64, self.sequences.n_players as u64);
        let tables = 2 * n * u64::from(self.n_buckets) * ACTIONS as u64 * 8;
        let memory = Memory::default().on_host("regrets and sums of strategies", tables);
        match options.program {
            Program::Iterative => memory.on_host("one iteration", n * (ACTIONS as u64 + 2 * seats) * 8),
            _ => memory,
        }
    }
}
