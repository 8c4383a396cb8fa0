//! What an engine remembers between two iterations, and what it measures.

use crate::{Error, Result};

/// Values and best responses of the average profile, in chips, by seat.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::cfr) struct Measured {
    /// Expected winnings if all seats play the average strategy.
    pub values: Vec<f64>,
    /// Expected winnings of a seat that plays its best against the others' average strategies.
    pub best_responses: Vec<f64>,
}

impl Measured {
    /// Σ over seats of (best response − value).
    pub fn nash_conv(&self) -> f64 {
        self.best_responses.iter().zip(&self.values).map(|(best, value)| best - value).sum()
    }
}

/// Numbers of a table, in the engine's own precision.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cfr) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// One of the tables of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cfr) enum Table {
    /// Cumulative regrets.
    Regrets,
    /// Weighted sums of strategies.
    Averages,
    /// Last regrets, if the algorithm predicts.
    Predictions,
}

/// The complete state of a solve between two iterations. Tables are by seat. Their layouts: two players in vector form as by `VectorGame::offset`; explicit trees
/// `[infoset][action]` in the order of the tree's information sets; betting trees by hands have the seat's decision nodes in the order of the tree, each `[index of the hand
/// × boards + index of the board][action]` (`layout::buckets`).
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::cfr) struct Tables {
    /// Iterations done.
    pub iteration: u64,
    /// Cumulative regrets, by seat.
    pub regrets: Vec<Values>,
    /// Weighted sums of strategies, by seat.
    pub averages: Vec<Values>,
    /// Last regrets, by seat; empty unless the algorithm predicts.
    pub predictions: Vec<Values>,
    /// Sum over iterations of the utilities of the strategies used, by seat.
    pub utilities: Vec<f64>,
    /// State of the generator, with sampling; of engine `street`, the sums of utilities by hand, as bits.
    pub random: Vec<u64>,
    /// In a subgame: regrets of playing on and of ending, by the opponent's hand ([`Gadget`](super::Gadget)). Empty in other games, and in tables that only hold a strategy to be measured.
    pub choice: Vec<[f64; 2]>,
}

impl Tables {
    /// The regrets of the choice for `n` hands: those that are here, or 0 if there are none.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of hands.
    pub fn choice_of(&self, n: usize) -> Result<Vec<[f64; 2]>> {
        match self.choice.len() {
            0 => Ok(vec![[0.0; 2]; n]),
            found if found == n => Ok(self.choice.clone()),
            found => Err(Error::shape("regrets of the choice", n, found)),
        }
    }
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// The value at an index.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Self::F32(values) => f64::from(values[at]),
            Self::F64(values) => values[at],
        }
    }

    /// `len` zeros of the same precision.
    pub fn zeros(&self, len: usize) -> Self {
        match self {
            Self::F32(_) => Self::F32(vec![0.0; len]),
            Self::F64(_) => Self::F64(vec![0.0; len]),
        }
    }

    /// Replaces the value at an index.
    pub fn set(&mut self, at: usize, value: f64) {
        match self {
            Self::F32(values) => values[at] = value as f32,
            Self::F64(values) => values[at] = value,
        }
    }
}

impl Default for Values {
    fn default() -> Self {
        Self::F64(Vec::new())
    }
}
