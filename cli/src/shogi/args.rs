//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use warpplay::shogi::material::{Engine, Options};

use crate::common::flags::{CheckpointFlags, EngineFlag, HeldOut, MovedArgs, PlotsFlag, ThreadsFlag, TopFlag};
use crate::common::{DeviceFlag, OutputFlags};
use crate::shogi::data_flags::{GameFlags, HeldOutFlag, RepeatFlag, SourceFlags};
use crate::shogi::learn_flags::LearnFlags;
use crate::shogi::rule_flags::RuleFlags;

/// Evaluation of shogi positions learnt from game records by Bonanza's method, on the GPU, or on the CPU if there is no GPU
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Learn an evaluation with any features and optimiser
    #[command(after_help = examples!["shogi learn --records DIR --held-out 0.2 --features kp --save-weights kp.safetensors", "shogi learn --data data --iterations 200 --checkpoint kp.checkpoint --plots learning.svg"])]
    Learn(Box<LearnArgs>),
    /// Fit the values of twelve kinds of pieces by finite differences of the objective
    #[command(after_help = examples!["shogi fit --records DIR --iterations 50 --json run.json"])]
    Fit(Box<FitArgs>),
    /// Evaluate a position and rank its legal moves
    #[command(alias = "evaluate")]
    #[command(after_help = examples!["shogi analyse startpos moves 7g7f 3c3d", "shogi analyse startpos --weights kp.safetensors --top 5"])]
    Analyse(AnalyseArgs),
    /// Convert game records to a data set on disk
    #[command(after_help = examples!["shogi build-dataset --records DIR --out data"])]
    BuildDataset(BuildArgs),
    /// Show the contents of a data set or of game records
    #[command(after_help = examples!["shogi inspect --data data"])]
    Inspect(InspectArgs),
    /// Check the legal moves of a file of positions
    #[command(after_help = examples!["shogi moves positions.jsonl"])]
    Moves(MovesArgs),
    /// Is now `warpplay papers shogi_bonanza`
    #[command(hide = true, disable_help_flag = true)]
    Reproduce(MovedArgs),
}

#[derive(clap::Args, Debug)]
pub struct FitArgs {
    #[command(flatten)]
    pub source: SourceFlags,
    #[command(flatten)]
    pub rule: RuleFlags,

    #[command(flatten)]
    pub held_out: HeldOutFlag,

    /// Iterations in all
    #[arg(long, value_name = "N", default_value_t = Options::default().iterations, allow_negative_numbers = true)]
    pub iterations: u32,

    #[command(flatten)]
    pub repeat: RepeatFlag,
    #[command(flatten)]
    pub engine: EngineFlag<Engine>,
    #[command(flatten)]
    pub threads: ThreadsFlag,
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
    pub source: SourceFlags,

    #[command(flatten)]
    pub held_out: HeldOutFlag,

    #[command(flatten)]
    pub learn: LearnFlags,

    #[command(flatten)]
    pub checkpoint: CheckpointFlags,

    /// Write the values of the pieces as a table
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,

    /// Write the values of the pieces as a Rust constant
    #[arg(long, value_name = "FILE.rs")]
    pub rust: Option<PathBuf>,

    #[command(flatten)]
    pub plots: PlotsFlag,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct AnalyseArgs {
    /// The position: startpos, or SFEN (board, side to move, hands, number); then optionally the word "moves" and moves in USI
    #[arg(value_name = "POSITION", required = true, num_args = 1..)]
    pub position: Vec<String>,

    /// Values L N S G B R +P +L +N +S +B +R separated by commas, or one for all
    #[arg(long, value_name = "VALUES", default_value = crate::shogi::rule_flags::USUAL, value_parser = crate::shogi::rule_flags::values, allow_hyphen_values = true,
        conflicts_with = "weights")]
    pub values: warpplay::shogi::Values,

    /// Weights written by learn
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,

    #[command(flatten)]
    pub top: TopFlag<10>,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct BuildArgs {
    #[command(flatten)]
    pub games: GameFlags,

    /// The folder of the data set; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Write this share (0.2) or number (20) of all games, chosen by a hash of the game, to --held-out-dir instead of --out
    #[arg(long, value_name = "SHARE or N", requires = "held_out_dir", allow_negative_numbers = true)]
    pub held_out: Option<HeldOut>,

    /// The folder for the data set of the held-out games
    #[arg(long, value_name = "DIR", requires = "held_out")]
    pub held_out_dir: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct InspectArgs {
    #[command(flatten)]
    pub source: SourceFlags,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct MovesArgs {
    /// Lines of JSON with the fields sfen, n, moves
    #[arg(value_name = "FILE.jsonl")]
    pub file: PathBuf,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::defaults::{Case, hold};
    use crate::common::negative::take_negative_numbers;
    use clap::CommandFactory;
    use warpplay::shogi::{FeatureSet, Optimizer, learner};

    #[test]
    fn helps_tell_the_defaults() {
        let beside = &[("--quiescence-depth", "--quiescence-every 2")];
        let case = |command, needs| Case { command, needs, beside };
        let cases = [
            case("learn", "--records x"),
            case("fit", "--records x"),
            case("build-dataset", "--records x --out y"),
            case("inspect", "--records x"),
        ];
        let prose = [
            ("--threads", "all cores: as many as there are"),
            ("--learning-rate", "of optimisers and features, below"),
            ("--window", "none"),
            ("--patience", "never"),
            ("--device-bytes", "as much as there is"),
            ("--checkpoint-every", "a constant of the library that is not public"),
        ];
        hold::<Args>(&cases, &prose, |args| {
            Ok(match &args.command {
                Command::Learn(args) => {
                    let options = args.learn.options(learner::Options::default()).map_err(|error| error.to_string())?;
                    format!("{:?} {options:?}", args.source.part.plies())
                }
                Command::Fit(args) => {
                    let objective = args.rule.objective().map_err(|error| error.to_string())?;
                    let engine = args.engine.engine.unwrap_or(Options::default().engine);
                    format!("{:?} {objective:?} {:?} {engine}", args.source.part.plies(), args.rule.init())
                }
                Command::BuildDataset(args) => format!("{:?}", args.games.part.plies()),
                Command::Inspect(args) => format!("{:?}", args.source.part.plies()),
                _ => return Err("no options".into()),
            })
        });
    }

    #[test]
    fn the_help_tells_the_learning_rates() {
        let command = Args::command();
        let learn = command.find_subcommand("learn").expect("a command");
        let rate = learn.get_arguments().find(|argument| argument.get_long() == Some("learning-rate")).expect("a flag");
        let help = rate.get_help().expect("a help").to_string();
        let of = |optimizer, features| learner::Options::default_rate(optimizer, features);
        for optimizer in [Optimizer::Sign, Optimizer::Gd, Optimizer::Momentum, Optimizer::Lbfgs] {
            let rate = of(optimizer, FeatureSet::Material);
            assert!(help.contains(&format!("{optimizer} {rate}")), "{optimizer} {rate}: {help}");
            for &features in FeatureSet::ALL {
                assert_eq!(of(optimizer, features), rate, "{optimizer} {features}");
            }
        }
        let both = |features| (of(Optimizer::AdaGrad, features), of(Optimizer::Adam, features));
        let groups: [(&str, &[FeatureSet]); 3] = [
            ("material", &[FeatureSet::Material, FeatureSet::MaterialHand]),
            ("piece_square and kp", &[FeatureSet::PieceSquare, FeatureSet::KingPiece]),
            ("kkp and kpp", &[FeatureSet::KingKingPiece, FeatureSet::KingPiecePiece]),
        ];
        for (names, features) in groups {
            let (adagrad, adam) = both(features[0]);
            let told =
                [format!("{adagrad} and {adam} for {names}"), format!("adagrad {adagrad} and adam {adam} for {names}")];
            assert!(told.iter().any(|told| help.contains(told)), "{told:?}: {help}");
            assert!(features.iter().all(|&other| both(other) == (adagrad, adam)), "{names}");
        }
    }

    /// A negative number is refused as a value, and not taken for a flag.
    #[test]
    fn numbers_may_be_negative_as_far_as_to_say_what_is_allowed() {
        let n_checked = take_negative_numbers::<Args>();
        assert!(n_checked > 25, "{n_checked} flags take numbers");
    }
}
