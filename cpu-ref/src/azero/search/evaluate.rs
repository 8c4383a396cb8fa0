//! Evaluations without a network.

use rayon::prelude::*;

use super::random::{self, PLAYOUT};
use super::tree::Leaf;
use crate::mcts::{Game, GameResult};

/// Evaluations of a batch of leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// `[n]`: expected results for player 0, -1 to 1.
    pub values: Vec<f32>,
    /// `[n, n_actions]`, or empty: all actions are equally likely.
    pub logits: Vec<f32>,
}

/// Value 0, all actions equally likely.
pub fn uniform<G>(leaves: &[Leaf<'_, G>]) -> Batch {
    Batch { values: vec![0.0; leaves.len()], logits: Vec::new() }
}

/// The mean result of `n` random games, all actions equally likely.
pub fn playouts<G: Game>(leaves: &[Leaf<'_, G>], n: u32) -> Batch {
    let values = leaves.par_iter().map(|leaf| mean_result(leaf, n)).collect();
    Batch { values, logits: Vec::new() }
}

fn mean_result<G: Game>(leaf: &Leaf<'_, G>, n: u32) -> f32 {
    let sum: i32 = (0..u64::from(n))
        .map(|playout| {
            let index = leaf.simulation * u64::from(n) + playout;
            match leaf.position.playout(&mut random::stream(leaf.key, PLAYOUT, index)).0 {
                GameResult::Draw => 0,
                GameResult::Win(0) => 1,
                GameResult::Win(_) => -1,
            }
        })
        .sum();
    sum as f32 / n as f32
}
