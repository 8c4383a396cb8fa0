//! The command line.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use warpplay::azero::EvaluatorOptions;
use warpplay::azero::player::{MatchOptions, SelfPlayOptions};

use crate::azero::contestant::{ContestantSpec, SearchFlags};
use crate::azero::flags::{BenchFlags, GateFlags, LearnFlags, TrainFlags};
use crate::azero::network::{RunFlags, WeightsFlags};
use crate::azero::start::StartFlags;
use crate::common::flags::{CheckpointFlags, JournalFlags, PlotsFlag, SeedFlag, TopFlag};
use crate::common::{DeviceFlag, OutputFlags};

/// AlphaZero for checkers, on the GPU, or on the CPU if there is no GPU
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Evaluate a position, a file of positions, or a file of observations with a network
    #[command(aliases = ["eval", "evaluate"])]
    #[command(after_help = examples!["azero analyse --weights net.safetensors", "azero analyse --weights net.safetensors --positions positions.txt --json found.json"])]
    Analyse(Box<AnalyseArgs>),
    /// Play in the terminal against a search, or watch two searches play
    #[command(after_help = examples!["azero play --weights net.safetensors --simulations 400", "azero play --playouts 8"])]
    Play(Box<PlayArgs>),
    /// Let a search play against itself and record the games
    #[command(after_help = examples!["azero selfplay --games 100 --playouts 8 --save-games games.jsonl", "azero selfplay --weights net.safetensors --checkpoint games.journal"])]
    Selfplay(Box<SelfplayArgs>),
    /// Learn from recorded games of self-play
    #[command(after_help = examples!["azero train --records games.jsonl --save-weights net.safetensors", "azero train --records games.jsonl --weights old.safetensors --save-weights new.safetensors --gate 100"])]
    Train(Box<TrainArgs>),
    /// Learn from scratch by repeating self-play, training and a gate match
    #[command(after_help = examples!["azero learn --folder run --iterations 10 --games 200"])]
    Learn(Box<LearnArgs>),
    /// Play many games between two players
    #[command(after_help = examples!["azero match --a net.safetensors,simulations=200 --b mcts --games 40", "azero match --a playouts --b random --games 10 --json match.json"])]
    Match(Box<MatchArgs>),
    /// Measure how fast a network evaluates
    #[command(after_help = examples!["azero bench --device cuda", "azero bench --batch 1,64,1024 --json bench.json"])]
    Bench(Box<BenchArgs>),
    /// Convert a network to a safetensors file
    #[command(after_help = examples!["azero convert --weights model.pt --save-weights net.safetensors"])]
    Convert(ConvertArgs),
    /// Check every state, list of legal actions and return of recorded games
    #[command(alias = "replay")]
    #[command(after_help = examples!["azero verify games.jsonl"])]
    Verify(VerifyArgs),
    /// Count move sequences to a given depth, to check the rules
    #[command(after_help = examples!["azero perft --depth 7", "azero perft --moves a3b4 --depth 5"])]
    Perft(PerftArgs),
}

#[derive(clap::Args, Debug)]
pub struct AnalyseArgs {
    #[command(flatten)]
    pub weights: WeightsFlags,
    #[command(flatten)]
    pub start: StartFlags,

    /// A file of positions, one in each line, in the form of --position or of --moves; # begins a comment
    #[arg(long, value_name = "FILE", conflicts_with_all = ["moves", "position"])]
    pub positions: Option<PathBuf>,

    /// Observations and legal actions: tensors obs [n, 320] and mask [n, 512]
    #[arg(long, value_name = "IO.safetensors", requires = "out", conflicts_with_all = ["moves", "position", "positions", "json"])]
    pub inputs: Option<PathBuf>,

    /// Write the tensors value [n], policy_logits [n, 512] and policy [n, 512] to this file
    #[arg(long, value_name = "OUT.safetensors")]
    pub out: Option<PathBuf>,

    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    /// Positions evaluated at once
    #[arg(long, value_name = "N", default_value_t = EvaluatorOptions::default().max_batch, allow_negative_numbers = true)]
    pub batch: usize,

    #[command(flatten)]
    pub top: TopFlag<5>,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Who moves a colour's pieces.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// You
    Human,
    /// The search
    Engine,
}

#[derive(clap::Args, Debug)]
pub struct PlayArgs {
    #[command(flatten)]
    pub weights: WeightsFlags,

    /// Who plays White, the lower side, which moves first
    #[arg(long, value_enum, value_name = "WHO", default_value_t = Side::Human)]
    pub white: Side,

    /// Who plays Black
    #[arg(long, value_enum, value_name = "WHO", default_value_t = Side::Engine)]
    pub black: Side,

    #[command(flatten)]
    pub start: StartFlags,
    #[command(flatten)]
    pub search: SearchFlags,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct SelfplayArgs {
    #[command(flatten)]
    pub weights: WeightsFlags,

    /// Games
    #[arg(long, value_name = "N", default_value_t = SelfPlayOptions::default().games, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub games: u64,

    /// Number of the first game; a game's random numbers follow from it and the seed
    #[arg(long, value_name = "N", alias = "first", default_value_t = SelfPlayOptions::default().first, allow_negative_numbers = true)]
    pub first_game: u64,

    /// Games played at the same time; the games do not depend on it
    #[arg(long, value_name = "N", default_value_t = SelfPlayOptions::default().parallel, allow_negative_numbers = true)]
    pub parallel: u32,

    /// Write the games to this file, one in each line
    #[arg(long, value_name = "GAMES.jsonl")]
    pub save_games: Option<PathBuf>,

    #[command(flatten)]
    pub search: SearchFlags,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub journal: JournalFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct TrainArgs {
    #[command(flatten)]
    pub weights: WeightsFlags,
    #[command(flatten)]
    pub training: TrainFlags,
    #[command(flatten)]
    pub checkpoints: CheckpointFlags,
    #[command(flatten)]
    pub gate: GateFlags,
    #[command(flatten)]
    pub search: SearchFlags,
    #[command(flatten)]
    pub plots: PlotsFlag,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct LearnArgs {
    #[command(flatten)]
    pub learning: LearnFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct MatchArgs {
    /// One player: a network (FILE or seed:N), uniform or playouts (all three search by the PUCT rule), mcts or random, then options after commas: simulations, leaves, c_puct,
    /// temperature, temperature_plies, seed, precision, engine, observation; playouts also playouts; mcts steps, trees, playouts, seed
    #[arg(long, value_name = "PLAYER", default_value = "seed:27,simulations=100", value_parser = player())]
    pub a: ContestantSpec,

    /// The other player
    #[arg(long, value_name = "PLAYER", default_value = "random", value_parser = player())]
    pub b: ContestantSpec,

    /// Number of games, even since each opening is played with both colours
    #[arg(long, value_name = "N", default_value_t = MatchOptions::default().games, allow_negative_numbers = true)]
    pub games: u32,

    /// Random actions at the beginning of each pair of games
    #[arg(long, value_name = "N", default_value_t = MatchOptions::default().opening_plies, allow_negative_numbers = true)]
    pub opening_plies: u32,

    /// Games played at the same time
    #[arg(long, value_name = "N", default_value_t = MatchOptions::default().parallel, allow_negative_numbers = true)]
    pub parallel: u32,

    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub journal: JournalFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Reads a player.
fn player() -> impl TypedValueParser<Value = ContestantSpec> {
    OsStringValueParser::new().try_map(ContestantSpec::of_argument)
}

#[derive(clap::Args, Debug)]
pub struct BenchArgs {
    #[command(flatten)]
    pub weights: WeightsFlags,
    #[command(flatten)]
    pub bench: BenchFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub weights: WeightsFlags,

    /// Write the network to this file
    #[arg(long, value_name = "OUT.safetensors", alias = "out")]
    pub save_weights: PathBuf,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct VerifyArgs {
    /// Files of games with one JSON object in each line, written by other programs (actions, players, boards, legal, returns) or by selfplay
    #[arg(required = true, value_name = "GAMES.jsonl")]
    pub games: Vec<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct PerftArgs {
    /// Length of the longest sequences
    #[arg(long, value_name = "N", default_value_t = 6, allow_negative_numbers = true)]
    pub depth: u32,

    #[command(flatten)]
    pub start: StartFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azero::gate::Gate;
    use crate::common::defaults::{Case, hold};
    use crate::common::negative::take_negative_numbers;
    use warpplay::azero::player::SearchOptions;
    use warpplay::azero::train;

    fn options(args: Args) -> Result<String, String> {
        let text = |error: anyhow::Error| format!("{error:#}");
        Ok(match args.command {
            Command::Analyse(args) => format!("{} {:?}", args.weights.name(), args.run.options()),
            Command::Play(args) => {
                let search = args.search.options(SearchOptions::default(), args.seed.seed);
                format!("{} {:?} {:?}", args.weights.name(), args.run.options(), search.map_err(|e| e.to_string())?)
            }
            Command::Selfplay(args) => {
                let search = args.search.options(SearchOptions::self_play(), args.seed.seed);
                format!("{} {:?} {:?}", args.weights.name(), args.run.options(), search.map_err(|e| e.to_string())?)
            }
            Command::Train(args) => {
                let mut options = args.training.options(train::Options::default()).map_err(text)?;
                args.training.hold_out(&mut options, 10).map_err(text)?;
                let gate = Gate::new(&args).map_err(|error| error.to_string())?;
                format!("{} {options:?} {gate:?}", args.weights.name())
            }
            Command::Bench(args) => args.weights.name().to_string(),
            Command::Convert(args) => args.weights.name().to_string(),
            _ => return Err("no options".into()),
        })
    }

    #[test]
    fn helps_tell_the_defaults() {
        let beside = &[("--noise-epsilon", "--noise-alpha 1")];
        let case = |command, needs| Case { command, needs, beside };
        let cases = [
            case("analyse", ""),
            case("play", ""),
            case("selfplay", ""),
            case("train", "--records x --save-weights y --gate 2"),
            case("bench", ""),
            case("convert", "--save-weights y"),
        ];
        let prose = [
            ("--threads", "all cores: as many as there are"),
            ("--observation", "what the file says"),
            ("--noise-alpha", "of several commands, below"),
            ("--temperature-plies", "of several commands, below"),
            ("bench --batch", "by the device"),
            ("bench --precision", "by the device"),
            ("learn --precision", "by the device"),
            ("--checkpoint-every", "a constant of the library that is not public"),
        ];
        hold::<Args>(&cases, &prose, options);
    }

    #[test]
    fn searches_have_the_defaults_of_their_command() {
        let of = |line: &str| options(Args::parse_from(line.split(' ')));
        assert_eq!(of("azero selfplay"), of("azero selfplay --noise-alpha 1 --temperature-plies 20"));
        for line in ["azero play", "azero train --records x --save-weights y --gate 2"] {
            assert_eq!(of(line), of(&format!("{line} --temperature-plies 0")));
            assert_ne!(of(line), of(&format!("{line} --noise-alpha 1")));
        }
    }

    /// A negative number is refused as a value, and not taken for a flag.
    #[test]
    fn numbers_may_be_negative_as_far_as_to_say_what_is_allowed() {
        let n_checked = take_negative_numbers::<Args>();
        assert!(n_checked > 50, "{n_checked} flags take numbers");
    }
}
