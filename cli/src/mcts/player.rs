//! Players of a match: how they are written on the command line, and how they think.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use warpplay::Device;
use warpplay::mcts::{Adapted, Engine, KernelSet, Notation, Options, Search, Variant};
use warpplay_cpu_ref::mcts::vanilla::Vanilla;

use crate::common;
use crate::mcts::check;
use crate::mcts::limits::default_seconds;

/// A player as written on the command line, such as `acp_prodigal,trees=8,seconds=0.2` or `vanilla,seconds=1`.
#[derive(Clone, Debug)]
pub struct PlayerSpec {
    text: String,
    pub kind: Kind,
}

/// What a player is.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// The library's search.
    Search {
        /// Its options; the seed is that of the game.
        #[serde(flatten)]
        options: Options,
        /// As `--device`.
        device: String,
    },
    /// The single-thread search of the CPU reference.
    Vanilla {
        /// Limit of steps, of one playout each.
        steps: Option<u64>,
        /// Limit of time.
        seconds: Option<f64>,
        /// Exploration constant, C.
        ucb_c: f32,
        /// What a draw is worth.
        draw_value: f32,
    },
}

impl fmt::Display for PlayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for PlayerSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_vanilla = name == "vanilla";
        let mut options = Options { seconds: None, ..Options::default() };
        if !is_vanilla {
            options.variant = Variant::from_str(name).map_err(|_| {
                format!(
                    "`{name}` is no player (allowed: ocp_thrifty, ocp_prodigal, acp_thrifty, acp_prodigal, vanilla)"
                )
            })?;
        }
        let mut device = "auto".to_string();
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is no option: it should be NAME=VALUE"))?;
            match key {
                "steps" => options.steps = Some(number(key, value)?),
                "seconds" => options.seconds = Some(number(key, value)?),
                "ucb_c" => options.ucb_c = number(key, value)?,
                "draw_value" => options.draw_value = number(key, value)?,
                "trees" if !is_vanilla => options.n_trees = number(key, value)?,
                "playouts" if !is_vanilla => options.n_playouts = number(key, value)?,
                "memory" if !is_vanilla => options.device_memory_gb = number(key, value)?,
                "threads" if !is_vanilla => options.threads = Some(number(key, value)?),
                "engine" if !is_vanilla => {
                    options.engine = Engine::from_str(value).map_err(|error| error.to_string())?;
                }
                "device" if !is_vanilla => device = value.to_string(),
                _ => {
                    let others = if is_vanilla { "" } else { ", trees, playouts, memory, engine, device, threads" };
                    return Err(format!(
                        "`{key}` is no option of {name} (allowed: steps, seconds, ucb_c, draw_value{others})"
                    ));
                }
            }
        }
        options.seconds = default_seconds(options.steps, options.seconds);
        let kind = if is_vanilla {
            let Options { steps, seconds, ucb_c, draw_value, .. } = options;
            Kind::Vanilla { steps, seconds, ucb_c, draw_value }
        } else {
            Kind::Search { options, device }
        };
        Ok(Self { text: text.to_string(), kind })
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("option {key}: `{value}` is not a number that fits"))
}

impl PlayerSpec {
    /// Checks the options' ranges and opens the device; `None` for a player that needs none.
    ///
    /// # Errors
    /// [`warpplay::Error::Option`] for a value that is not allowed; as [`Device::parse`].
    pub fn open<G: KernelSet + Notation>(&self) -> Result<Option<Device>, warpplay::Error> {
        match &self.kind {
            Kind::Search { options, device, .. } => {
                Search::<G>::builder().options(options.clone()).capacity()?;
                Device::parse(device).map(Some)
            }
            // The same limits as the search's: they are checked by the same rules, with the paper's other options.
            Kind::Vanilla { steps, seconds, ucb_c, draw_value } => {
                let (steps, seconds, ucb_c, draw_value) = (*steps, *seconds, *ucb_c, *draw_value);
                let options = Options { steps, seconds, ucb_c, draw_value, ..Options::default() };
                Search::<G>::builder().options(options).capacity()?;
                Ok(None)
            }
        }
    }
}

/// What a player thought before a move.
#[derive(Clone, Copy, Debug)]
pub struct Thought {
    pub action: u32,
    pub steps: u64,
    pub playouts: u64,
    pub mean_depth: f64,
    pub max_depth: u32,
}

/// A player; [`begin`](Player::begin) gives it the seed of its next game.
pub enum Player<G: KernelSet> {
    Search(Box<Search<G>>),
    Vanilla { steps: Option<u64>, limit: Option<Duration>, ucb_c: f32, draw_value: f32, seed: u64 },
}

impl<G: KernelSet + Notation> Player<G> {
    /// The player, on the device that [`PlayerSpec::open`] gave. A search takes its memory here, once for all its games.
    ///
    /// # Errors
    /// As [`SearchBuilder::build`](warpplay::mcts::SearchBuilder::build).
    pub fn new(spec: &PlayerSpec, device: Option<&Device>) -> Result<Self> {
        match &spec.kind {
            Kind::Search { options, .. } => {
                let builder = Search::builder().options(options.clone()).action_names(G::action_name).profile_steps(0);
                let cpu = Device::cpu();
                Ok(Self::Search(Box::new(builder.build(device.unwrap_or(&cpu))?)))
            }
            Kind::Vanilla { steps, seconds, ucb_c, draw_value } => Ok(Self::Vanilla {
                steps: *steps,
                limit: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
                ucb_c: *ucb_c,
                draw_value: *draw_value,
                seed: 0,
            }),
        }
    }

    /// Begins a game with this seed.
    pub fn begin(&mut self, game_seed: u64) {
        match self {
            Self::Search(search) => search.set_seed(game_seed),
            Self::Vanilla { seed, .. } => *seed = game_seed,
        }
    }

    /// Searches a position in which somebody can move. Ctrl-C ends it early.
    ///
    /// # Errors
    /// As [`Search::run`]; a report that does not hold together.
    pub fn think(&mut self, position: &G) -> Result<Thought> {
        match self {
            Self::Search(search) => {
                let report = search.run(position, |_| common::until_interrupted())?;
                check::report(&report)?;
                Ok(Thought {
                    action: report.best.index,
                    steps: report.performance.steps,
                    playouts: report.performance.playouts,
                    mean_depth: report.performance.trees.mean_depth,
                    max_depth: report.performance.trees.max_depth,
                })
            }
            Self::Vanilla { steps, limit, ucb_c, draw_value, seed } => {
                let mut search = Vanilla::new(Adapted(*position), *ucb_c, *draw_value, *seed);
                search.run(*steps, *limit, &common::interrupted);
                let found = search.statistics();
                Ok(Thought {
                    action: found.best as u32,
                    steps: found.steps,
                    playouts: found.n_root,
                    mean_depth: found.trees.mean_depth,
                    max_depth: found.trees.max_depth,
                })
            }
        }
    }
}
