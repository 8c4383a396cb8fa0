//! What gives leaves their values and priors.

use std::fmt;
use std::sync::Arc;

use warpplay_gpu::azero::search::Searched;

use super::options::MAX_PLAYOUTS;
use crate::azero::{Evaluator, EvaluatorBuilder, Network};
use crate::{Device, Error, Precision, Result};

/// What gives leaves their values and priors.
#[derive(Clone)]
pub enum Estimator {
    /// A network.
    Network {
        /// Its parameters.
        network: Arc<Network>,
        /// How it runs; the batch's size is chosen by the search.
        evaluator: EvaluatorBuilder,
        /// What records and reports call it.
        name: String,
    },
    /// Value 0, all legal actions equally likely: the baseline.
    Uniform,
    /// The mean result of this many random games from the leaf, all legal actions equally likely.
    Playouts(u32),
}

impl Estimator {
    /// A network in the default precision.
    pub fn network(network: Network, name: impl Into<String>) -> Self {
        Self::Network { network: Arc::new(network), evaluator: Evaluator::builder(), name: name.into() }
    }

    /// `uniform`, `playouts-32`, or the network's name.
    pub fn name(&self) -> String {
        match self {
            Self::Network { name, .. } => name.clone(),
            Self::Uniform => "uniform".to_string(),
            Self::Playouts(n) => format!("playouts-{n}"),
        }
    }
}

impl fmt::Debug for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Estimator").field(&self.name()).finish()
    }
}

/// An estimator that is ready.
pub(super) enum Leaves {
    Network(Box<Evaluator>),
    Uniform,
    Playouts(u32),
}

impl Leaves {
    /// Takes memory for `batch` leaves.
    pub fn new<G: Searched>(device: &Device, estimator: &Estimator, batch: usize) -> Result<Self> {
        match estimator {
            Estimator::Uniform => Ok(Self::Uniform),
            Estimator::Playouts(n) if !(1..=MAX_PLAYOUTS).contains(n) => {
                Err(Error::option("playouts", n, format!("1 to {MAX_PLAYOUTS}")))
            }
            Estimator::Playouts(n) => Ok(Self::Playouts(*n)),
            Estimator::Network { network, evaluator, .. } => {
                let shape = network.shape();
                let game = (G::PLANES, G::BOARD.0, G::BOARD.1, G::MAX_ACTIONS);
                let given = (shape.planes, shape.rows, shape.columns, shape.actions);
                if given != game {
                    let text = |(planes, rows, columns, actions)| {
                        format!("{planes} planes of {rows} x {columns}, {actions} actions")
                    };
                    return Err(Error::shape(format!("network for {}", G::NAME), text(game), text(given)));
                }
                Ok(Self::Network(Box::new(evaluator.clone().max_batch(batch).build(device, network)?)))
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
}
