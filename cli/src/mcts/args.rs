//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use warpplay::mcts::{Engine, Options, Variant};

use crate::common::flags::{EngineFlag, JournalFlags, PlotsFlag, SeedFlag, ThreadsFlag, TopFlag};
use crate::common::{DeviceFlag, OutputFlags};
use crate::mcts::games::GameName;
use crate::mcts::limits::default_seconds;
use crate::mcts::player::PlayerSpec;

/// Monte Carlo tree search on the GPU, or on the CPU if there is no GPU
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Search a position and print statistics of each move
    #[command(visible_alias = "analyze")]
    #[command(after_help = examples!["mcts analyse --game connect4 --moves 4453 --seconds 2", "mcts analyse --game hex --steps 500 --json found.json"])]
    Analyse(AnalyseArgs),
    /// Play against the search in the terminal
    #[command(after_help = examples!["mcts play --game gomoku --seconds 1", "mcts play --first search"])]
    Play(PlayArgs),
    /// Play a match between two players, who switch colours each game
    #[command(after_help = examples!["mcts match --games 20 --plots score.svg", "mcts match --a acp_prodigal,trees=8,seconds=0.2 --b vanilla,seconds=1 --json match.json"])]
    Match(Box<MatchArgs>),
    /// Repeat a recorded search or match exactly and compare the results
    #[command(after_help = examples!["mcts replay found.json", "mcts replay match.json --device cpu"])]
    Replay(ReplayArgs),
}

#[derive(clap::Args, Debug)]
pub struct PositionFlags {
    /// The game
    #[arg(long, value_enum, value_name = "GAME", default_value_t = GameName::Connect4)]
    pub game: GameName,

    /// Moves from the start, such as 4453 (Connect 4: columns from 1) or h8i9 (Gomoku, Hex, Lights Out: letter and number) or a3b4 (checkers: two squares, each jump separately);
    /// default: the start position
    #[arg(long, value_name = "MOVES", default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub moves: String,
}

#[derive(clap::Args, Debug)]
pub struct SearchFlags {
    /// Variant: playouts from one child of a new leaf (ocp) or from all (acp); GPU blocks only for existing children (thrifty) or for all actions (prodigal): ocp_thrifty,
    /// ocp_prodigal, acp_thrifty, acp_prodigal
    #[arg(long, value_name = "VARIANT", default_value_t = Options::default().variant)]
    pub variant: Variant,

    /// Number T of independent trees, 1 to 512
    #[arg(long, value_name = "T", default_value_t = Options::default().n_trees, allow_negative_numbers = true)]
    pub trees: u32,

    /// Playouts m from each played child in one step, a power of two, 1 to 512
    #[arg(long, value_name = "M", default_value_t = Options::default().n_playouts, allow_negative_numbers = true)]
    pub playouts: u32,

    /// End after this many steps; if --seconds is given too, whichever comes first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub steps: Option<u64>,

    /// End after this many seconds; if only --steps is given, there is no time limit [default: 5]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub seconds: Option<f64>,

    /// Exploration constant C, 0 or more; usual values are 1/√2 (0.7071), 1, √2 (1.4142) and 2
    #[arg(long, value_name = "C", default_value_t = Options::default().ucb_c, allow_negative_numbers = true)]
    pub ucb_c: f32,

    /// Value of a draw, 0 to 1 (a win is worth 1); the paper's program uses 0
    #[arg(long, value_name = "V", default_value_t = Options::default().draw_value, allow_negative_numbers = true)]
    pub draw_value: f32,

    /// Device memory for the trees in GiB
    #[arg(long, value_name = "GB", default_value_t = Options::default().device_memory_gb, allow_negative_numbers = true)]
    pub memory: f64,

    #[command(flatten)]
    pub engine: EngineFlag<Engine>,
    #[command(flatten)]
    pub threads: ThreadsFlag,
}

impl SearchFlags {
    /// As the library takes them; it checks the ranges.
    pub fn options(&self, seed: &SeedFlag) -> Options {
        let defaults = Options::default();
        Options {
            variant: self.variant,
            n_trees: self.trees,
            n_playouts: self.playouts,
            steps: self.steps,
            seconds: default_seconds(self.steps, self.seconds),
            ucb_c: self.ucb_c,
            draw_value: self.draw_value,
            device_memory_gb: self.memory,
            seed: seed.seed.unwrap_or(defaults.seed),
            engine: self.engine.engine.unwrap_or(defaults.engine),
            threads: self.threads.threads,
        }
    }
}

#[derive(clap::Args, Debug)]
pub struct AnalyseArgs {
    #[command(flatten)]
    pub position: PositionFlags,

    /// Analyse the positions of this file, one line of moves for each (lines that begin with # are skipped), and write one line of JSON for each, to stdout or to the file of
    /// --json
    #[arg(long, value_name = "FILE", conflicts_with = "moves")]
    pub moves_file: Option<PathBuf>,

    #[command(flatten)]
    pub search: SearchFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub seed: SeedFlag,

    #[command(flatten)]
    pub top: TopFlag<20>,
    #[command(flatten)]
    pub plots: PlotsFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Who has the first move.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Human,
    Search,
}

#[derive(clap::Args, Debug)]
pub struct PlayArgs {
    #[command(flatten)]
    pub position: PositionFlags,

    /// Who plays the side that moves first in the game
    #[arg(long, value_enum, value_name = "WHO", default_value_t = Side::Human)]
    pub first: Side,

    #[command(flatten)]
    pub search: SearchFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct MatchArgs {
    #[command(flatten)]
    pub position: PositionFlags,

    /// The first player: a variant or `vanilla` (single-thread search on the CPU), then options as in
    /// acp_prodigal,trees=8,playouts=128,seconds=0.2,device=auto
    ///
    /// Options of a variant: trees, playouts, steps, seconds, ucb_c, draw_value, memory, engine, device, threads, with the meaning and defaults of the flags of `analyse`. Options of
    /// vanilla: steps, seconds, ucb_c, draw_value. Limits apply to each move; if neither steps nor seconds is given, the limit is 5 seconds.
    #[arg(long, value_name = "PLAYER", default_value = "acp_prodigal,trees=4,playouts=32,seconds=0.05")]
    pub a: PlayerSpec,

    /// The second player, in the same form as the first
    #[arg(long, value_name = "PLAYER", default_value = "vanilla,seconds=0.05")]
    pub b: PlayerSpec,

    /// Number of games
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub games: u32,

    /// Games played at the same time; searches with a time limit that share a device or cores then make fewer steps
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub parallel: u32,

    #[command(flatten)]
    pub seed: SeedFlag,

    #[command(flatten)]
    pub journal: JournalFlags,

    #[command(flatten)]
    pub plots: PlotsFlag,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct ReplayArgs {
    /// A file written by `analyse --json`, with one search or one search in each line; or a match written by `match --json`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Device: auto, cuda, cuda:1 and so on, cpu, simt [default: as recorded]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,

    #[command(flatten)]
    pub threads: ThreadsFlag,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::defaults::{Case, hold};
    use crate::common::negative::take_negative_numbers;

    #[test]
    fn helps_tell_the_defaults() {
        let case = |command| Case { command, needs: "", beside: &[] };
        let prose = [("--threads", "all cores: as many as there are"), ("replay --device", "what the file says")];
        hold::<Args>(&[case("analyse"), case("play")], &prose, |args| {
            let (search, seed) = match &args.command {
                Command::Analyse(args) => (&args.search, &args.seed),
                Command::Play(args) => (&args.search, &args.seed),
                _ => return Err("no options".into()),
            };
            Ok(format!("{:?}", search.options(seed)))
        });
    }

    /// A negative number is refused as a value, and not taken for a flag.
    #[test]
    fn numbers_may_be_negative_as_far_as_to_say_what_is_allowed() {
        let n_checked = take_negative_numbers::<Args>();
        assert!(n_checked > 15, "{n_checked} flags take numbers");
    }
}
