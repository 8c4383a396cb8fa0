//! `convert`: writes a network, from a file of any supported form or a seed, as a safetensors file.

use std::borrow::Cow;

use anyhow::Result;
use serde::Serialize;
use warpplay::azero::{NetworkShape, ObservationLayout, ValueOf};

use crate::azero::args::ConvertArgs;
use crate::common::{self, OutputFile};

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    weights: Cow<'a, str>,
    save_weights: Cow<'a, str>,
    shape: NetworkShape,
    observation: ObservationLayout,
    value_of: ValueOf,
}

/// Runs the command.
pub fn run(args: &ConvertArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(
        &[("--weights", args.weights.path().as_deref())],
        &[("--save-weights", Some(&args.save_weights)), ("--json", args.output.json.as_deref())],
        &[],
    )?;
    OutputFile::prepare(&args.save_weights)?;
    let json = args.output.json_file()?;
    let network = args.weights.load(args.output.quiet)?;
    network.save(&args.save_weights)?;
    if let Some(json) = json {
        let facts = Facts {
            weights: args.weights.name(),
            save_weights: args.save_weights.to_string_lossy(),
            shape: network.shape(),
            observation: network.observation(),
            value_of: network.value_of(),
        };
        json.write_json(&common::Record::new("azero convert", facts))?;
    }
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
