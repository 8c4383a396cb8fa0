//! `learn`: self-play, training and gate in turn, in a folder.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use warpplay::Precision;
use warpplay::azero::learn::{IterationReport, LearnEvent, LearnOptions, Learner};
use warpplay::azero::player::{MatchOptions, SearchOptions};
use warpplay::azero::train::{Options, TrainEvent};
use warpplay::azero::{NetworkShape, ObservationLayout};

use crate::azero::args::LearnArgs;
use crate::azero::selfplay;
use crate::azero::train::{epoch_text, say};
use crate::common::flags::SeedFlag;
use crate::common::{self, OutputFile};

#[derive(clap::Args, Clone, Debug)]
pub struct LearnFlags {
    /// Folder of the run: games, checkpoints, networks; one in which a run was goes on with it
    #[arg(long, value_name = "DIR")]
    pub folder: PathBuf,

    /// Write the best network to this file at the end
    #[arg(long, value_name = "OUT.safetensors", alias = "out")]
    pub save_weights: Option<PathBuf>,

    /// Times that games are played, learned from, and a gate match is played
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().iterations, allow_negative_numbers = true)]
    pub iterations: u32,

    /// Games of self-play in each
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().games, allow_negative_numbers = true)]
    pub games: u64,

    /// Games side by side
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().parallel, allow_negative_numbers = true)]
    pub parallel: u32,

    /// Learn from the games of the last N iterations
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().window, allow_negative_numbers = true)]
    pub window: u32,

    /// Simulations of a move
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().search.simulations, allow_negative_numbers = true)]
    pub simulations: u32,

    /// Games of the gate match, and of the one against the initial network at the end
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().gate.games, allow_negative_numbers = true)]
    pub gate: u32,

    /// Share of the points above which the new network takes the place of the best
    #[arg(long, value_name = "S", default_value_t = LearnOptions::default().threshold, allow_negative_numbers = true)]
    pub gate_score: f64,

    /// Positions of a step of training
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().train.batch, allow_negative_numbers = true)]
    pub batch: u32,

    /// Times that an iteration learns from every position
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().train.epochs, allow_negative_numbers = true)]
    pub epochs: u32,

    /// Adam's learning rate
    #[arg(long, value_name = "R", default_value_t = LearnOptions::default().train.learning_rate, allow_negative_numbers = true, aliases = ["lr", "rate"])]
    pub learning_rate: f64,

    /// Channels of the network's blocks
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().shape.width, allow_negative_numbers = true)]
    pub width: u32,

    /// Residual blocks
    #[arg(long, value_name = "N", default_value_t = LearnOptions::default().shape.depth, allow_negative_numbers = true)]
    pub depth: u32,

    /// What observations show: default, egocentric, legacy; the default layout cannot tell who is to move
    #[arg(long, value_name = "LAYOUT", default_value_t = LearnOptions::default().observation)]
    pub observation: ObservationLayout,

    /// Arithmetic of self-play and matches [default: bf16 on a GPU with tensor cores, else f32]
    #[arg(long, value_name = "P")]
    pub precision: Option<Precision>,

    #[command(flatten)]
    pub seed: SeedFlag,
}

impl LearnFlags {
    fn options(&self) -> LearnOptions {
        let base = LearnOptions::default();
        LearnOptions {
            iterations: self.iterations,
            games: self.games,
            parallel: self.parallel,
            window: self.window,
            search: SearchOptions { simulations: self.simulations, ..base.search },
            train: Options { batch: self.batch, epochs: self.epochs, learning_rate: self.learning_rate, ..base.train },
            gate: MatchOptions { games: self.gate, ..base.gate },
            gate_search: SearchOptions { simulations: self.simulations, ..base.gate_search },
            threshold: self.gate_score,
            precision: self.precision,
            shape: NetworkShape { width: self.width, depth: self.depth, ..base.shape },
            observation: self.observation,
            seed: self.seed.seed.unwrap_or(base.seed),
            ..base
        }
    }
}

/// Runs the command.
pub fn run(args: &LearnArgs) -> Result<()> {
    args.output.start_log();
    let (flags, quiet) = (&args.learning, args.output.quiet);
    let options = flags.options();
    options.check()?;
    let (out, json) = (flags.save_weights.as_deref(), args.output.json.as_deref());
    common::expect_apart(&[], &[("--save-weights", out), ("--json", json)], &[])?;
    out.map(OutputFile::prepare).transpose()?;
    let json = OutputFile::prepare_option(json)?;
    let device = args.device.open()?;
    let mut learner = Learner::builder(&flags.folder).options(options).build(&device)?;
    let done = learner.report().iterations.len();
    if done > 0 {
        say(quiet, format!("{}: {done} iterations are done already\n", flags.folder.display()))?;
    }
    let bar = args.output.bar(flags.games);
    // A reader of stdout that goes away does not end a run.
    let mut shown = Ok(());
    let ended = learner.run(|progress| {
        let text = match &progress.latest {
            Some(LearnEvent::Game { games, .. }) => {
                bar.set_position(*games);
                None
            }
            Some(LearnEvent::SelfPlay(report)) => Some(selfplay::text(&report.played, &device)),
            Some(LearnEvent::Train(TrainEvent::Epoch(report))) => Some(epoch_text(report)),
            Some(LearnEvent::Gate(report)) => {
                Some(format!("gate: {report}, {:.1} %\n", 100.0 * report.results().score()))
            }
            Some(LearnEvent::Iteration(report)) => Some(iteration_text(report, flags.iterations)),
            _ => None,
        };
        if let (Some(text), Ok(())) = (text, &shown) {
            shown = bar.suspend(|| say(quiet, text));
        }
        if common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    bar.finish_and_clear();
    if let Some(json) = json {
        json.write(&common::to_json_text(learner.report())?)?;
    }
    if let Some(out) = out {
        learner.best()?.save(out)?;
        say(quiet, format!("the best network, of iteration {}, is in {}\n", learner.report().best(), out.display()))?;
    }
    if !ended.is_done() {
        return say(quiet, format!("stopped early: the same command goes on in {}\n", flags.folder.display()));
    }
    if learner.report().best() > 0 {
        let report = learner.match_with_initial()?;
        let score = 100.0 * report.results().score();
        say(quiet, format!("against the network it began as: {report}, {score:.1} %\n"))?;
    }
    Ok(())
}

fn iteration_text(report: &IterationReport, of: u32) -> String {
    let verdict = if report.accepted { "the best so far" } else { "not accepted" };
    format!("iteration {} of {of} in {:.1} s: {verdict}\n", report.iteration, report.seconds)
}
