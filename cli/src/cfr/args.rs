//! The command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use warpplay::cfr::spot::{SpotForm, SpotTarget};
use warpplay::cfr::{Algorithm, Engine, Options, Sampling};
use warpplay::{Error, Precision};

use crate::cfr::browse::BrowseArgs;
use crate::cfr::solve_flags::{ReportFlags, SolveFlags};
use crate::common::flags::{CheckpointFlags, JournalFlags, PlotsFlag, SeedFlag, TopFlag, duration};
use crate::common::{DeviceFlag, OutputFlags, Usage};

/// Poker solved by counterfactual regret minimisation, on the GPU, or on the CPU if there is no GPU
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Print the size of a game: sequences, levels, buckets, information sets
    #[command(after_help = examples!["cfr info leduc"])]
    Info(InfoArgs),
    /// Solve a game
    #[command(after_help = examples!["cfr solve leduc --algorithm cfr_plus --iterations 1000 --strategy game.strategy", "cfr solve GAME.game --report 10,100,1000 --plots solve.svg", "cfr solve leduc --abstraction lossless,strength:3 --batch 32 --strategy buckets.strategy", "cfr solve --from buckets.strategy --history cc/ --board 4c --seat 0 --strategy rest.strategy"])]
    Solve(Box<SolveArgs>),
    /// Compare algorithms and sampling methods by exploitability over time
    #[command(after_help = examples!["cfr compare leduc --algorithms cfr,cfr_plus,dcfr --plots compare.svg"])]
    Compare(Box<CompareArgs>),
    /// Compute the value and exact exploitability of a saved strategy, or a lower bound of it over sampled deals
    #[command(after_help = examples!["cfr exploitability game.strategy", "cfr exploitability large.strategy --deals 2000"])]
    Exploitability(ExploitabilityArgs),
    /// Show what a saved strategy or a solved spot does with a hand after a history, or export it as JSON or CSV
    #[command(after_help = examples!["cfr query game.strategy --history cr --hand 4c", "cfr query turn.spot --line cr50c/ --board 8c --csv node.csv"])]
    Query(QueryArgs),
    /// Browse a solved spot, in the terminal or as a page: a grid of hands with strategy, EV, equity and reach, node by node
    #[command(after_help = examples!["cfr browse turn.spot", "cfr browse turn.spot --line cr50c/ --board 8c", "cfr browse turn.spot --html turn.html --runouts 8c,8d"])]
    Browse(BrowseArgs),
    /// Solve hold'em spots: board, ranges, pot, stacks, bet sizes
    #[command(alias = "subgame", after_help = SPOT)]
    SolveSpot(Box<SolveSpotArgs>),
    /// Solve a hold'em spot on many boards (all flops, some, or the turns or rivers of a line), and report values and frequencies by board and texture
    #[command(after_help = examples!["cfr solve-boards SPOT.json --boards 25 --target 0.5%pot --device cuda:0,cuda:1 --csv flops.csv --html flops.html", "cfr solve-boards --from flop.spot --line cr50c --target 0.5%pot --checkpoint turns.journal"])]
    SolveBoards(Box<SolveBoardsArgs>),
    /// List the named ranges that a spot may use, or show a range as a grid of hands
    #[command(after_help = examples!["cfr ranges", "cfr ranges btn_open", "cfr ranges \"@bb_call_btn,AA\""])]
    Ranges(RangesArgs),
    /// Before the flop, heads-up: which hands the small blind pushes all-in and the big blind calls
    #[command(after_help = examples!["cfr push-fold --stack 10", "cfr push-fold --stack 3,5,7,10,12,15 --ante 0.1 --json chart.json"])]
    PushFold(PushFoldArgs),
    /// Moved: `warpplay papers cfr_thesis`
    #[cfg(feature = "papers")]
    #[command(hide = true)]
    Thesis(Box<crate::papers::cfr_thesis::Args>),
    /// Play in the terminal against a saved strategy; hands of a solved spot are judged
    #[command(after_help = examples!["cfr play game.strategy", "cfr play turn.spot --seat 0 --hands 20 --history hands.txt"])]
    Play(PlayArgs),
    /// Compute the value of one saved strategy against another, exactly or over sampled deals
    #[command(after_help = examples!["cfr match a.strategy b.strategy"])]
    Match(MatchArgs),
    /// Solve a matrix game by regret matching
    #[command(after_help = examples!["cfr matrix rock-paper-scissors --iterations 1000"])]
    Matrix(MatrixArgs),
}

/// What a spot's file looks like.
pub const SPOT: &str = r#"Examples:
  warpplay cfr solve-spot SPOT.json --iterations 1000 --json spot.json
  warpplay cfr solve-spot SPOT.json --target 0.5%pot --save turn.spot --checkpoint-every 60s
  warpplay cfr solve-spot --resume turn.spot --target 0.1%pot --save turn.spot

A spot, SPOT.json; seat 0 acts first on every street:

  {"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 0.5,
   "flop": "Qs Jh 2h", "turn": "2d", "river": "7c",
   "ranges": ["AA,QQ:0.5,AKs,T9s", "KK,JJ,77:0.25,AQ"]}

A range may use names as "@bb_call_btn"; `warpplay cfr ranges` lists them.
Optional: turn and river (if absent, the solve deals them), bet_fraction_of_pot; and for each street (flop, turn, river):
  "bet_sizes": {"river": [0.5, "75%", "20c", "2e", "all-in"]}, "raise_sizes": {"river": ["2.5x", "a"]}, "donk_sizes": {...},
  "max_raises": {"river": 2}, or "limit": {"river": 10}
and "add_all_in": 1.5, "force_all_in": 0.2, "merge_sizes": 0.1, "added_lines": ["cr80"], "removed_lines": ["r50r300"],
  "rake": {"part": 0.05, "cap": 3}, "icm": {"others": [800, 250], "prizes": [50, 30, 20]}, "locks": [{"history": "c", "seat": 1, "strategy": [0.25, 0.75]}].
Several spots: {"spots": {"NAME": {...}}, ...fields in common...}"#;

#[derive(clap::Args, Debug)]
pub struct InfoArgs {
    /// Game definition file, or a built-in game: kuhn, leduc
    #[arg(value_name = "FILE.game")]
    pub game: PathBuf,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// What players know of the cards.
#[derive(clap::Args, Clone, Debug)]
pub struct AbstractionFlags {
    /// Let players know buckets of cards only: for each round, separated by commas, lossless, strength:N (or ehs:N), histogram:N or, on the whole board, even:N, with N buckets; or a file that --save-abstraction wrote. Deals are sampled with cfr, cfr_plus and lcfr; --sampling none, and the other algorithms, walk all of them
    #[arg(long, value_name = "ROUNDS|FILE", requires = "game", conflicts_with = "from")]
    pub abstraction: Option<String>,

    /// Run-outs that are drawn to find the buckets of --abstraction [default: all]
    #[arg(long, value_name = "N", requires = "abstraction", conflicts_with = "from", allow_negative_numbers = true)]
    pub abstraction_runouts: Option<u32>,

    /// Write the buckets of --abstraction to this file
    #[arg(long, value_name = "FILE", requires = "abstraction", conflicts_with = "from")]
    pub save_abstraction: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub struct RangesArgs {
    /// A named range, or hands as in a spot: btn_open, "@btn_open:0.5,AA", "top 20%" [default: a list of all names]
    #[arg(value_name = "RANGE")]
    pub range: Option<String>,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct PushFoldArgs {
    /// What each seat has before blinds and ante, in big blinds; several, as 5,10,15, for a chart of the largest one with which each hand is played
    #[arg(long, value_name = "STACKS", value_delimiter = ',', default_value = "10", allow_negative_numbers = true)]
    pub stack: Vec<f64>,

    /// Small blind, in big blinds
    #[arg(long, value_name = "PART", default_value_t = 0.5, allow_negative_numbers = true)]
    pub small_blind: f64,

    /// What each seat pays before the blinds, in big blinds
    #[arg(long, value_name = "PART", default_value_t = 0.0, allow_negative_numbers = true)]
    pub ante: f64,

    /// Iterations for each stack
    #[arg(long, value_name = "N", default_value_t = 500, allow_negative_numbers = true)]
    pub iterations: u64,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

impl AbstractionFlags {
    /// The file of `--abstraction`, if it is one.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.abstraction.as_deref().map(std::path::Path::new).filter(|path| path.is_file())
    }
}

/// The rest of a hand, instead of a game.
#[derive(clap::Args, Clone, Debug)]
pub struct SubgameFlags {
    /// Instead of a game: solve the rest of a hand anew for one seat, from a strategy for a whole game of poker for two players; --algorithm is then dcfr and --discounts 1.5,0,4, unless given
    #[arg(long, value_name = "FILE.strategy", conflicts_with_all = ["game", "resume"], requires_all = ["history", "seat"])]
    pub from: Option<PathBuf>,

    /// The actions of the whole game before the rest: f, c, r (in no-limit r12 means raise to 12 in all), with / between rounds
    #[arg(long, visible_alias = "line", value_name = "ACTIONS", requires = "from")]
    pub history: Option<String>,

    /// The board there, with / between rounds: 3c, or QsJh2h/2d
    #[arg(long, value_name = "CARDS", requires = "from")]
    pub board: Option<String>,

    /// Seat whose strategy is solved, 0 or 1
    #[arg(long, value_name = "SEAT", requires = "from", allow_negative_numbers = true)]
    pub seat: Option<usize>,
}

impl SubgameFlags {
    /// Checks that a flag of a subgame comes with `--from`. Clap ignores `requires` where a flag that conflicts with the required one is given.
    ///
    /// # Errors
    /// [`Usage`] for a flag that needs `--from`.
    pub fn check(&self) -> anyhow::Result<()> {
        let others =
            [("--history", self.history.is_some()), ("--board", self.board.is_some()), ("--seat", self.seat.is_some())];
        match others.iter().find(|(_, is_given)| *is_given && self.from.is_none()) {
            Some((flag, _)) => Err(Usage(format!("{flag}: only with --from")).into()),
            None => Ok(()),
        }
    }
}

#[derive(clap::Args, Debug)]
pub struct SolveArgs {
    /// Game definition file, or a built-in game: kuhn, leduc, liars_dice, goofspiel:N [default: that of --resume]
    #[arg(value_name = "FILE.game", required_unless_present_any = ["resume", "from"])]
    pub game: Option<PathBuf>,

    #[command(flatten)]
    pub subgame: SubgameFlags,
    #[command(flatten)]
    pub solve: SolveFlags,
    #[command(flatten)]
    pub abstraction: AbstractionFlags,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    /// Write the average strategy to this file at the end
    #[arg(long, value_name = "FILE")]
    pub strategy: Option<PathBuf>,

    /// Round the probabilities of --strategy to 16 bits: half the size
    #[arg(long, requires = "strategy")]
    pub compact: bool,

    #[command(flatten)]
    pub checkpoint: CheckpointFlags,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct CompareArgs {
    /// Game definition file, or a built-in game: kuhn, leduc, liars_dice, goofspiel:N
    #[arg(value_name = "FILE.game")]
    pub game: PathBuf,

    /// Algorithms, separated by commas; --algorithm has no effect here
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "cfr,cfr_plus,lcfr,dcfr,pcfr_plus")]
    pub algorithms: Vec<Algorithm>,

    /// Sampling methods, separated by commas; --sampling has no effect here
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "none")]
    pub samplings: Vec<Sampling>,

    /// Time of each run in seconds, without the computation of exploitability
    #[arg(long, value_name = "S", default_value_t = 2.0, allow_negative_numbers = true)]
    pub seconds: f64,

    #[command(flatten)]
    pub solve: SolveFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    #[command(flatten)]
    pub journal: JournalFlags,
    #[command(flatten)]
    pub plots: PlotsFlag,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct ExploitabilityArgs {
    /// The strategy, written by solve
    #[arg(value_name = "FILE")]
    pub strategy: PathBuf,

    /// Play a local best response over this many sampled deals, on the CPU in f64, for a lower bound; two players [default: all deals, exactly; 1000 if the game is too large for that]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..), conflicts_with = "precision", allow_negative_numbers = true)]
    pub deals: Option<u64>,

    #[command(flatten)]
    pub seed: SeedFlag,
    /// Arithmetic over all deals: f32, f64 [default: f64]; sampled deals always use f64
    #[arg(long, value_name = "P")]
    pub precision: Option<Precision>,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct QueryArgs {
    /// The strategy, written by solve, or the spot, written by solve-spot --save
    #[arg(value_name = "FILE")]
    pub strategy: PathBuf,

    /// The actions so far: f, c, r (in no-limit r12 means raise to 12 in all), with / between rounds
    #[arg(long, visible_alias = "line", value_name = "ACTIONS", default_value = "")]
    pub history: String,

    /// The board so far, with / between rounds: 3c, or QsJh2h/2d; of a spot, the cards dealt since its beginning are enough
    #[arg(long, value_name = "CARDS", default_value = "")]
    pub board: String,

    /// Private cards [default: every hand]
    #[arg(long, value_name = "CARDS")]
    pub hand: Option<String>,

    /// An information set by its key, seat:hole:board:betting
    #[arg(long, value_name = "KEY", conflicts_with_all = ["history", "board", "hand"])]
    pub key: Option<String>,

    /// Write every information set to this file, as JSON, or as CSV if its name ends with .csv
    #[arg(long, value_name = "FILE", conflicts_with_all = ["history", "board", "hand", "key"])]
    pub export: Option<PathBuf>,

    /// Of a spot: write a line for each hand of both seats to this file, with reach, equity, value, and probability and value of each action
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "export"])]
    pub csv: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
// The engine was once called --form.
#[command(mut_arg("engine", |engine| engine.alias(None).aliases(["execution", "program"])))]
#[command(mut_arg("resume", |resume| resume.help(RESUME).long_help(None)))]
#[command(mut_args(of_spots))]
pub struct SolveSpotArgs {
    /// Spots as JSON; --help shows an example [default: that of --resume FILE.spot]
    #[arg(value_name = "SPOT.json", required_unless_present = "resume")]
    pub spots: Vec<PathBuf>,

    /// Name of one spot in a file with several [default: all]
    #[arg(long, value_name = "NAME")]
    pub spot: Vec<String>,

    #[command(flatten)]
    pub solve: SolveFlags,
    #[command(flatten)]
    pub report: ReportFlags,

    /// End a spot at this exploitability, if that is before --iterations: chips (0.25), or a part of its pot (0.5%pot) [default: that of --resume FILE.spot]
    #[arg(long, value_name = "EXPLOITABILITY", allow_negative_numbers = true)]
    pub target: Option<SpotTarget>,

    /// Write the spot with the strategies of all streets to this new file, or that of --resume, at the end, also after Ctrl-C, and at the interval of --checkpoint-every; one spot
    #[arg(long, value_name = "FILE.spot", conflicts_with = "checkpoint")]
    pub save: Option<PathBuf>,

    /// Time between two writes of --save during the run: 30s, 5m, 1h; a number alone means seconds [default: 5m]
    #[arg(long, value_name = "TIME", requires = "save", value_parser = duration, allow_negative_numbers = true)]
    pub checkpoint_every: Option<Duration>,

    /// What --save writes when the solve is finished: full, from which --resume goes on; strategies, alone and in 16 bits, in a quarter of the space or less [default: full]
    #[arg(long, value_name = "FORM")]
    pub form: Option<FormFlag>,

    /// Devices, separated by commas: auto, cuda, cuda:1 and so on, cpu, simt; the spots are divided among them
    #[arg(long, value_name = "DEVICES", default_value = "auto", value_delimiter = ',')]
    pub device: Vec<String>,

    #[command(flatten)]
    pub journal: JournalFlags,
    #[command(flatten)]
    pub top: TopFlag<10>,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
#[command(mut_args(of_spots))]
pub struct SolveBoardsArgs {
    /// A spot as JSON, as solve-spot --help shows it: without a flop for flops, without a turn for turns, without a river for rivers
    #[arg(value_name = "SPOT.json", required_unless_present = "from", conflicts_with = "from")]
    pub spot: Option<PathBuf>,

    /// Boards: all that differ by more than the names of suits; a number of flops (1 to 920), chosen and weighted to stand for all; a list as "Qs Jh 2h, AsAhAd:4" (of single cards for turns and rivers), each with a weight if it is not the number of boards that it stands for; or a file with such a list
    #[arg(long, value_name = "BOARDS", default_value = "all", allow_hyphen_values = true)]
    pub boards: String,

    /// Begin after a line of this solved spot, written by solve-spot --save: with the ranges that both seats have there, its pot and stacks
    #[arg(long, value_name = "FILE.spot", requires = "line")]
    pub from: Option<PathBuf>,

    /// The actions of --from up to the card that is dealt: cr50c
    #[arg(long, value_name = "ACTIONS", requires = "from")]
    pub line: Option<String>,

    /// The turn of --from, where the line goes through it
    #[arg(long, value_name = "CARDS", default_value = "", requires = "from")]
    pub board: String,

    #[command(flatten)]
    pub solve: SolveFlags,

    /// Iterations of each board [default: 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub iterations: Option<u64>,

    /// End a board at this exploitability, if that is before --iterations: chips (0.25), or a part of the pot (0.5%pot)
    #[arg(long, value_name = "EXPLOITABILITY", allow_negative_numbers = true)]
    pub target: Option<SpotTarget>,

    /// Devices, separated by commas: auto, cuda, cuda:1 and so on, cpu, simt; the boards are divided among them
    #[arg(long, value_name = "DEVICES", default_value = "auto", value_delimiter = ',')]
    pub device: Vec<String>,

    /// Write a line for each board to this file: texture, values, and frequencies of the first decisions
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,

    /// Write a page with tables by texture and board to this file; it needs no other file
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub journal: JournalFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

impl SolveBoardsArgs {
    /// The options of each board.
    pub fn options(&self) -> Options {
        let options = self.solve.spot_options();
        Options { iterations: self.iterations.unwrap_or(options.iterations), ..options }
    }
}

/// The flag as the help of the commands for spots has it: they have other defaults ([`Options::SPOT`]).
fn of_spots(flag: clap::Arg) -> clap::Arg {
    let [other, spots] = match flag.get_id().as_str() {
        "algorithm" => ["[default: cfr]", "[default: dcfr]"],
        "discounts" => ["[default: 1.5,0,2]", "[default: 1.5,0,4]"],
        _ => return flag,
    };
    match flag.get_help().map(|help| help.to_string().replace(other, spots)) {
        Some(help) => flag.help(help),
        None => flag,
    }
}

/// What `--resume` does for spots.
const RESUME: &str = "Continue from a file of --save (one spot, with its options and target), or a run of several spots from its --checkpoint file, without repeating those in it (needs the options of \
                      that run, except names of files)";

/// A value of `--form`: what it means, and what it meant.
#[derive(Clone, Copy, Debug)]
pub enum FormFlag {
    /// What is saved.
    Saved(SpotForm),
    /// An engine, under the old name of `--engine`.
    Engine(Engine),
}

impl FromStr for FormFlag {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let engine = |error| text.parse().map(Self::Engine).map_err(|_: Error| error);
        text.parse().map(Self::Saved).or_else(engine)
    }
}

#[derive(clap::Args, Debug)]
pub struct PlayArgs {
    /// The strategy, written by solve, or the spot, written by solve-spot --save; it plays all other seats
    #[arg(value_name = "FILE")]
    pub strategy: PathBuf,

    /// Your seat, from 0: of a strategy in the first hand, after which it changes; of a spot 0, 1, or both in turn [default: 0; of a spot both]
    #[arg(long, value_name = "SEAT", allow_negative_numbers = true)]
    pub seat: Option<SeatFlag>,

    #[command(flatten)]
    pub seed: SeedFlag,

    /// Hands [default: until you leave]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub hands: Option<u64>,

    /// Show what the strategy would do in your seat
    #[arg(long)]
    pub hints: bool,

    /// Of a spot: begin each hand after these actions: f, c, r50 (in chips since the spot began), with / between streets
    #[arg(long, value_name = "ACTIONS")]
    pub line: Option<String>,

    /// Of a spot: the cards dealt in --line
    #[arg(long, value_name = "CARDS")]
    pub board: Option<String>,

    /// Of a spot: when to say what your decisions lose: each (after every one), end (in the score), none (in --json alone) [default: each]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub feedback: Option<Feedback>,

    /// Of a spot: add each finished hand to this file, new or of hand histories, as a hand history in the text form of PokerStars
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// A value of `--seat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatFlag {
    /// One.
    Seat(usize),
    /// Seats 0 and 1 in turn.
    Both,
}

impl FromStr for SeatFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "both" => Ok(Self::Both),
            _ => text.parse().map(Self::Seat).map_err(|_| "expected a seat from 0, or both".to_string()),
        }
    }
}

/// When `play` says what decisions of the user lose.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    Each,
    End,
    None,
}

#[derive(clap::Args, Debug)]
pub struct MatchArgs {
    /// The first strategy
    #[arg(value_name = "A")]
    pub a: PathBuf,

    /// The second strategy, of the same game
    #[arg(value_name = "B")]
    pub b: PathBuf,

    /// Sample this many deals, on the CPU in f64 [default: all deals, exactly; 100 if the game is too large for that]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..), conflicts_with = "precision", allow_negative_numbers = true)]
    pub deals: Option<u64>,

    #[command(flatten)]
    pub seed: SeedFlag,

    /// Arithmetic over all deals: f32, f64 [default: f64]; sampled deals always use f64
    #[arg(long, value_name = "P")]
    pub precision: Option<Precision>,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct MatrixArgs {
    /// rock-paper-scissors, prisoners-dilemma, or the row player's payoffs of a zero-sum game: "0,-1,1; 1,0,-1; -1,1,0"
    #[arg(value_name = "GAME", allow_hyphen_values = true)]
    pub game: String,

    #[command(flatten)]
    pub solve: SolveFlags,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
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
        let case = |command, needs| Case { command, needs, beside: &[] };
        let cases = [
            case("solve", "x"),
            case("compare", "x"),
            case("solve-spot", "x"),
            case("solve-boards", "x"),
            case("matrix", "rock-paper-scissors"),
        ];
        let prose = [
            ("--threads", "all cores: as many as there are"),
            ("ranges range", "a list of all names"),
            ("--abstraction-runouts", "all run-outs"),
            ("solve game", "that of --resume"),
            ("solve-spot spots", "that of --resume"),
            ("solve-spot --target", "that of --resume FILE.spot"),
            ("--report", "a rule"),
            ("--hand", "every hand"),
            ("--spot", "all"),
            ("--hands", "until one leaves"),
            ("--seat", "a rule"),
            ("--feedback", "hands would be played to see it"),
            ("--deals", "a rule"),
            ("match --precision", "whole matches would be played to see it"),
            ("exploitability --precision", "strategies would be measured to see it"),
            ("--checkpoint-every", "a constant of the library that is not public"),
        ];
        hold::<Args>(&cases, &prose, |args| {
            Ok(match &args.command {
                Command::Solve(args) => format!("{} {:?}", args.report.iterations(), args.solve.options()),
                Command::Compare(args) => format!("{:?}", args.solve.options()),
                Command::SolveSpot(args) => format!("{} {:?}", args.report.iterations(), args.solve.spot_options()),
                Command::SolveBoards(args) => format!("{:?}", args.options()),
                Command::Matrix(args) => format!("{} {:?}", args.report.iterations(), args.solve.options()),
                _ => return Err("no options".into()),
            })
        });
    }

    /// A negative number is refused as a value, and not taken for a flag.
    #[test]
    fn numbers_may_be_negative_as_far_as_to_say_what_is_allowed() {
        let n_checked = take_negative_numbers::<Args>();
        assert!(n_checked > 15, "{n_checked} flags take numbers");
    }
}
