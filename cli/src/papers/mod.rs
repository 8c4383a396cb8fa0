//! `warpplay papers NAME`: the tables and figures of the publications, beside ours.

#[cfg(feature = "cfr")]
pub mod cfr_thesis;
#[cfg(feature = "mcts")]
pub mod mctsnc;
#[cfg(feature = "mlp")]
pub mod mnist_mlp;

use clap::{Parser, Subcommand};

/// The publications repeated: tables, figures and kernels beside ours
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub paper: Paper,
}

/// A publication; each variant stands with its feature.
#[derive(Subcommand, Debug)]
pub enum Paper {
    /// Regret minimisation on the GPU (Reis, 2015): its programs beside ours, on its four games
    #[cfg(feature = "cfr")]
    #[command(name = "cfr_thesis")]
    CfrThesis(Box<cfr_thesis::Args>),
    #[cfg(feature = "mcts")]
    #[command(name = "mctsnc")]
    Mctsnc(mctsnc::Args),
    #[cfg(feature = "mlp")]
    #[command(name = "mnist_mlp")]
    MnistMlp(mnist_mlp::Args),
}

/// Runs a publication's commands.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.paper {
        #[cfg(feature = "cfr")]
        Paper::CfrThesis(args) => cfr_thesis::run(&args),
        #[cfg(feature = "mcts")]
        Paper::Mctsnc(args) => mctsnc::run(&args),
        #[cfg(feature = "mlp")]
        Paper::MnistMlp(args) => mnist_mlp::run(&args),
    }
}
