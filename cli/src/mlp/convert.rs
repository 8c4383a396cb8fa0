//! `convert`: writes a network in another form.

use anyhow::Result;
use serde::Serialize;
use warpplay::mlp::{OnnxFormat, WeightLayout};

use crate::common::{self, OutputFile};
use crate::mlp::args::ConvertArgs;
use crate::mlp::evaluate;

/// What is written.
#[derive(Serialize)]
struct Facts {
    weights: String,
    sizes: Vec<u32>,
    save_onnx: Option<String>,
    save_weights: Option<String>,
}

/// Runs the command.
pub fn run(args: &ConvertArgs) -> Result<()> {
    args.output.start_log();
    let written = [("--save-onnx", args.save_onnx.as_deref()), ("--save-weights", args.save_weights.as_deref())];
    let json = ("--json", args.output.json.as_deref());
    common::expect_apart(&[("--weights", Some(&args.weights))], &[written[0], written[1], json], &[])?;
    for path in written.iter().filter_map(|(_, path)| *path) {
        OutputFile::prepare(path)?;
    }
    let json = args.output.json_file()?;
    let network = evaluate::load(&args.weights, args.activation)?;
    if let Some(path) = &args.save_onnx {
        network.save_onnx(
            path,
            &OnnxFormat { image_size: args.image_size, softmax: args.softmax, features: args.features },
        )?;
    }
    if let Some(path) = &args.save_weights {
        let layout = if args.pytorch { WeightLayout::PyTorch } else { WeightLayout::InOut };
        network.save(path, layout)?;
    }
    if let Some(json) = json {
        let [save_onnx, save_weights] = written.map(|(_, path)| path.map(|path| path.display().to_string()));
        let facts =
            Facts { weights: args.weights.display().to_string(), sizes: network.sizes(), save_onnx, save_weights };
        json.write_json(&common::Record::new("mlp convert", facts))?;
    }
    if !args.output.quiet {
        let sizes: Vec<String> = network.sizes().iter().map(u32::to_string).collect();
        for path in written.iter().filter_map(|(_, path)| *path) {
            common::print(format!("{}: a network {}\n", path.display(), sizes.join("-")))?;
        }
    }
    Ok(())
}
