//! `warpplay`: every family of the library from the command line.
//!
//! ```text
//! warpplay mcts analyse --game connect4 --moves 4453
//! warpplay mlp train --data DIR
//! warpplay demo
//! warpplay doctor
//! ```
//!
//! Exit codes: 0 done, also when Ctrl-C or another signal that asks for an end ended it early, with the result so far; 2 a wrong command line or an option that is not allowed; 130
//! ended at once, by a second Ctrl-C or by one before there was any result; 1 everything else, with one line on stderr.

#[macro_use]
mod examples;

#[cfg(feature = "azero")]
mod azero;
#[cfg(feature = "cfr")]
mod cfr;
#[allow(dead_code, unused_imports, reason = "each family uses a part, and may be the only one")]
mod common;
#[allow(dead_code, unused_imports, reason = "each family uses a part, and may be the only one")]
mod demo;
mod doctor;
#[cfg(feature = "mcts")]
mod mcts;
#[cfg(feature = "mlp")]
mod mlp;
mod new_crate;
#[cfg(feature = "papers")]
mod papers;
mod reference;
#[cfg(feature = "shogi")]
mod shogi;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Game AI on the GPU, or on the CPU if there is no GPU
#[derive(Parser, Debug)]
#[command(name = "warpplay", version, after_help = examples!["demo", "doctor", "mcts analyse --game connect4 --moves 4453"])]
struct Cli {
    #[command(subcommand)]
    family: Family,
}

#[derive(Subcommand, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of them in a run")]
enum Family {
    #[cfg(feature = "mcts")]
    #[command(after_help = examples!["mcts analyse --game connect4 --moves 4453", "mcts play --game hex --seconds 1"])]
    Mcts(mcts::Args),
    #[cfg(feature = "azero")]
    #[command(after_help = examples!["azero learn --folder run --iterations 10 --games 200", "azero play --weights net.safetensors"])]
    Azero(azero::Args),
    #[cfg(feature = "mlp")]
    #[command(after_help = examples!["mlp train --data DIR --save-weights net.safetensors", "mlp predict --weights net.safetensors --image digit.png"])]
    Mlp(mlp::Args),
    #[cfg(feature = "shogi")]
    #[command(after_help = examples!["shogi learn --records DIR --held-out 0.2", "shogi analyse startpos moves 7g7f 3c3d"])]
    Shogi(shogi::Args),
    #[cfg(feature = "cfr")]
    #[command(after_help = examples!["cfr solve leduc --algorithm cfr_plus --strategy leduc.strategy", "cfr play leduc.strategy"])]
    Cfr(cfr::Args),
    #[cfg(feature = "papers")]
    #[command(after_help = examples!["papers mctsnc --list", "papers mnist_mlp --quick"])]
    Papers(papers::Args),
    /// Run a small job of each family in about a minute and write a page with the plots
    #[command(after_help = examples!["demo", "demo --out DIR --device cpu"])]
    Demo(demo::Args),
    /// Check driver, devices, kernels, compiler, Python and data on this machine, and say how to fix problems
    #[command(visible_alias = "device")]
    #[command(after_help = examples!["doctor", "doctor --json found.json"])]
    Doctor(doctor::Args),
    /// Write a crate for your own game, which builds and passes its tests
    #[command(after_help = examples!["new-game my-game --path ../warpplay"])]
    NewGame(new_crate::Args),
    /// Write a crate for your own kernel, which builds and passes its tests
    #[command(after_help = examples!["new-kernel my-kernel --path ../warpplay"])]
    NewKernel(new_crate::Args),
    /// Print shell completions of commands, flags and values
    #[command(after_help = examples!["completions bash > ~/.local/share/bash-completion/completions/warpplay", "completions fish > ~/.config/fish/completions/warpplay.fish"])]
    Completions(reference::CompletionsArgs),
    /// Write a manual page for each command
    #[command(after_help = examples!["man ~/.local/share/man/man1"])]
    Man(reference::ManArgs),
    /// A family that this program was built without, or an unknown command. With the feature `papers-all` the program has all families, and the parser itself reports unknown
    /// commands.
    #[cfg(not(feature = "papers-all"))]
    #[command(external_subcommand)]
    Missing(Vec<OsString>),
}

impl Family {
    /// Whether its work takes the threads of the process. `azero` starts them by itself, and the doctor says what works without them too.
    fn computes(&self) -> bool {
        match self {
            #[cfg(feature = "mcts")]
            Self::Mcts(_) => true,
            #[cfg(feature = "mlp")]
            Self::Mlp(_) => true,
            #[cfg(feature = "shogi")]
            Self::Shogi(_) => true,
            #[cfg(feature = "cfr")]
            Self::Cfr(_) => true,
            #[cfg(feature = "papers")]
            Self::Papers(_) => true,
            Self::Demo(_) => true,
            _ => false,
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli: Cli = common::parse(words.clone());
    common::exit(run(cli.family).map_err(|error| common::flags::value_as_typed(error, &words)))
}

fn run(family: Family) -> anyhow::Result<()> {
    common::catch_interrupts()?;
    if family.computes() {
        common::start_threads(None)?;
    }
    match family {
        #[cfg(feature = "mcts")]
        Family::Mcts(args) => mcts::run(args),
        #[cfg(feature = "azero")]
        Family::Azero(args) => azero::run(args),
        #[cfg(feature = "mlp")]
        Family::Mlp(args) => match args.moved() {
            #[cfg(feature = "papers")]
            Some(line) => papers::run_line(line),
            _ => mlp::run(args),
        },
        #[cfg(feature = "shogi")]
        Family::Shogi(args) => shogi::run(args),
        #[cfg(feature = "cfr")]
        Family::Cfr(args) => cfr::run(args),
        #[cfg(feature = "papers")]
        Family::Papers(args) => papers::run(args),
        Family::Demo(args) => demo::run(&args),
        Family::Doctor(args) => doctor::run(&args),
        Family::NewGame(args) => new_crate::game(&args),
        Family::NewKernel(args) => new_crate::kernel(&args),
        Family::Completions(args) => reference::completions(&args, Cli::command()),
        Family::Man(args) => reference::man(&args, Cli::command()),
        #[cfg(not(feature = "papers-all"))]
        Family::Missing(words) => Err(missing(&words).into()),
    }
}

/// What to do where a family is not in this program.
#[cfg(not(feature = "papers-all"))]
fn missing(words: &[OsString]) -> common::Usage {
    let word = words.first().map_or(String::new(), |word| word.to_string_lossy().into_owned());
    common::Usage(match word.as_str() {
        "mcts" | "azero" | "mlp" | "shogi" | "cfr" | "papers" => format!(
            "this program was built without {word}: `cargo install --locked --path cli` builds it with everything, `cargo xtask run {word}` builds it with {word} and runs it"
        ),
        _ => format!("{word} is no command: --help lists those of this program"),
    })
}
