//! A rank's part of the paper's learning.

use std::ops::Range;

use warpplay::Result;
use warpplay::shogi::ranks::{Ranks, agree, share};
use warpplay::shogi::{Shard, Values};

use super::reproduce::{Reproducible, Split};

/// What this rank evaluates for [`reproduce`](super::reproduce()): `build` gets all shards with [`Split::Features`], its [`share`] with [`Split::Data`]. A rank for which
/// there are no positions left, or that is beyond the group's size and only waits, takes part with nothing, and `build` is not called.
///
/// # Errors
/// That of `build` on this rank; [`Error::Rank`](warpplay::Error::Rank) for that of another.
pub fn part<W: Reproducible + 'static>(
    ranks: &dyn Ranks,
    split: Split,
    shards: &[&Shard],
    build: impl FnOnce(&[&Shard]) -> Result<W>,
) -> Result<Box<dyn Reproducible>> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let share = match split {
        Split::Data if rank < size => share(shards, rank, size),
        _ => Ok(Vec::new()),
    };
    let share = agree(ranks, share)?;
    let own: Vec<&Shard> = share.iter().map(|shard| &**shard).collect();
    let shared = split == Split::Data && size > 1;
    let waits = rank >= size || shared && own.iter().all(|shard| shard.n_children() == 0);
    let built: Result<Box<dyn Reproducible>> = match waits {
        true => Ok(Box::new(Idle { split })),
        false => build(if split == Split::Data { &own } else { shards }).map(|work| Box::new(work) as _),
    };
    agree(ranks, built)
}

/// A rank without work.
struct Idle {
    split: Split,
}

impl Reproducible for Idle {
    fn sums(&mut self, _: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        // Shared features are given out to the ranks that work: this one has none of them.
        Ok(match self.split {
            Split::Data => vec![0; features.len() + 1],
            Split::Features => vec![0],
        })
    }

    fn children(&self) -> u64 {
        // Those that count are added up, or are rank 0's.
        0
    }
}
