//! Last positions of quiet lines, instead of the children.

use std::borrow::Cow;

use super::options::Quiet;
use crate::Result;
use crate::shogi::evaluator::Evaluator;
use crate::shogi::features::FeatureSet;
use crate::shogi::quiescence::{self, Options};
use crate::shogi::shard::Shard;

/// This rank's positions with their children replaced.
pub(super) struct Leaves {
    pub train: Vec<Shard>,
    pub held_out: Vec<Shard>,
    /// Parents that are not among them: a leaf's material does not fit into a word.
    pub left_out: u64,
}

impl Leaves {
    /// Searches all lines with these weights, on so many threads (none given: all cores).
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
        let mut left_out = 0;
        let mut search = |shards: &[Cow<'_, Shard>]| {
            let search = |shard: &Cow<'_, Shard>| {
                let rebuilt = quiescence::rebuild(shard, &evaluator, &options)?;
                left_out += rebuilt.left_out.len() as u64;
                Ok(rebuilt.shard)
            };
            shards.iter().map(search).collect::<Result<Vec<Shard>>>()
        };
        let (train, held_out) = (search(train)?, search(held_out)?);
        Ok(Self { train, held_out, left_out })
    }
}
