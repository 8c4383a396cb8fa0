//! What a data set holds, in numbers.

use std::collections::HashSet;

use rayon::prelude::*;

use super::{Dataset, Origin};

/// Numbers about a data set.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Facts {
    /// Shards.
    pub shards: u64,
    /// Parents.
    pub parents: u64,
    /// Children, counting those of played moves twice.
    pub children: u64,
    /// Number of distinct games, by their hashes.
    pub distinct_games: u64,
    /// Number of distinct vectors of material differences.
    pub distinct_vectors: u64,
    /// Share of children with the same material as their parent's child 0.
    pub zero_share: f64,
    /// Bytes of the columns.
    pub bytes: u64,
    /// A checksum over all parents and children, independent of shards and order.
    pub fingerprint: String,
    /// What it was made of.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Dataset {
    /// Computes these numbers, for which it reads all data once.
    pub fn facts(&self) -> Facts {
        let counts: Vec<(HashSet<u64>, HashSet<u64>, u64)> = self
            .shards
            .par_iter()
            .map(|shard| {
                let zeros = shard.differences.iter().filter(|&&word| word == 0).count() as u64;
                let mut vectors: HashSet<u64> = HashSet::new();
                let mut last = u64::MAX;
                for &word in shard.differences.iter() {
                    // Most children are equal to the one before.
                    if word != last {
                        vectors.insert(word);
                        last = word;
                    }
                }
                (shard.games.iter().copied().collect(), vectors, zeros)
            })
            .collect();
        let mut games = HashSet::new();
        let mut vectors = HashSet::new();
        let mut zeros = 0;
        for (more_games, more_vectors, more_zeros) in counts {
            games.extend(more_games);
            vectors.extend(more_vectors);
            zeros += more_zeros;
        }
        let children = self.n_children();
        Facts {
            shards: self.shards.len() as u64,
            parents: self.n_parents(),
            children,
            distinct_games: games.len() as u64,
            distinct_vectors: vectors.len() as u64,
            zero_share: zeros as f64 / children as f64,
            bytes: self.shards.iter().map(crate::shogi::Shard::n_bytes).sum(),
            fingerprint: format!("{:016x}", self.fingerprint()),
            origin: self.origin.clone(),
        }
    }

    /// A checksum over all parents with their children, independent of shards and order. Ranks compare it to make sure that they learn from the same data.
    pub fn fingerprint(&self) -> u64 {
        self.shards.iter().map(crate::shogi::Shard::fingerprint).fold(0, u64::wrapping_add)
    }
}
