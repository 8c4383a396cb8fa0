//! What single precision does to the sum.

use serde::{Deserialize, Serialize};
use warpplay::shogi::{Objective, Shard, Values};
use warpplay_cpu_ref::shogi::material::weigh;
use warpplay_cpu_ref::shogi::{ONE, fixed, sigmoid};

use super::super::kernels::sum::BLOCK;
use crate::experiment::Stop;

/// Errors of J, against the exact sum, where terms are in single precision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Floats {
    /// Added one after the other.
    pub one_by_one: f64,
    /// By blocks of 512, halved as in the paper's kernel, the blocks' sums added in single precision.
    pub blocks: f64,
    /// The same, the blocks' sums added in double precision: the paper's program.
    pub blocks_in_double: f64,
    /// The smallest difference `J(v + Δ e) − J(v)` of the twelve, in size.
    pub least_difference: f64,
    /// How many of the twelve signs are others where J is returned in single precision, as the paper's function does.
    pub signs_lost: u32,
}

/// Sums of T over children's differences: exact, one by one, by blocks. `check` is asked before each pass over them.
pub(super) fn measure(
    shards: &[&Shard],
    values: &Values,
    objective: &Objective,
    mut check: impl FnMut() -> Result<(), Stop>,
) -> Result<Floats, Stop> {
    check()?;
    let (mut exact, mut one_by_one, mut blocks, mut blocks_in_double) = (0_i128, 0.0_f32, 0.0_f32, 0.0_f64);
    let mut block: Vec<f32> = Vec::with_capacity(BLOCK as usize);
    let mut n = 0_u64;
    let mut close = |block: &mut Vec<f32>| {
        block.resize(BLOCK as usize, 0.0);
        let sum = halved(block);
        blocks += sum;
        blocks_in_double += f64::from(sum);
        block.clear();
    };
    for &difference in shards.iter().flat_map(|shard| shard.differences.iter()) {
        let term = sigmoid(objective.a, weigh(difference, values));
        exact += i128::from(fixed(term));
        one_by_one += term as f32;
        n += 1;
        block.push(term as f32);
        if block.len() == BLOCK as usize {
            close(&mut block);
        }
    }
    if !block.is_empty() {
        close(&mut block);
    }
    let n = n.max(1) as f64;
    let mean = exact as f64 / ONE / n;
    let error = |sum: f64| sum / n - mean;
    let j = |raised: Option<usize>| {
        let mut values = *values;
        if let Some(value) = raised {
            values[value] += objective.delta;
        }
        let children = shards.iter().flat_map(|shard| shard.differences.iter());
        children.map(|&difference| i128::from(fixed(sigmoid(objective.a, weigh(difference, &values))))).sum::<i128>()
    };
    let (mut least_difference, mut signs_lost) = (f64::INFINITY, 0);
    for value in 0..12 {
        check()?;
        let raised = j(Some(value));
        let difference = (raised - exact) as f64 / ONE / n;
        least_difference = least_difference.min(difference.abs());
        let in_single = (raised as f64 / ONE / n) as f32 > mean as f32;
        signs_lost += u32::from(in_single != (raised > exact));
    }
    Ok(Floats {
        one_by_one: error(one_by_one.into()),
        blocks: error(blocks.into()),
        blocks_in_double: error(blocks_in_double),
        least_difference,
        signs_lost,
    })
}

/// The sum of a block, the upper half added to the lower one until one is left.
fn halved(terms: &[f32]) -> f32 {
    let mut terms = terms.to_vec();
    while terms.len() > 1 {
        let half = terms.len() / 2;
        terms = (0..half).map(|at| terms[at] + terms[at + half]).collect();
    }
    terms.first().copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Halves are exact, so that only a sum that outgrows 24 bits can lose anything.
    #[test]
    fn sums_lose_what_does_not_fit() {
        let of = |n: usize| {
            let shard = Shard { differences: vec![0; n].into(), ..Shard::default() };
            measure(&[&shard], &[3.0; 12], &Objective::default(), || Ok(())).unwrap()
        };
        let few = of(1000);
        assert_eq!((few.one_by_one, few.blocks, few.blocks_in_double), (0.0, 0.0, 0.0));
        // Above 2²³ halves are lost: the sum stays where a half is half a unit, tied to even.
        let many = of((1 << 24) + 4096);
        assert!(many.one_by_one < -1e-4 && many.blocks == 0.0 && many.blocks_in_double == 0.0, "{many:?}");
        assert_eq!(halved(&[1.0, 2.0, 3.0, 4.0]), 10.0);
    }
}
