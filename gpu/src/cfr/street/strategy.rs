//! The strategy of one hand at one node: weights of its actions from regrets, averages or what was kept; see [`regret`](crate::cfr::regret).

use super::layout::source;
use super::numbers::Numbers;
use super::tables::{Cell, Tables};

/// Actions whose weights stay in registers.
const HELD: u32 = 4;
/// A sum of weights up to this is taken for none: its inverse would overflow.
pub(super) const LEAST: f32 = 1e-37;

/// Weights of one hand's actions.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    source: u32,
    predicts: f32,
    /// Regrets of the first actions as stored.
    regrets: [f32; HELD as usize],
    held: [f32; HELD as usize],
    /// 1 / sum of the weights; 0 where nothing is positive, and then `uniform` is the probability of each action, else 0.
    inverse: f32,
    uniform: f32,
    n: u32,
    /// Index of the first action's value, and from one action to the next.
    at: Cell,
    stride: usize,
}

/// Regret of an action as stored, and its weight.
#[device_inline]
#[track_caller]
fn weight<N: Numbers>(tables: &Tables, from: u32, predicts: f32, at: Cell) -> (f32, f32) {
    if from == source::REGRETS {
        let regret = N::load::<true>(tables.regrets(), at);
        let last = if predicts > 0.0 { predicts * N::load::<true>(tables.last(), at) } else { 0.0 };
        let matched = regret + last;
        (regret, if matched > 0.0 { matched } else { 0.0 })
    } else if from == source::AVERAGES {
        (0.0, N::load::<false>(tables.averages(), at))
    } else {
        (0.0, tables.kept(at))
    }
}

impl Weights {
    /// Reads the weights of the `n` actions whose values begin at `at` and are `stride` apart.
    #[device_inline]
    #[track_caller]
    pub fn read<N: Numbers>(tables: &Tables, from: u32, predicts: f32, n: u32, at: Cell, stride: u32) -> Self {
        let stride = stride as usize;
        let (mut regrets, mut held, mut sum) = ([0.0; HELD as usize], [0.0; HELD as usize], 0.0);
        let mut a = 0;
        while a < HELD {
            if a < n {
                (regrets[a as usize], held[a as usize]) = weight::<N>(tables, from, predicts, at.behind(a, stride));
            }
            a += 1;
        }
        // Added after all loads are under way.
        let mut a = 0;
        while a < HELD {
            sum += held[a as usize];
            a += 1;
        }
        while a < n {
            sum += weight::<N>(tables, from, predicts, at.behind(a, stride)).1;
            a += 1;
        }
        // One division for all actions: within 1 ulp of `probability`.
        let (inverse, uniform) = if sum > LEAST { (1.0 / sum, 0.0) } else { (0.0, 1.0 / n as f32) };
        Self { source: from, predicts, regrets, held, inverse, uniform, n, at, stride }
    }

    /// Calls `each` with every action's number, cell, regret as stored, and probability, in order. What was read must not have changed, up to the action reached.
    #[device_inline]
    #[track_caller]
    pub fn for_each<N: Numbers>(&self, tables: &Tables, mut each: impl FnMut(u32, Cell, f32, f32)) {
        let mut a = 0;
        while a < HELD {
            if a < self.n {
                let held = self.held[a as usize];
                let p = held * self.inverse + self.uniform;
                each(a, self.at.behind(a, self.stride), self.regrets[a as usize], p);
            }
            a += 1;
        }
        while a < self.n {
            let at = self.at.behind(a, self.stride);
            let (regret, weight) = weight::<N>(tables, self.source, self.predicts, at);
            each(a, at, regret, weight * self.inverse + self.uniform);
            a += 1;
        }
    }
}
