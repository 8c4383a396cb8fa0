//! `predict`: the class of one image.

use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;
use warpplay::mlp::{Prediction, read_image};

use crate::common::{self, Usage};
use crate::mlp::args::PredictArgs;
use crate::mlp::picture;

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
    args.output.start_log();
    let read = [
        ("--weights", Some(args.classify.weights.as_path())),
        ("--image", args.image.as_deref()),
        ("--images", args.images.as_deref()),
    ];
    common::expect_apart(&read, &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let path = args.image.as_ref().or(args.images.as_ref());
    let path = path.ok_or_else(|| Usage("one of --image and --images is needed".into()))?;
    let (device, _, mut classifier) = args.classify.open(&args.device.device, args.classify.options()?, false)?;
    let image = read_image(path, args.index, classifier.n_inputs(), args.invert)?;
    let prediction = classifier.predict(&image)?.swap_remove(0);
    let sum: f32 = prediction.probabilities.iter().sum();
    // Weights may be finite and yet too large for single precision.
    let weights = args.classify.weights.display();
    anyhow::ensure!(sum.is_finite(), "{weights}: the network's outputs for this image are not finite");
    anyhow::ensure!((sum - 1.0).abs() < 1e-3, "check failed: the probabilities sum to {sum}");
    if let Some(json) = json {
        let facts = Facts {
            class: prediction.class,
            probabilities: &prediction.probabilities,
            image: path.display().to_string(),
            index: args.index,
            weights: args.classify.weights.display().to_string(),
            device: device.backend().to_string(),
        };
        json.write_json(&common::Record::new("mlp predict", facts))?;
    }
    if !args.output.quiet {
        common::print(picture::draw(&image))?;
        common::print(text(&prediction))?;
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
