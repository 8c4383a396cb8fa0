//! The flags that name a network and say how it runs.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::builder::{OsStringValueParser, TypedValueParser};
use warpplay::azero::{
    Engine, Evaluation, Evaluator, EvaluatorOptions, MAX_BATCH, Network, NetworkShape, ObservationLayout, Positions,
};
use warpplay::{Device, Error};

use crate::common;
use crate::common::flags::{EngineFlag, PrecisionFlag, ThreadsFlag};

/// The network where none is named.
pub const DEFAULT: &str = "seed:27";

/// Which network.
#[derive(clap::Args, Clone, Debug)]
pub struct WeightsFlags {
    /// The network: a safetensors file with libtorch's tensor names, a checkpoint of OpenSpiel, or seed:N for an untrained network from that seed [default: seed:27]
    #[arg(long, value_name = "FILE|seed:N", value_parser = weights_name())]
    pub weights: Option<OsString>,

    /// Layout of its observations: default, egocentric, legacy (egocentric as before OpenSpiel 1.6.10) [default: as the file says, else default]
    #[arg(long, value_name = "LAYOUT")]
    pub observation: Option<ObservationLayout>,
}

/// Reads the name of a network. The parser's own type for names, unlike that for paths, takes an empty one.
fn weights_name() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(|name| match name.is_empty() {
        true => Err("it is empty, expected a file or seed:N"),
        false => Ok(name),
    })
}

impl WeightsFlags {
    /// The name of the network, for people: what is no text in it is replaced.
    pub fn name(&self) -> Cow<'_, str> {
        self.weights.as_ref().map_or(Cow::Borrowed(DEFAULT), |name| name.to_string_lossy())
    }

    /// The file of the network, if it has one.
    pub fn path(&self) -> Option<PathBuf> {
        self.weights.as_deref().filter(|name| seed(name).is_none()).map(PathBuf::from)
    }

    /// Loads the network; says so where the default one stands in for it.
    pub fn load(&self, quiet: bool) -> Result<Network> {
        let network = load(self.weights.as_deref().unwrap_or(OsStr::new(DEFAULT)), self.observation)?;
        if self.weights.is_none() && !quiet {
            common::print(format!("no --weights: the seeded default network, {DEFAULT}, which is untrained\n"))?;
        }
        Ok(network)
    }
}

/// The name of a network that is of a seed, and no file.
pub fn seed(name: &OsStr) -> Option<&str> {
    name.to_str().filter(|name| name.starts_with("seed:"))
}

/// A network by its name, for checkers.
pub fn load(name: &OsStr, observation: Option<ObservationLayout>) -> Result<Network> {
    let network = match seed(name) {
        Some(name) => Network::from_weights(name)?,
        None => Network::load(Path::new(name))?,
    };
    let name = name.display();
    let (shape, checkers) = (network.shape(), NetworkShape::default());
    let size = |shape: NetworkShape| (shape.planes, shape.rows, shape.columns, shape.actions);
    ensure!(
        size(shape) == size(checkers),
        "{name}: a network for {} planes of {} x {} and {} actions, checkers has {} of {} x {} and {}",
        shape.planes,
        shape.rows,
        shape.columns,
        shape.actions,
        checkers.planes,
        checkers.rows,
        checkers.columns,
        checkers.actions
    );
    Ok(match observation {
        Some(observation) => {
            let value_of = network.value_of();
            network.with_meaning(observation, value_of)
        }
        None => network,
    })
}

/// How a network runs.
#[derive(clap::Args, Clone, Debug)]
pub struct RunFlags {
    #[command(flatten)]
    pub precision: PrecisionFlag,
    #[command(flatten)]
    pub engine: EngineFlag<Engine>,
    #[command(flatten)]
    pub threads: ThreadsFlag,
}

impl RunFlags {
    /// These choices, and the library's for what was not given.
    pub fn options(&self) -> EvaluatorOptions {
        let base = EvaluatorOptions::default();
        EvaluatorOptions {
            precision: self.precision.precision.unwrap_or(base.precision),
            engine: self.engine.engine.unwrap_or(base.engine),
            threads: self.threads.threads,
            ..base
        }
    }

    /// An evaluator for `n` positions at once.
    pub fn open(&self, device: &Device, network: &Network, n: usize) -> Result<Evaluator> {
        open(device, network, EvaluatorOptions { max_batch: n, ..self.options() })
    }
}

/// An evaluator with these options; `max_batch` came from --batch.
pub fn open(device: &Device, network: &Network, options: EvaluatorOptions) -> Result<Evaluator> {
    let n = options.max_batch;
    check_batch(n)?;
    Evaluator::builder(network).options(options).build(device).map_err(|error| match error {
        // Which option asked for so much.
        Error::OutOfMemory { .. } => anyhow::Error::new(error).context(format!("--batch {n}")),
        error => error.into(),
    })
}

/// # Errors
/// [`Error::Option`] for a batch of 0 or too many positions.
pub(super) fn check_batch(n: usize) -> Result<(), Error> {
    match (1..=MAX_BATCH).contains(&n) {
        true => Ok(()),
        false => Err(Error::option("batch", n, format!("1 to {MAX_BATCH}"))),
    }
}

/// Evaluates all positions, as many at once as the evaluator takes; the time in seconds. Ctrl-C ends it with an error, without a partial result.
pub fn evaluate(evaluator: &mut Evaluator, positions: &Positions) -> Result<(Evaluation, f64)> {
    let start = Instant::now();
    let mut found = Evaluation::default();
    for (observations, masks) in positions.chunks(evaluator.max_batch()) {
        ensure!(!common::interrupted(), "interrupted: nothing was written");
        found.append(evaluator.evaluate(observations, masks)?);
    }
    let seconds = start.elapsed().as_secs_f64();
    check(&found, positions, evaluator)?;
    Ok((found, seconds))
}

/// What must hold of every evaluation.
fn check(found: &Evaluation, positions: &Positions, evaluator: &Evaluator) -> Result<()> {
    let actions = evaluator.shape().actions as usize;
    for (position, (policy, mask)) in
        found.policies.chunks_exact(actions).zip(positions.masks().chunks_exact(actions)).enumerate()
    {
        let sum: f64 = policy.iter().sum();
        ensure!((sum - 1.0).abs() < 1e-4, "check failed: the policy of position {position} sums to {sum}");
        let illegal = policy.iter().zip(mask).any(|(&probability, &legal)| legal == 0 && probability != 0.0);
        ensure!(!illegal, "check failed: an illegal action of position {position} has a probability");
        let value = found.values[position];
        ensure!(value.abs() <= 1.0, "check failed: the value of position {position} is {value}");
    }
    Ok(())
}
