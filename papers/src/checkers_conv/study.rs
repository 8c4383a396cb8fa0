//! What the tables are made of: a network and positions.

use std::collections::HashSet;

use warpplay::Precision;
use warpplay::azero::Network;
use warpplay::azero::checkers::{Checkers, N_ACTIONS, N_OBSERVATION, legal_mask, observation};
use warpplay::mcts::Game;
use warpplay_gpu::split_mix::{GAMMA, mix};

/// Precisions that kernels have.
pub(super) const PRECISIONS: [Precision; 4] = [Precision::F32, Precision::Tf32, Precision::Bf16, Precision::F16];

/// Numbers in order from a seed: SplitMix64.
pub(super) struct Draw(u64);

impl Draw {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// In [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A network for checkers, with distinct positions of random games from a fixed seed.
///
/// ```
/// use warpplay::azero::{Network, NetworkShape};
/// use warpplay_papers::checkers_conv::Study;
///
/// let shape = NetworkShape { width: 4, depth: 1, ..NetworkShape::default() };
/// let study = Study::new(Network::seeded(shape, 27)?, 4);
/// let rows = study.mistakes(4, || std::ops::ControlFlow::Continue(())).expect("nobody ends it");
/// assert!(rows.iter().all(|row| row.weights != "all 0.01" || row.policy_logits == 0.0));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Debug)]
pub struct Study {
    network: Network,
    observations: Vec<f32>,
    masks: Vec<u8>,
}

impl Study {
    /// Plays games until `n` distinct observations have been seen. The network must be one for checkers.
    pub fn new(network: Network, n: usize) -> Self {
        let layout = network.observation();
        let (mut draw, mut seen) = (Draw::new(27), HashSet::new());
        let (mut observations, mut masks) = (Vec::new(), Vec::new());
        while seen.len() < n {
            let mut position = Checkers::new();
            while !position.outcome().is_over() && seen.len() < n {
                let planes = observation(&position, position.to_move(), layout);
                let bits: Vec<bool> = planes.iter().map(|&value| value > 0.0).collect();
                if seen.insert(bits) {
                    observations.extend(planes);
                    masks.extend(legal_mask(&position));
                }
                let moves = position.moves();
                position.apply(moves.nth(draw.below(moves.count())));
            }
        }
        Self { network, observations, masks }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Observations and masks of the first `n` positions, from the start again beyond the last.
    pub fn first(&self, n: usize) -> (Vec<f32>, Vec<u8>) {
        let (observations, masks) = (self.observations.iter().cycle(), self.masks.iter().cycle());
        (observations.take(n * N_OBSERVATION).copied().collect(), masks.take(n * N_ACTIONS).copied().collect())
    }
}
