//! `evaluate-conv`: a network of convolutions on a labelled set.

use anyhow::Result;
use serde::Serialize;
use warpplay::mlp::conv::{ConvClassifier, ConvNetwork, ConvOptions};
use warpplay::mlp::{Evaluation, Loss, Split};

use super::EvaluateConvArgs;
use crate::common;
use crate::mlp::{check, table};

/// What is written: the library's report, and of what.
#[derive(Serialize)]
struct Facts<'a> {
    data: &'a str,
    weights: String,
    blocks: &'a [Vec<u32>],
    image_size: [u32; 2],
    report: &'a Evaluation,
}

impl EvaluateConvArgs {
    /// The library's options with what was given.
    ///
    /// # Errors
    /// One that is not allowed.
    pub fn options(&self) -> warpplay::Result<ConvOptions> {
        let default = ConvOptions::default();
        let batch = self.batch.unwrap_or(default.batch);
        let options = ConvOptions { batch, threads: self.classify.threads.threads, ..default };
        options.check()?;
        Ok(options)
    }
}

/// Runs the command.
pub fn run(args: &EvaluateConvArgs) -> Result<()> {
    args.output.start_log();
    let weights = &args.classify.weights;
    let mut read = args.data.paths().to_vec();
    read.push(("--weights", Some(weights.as_path())));
    common::expect_apart(&read, &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let options = args.options()?;
    let network = ConvNetwork::load(weights)?;
    let mut classifier = ConvClassifier::builder(&network).options(options).build(&args.device.open()?)?;
    let split = if args.on_training_set { Split::Train } else { Split::Test };
    let mut data = args.data.clone();
    data.image_size = Some(network.image_size().into());
    let set = data.load_split(split, network.n_classes(), Loss::CrossEntropy, None)?;
    data.say_if_drawn(args.output.quiet)?;
    let found = classifier.evaluate(&set)?;
    check::evaluation(&found)?;
    check::finite(&found, weights, &set)?;
    if let Some(json) = json {
        let facts = Facts {
            data: set.source(),
            weights: weights.display().to_string(),
            blocks: network.blocks(),
            image_size: network.image_size(),
            report: &found,
        };
        json.write_json(&common::Record::new("mlp evaluate-conv", facts))?;
    }
    args.output.print(table::evaluation(&found, set.source()))
}
