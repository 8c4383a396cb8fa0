//! Published figures beside ours.

use std::fmt;

use serde::Serialize;
use warpplay::mcts::Engine;

use super::options::Options;
use super::published::{GameId, Published};

/// What one search of ours reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// What ran it.
    pub engine: Engine,
    /// Steps a second.
    pub steps_per_second: f64,
    /// Playouts a second.
    pub playouts_per_second: f64,
    /// Mean depth of the trees' nodes.
    pub mean_depth: f64,
    /// Their largest depth.
    pub max_depth: u32,
    /// Time of the search.
    pub seconds: f64,
}

/// One setting of the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// As published.
    pub published: Published,
    /// As measured.
    pub ours: Measured,
}

/// All settings, as far as they were measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Where it was measured.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// Seed of the searches.
    pub seed: u64,
    /// How it was measured.
    pub options: Options,
    /// Time of all of it.
    pub seconds: f64,
    /// A row a setting.
    pub rows: Vec<Row>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "MCTS-NC, Tables 2 and 3: published (NVIDIA GRID A100, means over games) and ours (empty board, {}, {}, seed {})",
            self.device, self.device_name, self.seed
        )?;
        writeln!(
            f,
            "{:<9} {:<13} {:>2} {:>4} {:>11} {:>11} {:>7} {:>11} {:>11} {:>7} {:>14} {:>14}",
            "game",
            "variant",
            "T",
            "m",
            "steps/s",
            "published",
            "ratio",
            "playouts/s",
            "published",
            "ratio",
            "depth mean/max",
            "published"
        )?;
        for Row { published, ours } in &self.rows {
            let game = match published.game {
                GameId::Connect4 => "connect4",
                GameId::Gomoku => "gomoku",
            };
            let (steps, playouts) = (published.steps_per_second(), published.playouts_per_second());
            writeln!(
                f,
                "{game:<9} {:<13} {:>2} {:>4} {:>11.1} {steps:>11.1} {:>7.2} {:>11.3e} {playouts:>11.3e} {:>7.2} {:>14} {:>14}",
                published.variant,
                published.n_trees,
                published.n_playouts,
                ours.steps_per_second,
                ours.steps_per_second / steps,
                ours.playouts_per_second,
                ours.playouts_per_second / playouts,
                format!("{:.2} / {}", ours.mean_depth, ours.max_depth),
                format!("{:.2} / {:.2}", published.mean_depth, published.max_depth),
            )?;
        }
        write!(f, "{:.1} s in all", self.seconds)
    }
}
