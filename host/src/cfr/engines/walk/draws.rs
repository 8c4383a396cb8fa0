//! The deals of the batches to come, and what each iteration does with the tables: the same on every device.

use std::sync::Arc;

use rayon::prelude::*;
use warpplay_gpu::cfr::beats::MAX_PLAYERS;
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::cfr::walk::walk::Change;

use super::kernels::{Batches, LANES};
use super::plan::Plan;
use crate::Result;
use crate::cfr::game::dealer::{Cards, Dealer};
use crate::cfr::options::{Algorithm, Options, Updates};

/// Draws a batch of deals for each iteration.
pub(super) struct Draws {
    plan: Arc<Plan>,
    options: Options,
    dealer: Dealer,
}

impl Draws {
    /// Starts from the seed of the options.
    pub fn new(plan: &Arc<Plan>, options: &Options) -> Result<Self> {
        Ok(Self { plan: Arc::clone(plan), options: *options, dealer: Dealer::new(&plan.game, options.seed)? })
    }

    /// State of the generator.
    pub fn state(&self) -> u64 {
        self.dealer.state()
    }

    /// Restores a state of the generator.
    pub fn set_state(&mut self, state: u64) -> Result<()> {
        self.dealer = Dealer::new(&self.plan.game, state)?;
        Ok(())
    }

    /// Seats that learn in each pass of an iteration: bit `seat`.
    pub fn passes(&self) -> Vec<u32> {
        let n_players = self.plan.sequences.n_players;
        match self.options.updates {
            Updates::Simultaneous => vec![(1 << n_players) - 1],
            Updates::Alternating => (0..n_players).map(|seat| 1 << seat).collect(),
        }
    }

    /// Draws the deals of iterations `first..first + n`.
    pub fn draw<T: Real>(&mut self, first: u64, n: usize) -> Batches<T> {
        let (n_players, n_rounds) = (self.plan.sequences.n_players, self.plan.sequences.n_rounds);
        let n_slots = self.plan.n_slots();
        let mut drawn = Batches {
            buckets: vec![0; n * n_slots * LANES],
            beats: vec![0; n * n_players * LANES],
            changes: (first..).take(n).map(|iteration| self.change(iteration)).collect(),
        };
        let n_lanes = self.options.batch as usize;
        let cards: Vec<Cards> = (0..n * n_lanes).map(|_| self.dealer.next()).collect();
        // Buckets may be found by ranking all hands of a board, so every thread takes some batches.
        let buckets = drawn.buckets.par_chunks_exact_mut(n_slots * LANES);
        let beats = drawn.beats.par_chunks_exact_mut(n_players * LANES);
        buckets.zip(beats).zip(cards.par_chunks(n_lanes)).for_each(|((buckets, beats), cards)| {
            for (lane, cards) in cards.iter().enumerate() {
                let words: [u32; MAX_PLAYERS] = self.dealer.beats(cards);
                for (seat, &word) in words.iter().enumerate().take(n_players) {
                    beats[seat * LANES + lane] = word;
                    for round in 0..n_rounds {
                        let bucket = self.plan.buckets.bucket(round, cards.holes[seat], cards.boards[round]);
                        buckets[(seat * n_rounds + round) * LANES + lane] = bucket;
                    }
                }
            }
        });
        drawn
    }

    /// The change that iteration `iteration`, from 0, applies to the tables.
    fn change<T: Real>(&self, iteration: u64) -> Change<T> {
        let step = self.options.step(iteration + 1);
        let (gain, negative) = match self.options.algorithm {
            Algorithm::Lcfr => ((iteration + 1) as f64, 1.0),
            _ => (1.0, step.negative),
        };
        Change {
            gain: T::from_f64(gain),
            negative: T::from_f64(negative),
            weight: T::from_f64(step.weight),
            reserved: T::ZERO,
        }
    }
}
