//! Regret matching as the kernels of explicit trees do them.
//!
//! What the host does for engines that run kernels, by the kernels' own functions: strategies matched from tables that were written have the bits that the kernels
//! would give them. On the CPU back end the reference of `cpu-ref` has arithmetic of its own.

use warpplay_gpu::cfr::regret::{Real, Step, probability};

use crate::cfr::game::extensive::Tree;

/// Probabilities of all rows: strategies matched from the sets' regrets (and last regrets, if any), as by the kernels; then those of chance.
pub(in crate::cfr) fn probabilities_of<T: Real>(tree: &Tree, regrets: &[T], last: &[T]) -> Vec<T> {
    let predicts = if last.is_empty() { T::ZERO } else { T::ONE };
    let step = Step { positive: T::ONE, negative: T::ONE, weight: T::ONE, predicts };
    let matched = |row: usize| step.matched(regrets[row], last.get(row).copied().unwrap_or(T::ZERO));
    let mut probabilities = Vec::with_capacity(tree.n_rows() + tree.outcomes.len());
    for set in tree.set_rows.windows(2) {
        let rows = set[0] as usize..set[1] as usize;
        let mut total = T::ZERO;
        rows.clone().for_each(|row| total += matched(row));
        let n_actions = rows.len() as u32;
        probabilities.extend(rows.map(|row| probability(matched(row), total, n_actions)));
    }
    probabilities.extend(tree.outcomes.iter().map(|&part| T::from_f64(part)));
    probabilities
}
