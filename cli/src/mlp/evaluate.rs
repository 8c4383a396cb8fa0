//! `evaluate`: a network on a labelled set.

use anyhow::Result;
use serde::Serialize;
use warpplay::Device;
use warpplay::mlp::{Classifier, Evaluation, Network, Options, Split};

use crate::common;
use crate::mlp::args::{ClassifyFlags, EvaluateArgs};
use crate::mlp::{check, table};

/// What is written: the library's report, and of what.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    found: &'a Evaluation,
    data: &'a str,
    weights: String,
    sizes: Vec<u32>,
    program: &'static str,
    version: &'static str,
}

impl ClassifyFlags {
    /// Device, network and classifier.
    pub fn open(&self, device: &str) -> Result<(Device, Network, Classifier)> {
        let mut options = Options::default();
        options.precision = self.precision.precision.unwrap_or(options.precision);
        options.engine = self.engine.engine.unwrap_or(options.engine);
        options.evaluate_batch = self.evaluate.evaluate_batch.unwrap_or(options.evaluate_batch);
        options.check()?;
        let network = Network::load(&self.weights)?;
        let device = Device::parse(device)?;
        let classifier = Classifier::builder(&network).options(options).threads(self.threads.threads).build(&device)?;
        Ok((device, network, classifier))
    }
}

/// Runs the command.
pub fn run(args: &EvaluateArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(
        &[("--weights", Some(&args.classify.weights))],
        &[("--json", args.output.json.as_deref())],
        &[],
    )?;
    let json = args.output.json_file()?;
    let (_, network, mut classifier) = args.classify.open(&args.device.device)?;
    let sizes = network.sizes();
    let split = if args.on_training_set { Split::Train } else { Split::Test };
    let n_classes = sizes[sizes.len() - 1];
    let set = args.data.load_split(split, n_classes)?;
    args.data.say_if_drawn(args.output.quiet)?;
    let found = classifier.evaluate(&set)?;
    check::evaluation(&found)?;
    if let Some(json) = json {
        let record = Record {
            found: &found,
            data: set.source(),
            weights: args.classify.weights.display().to_string(),
            sizes,
            program: "warpplay mlp",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write_json(&record)?;
    }
    args.output.print(table::evaluation(&found, set.source()))?;
    Ok(())
}
