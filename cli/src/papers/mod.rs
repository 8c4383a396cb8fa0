//! `warpplay papers NAME`: the tables and figures of the publications, beside ours.

#[cfg(feature = "shogi")]
pub mod shogi_bonanza;

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
    #[cfg(feature = "shogi")]
    #[command(name = "shogi_bonanza")]
    ShogiBonanza(Box<shogi_bonanza::Args>),
}

/// Runs a publication's commands.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.paper {
        #[cfg(feature = "shogi")]
        Paper::ShogiBonanza(args) => shogi_bonanza::run(&args),
    }
}
