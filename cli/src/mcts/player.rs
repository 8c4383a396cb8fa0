//! Players of a match as they are written on the command line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpplay::Device;
use warpplay::mcts::contest::{PlayerOptions, VanillaOptions};
use warpplay::mcts::{Engine, KernelSet, Options, Variant};

use crate::common::{number, once_each};
use crate::mcts::limits::default_seconds;

/// A player as written on the command line, such as `acp_prodigal,trees=8,seconds=0.2` or `vanilla,seconds=1`.
#[derive(Clone, Debug)]
pub struct PlayerSpec {
    text: String,
    pub kind: Kind,
}

/// What a player is, and where it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kind {
    /// The player; the seed of a search is that of the game.
    #[serde(flatten)]
    pub player: PlayerOptions,
    /// Of a search, as `--device`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
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
        for (key, value) in once_each(parts)? {
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
                        "`{key}` is not an option of {name} (allowed: steps, seconds, ucb_c, draw_value{others})"
                    ));
                }
            }
        }
        options.seconds = default_seconds(options.steps, options.seconds);
        let kind = if is_vanilla {
            let Options { steps, seconds, ucb_c, draw_value, .. } = options;
            let vanilla = VanillaOptions { steps, seconds, ucb_c, draw_value };
            Kind { player: PlayerOptions::Vanilla(vanilla), device: None }
        } else {
            Kind { player: PlayerOptions::Search(options), device: Some(device) }
        };
        Ok(Self { text: text.to_string(), kind })
    }
}

impl PlayerSpec {
    /// Checks the options' ranges and opens the device; `None` for a player that needs none.
    ///
    /// # Errors
    /// [`warpplay::Error::Option`] for a value that is not allowed; as [`Device::parse`].
    pub fn open<G: KernelSet>(&self) -> Result<Option<Device>, warpplay::Error> {
        self.kind.player.check::<G>()?;
        self.kind.device.as_deref().map(Device::parse).transpose()
    }
}
