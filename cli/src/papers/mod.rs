//! `warpplay papers NAME`: the tables and figures of the publications, beside ours.

#[cfg(feature = "cfr")]
pub mod cfr_thesis;
#[cfg(feature = "azero")]
pub mod checkers_conv;
mod date;
mod draw;
mod items;
#[cfg(feature = "mcts")]
pub mod mctsnc;
#[cfg(feature = "mlp")]
pub mod mnist_mlp;
mod page;
#[cfg(feature = "shogi")]
pub mod shogi_bonanza;

use clap::{Parser, Subcommand};

/// Reproduce the publications: their tables, figures and kernels beside ours
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub paper: Paper,
}

/// A publication, each with its family's feature; and a page of results.
#[derive(Subcommand, Debug)]
pub enum Paper {
    #[cfg(feature = "mcts")]
    #[command(name = "mctsnc", after_help = examples!["papers mctsnc --list", "papers mctsnc --quick --only table3"])]
    Mctsnc(Box<mctsnc::Args>),
    #[cfg(feature = "azero")]
    #[command(name = "checkers_conv", after_help = examples!["papers checkers_conv --quick --only table1"])]
    CheckersConv(Box<checkers_conv::Args>),
    #[cfg(feature = "mlp")]
    #[command(name = "mnist_mlp", after_help = examples!["papers mnist_mlp --quick --plots FOLDER"])]
    MnistMlp(Box<mnist_mlp::Args>),
    #[cfg(feature = "shogi")]
    #[command(name = "shogi_bonanza", after_help = examples!["papers shogi_bonanza --quick --only table2"])]
    ShogiBonanza(Box<shogi_bonanza::Args>),
    #[cfg(feature = "cfr")]
    #[command(name = "cfr_thesis", after_help = examples!["papers cfr_thesis --quick --only table13 --json thesis.json"])]
    CfrThesis(Box<cfr_thesis::Args>),
    #[command(name = "page", after_help = examples!["papers page docs/papers/mctsnc.md run.json"])]
    Page(page::Args),
}

/// Runs a publication's commands.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.paper {
        #[cfg(feature = "mcts")]
        Paper::Mctsnc(args) => mctsnc::run(&args),
        #[cfg(feature = "azero")]
        Paper::CheckersConv(args) => checkers_conv::run(*args),
        #[cfg(feature = "mlp")]
        Paper::MnistMlp(args) => mnist_mlp::run(*args),
        #[cfg(feature = "shogi")]
        Paper::ShogiBonanza(args) => shogi_bonanza::run(&args),
        #[cfg(feature = "cfr")]
        Paper::CfrThesis(args) => cfr_thesis::run(*args),
        Paper::Page(args) => page::run(&args),
    }
}

/// Runs a line that stood elsewhere once, without `warpplay papers`.
#[cfg(feature = "mlp")]
pub fn run_line(line: Vec<String>) -> anyhow::Result<()> {
    run(crate::common::parse(std::iter::once("warpplay papers".to_string()).chain(line).map(Into::into).collect()))
}

#[cfg(all(test, feature = "mcts", feature = "azero", feature = "mlp", feature = "shogi", feature = "cfr"))]
mod tests {
    use super::*;
    use crate::common::defaults::{Case, hold};
    use crate::common::negative::take_negative_numbers;

    #[test]
    fn helps_tell_the_defaults() {
        let case = |command, needs| Case { command, needs, beside: &[] };
        let cases = [case("mnist_mlp train", ""), case("shogi_bonanza", "--records x")];
        let prose = [
            ("--threads", "all cores: as many as there are"),
            ("mctsnc --games", "by --quick or --full"),
            ("mctsnc --seconds", "by --quick or --full"),
            ("mctsnc --memory", "4, with --full 16"),
            ("checkers_conv --batch", "by the device"),
            ("checkers_conv --games", "by --quick"),
            ("mnist_mlp --epochs", "by item and --quick"),
            ("cfr_thesis --iterations", "by --quick"),
            ("shogi_bonanza --iterations", "of the paper"),
            ("shogi_bonanza --engine", "that of the library"),
            ("shogi_bonanza --split", "of the paper's own options"),
            ("shogi_bonanza --plot-iterations", "of the paper"),
            ("cfr_thesis --game", "all"),
            ("--label-column", "the first"),
        ];
        hold::<Args>(&cases, &prose, |args| match &args.paper {
            Paper::MnistMlp(args) => args.options().map(|options| format!("{options:?}")).ok_or("no options".into()),
            Paper::ShogiBonanza(args) => Ok(format!("{:?} {:?}", args.source.part.plies(), args.rule.init())),
            _ => Err("no options".into()),
        });
    }

    /// A negative number is refused as a value, and not taken for a flag.
    #[test]
    fn numbers_may_be_negative_as_far_as_to_say_what_is_allowed() {
        let n_checked = take_negative_numbers::<Args>();
        assert!(n_checked > 30, "{n_checked} flags take numbers");
    }
}
