//! The flags that name a network and say how it runs.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use warpplay::azero::{
    Evaluation, Evaluator, EvaluatorBuilder, Execution, MAX_BATCH, Network, NetworkShape, ObservationLayout, Positions,
};
use warpplay::{Device, Error, Precision};

use crate::common;

/// The network where none is named.
pub const DEFAULT: &str = "seed:27";

/// Which network.
#[derive(clap::Args, Clone, Debug)]
pub struct WeightsFlags {
    /// The network: a safetensors file under libtorch's names, a checkpoint of OpenSpiel, or seed:N for the one of a seed [default: seed:27, untrained]
    #[arg(long, value_name = "FILE|seed:N")]
    pub weights: Option<String>,

    /// What its observations show: default, egocentric, legacy (egocentric as before OpenSpiel 1.6.10) [default: as the file says, else default]
    #[arg(long, value_name = "LAYOUT")]
    pub observation: Option<ObservationLayout>,
}

impl WeightsFlags {
    /// The name of the network.
    pub fn name(&self) -> &str {
        self.weights.as_deref().unwrap_or(DEFAULT)
    }

    /// The file of the network, if it has one.
    pub fn path(&self) -> Option<PathBuf> {
        let name = self.weights.as_deref().filter(|name| !name.starts_with("seed:"))?;
        Some(PathBuf::from(name))
    }

    /// Loads the network; says so where the default one stands in for it.
    pub fn load(&self, quiet: bool) -> Result<Network> {
        let network = load(self.name(), self.observation)?;
        if self.weights.is_none() && !quiet {
            common::print(format!("no --weights: the seeded default network, {DEFAULT}, which has learned nothing\n"))?;
        }
        Ok(network)
    }
}

/// A network by its name, for checkers.
pub fn load(name: &str, observation: Option<ObservationLayout>) -> Result<Network> {
    let network = Network::from_weights(name)?;
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
    /// Arithmetic of the convolutions: fp32, tf32, bf16, fp16, fp64 (cpu only)
    #[arg(long, value_name = "P", default_value_t = Precision::F32)]
    pub precision: Precision,

    /// Which kernels: auto, fused, layers, plain (cpu)
    #[arg(long, value_name = "E", default_value_t = Execution::Auto)]
    pub execution: Execution,

    /// Threads of the device cpu; 1 is the sequential program; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<usize>,
}

impl RunFlags {
    /// A builder with these choices.
    pub fn builder(&self) -> EvaluatorBuilder {
        let builder = Evaluator::builder().precision(self.precision).execution(self.execution);
        match self.threads {
            Some(threads) => builder.threads(threads),
            None => builder,
        }
    }

    /// An evaluator for `n` positions at once.
    pub fn open(&self, device: &Device, network: &Network, n: usize) -> Result<Evaluator> {
        check_batch(n)?;
        self.builder().max_batch(n).build(device, network).map_err(|error| match error {
            // Which option asked for so much.
            Error::OutOfMemory { .. } => anyhow::Error::new(error).context(format!("--batch {n}")),
            error => error.into(),
        })
    }
}

/// # Errors
/// [`Error::Option`] for a batch of 0 or too many positions.
pub fn check_batch(n: usize) -> Result<(), Error> {
    match (1..=MAX_BATCH).contains(&n) {
        true => Ok(()),
        false => Err(Error::option("batch", n, format!("1 to {MAX_BATCH}"))),
    }
}

/// Evaluates all positions, as many at once as the evaluator takes; the time in seconds. Ctrl-C ends it with an error: half a result is none.
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
