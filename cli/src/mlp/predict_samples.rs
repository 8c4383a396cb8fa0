//! `predict --samples`: what a network makes of samples.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::Serialize;
use warpplay::mlp::{CsvFormat, Inputs, Prediction, read_features, read_pixels};

use crate::common::{self, table};
use crate::mlp::args::PredictArgs;

/// What is written.
#[derive(Serialize)]
struct Facts {
    samples: String,
    weights: String,
    device: String,
    /// Class of each sample, and the probabilities of all classes; of a network that was trained with labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<Vec<Vec<f32>>>,
    /// Outputs for each sample; of a network that was trained with targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<Vec<f32>>>,
}

/// Runs the command.
pub fn run(args: &PredictArgs, samples: &Path) -> Result<()> {
    args.output.start_log();
    let weights = args.classify.weights.as_path();
    let read = [("--weights", Some(weights)), ("--samples", Some(samples))];
    common::expect_apart(&read, &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let (options, network) = (args.classify.options()?, args.classify.load()?);
    let loss = args.loss.unwrap_or(network.loss());
    let inputs = match &args.features {
        Some(_) => Inputs::Features(None),
        None => network.inputs().clone(),
    };
    let is_features = inputs != Inputs::Pixels;
    let (device, mut classifier) = args.classify.open(&network, &args.device.device, options, is_features)?;
    let (format, n) = (
        CsvFormat { label: args.label_column.clone(), header: args.header.given(), image_size: None },
        classifier.n_inputs(),
    );
    let outputs = common::without_results(|| match &inputs {
        Inputs::Pixels => classifier.logits(&read_pixels(samples, &format, n)?),
        Inputs::Features(None) => {
            let features = read_features(samples, &format, n)?;
            classifier.outputs(&features.iter().map(|&value| value as f32).collect::<Vec<f32>>())
        }
        Inputs::Features(Some(scaling)) => classifier.outputs(&scaling.scaled(&read_features(samples, &format, n)?)?),
    })?;
    let outputs: Vec<&[f32]> = outputs.chunks_exact(classifier.n_classes() as usize).collect();
    // Weights may be finite and yet too large for single precision.
    for (number, outputs) in outputs.iter().enumerate() {
        let is_finite = outputs.iter().all(|value| value.is_finite());
        ensure!(is_finite, "{}: the network's outputs for sample {number} are not finite", weights.display());
    }
    let mut facts = Facts {
        samples: samples.display().to_string(),
        weights: weights.display().to_string(),
        device: device.backend().to_string(),
        classes: None,
        probabilities: None,
        outputs: None,
    };
    let shown = if loss.is_regression() {
        let shown = of_targets(&outputs);
        facts.outputs = Some(outputs.iter().map(|outputs| outputs.to_vec()).collect());
        shown
    } else {
        let predictions: Vec<Prediction> = outputs.iter().map(|logits| Prediction::of_logits(logits)).collect();
        let shown = of_classes(&predictions);
        facts.classes = Some(predictions.iter().map(|prediction| prediction.class).collect());
        facts.probabilities = Some(predictions.into_iter().map(|prediction| prediction.probabilities).collect());
        shown
    };
    if let Some(json) = json {
        json.write_json(&common::Record::new("mlp predict", facts))?;
    }
    args.output.print(shown)?;
    Ok(())
}

/// A line for each sample: its class and how probable that is.
fn of_classes(predictions: &[Prediction]) -> String {
    let row = |(number, prediction): (usize, &Prediction)| {
        let share = prediction.probabilities[prediction.class as usize];
        vec![number.to_string(), prediction.class.to_string(), table::fixed(100.0 * f64::from(share), 2)]
    };
    table::Table::new(&["sample", "class", "probability, %"])
        .rows(&predictions.iter().enumerate().map(row).collect::<Vec<_>>())
        .to_string()
}

/// A line for each sample: its outputs.
fn of_targets(outputs: &[&[f32]]) -> String {
    let n_targets = outputs.first().map_or(0, |outputs| outputs.len());
    let heads: Vec<String> = (0..n_targets).map(|target| format!("target {target}")).collect();
    let heads: Vec<&str> = std::iter::once("sample").chain(heads.iter().map(String::as_str)).collect();
    let row = |(number, outputs): (usize, &&[f32])| {
        std::iter::once(number.to_string())
            .chain(outputs.iter().map(|&value| table::significant(f64::from(value))))
            .collect()
    };
    table::Table::new(&heads).rows(&outputs.iter().enumerate().map(row).collect::<Vec<_>>()).to_string()
}
