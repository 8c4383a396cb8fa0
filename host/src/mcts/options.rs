//! The options of a search, and what is allowed.

use serde::{Deserialize, Serialize};
use warpplay_gpu::mcts::Game;
use warpplay_gpu::mcts::game::{MAX_ACTIONS, MAX_BOARD_SIDE, MAX_EXTRA_INFO_BYTES, MAX_PLAYOUT_WORDS};

use crate::runtime::named::named;
use crate::runtime::threads;
use crate::{Error, Result};

/// Most trees of a search.
pub const MAX_TREES: u32 = 512;
/// Most playouts of a child in one step.
pub const MAX_PLAYOUTS: u32 = 512;
/// Most nodes of one tree, as in the paper's program.
pub const MAX_TREE_SIZE: u64 = 1 << 24;

named! {
    /// Which children are played out, and how blocks are assigned to them.
    Variant, "variant":
    /// One child, drawn at random; exactly as many blocks as children.
    OcpThrifty = "ocp_thrifty",
    /// One child, drawn at random; a block for every tree and action.
    OcpProdigal = "ocp_prodigal",
    /// All children; exactly as many blocks as children.
    AcpThrifty = "acp_thrifty",
    /// All children; a block for every tree and action.
    AcpProdigal = "acp_prodigal",
}

impl Variant {
    /// Whether all children of the expanded leaf are played out.
    pub const fn plays_all_children(self) -> bool {
        matches!(self, Self::AcpThrifty | Self::AcpProdigal)
    }

    /// Whether the host sizes launches by the number of children actually expanded.
    pub const fn is_thrifty(self) -> bool {
        matches!(self, Self::OcpThrifty | Self::AcpThrifty)
    }
}

named! {
    /// What runs a search, and how its kernels are launched. All engines give the same results.
    ///
    /// While `tracing` is enabled at level debug, [`Engine::Stages`] runs every search on a device with kernels and waits for each kernel to measure its time, which is much
    /// slower.
    #[derive(Default)]
    Engine, "engine":
    /// The fastest: [`Engine::Cpu`] on the CPU back end, else [`Engine::Graph`] for prodigal variants and [`Engine::Stages`] for thrifty ones.
    #[default]
    Auto = "auto",
    /// Two kernels a step, many steps in one CUDA graph; prodigal variants only.
    Graph = "graph",
    /// A kernel for each stage, as in the paper, many steps in one CUDA graph; prodigal variants only.
    StageGraph = "stage_graph",
    /// A kernel for each stage, launched one by one.
    Stages = "stages",
    /// The plain search of `warpplay-cpu-ref`, for the CPU back end only.
    Cpu = "cpu",
}

/// The options of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Which children are played out and how.
    pub variant: Variant,
    /// Independent trees, T: 1 to 512; default 8.
    pub n_trees: u32,
    /// Playouts of a child in one step, m: a power of two, 1 to 512; default 128.
    pub n_playouts: u32,
    /// Most steps, at least 1; default no limit.
    pub steps: Option<u64>,
    /// Most time in seconds, above 0; default 5. `None`: no limit. One of the two limits must be given.
    pub seconds: Option<f64>,
    /// Exploration constant, C: 0 or more; default 2.
    pub ucb_c: f32,
    /// What a draw is worth, 0 to 1, where a win is 1; default 0.5.
    pub draw_value: f32,
    /// Device memory for all trees in GiB, above 0; default 2.
    pub device_memory_gb: f64,
    /// Seed of all random streams; default 0.
    pub seed: u64,
    /// The engine that runs the search. Reports of version 0.1 lack it.
    #[serde(default)]
    pub engine: Engine,
    /// Threads of the CPU back end, 1 to 1024; `None`: all cores. 1 is the sequential form; other back ends ignore it.
    #[serde(default)]
    pub threads: Option<usize>,
}

impl Default for Options {
    /// The paper's options: 5 seconds, 8 trees, 128 playouts, all children, prodigal, 2 GiB, C = 2, seed 0; a draw is worth half.
    fn default() -> Self {
        Self {
            variant: Variant::AcpProdigal,
            n_trees: 8,
            n_playouts: 128,
            steps: None,
            seconds: Some(5.0),
            ucb_c: 2.0,
            draw_value: 0.5,
            device_memory_gb: 2.0,
            seed: 0,
            engine: Engine::Auto,
            threads: None,
        }
    }
}

impl Options {
    /// Checks everything that depends neither on the game nor on the device.
    ///
    /// # Errors
    /// [`Error::Option`] names the first option that is not allowed.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_TREES).contains(&self.n_trees) {
            return Err(Error::option("n_trees", self.n_trees, format!("1 to {MAX_TREES}")));
        }
        if !self.n_playouts.is_power_of_two() || self.n_playouts > MAX_PLAYOUTS {
            return Err(Error::option("n_playouts", self.n_playouts, format!("a power of two, 1 to {MAX_PLAYOUTS}")));
        }
        if self.steps == Some(0) {
            return Err(Error::option("steps", 0, "at least 1, or no limit"));
        }
        if let Some(seconds) = self.seconds
            && !(seconds.is_finite() && seconds > 0.0)
        {
            return Err(Error::option("seconds", seconds, "a finite number above 0, or no limit"));
        }
        if self.steps.is_none() && self.seconds.is_none() {
            return Err(Error::option("steps", "none", "a limit of steps, of seconds, or both"));
        }
        if !(self.ucb_c.is_finite() && self.ucb_c >= 0.0) {
            return Err(Error::option("ucb_c", self.ucb_c, "a finite number, 0 or more"));
        }
        if !(0.0..=1.0).contains(&self.draw_value) {
            return Err(Error::option("draw_value", self.draw_value, "0 to 1"));
        }
        if !(self.device_memory_gb.is_finite() && self.device_memory_gb > 0.0) {
            return Err(Error::option("device_memory_gb", self.device_memory_gb, "a finite number above 0"));
        }
        threads::check(self.threads)
    }
}

/// Checks the limits of the game itself.
pub(super) fn check_game<G: Game>() -> Result<()> {
    if !(1..=MAX_ACTIONS).contains(&G::MAX_ACTIONS) {
        return Err(Error::option("max actions of the game", G::MAX_ACTIONS, format!("1 to {MAX_ACTIONS}")));
    }
    let (rows, columns) = G::BOARD;
    if !(1..=MAX_BOARD_SIDE).contains(&rows) || !(1..=MAX_BOARD_SIDE).contains(&columns) {
        return Err(Error::option(
            "board of the game",
            format!("{rows} x {columns}"),
            format!("1 x 1 to {MAX_BOARD_SIDE} x {MAX_BOARD_SIDE}"),
        ));
    }
    if G::EXTRA_INFO_BYTES > MAX_EXTRA_INFO_BYTES {
        return Err(Error::option(
            "extra info bytes of the game",
            G::EXTRA_INFO_BYTES,
            format!("0 to {MAX_EXTRA_INFO_BYTES}"),
        ));
    }
    if G::PLAYOUT_WORDS > MAX_PLAYOUT_WORDS {
        return Err(Error::option("playout words of the game", G::PLAYOUT_WORDS, format!("0 to {MAX_PLAYOUT_WORDS}")));
    }
    Ok(())
}
