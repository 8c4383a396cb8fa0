//! `warpplay papers cfr_thesis`: the tables, figures and claims of the paper, beside ours.

use std::path::PathBuf;

use anyhow::{Context, Result};
use warpplay::cfr::GameDef;
use warpplay_papers::cfr_thesis::published::Variant;
use warpplay_papers::cfr_thesis::{BLOCK_SIZES, Options, Settings, Thesis, block_sizes, items_of};

use super::items::{Input, ItemFlags};

/// Repeat the experiments of Reis, CFR on the GPU: its programs beside ours, on its four games
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only these games, separated by commas: a, b, c, d (they can also be given in --only) [default: all]
    #[arg(long = "game", value_name = "NAMES", value_delimiter = ',')]
    pub variants: Vec<String>,

    /// Check that variant_a.game to variant_d.game in this folder equal the built-in games that are measured
    #[arg(long, value_name = "DIR", alias = "games")]
    pub definitions: Option<PathBuf>,

    /// Iterations of each point, separated by commas [default: those of the paper: 1000 to 10,000 of A and B, 10 to 100 of C and D; fewer with --quick]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub iterations: Vec<u32>,

    /// Runs of each point, 2 at most with --quick
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub repeats: u32,

    /// Threads of the iterative program on the CPU; the paper used 8
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub threads: u32,

    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = Options::default().block,
        value_parser = block,
        help = format!("Threads of a block: {}; the paper used 64", block_sizes())
    )]
    pub block: u32,

    /// Maximum time of one run in seconds: points that would take longer are skipped, and the output says so
    #[arg(long, value_name = "S", default_value_t = 120.0, allow_negative_numbers = true)]
    pub limit: f64,

    #[command(flatten)]
    pub items: ItemFlags,
}

fn block(text: &str) -> Result<u32, String> {
    let block = text.parse().ok().filter(|block| BLOCK_SIZES.contains(block));
    block.ok_or_else(|| format!("allowed are {}", block_sizes()))
}

/// Runs the command.
pub fn run(mut args: Args) -> Result<()> {
    args.items.output.start_log();
    // `--only` once named games; with nothing else it means the items of these.
    let (letters, items): (Vec<String>, Vec<String>) =
        std::mem::take(&mut args.items.only).into_iter().partition(|name| Variant::parse(name).is_ok());
    args.items.only = items;
    let named = letters.iter().chain(&args.variants).map(|name| Variant::parse(name));
    let named = named.collect::<Result<Vec<_>, _>>()?;
    if !letters.is_empty() && args.items.only.is_empty() {
        args.items.only = items_of(&named).into_iter().map(str::to_string).collect();
    }
    let variants = Variant::ALL.into_iter().filter(|variant| named.is_empty() || named.contains(variant)).collect();
    let mut iterations = args.iterations;
    iterations.sort_unstable();
    iterations.dedup();
    let settings = Settings {
        variants,
        iterations,
        repeats: args.repeats,
        most_seconds: args.limit,
        options: Options { threads: args.threads as usize, block: args.block, ..Options::default() },
    };
    let mut definitions = Vec::new();
    if let Some(folder) = &args.definitions {
        for &variant in &settings.variants {
            let path = folder.join(format!("variant_{}.game", variant.letter()));
            let found = GameDef::read(&path)?;
            anyhow::ensure!(
                found == variant.game()?,
                "{}: is another game than the one that is measured, whose counts are those of Table 2",
                path.display()
            );
            definitions.push(path);
        }
    }
    let inputs: Vec<Input<'_>> = definitions.iter().map(|path| ("--definitions", Some(path.as_path()))).collect();
    let thesis = Thesis::new(settings).context("papers cfr_thesis")?;
    args.items.run("papers cfr_thesis", &inputs, &thesis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_takes_the_blocks_that_the_library_takes() {
        for size in [0, 1, 16, 31, 32, 48, 64, 96, 128, 192, 256, 512, 1024] {
            let options = Options { block: size, ..Options::default() };
            let thesis = Thesis::new(Settings { options, ..Settings::default() });
            assert_eq!(block(&size.to_string()).is_ok(), thesis.is_ok(), "{size}");
        }
        assert_eq!(block("48"), Err("allowed are 32, 64, 128 or 256".to_string()));
    }
}
