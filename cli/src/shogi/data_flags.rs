//! Which positions are learnt from.

use std::path::{Path, PathBuf};

use warpplay::Error;
use warpplay::shogi::Window;
use warpplay::shogi::dataset::Builder;
use warpplay::shogi::material::Options;

use crate::common::Usage;
use crate::common::flags::HeldOut;

/// Records, and the part of them that is taken.
#[derive(clap::Args, Clone, Debug)]
pub struct GameFlags {
    /// Game records: a file or a folder (CSA, KIF, KI2, lists of USI moves; plain or .gz)
    #[arg(long, value_name = "PATH", alias = "games")]
    pub records: PathBuf,

    #[command(flatten)]
    pub part: PartFlags,
}

/// Records, or a data set that was built from some.
#[derive(clap::Args, Clone, Debug)]
pub struct SourceFlags {
    /// Game records: a file or a folder (CSA, KIF, KI2, lists of USI moves; plain or .gz)
    #[arg(long, value_name = "PATH", alias = "games", required_unless_present = "data", conflicts_with = "data")]
    pub records: Option<PathBuf>,

    /// A data set made by build-dataset
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    #[command(flatten)]
    pub part: PartFlags,
}

/// Games that are not learnt from.
#[derive(clap::Args, Clone, Debug)]
pub struct HeldOutFlag {
    /// Held-out games, used only for measuring: a share (0.2) or a number (20) of the games, chosen by a hash of the game (all positions are then copied into memory), or the path
    /// of records or of a data set, such as build-dataset --held-out makes
    #[arg(long, value_name = "SHARE, N or PATH", alias = "validation", allow_negative_numbers = true)]
    pub held_out: Option<HeldOut>,
}

impl HeldOutFlag {
    /// The path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        self.held_out.as_ref()?.path()
    }
}

/// How often the positions are taken.
#[derive(clap::Args, Clone, Debug)]
pub struct RepeatFlag {
    /// Repeat the positions this many times, for measurements at a larger size: the paper had 6.3 million children
    #[arg(long, value_name = "N", default_value_t = Options::default().repeat, value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub repeat: u32,
}

/// A range of games or half-moves; clap names the flag.
fn window(text: &str) -> Result<Window, String> {
    text.parse().map_err(|error| match error {
        Error::Option { allowed, .. } => allowed,
        other => other.to_string(),
    })
}

/// The part of the records that is taken.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PartFlags {
    /// Use only the first N games
    #[arg(long, value_name = "N", alias = "first", conflicts_with = "game_range", allow_negative_numbers = true)]
    pub limit: Option<u32>,

    /// Games from START to before END, every STEP-th: START..END or START..END/STEP
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true, value_parser = window)]
    pub game_range: Option<Window>,

    /// Half-moves from START to before END, every STEP-th: START..END or START..END/STEP [default: 40..80]
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true, value_parser = window)]
    pub plies: Option<Window>,

    /// Maximum number of positions in a shard
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub shard: Option<u32>,
}

impl PartFlags {
    /// The games.
    ///
    /// # Errors
    /// `--limit 0`.
    pub fn games(&self) -> anyhow::Result<Option<Window>> {
        match (self.limit, self.game_range) {
            (Some(0), _) => Err(Usage("option limit: 0 is not allowed (1 or more games)".into()).into()),
            (Some(end), _) => Ok(Some(Window { start: 0, end, step: 1 })),
            (None, range) => Ok(range),
        }
    }

    /// The half-moves.
    pub fn plies(&self) -> Window {
        self.plies.unwrap_or(Builder::PLIES)
    }

    /// Whether any of them was given: they have no meaning for a data set, which holds what was chosen when it was built.
    pub fn given(&self) -> bool {
        self.limit.is_some() || self.game_range.is_some() || self.plies.is_some() || self.shard.is_some()
    }
}
