//! `evaluate`: a network on a labelled set.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use warpplay::Device;
use warpplay::mlp::{Activation, Classifier, Evaluation, Network, Options, Split};

use crate::common;
use crate::mlp::args::{ClassifyFlags, EvaluateArgs};
use crate::mlp::{check, table};

/// What is written: the library's report, and of what.
#[derive(Serialize)]
struct Facts<'a> {
    data: &'a str,
    weights: String,
    sizes: Vec<u32>,
    report: &'a Evaluation,
}

/// A network, with the activation that was given in place of the file's.
///
/// # Errors
/// The file cannot be read.
pub fn load(weights: &Path, activation: Option<Activation>) -> Result<Network> {
    let network = Network::load(weights)?;
    Ok(match activation {
        Some(activation) => network.with_activation(activation),
        None => network,
    })
}

impl ClassifyFlags {
    /// The library's options with what was given.
    ///
    /// # Errors
    /// One that is not allowed.
    pub fn options(&self) -> warpplay::Result<Options> {
        let mut options = Options::default();
        options.precision = self.precision.precision.unwrap_or(options.precision);
        options.engine = self.engine.engine.unwrap_or(options.engine);
        options.evaluate_batch = self.evaluate.evaluate_batch.unwrap_or(options.evaluate_batch);
        options.check()?;
        Ok(options)
    }

    /// Device and classifier of the network that was [loaded](Self::load).
    pub fn open(
        &self,
        network: &Network,
        device: &str,
        options: Options,
        features: bool,
    ) -> Result<(Device, Classifier)> {
        let device = Device::parse(device)?;
        let builder = Classifier::builder(network).options(options).features(features).threads(self.threads.threads);
        let classifier = builder.build(&device)?;
        Ok((device, classifier))
    }

    /// The network.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn load(&self) -> Result<Network> {
        load(&self.weights, self.activation)
    }
}

/// Runs the command.
pub fn run(args: &EvaluateArgs) -> Result<()> {
    args.output.start_log();
    let data = args.data.data();
    let mut read = data.paths().to_vec();
    read.push(("--weights", Some(args.classify.weights.as_path())));
    common::expect_apart(&read, &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let options = args.classify.options()?;
    let network = args.classify.load()?;
    let loss = args.loss.unwrap_or(network.loss());
    let data = data.of_network(&network);
    let options = Options { loss, ..options };
    let (_, mut classifier) = args.classify.open(&network, &args.device.device, options, data.features.is_some())?;
    let sizes = network.sizes();
    let split = if args.on_training_set { Split::Train } else { Split::Test };
    let n_classes = sizes[sizes.len() - 1];
    let set = data.load_split(split, n_classes, loss, network.scaling())?;
    data.say_if_drawn(args.output.quiet)?;
    let found = classifier.evaluate(&set)?;
    check::evaluation(&found)?;
    check::finite(&found, &args.classify.weights, &set)?;
    if let Some(json) = json {
        let facts =
            Facts { data: set.source(), weights: args.classify.weights.display().to_string(), sizes, report: &found };
        json.write_json(&common::Record::new("mlp evaluate", facts))?;
    }
    args.output.print(table::evaluation(&found, set.source()))?;
    Ok(())
}
