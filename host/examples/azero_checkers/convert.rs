//! `convert`: a network of any form as a safetensors file of ours.

use anyhow::Result;

use crate::args::ConvertArgs;
use crate::common::{self, OutputFile};
use crate::network;

/// Runs the command.
pub fn run(args: &ConvertArgs) -> Result<()> {
    args.output.start_log();
    network::distinct(("--out", Some(&args.out)), &[("--weights", args.weights.path().as_deref())])?;
    OutputFile::prepare(&args.out)?;
    let network = args.weights.load(args.output.quiet)?;
    network.save(&args.out)?;
    if !args.output.quiet {
        let shape = network.shape();
        common::print(format!(
            "{}: {} blocks of width {}, observation {}, value of {}\n",
            args.out.display(),
            shape.depth,
            shape.width,
            network.observation(),
            network.value_of()
        ))?;
    }
    Ok(())
}
