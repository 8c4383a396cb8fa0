//! What gives leaves their values and priors.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use warpplay_gpu::azero::search::Searched;

use super::options::MAX_PLAYOUTS;
use crate::azero::{Engine, Evaluator, EvaluatorOptions, Network};
use crate::{Device, Error, Precision, Result};

/// The source of the values and priors of leaves. `into` makes one from a network.
#[derive(Clone)]
pub enum Estimator {
    /// A network.
    Network {
        /// Its parameters.
        network: Arc<Network>,
        /// Options of the evaluation; `max_batch` is ignored, since the search chooses the batch size.
        options: EvaluatorOptions,
        /// Its name in records and reports.
        name: String,
    },
    /// Value 0, all legal actions equally likely: the baseline.
    Uniform,
    /// The mean result of this many random games from the leaf, all legal actions equally likely.
    Playouts(u32),
}

impl Estimator {
    /// A network in the default precision, with a name.
    pub fn network(network: impl Into<Arc<Network>>, name: impl Into<String>) -> Self {
        Self::Network { network: network.into(), options: EvaluatorOptions::default(), name: name.into() }
    }

    /// Sets the options of the network; an estimator without a network is unchanged.
    pub fn with_options(mut self, new: EvaluatorOptions) -> Self {
        if let Self::Network { options, .. } = &mut self {
            *options = new;
        }
        self
    }

    /// `uniform`, `playouts-32`, or the network's name.
    pub fn name(&self) -> String {
        match self {
            Self::Network { name, .. } => name.clone(),
            Self::Uniform => "uniform".to_string(),
            Self::Playouts(n) => format!("playouts-{n}"),
        }
    }

    /// Everything that determines its results, for the heading of a journal.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Network { network, options, name } => json!({
                "name": name,
                "parameters": format!("{:016x}", network.checksum()),
                "precision": options.precision,
                "engine": options.engine,
            }),
            _ => json!({ "name": self.name() }),
        }
    }
}

impl From<Network> for Estimator {
    fn from(network: Network) -> Self {
        Self::network(network, "network")
    }
}

impl From<&Network> for Estimator {
    fn from(network: &Network) -> Self {
        Self::network(network.clone(), "network")
    }
}

impl From<Arc<Network>> for Estimator {
    fn from(network: Arc<Network>) -> Self {
        Self::network(network, "network")
    }
}

impl From<&Estimator> for Estimator {
    fn from(estimator: &Estimator) -> Self {
        estimator.clone()
    }
}

impl fmt::Debug for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Estimator").field(&self.name()).finish()
    }
}

/// An estimator with its memory allocated.
pub(super) enum Leaves {
    Network(Box<Evaluator>),
    Uniform,
    Playouts(u32),
}

impl Leaves {
    /// Allocates memory for `batch` leaves.
    pub fn new<G: Searched>(device: &Device, estimator: &Estimator, batch: usize) -> Result<Self> {
        match estimator {
            Estimator::Uniform => Ok(Self::Uniform),
            Estimator::Playouts(n) if !(1..=MAX_PLAYOUTS).contains(n) => {
                Err(Error::option("playouts", n, format!("1 to {MAX_PLAYOUTS}")))
            }
            Estimator::Playouts(n) => Ok(Self::Playouts(*n)),
            Estimator::Network { network, options, .. } => {
                let shape = network.shape();
                let game = (G::PLANES, G::BOARD.0, G::BOARD.1, G::MAX_ACTIONS);
                let given = (shape.planes, shape.rows, shape.columns, shape.actions);
                if given != game {
                    let text = |(planes, rows, columns, actions)| {
                        format!("{planes} planes of {rows} x {columns}, {actions} actions")
                    };
                    return Err(Error::shape(format!("network for {}", G::NAME), text(game), text(given)));
                }
                let builder = Evaluator::builder(network).options(options.clone()).max_batch(batch);
                Ok(Self::Network(Box::new(builder.build(device)?)))
            }
        }
    }

    /// The arithmetic, for errors.
    pub fn precision(&self) -> Precision {
        match self {
            Self::Network(evaluator) => evaluator.precision(),
            _ => Precision::F32,
        }
    }

    /// The engine that evaluates; `None` without a network.
    pub fn engine(&self) -> Option<Engine> {
        match self {
            Self::Network(evaluator) => Some(evaluator.engine()),
            _ => None,
        }
    }
}
