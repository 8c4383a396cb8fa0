//! Last positions of quiet lines, instead of the children.

use std::borrow::Cow;

use super::options::Quiet;
use crate::Result;
use crate::shogi::evaluator::Evaluator;
use crate::shogi::features::FeatureSet;
use crate::shogi::quiescence::{self, Options};
use crate::shogi::shard::Shard;

/// This rank's positions, with children replaced by quiet leaves.
pub(super) struct Leaves {
    pub train: Vec<Shard>,
    pub held_out: Vec<Shard>,
    /// Number of omitted parents, for which a leaf's material does not fit into a word.
    pub left_out: u64,
    /// For each training shard, the omitted parents, ascending.
    pub gone: Vec<Vec<usize>>,
}

impl Leaves {
    /// Searches all lines with these weights on `threads` threads (`None`: all cores).
    pub fn search(
        features: FeatureSet,
        weights: &[f32],
        quiet: Quiet,
        threads: Option<usize>,
        train: &[Cow<'_, Shard>],
        held_out: &[Cow<'_, Shard>],
    ) -> Result<Self> {
        let evaluator = Evaluator::new(features, weights.to_vec())?;
        let options = Options { depth: quiet.depth, threads, ..Options::default() };
        let search = |shard: &Cow<'_, Shard>| {
            let rebuilt = quiescence::rebuild(shard, &evaluator, &options)?;
            Ok((rebuilt.shard, rebuilt.left_out))
        };
        let (train, gone): (_, Vec<_>) = train.iter().map(search).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let (held_out, others): (_, Vec<_>) =
            held_out.iter().map(search).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let left_out = gone.iter().chain(&others).map(|gone| gone.len() as u64).sum();
        Ok(Self { train, held_out, left_out, gone })
    }

    /// Converts parents of a training shard to their numbers here, without omitted ones.
    pub fn numbers(&self, shard: usize, parents: &[u32]) -> Vec<u32> {
        let gone = self.gone.get(shard).map_or(&[][..], Vec::as_slice);
        let number = |&parent: &u32| match gone.binary_search(&(parent as usize)) {
            Ok(_) => None,
            Err(before) => Some(parent - before as u32),
        };
        parents.iter().filter_map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_behind_those_that_are_gone_have_smaller_numbers() {
        let leaves = Leaves { train: vec![], held_out: vec![], left_out: 2, gone: vec![vec![], vec![1, 4]] };
        assert_eq!(leaves.numbers(0, &[0, 1, 5]), [0, 1, 5]);
        assert_eq!(leaves.numbers(1, &[0, 1, 2, 4, 5, 6]), [0, 1, 3, 4]);
    }
}
