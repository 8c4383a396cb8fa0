//! `predict`: the class of one image.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use warpplay::Device;
use warpplay::mlp::conv::{ConvClassifier, ConvNetwork};
use warpplay::mlp::{Inputs, Prediction, read_image, read_image_sized};

use crate::common::{self, OutputFile, OutputFlags, Usage};
use crate::mlp::args::PredictArgs;
use crate::mlp::conv::PredictConvArgs;
use crate::mlp::image_flags::ImageFlags;
use crate::mlp::{picture, predict_samples};

/// Characters of the longest bar.
const BAR: f32 = 40.0;

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    class: u32,
    probabilities: &'a [f32],
    image: String,
    index: usize,
    weights: String,
    device: String,
}

/// Runs the command.
pub fn run(args: &PredictArgs) -> Result<()> {
    if let Some(samples) = &args.samples {
        return predict_samples::run(args, samples);
    }
    args.output.start_log();
    let (weights, output) = (args.classify.weights.as_path(), &args.output);
    let (path, json) = args.image.prepare(weights, output)?;
    let (options, network) = (args.classify.options()?, args.classify.load()?);
    let said = match (network.inputs(), network.loss()) {
        (Inputs::Features(_), _) => Some("takes features".to_string()),
        (_, loss) if loss.is_regression() => Some(format!("was trained with loss {loss}")),
        _ => None,
    };
    if let Some(said) = said {
        return Err(Usage(format!("{}: the network {said}, which --samples is for", weights.display())).into());
    }
    let (device, mut classifier) = args.classify.open(&network, &args.device.device, options, false)?;
    let image = read_image(path, args.image.index, classifier.n_inputs(), args.image.invert)?;
    let prediction = classifier.predict(&image)?.swap_remove(0);
    tell(
        &Found { prediction, pixels: image, image: &args.image, weights, device, command: "mlp predict" },
        json,
        output,
    )
}

/// Runs `predict-conv`.
pub fn run_conv(args: &PredictConvArgs) -> Result<()> {
    args.output.start_log();
    let (weights, output) = (args.classify.weights.as_path(), &args.output);
    let (path, json) = args.image.prepare(weights, output)?;
    let network = ConvNetwork::load(weights)?;
    let image = read_image_sized(path, args.image.index, network.image_size(), args.image.invert)?;
    let device = Device::parse(&args.device.device)?;
    // One image is classified.
    let builder = ConvClassifier::builder(&network).batch(1).threads(args.classify.threads.threads);
    let prediction = builder.build(&device)?.predict(&image)?.swap_remove(0);
    let command = "mlp predict-conv";
    tell(&Found { prediction, pixels: image, image: &args.image, weights, device, command }, json, output)
}

impl ImageFlags {
    /// The image's file, and the one of the result.
    fn prepare(&self, weights: &Path, output: &OutputFlags) -> Result<(&Path, Option<OutputFile>)> {
        let read =
            [("--weights", Some(weights)), ("--image", self.image.as_deref()), ("--images", self.images.as_deref())];
        common::expect_apart(&read, &[("--json", output.json.as_deref())], &[])?;
        let json = output.json_file()?;
        Ok((self.path()?, json))
    }

    fn path(&self) -> Result<&Path> {
        let path = self.image.as_deref().or(self.images.as_deref());
        Ok(path.ok_or_else(|| Usage("one of --image and --images is needed".into()))?)
    }
}

/// What was found.
struct Found<'a> {
    prediction: Prediction,
    pixels: Vec<u8>,
    image: &'a ImageFlags,
    weights: &'a Path,
    device: Device,
    command: &'static str,
}

/// Checks and writes it.
fn tell(found: &Found<'_>, json: Option<OutputFile>, output: &OutputFlags) -> Result<()> {
    let Found { prediction, pixels, image, weights, device, command } = found;
    let sum: f32 = prediction.probabilities.iter().sum();
    // Weights may be finite and yet too large for single precision.
    let weights = weights.display();
    anyhow::ensure!(sum.is_finite(), "{weights}: the network's outputs for this image are not finite");
    anyhow::ensure!((sum - 1.0).abs() < 1e-3, "check failed: the probabilities sum to {sum}");
    if let Some(json) = json {
        let facts = Facts {
            class: prediction.class,
            probabilities: &prediction.probabilities,
            image: image.path()?.display().to_string(),
            index: image.index,
            weights: weights.to_string(),
            device: device.backend().to_string(),
        };
        json.write_json(&common::Record::new(command, facts))?;
    }
    if !output.quiet {
        common::print(picture::draw(pixels))?;
        common::print(text(prediction))?;
    }
    Ok(())
}

fn text(prediction: &Prediction) -> String {
    let mut text = String::new();
    for (class, probability) in prediction.probabilities.iter().enumerate() {
        let bar = "#".repeat((probability * BAR).round() as usize);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{class:>5} {:>7.3} %  {bar}", 100.0 * probability);
    }
    text + &format!("class {}\n", prediction.class)
}
