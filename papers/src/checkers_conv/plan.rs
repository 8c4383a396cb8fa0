//! What a run of the items is of, and how large.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use warpplay::azero::{MAX_BATCH, Network, NetworkShape};
use warpplay::{Backend, Device, Error, Result};

use super::measure::RUNS;
use super::{Baseline, Reference, Study};

/// Positions that are kept at least.
const POSITIONS: usize = 64;
/// Batches of the second section's items on a GPU.
const BATCHES: [usize; 3] = [1, 8, 128];

/// Choices for the items.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What the network is called: with a checksum of its parameters part of the options that a run is recorded with.
    pub weights: String,
    /// Positions of a call in the tables of times; empty: 1 and 128, on `simt` and in a quick run 1.
    pub batch: Vec<usize>,
    /// Games of the item `games`; default 1000, in a quick run 20.
    pub games: Option<usize>,
    /// Times of the library that the paper compares with.
    pub baseline: Option<Baseline>,
}

/// A network, positions, and the choices; references are computed once.
#[derive(Debug)]
pub(super) struct Setup {
    pub study: Study,
    pub plan: Plan,
    references: RefCell<BTreeMap<usize, Rc<Reference>>>,
}

impl Setup {
    pub fn new(network: Network, plan: Plan) -> Result<Self> {
        let size = |shape: NetworkShape| (shape.planes, shape.rows, shape.columns, shape.actions);
        if size(network.shape()) != size(NetworkShape::default()) || network.shape().depth == 0 {
            return Err(Error::option(
                "weights",
                &plan.weights,
                "a network for checkers with a residual block or more",
            ));
        }
        for &batch in &plan.batch {
            if !(1..=MAX_BATCH).contains(&batch) {
                return Err(Error::option("batch", batch, format!("1 to {MAX_BATCH}")));
            }
        }
        if plan.games.is_some_and(|games| !(1..=MAX_BATCH).contains(&games)) {
            return Err(Error::option("games", plan.games.unwrap_or(0), format!("1 to {MAX_BATCH}")));
        }
        let most = plan.batch.iter().copied().max().unwrap_or(0).max(POSITIONS);
        Ok(Self { study: Study::new(network, most), plan, references: RefCell::default() })
    }

    /// Batches of the tables of times.
    pub fn batches(&self, device: &Device, quick: bool) -> Vec<usize> {
        match (&self.plan.batch[..], quick || device.backend() == Backend::Simt) {
            ([], true) => vec![1],
            ([], false) => vec![1, 128],
            (given, _) => given.to_vec(),
        }
    }

    /// Batches of the items of section V.
    pub fn future_batches(&self, device: &Device, quick: bool) -> Vec<usize> {
        if quick || device.backend() == Backend::Simt { vec![1] } else { BATCHES.to_vec() }
    }

    /// Games.
    pub fn games(&self, quick: bool) -> usize {
        self.plan.games.unwrap_or(if quick { 20 } else { 1000 })
    }

    /// What the components are to compute for `n` positions.
    pub fn reference(&self, n: usize) -> Rc<Reference> {
        self.references.borrow_mut().entry(n).or_insert_with(|| Rc::new(self.study.reference(n))).clone()
    }
}

/// Runs after the first: 19, as the paper's, in a quick run 3, on `simt` 1.
pub(super) fn runs(device: &Device, quick: bool) -> usize {
    match device.backend() {
        Backend::Simt => 1,
        _ if quick => 3,
        _ => RUNS,
    }
}
