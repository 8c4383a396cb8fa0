//! Players: how they search, and how they are written on the command line.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::Result;
use serde::Serialize;
use warpplay::azero::checkers::Checkers;
use warpplay::azero::player::{Contestant, Estimator, Noise, SearchOptions};
use warpplay::azero::{Engine, EvaluatorOptions, ObservationLayout};
use warpplay::mcts::Search;
use warpplay::{Error, Precision};

use crate::azero::network::{self, RunFlags, WeightsFlags};
use crate::common::{number, once_each};

/// How a search goes; what is not given has the command's own default.
#[derive(clap::Args, Clone, Debug)]
pub struct SearchFlags {
    /// Simulations for each move
    #[arg(long, value_name = "N", default_value_t = SearchOptions::default().simulations, allow_negative_numbers = true)]
    pub simulations: u32,

    /// Simulations evaluated together, 1 to 16
    #[arg(long, value_name = "N", default_value_t = SearchOptions::default().leaves, allow_negative_numbers = true)]
    pub leaves: u32,

    /// Weight of the priors in the PUCT rule
    #[arg(long, value_name = "C", default_value_t = SearchOptions::default().c_puct, allow_negative_numbers = true)]
    pub c_puct: f32,

    /// Search without the network: value 0, all moves equally likely
    #[arg(long)]
    pub uniform: bool,

    /// Search without the network: a leaf's value is the mean of N random games
    #[arg(long, value_name = "N", conflicts_with = "uniform", allow_negative_numbers = true)]
    pub playouts: Option<u32>,

    /// Concentration of the Dirichlet noise at the root [default: none; in selfplay 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub noise_alpha: Option<f64>,

    /// Share of that noise, 0 to 1 [default: 0.25]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub noise_epsilon: Option<f32>,

    /// Temperature of the choice of a move at the beginning of a game
    #[arg(long, value_name = "T", default_value_t = SearchOptions::default().temperature, allow_negative_numbers = true)]
    pub temperature: f32,

    /// Number of actions at the beginning of a game with --temperature [default: 0; in selfplay 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub temperature_plies: Option<u32>,
}

impl SearchFlags {
    /// The options, with `base` for what was not given.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed.
    pub fn options(&self, base: SearchOptions, seed: Option<u64>) -> Result<SearchOptions, Error> {
        let noise = match (self.noise_alpha, self.noise_epsilon) {
            (None, None) => base.noise,
            (alpha, epsilon) => {
                let Noise { alpha: a, epsilon: e } = base.noise.unwrap_or_default();
                Some(Noise { alpha: alpha.unwrap_or(a), epsilon: epsilon.unwrap_or(e) })
            }
        };
        let options = SearchOptions {
            simulations: self.simulations,
            leaves: self.leaves,
            c_puct: self.c_puct,
            noise,
            temperature: self.temperature,
            temperature_plies: self.temperature_plies.unwrap_or(base.temperature_plies),
            seed: seed.unwrap_or(base.seed),
            ..base
        };
        options.check()?;
        Ok(options)
    }

    /// What evaluates leaves: the network, unless it is left out.
    pub fn estimator(&self, weights: &WeightsFlags, run: &RunFlags, quiet: bool) -> Result<Estimator> {
        if self.uniform {
            return Ok(Estimator::Uniform);
        }
        if let Some(n) = self.playouts {
            return Ok(Estimator::Playouts(n));
        }
        let network = weights.load(quiet)?;
        Ok(Estimator::network(network, weights.name()).with_options(run.options()))
    }
}

/// An error about an option of a tree search with random games under the name that it has in a player's text.
fn as_typed(mut error: Error) -> Error {
    if let Error::Option { name, .. } = &mut error {
        *name = match *name {
            "n_trees" => "trees",
            "n_playouts" => "playouts",
            "device_memory_gb" => "memory",
            same => same,
        };
    }
    error
}

/// A player of a match as written on the command line, such as `net.safetensors,simulations=200`.
#[derive(Clone, Debug)]
pub struct ContestantSpec {
    text: String,
    kind: Kind,
}

/// What a player is.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Kind {
    Network {
        #[serde(serialize_with = "as_text")]
        weights: OsString,
        observation: Option<ObservationLayout>,
        precision: Precision,
        engine: Engine,
        options: SearchOptions,
    },
    Uniform {
        options: SearchOptions,
    },
    Playouts {
        playouts: u32,
        options: SearchOptions,
    },
    Mcts {
        options: warpplay::mcts::Options,
    },
    Random,
}

/// Names that are no Unicode are written as near as can be.
fn as_text<S: serde::Serializer>(name: &OsStr, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(&name.display())
}

impl fmt::Display for ContestantSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for ContestantSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.kind.serialize(serializer)
    }
}

impl FromStr for ContestantSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        const PLAYERS: &str = "a player is a network (FILE or seed:N), uniform, playouts, mcts or random";
        if name.is_empty() {
            return Err(PLAYERS.into());
        }
        // An option in the place of the player.
        if name.contains('=') && !Path::new(name).exists() {
            return Err(format!("there is no file `{name}`: {PLAYERS}, and options come after it"));
        }
        let options = SearchOptions::default();
        let mut kind = match name {
            "uniform" => Kind::Uniform { options },
            "playouts" => Kind::Playouts { playouts: 32, options },
            "mcts" => Kind::Mcts {
                options: warpplay::mcts::Options {
                    n_trees: 1,
                    n_playouts: 32,
                    steps: Some(100),
                    seconds: None,
                    ..warpplay::mcts::Options::default()
                },
            },
            "random" => Kind::Random,
            weights => Kind::Network {
                weights: weights.into(),
                observation: None,
                precision: Precision::F32,
                engine: Engine::Auto,
                options,
            },
        };
        for (key, value) in once_each(parts)? {
            kind.set(key, value).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(Self { text: text.to_string(), kind })
    }
}

/// What stands before the first comma, without the white space around it.
#[cfg(unix)]
fn before_comma(argument: &OsStr) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    let name = argument.as_bytes().split(|&byte| byte == b',').next().unwrap_or_default();
    OsStr::from_bytes(name.trim_ascii()).to_os_string()
}

#[cfg(not(unix))]
fn before_comma(argument: &OsStr) -> OsString {
    let text = argument.to_string_lossy();
    text.split(',').next().unwrap_or_default().trim().into()
}

fn parsed<T: FromStr>(key: &str, value: &str) -> Result<T, String>
where
    T::Err: fmt::Display,
{
    value.parse().map_err(|error| format!("option {key}: `{value}`: {error}"))
}

impl Kind {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (&mut *self, key) {
            (Self::Mcts { options }, "steps") => options.steps = Some(number(key, value)?),
            (Self::Mcts { options }, "trees") => options.n_trees = number(key, value)?,
            (Self::Mcts { options }, "playouts") => options.n_playouts = number(key, value)?,
            (Self::Mcts { options }, "seed") => options.seed = number(key, value)?,
            (Self::Playouts { playouts, .. }, "playouts") => *playouts = number(key, value)?,
            (Self::Network { precision, .. }, "precision") => *precision = parsed(key, value)?,
            (Self::Network { engine, .. }, "engine" | "execution") => *engine = parsed(key, value)?,
            (Self::Network { observation, .. }, "observation") => *observation = Some(parsed(key, value)?),
            (Self::Network { options, .. } | Self::Uniform { options } | Self::Playouts { options, .. }, _) => {
                match key {
                    "simulations" => options.simulations = number(key, value)?,
                    "leaves" => options.leaves = number(key, value)?,
                    "c_puct" => options.c_puct = number(key, value)?,
                    "temperature" => options.temperature = number(key, value)?,
                    "temperature_plies" => options.temperature_plies = number(key, value)?,
                    "seed" => options.seed = number(key, value)?,
                    _ => return Err(self.unknown(key)),
                }
            }
            _ => return Err(self.unknown(key)),
        }
        Ok(())
    }

    fn unknown(&self, key: &str) -> String {
        const SEARCH: &str = "simulations, leaves, c_puct, temperature, temperature_plies, seed";
        let allowed = match self {
            Self::Network { .. } => format!("{SEARCH}, precision, engine, observation"),
            Self::Uniform { .. } => SEARCH.to_string(),
            Self::Playouts { .. } => format!("{SEARCH}, playouts"),
            Self::Mcts { .. } => "steps, trees, playouts, seed".to_string(),
            Self::Random => "none".to_string(),
        };
        format!("`{key}` is not an option of this player (allowed: {allowed})")
    }
}

impl ContestantSpec {
    /// From an argument, in which the name of a file may be no text.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn of_argument(argument: OsString) -> Result<Self, String> {
        let mut spec: Self = argument.to_string_lossy().parse()?;
        if let Kind::Network { weights, .. } = &mut spec.kind {
            *weights = before_comma(&argument);
        }
        Ok(spec)
    }

    /// The file of its network, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Network { weights, .. } if network::seed(weights).is_none() => Some(Path::new(weights)),
            _ => None,
        }
    }

    /// The player.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed; what reading the network says.
    pub fn open(&self) -> Result<Contestant> {
        Ok(match &self.kind {
            Kind::Network { weights, observation, precision, engine, options } => {
                options.check()?;
                let network = network::load(weights, *observation)?;
                let evaluation =
                    EvaluatorOptions { precision: *precision, engine: *engine, ..EvaluatorOptions::default() };
                let estimator = Estimator::network(network, self.text.clone()).with_options(evaluation);
                Contestant::Search(*options, estimator)
            }
            Kind::Uniform { options } => {
                options.check()?;
                Contestant::Search(*options, Estimator::Uniform)
            }
            Kind::Playouts { playouts, options } => {
                options.check()?;
                Contestant::Search(*options, Estimator::Playouts(*playouts))
            }
            Kind::Mcts { options } => {
                let builder = Search::<Checkers>::builder().options(options.clone()).profile_steps(0);
                builder.capacity().map_err(as_typed)?;
                Contestant::Mcts(Box::new(builder))
            }
            Kind::Random => Contestant::Random,
        })
    }
}
