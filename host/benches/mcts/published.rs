//! Figures of others, on one H200. What the paper itself publishes is in `papers/src/mctsnc`.

use warpplay::mcts::Variant;

/// The two games of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameId {
    Connect4,
    Gomoku,
}

impl GameId {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect4 => "connect4",
            Self::Gomoku => "gomoku",
        }
    }

    /// Legal actions of the empty board.
    pub const fn n_actions(self) -> u64 {
        match self {
            Self::Connect4 => 7,
            Self::Gomoku => 225,
        }
    }
}

/// A search of the empty board, 2 seconds, and what MCTS-NC reaches in it.
pub struct Published {
    pub game: GameId,
    pub variant: Variant,
    pub n_trees: u32,
    pub n_playouts: u32,
    pub steps_per_second: f64,
    pub playouts_per_second: f64,
}

const fn row(
    game: GameId,
    variant: Variant,
    n_trees: u32,
    n_playouts: u32,
    steps_per_second: f64,
    playouts_per_second: f64,
) -> Published {
    Published { game, variant, n_trees, n_playouts, steps_per_second, playouts_per_second }
}

/// MCTS-NC rebuilt on numba-cuda 0.30. Of the range measured for the third row, 1,275 to 1,900 steps/s, the best.
pub const SEARCHES: [Published; 9] = {
    use GameId::{Connect4, Gomoku};
    use Variant::{AcpProdigal, AcpThrifty, OcpProdigal, OcpThrifty};
    [
        row(Connect4, AcpProdigal, 1, 128, 1_875.0, 1.67e6),
        row(Connect4, AcpProdigal, 8, 256, 1_699.0, 2.40e7),
        row(Connect4, OcpProdigal, 8, 256, 1_900.0, 2.6e6),
        row(Connect4, AcpThrifty, 8, 256, 1_087.0, 1.55e7),
        row(Connect4, OcpThrifty, 8, 256, 1_231.0, 2.52e6),
        row(Connect4, AcpProdigal, 512, 512, 89.0, 1.62e8),
        row(Gomoku, AcpProdigal, 8, 256, 75.0, 3.43e7),
        row(Gomoku, AcpThrifty, 64, 256, 12.0, 4.40e7),
        row(Gomoku, OcpProdigal, 8, 256, 571.0, 1.17e6),
    ]
};

/// Steps of a prodigal search for one of the thrifty form, in [`SEARCHES`] of Connect 4 with so many trees and playouts.
pub fn prodigal_to_thrifty(prodigal: Variant, thrifty: Variant, shape: (u32, u32)) -> Option<f64> {
    let rate = |variant| {
        let is =
            |of: &&Published| (of.game, of.variant, (of.n_trees, of.n_playouts)) == (GameId::Connect4, variant, shape);
        SEARCHES.iter().find(is).map(|of| of.steps_per_second)
    };
    Some(rate(prodigal)? / rate(thrifty)?)
}

/// Steps a second of MCTS-NC's vanilla player (Python) on Connect 4.
pub const VANILLA_STEPS: f64 = 2_410.0;

/// How much slower than the best raw kernel the playout stage may be.
pub const STAGE_TO_RAW: f64 = 1.5;

/// Playouts a second of the fastest kernels measured, with their description.
pub const fn ceilings(game: GameId) -> &'static [(&'static str, f64)] {
    match game {
        GameId::Connect4 => &[("one game a thread", 4.8e9), ("a game a lane with restart", 1.05e10)],
        GameId::Gomoku => &[("line words in shared memory", 1.35e9)],
    }
}
