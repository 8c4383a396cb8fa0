//! `convert`: writes a network, from a file of any supported form or a seed, as a safetensors file.

use anyhow::Result;

use crate::azero::args::ConvertArgs;
use crate::common::{self, OutputFile};

/// Runs the command.
pub fn run(args: &ConvertArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(
        &[("--weights", args.weights.path().as_deref())],
        &[("--save-weights", Some(&args.save_weights))],
        &[],
    )?;
    OutputFile::prepare(&args.save_weights)?;
    let network = args.weights.load(args.output.quiet)?;
    network.save(&args.save_weights)?;
    if !args.output.quiet {
        let shape = network.shape();
        common::print(format!(
            "{}: {} blocks of width {}, observation {}, value of {}\n",
            args.save_weights.display(),
            shape.depth,
            shape.width,
            network.observation(),
            network.value_of()
        ))?;
    }
    Ok(())
}
