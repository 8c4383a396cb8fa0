//! A game laid out for the programs, and what a program can do.

use warpplay::cfr::engines::walk::{Checksums, Set};
use warpplay::cfr::game::{Buckets, Sequences, Unordered};
use warpplay::cfr::{BettingTree, GameDef};
use warpplay::{Error, Memory, Precision, Result};

use super::launch;
use super::options::{Options, Program};

/// Times of the two phases, the mean of some iterations, by level from the root.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
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
    /// `n` iterations with a look at the clock after every level.
    fn profile(&mut self, n: u32) -> Result<Profile>;
}

/// A game and what a program keeps of it.
pub(super) struct Plan {
    pub game: GameDef,
    pub sequences: Sequences,
    pub buckets: Box<dyn Buckets>,
    pub n_buckets: u32,
}

impl Plan {
    pub fn of(game: &GameDef) -> Result<Self> {
        if game.n_rounds != 1 {
            return Err(Error::option(
                "numRounds",
                game.n_rounds,
                "1: the dissertation's buckets are those of one round",
            ));
        }
        let sequences = Sequences::of(&BettingTree::new(game)?)?;
        if sequences.has_side_pots() {
            return Err(Error::option(
                "stack",
                "short stacks",
                "stacks that no line of play uses up: the dissertation knows no side pots",
            ));
        }
        let buckets = Unordered::new(game).ok_or_else(|| {
            Error::option("numHoleCards", game.n_hole_cards, "at most 8 cards of a player and the board")
        })?;
        let n_buckets = buckets.n_buckets(0);
        Ok(Self { game: game.clone(), sequences, n_buckets, buckets: Box::new(buckets) })
    }
}

/// Whether a program runs kernels.
pub(super) fn on_gpu(program: Program) -> bool {
    matches!(program, Program::Levels | Program::Graph)
}

impl Plan {
    /// Bytes that a program needs.
    pub fn memory(&self, options: &Options) -> Memory {
        let value = if on_gpu(options.program) && options.precision == Precision::F32 { 4 } else { 8 };
        launch::memory(&self.sequences, self.n_buckets, value)
    }
}
