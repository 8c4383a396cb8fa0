//! Mini-batches: which positions a step is computed on.
//!
//! Every epoch all positions are put in an order that is drawn anew, and each step takes the next ones. A position's place depends on the seed, the epoch, its game and its half-move alone,
//! so that neither shards nor ranks nor devices change it, and the number of steps done says where a course stands in its epoch.

use rayon::prelude::*;
use warpplay_gpu::split_mix::{GAMMA, mix};

use crate::shogi::shard::Shard;
use crate::{Error, Result};

/// The order of all positions in an epoch, as numbers of parents, counted through all shards. Parents are sorted by a key, the finaliser of SplitMix64 over seed, epoch,
/// game and half-move; with equal keys, the parent with the smaller number comes first.
///
/// # Errors
/// [`Error::Shape`] for 2³² parents or more, or a shard without a game and a half-move for each.
pub fn epoch_order(shards: &[&Shard], seed: u64, epoch: u64) -> Result<Vec<u32>> {
    let n: u64 = shards.iter().map(|shard| shard.n_parents() as u64).sum();
    if u32::try_from(n).is_err() {
        return Err(Error::shape("positions of mini-batches", "below 4294967296", n));
    }
    let of_epoch = mix(mix(seed).wrapping_add(epoch.wrapping_mul(GAMMA)));
    let mut lots: Vec<(u64, u32)> = Vec::with_capacity(n as usize);
    for shard in shards {
        let (games, plies, parents) = (shard.games.len(), shard.plies.len(), shard.n_parents());
        if (games, plies) != (parents, parents) {
            let (expected, found) = (format!("{parents} of both"), format!("{games} and {plies}"));
            return Err(Error::shape("games and half-moves of a shard", expected, found));
        }
        let first = lots.len() as u32;
        let columns = shard.games.iter().zip(shard.plies.iter()).zip(first..);
        lots.extend(columns.map(|((game, &ply), parent)| (mix(mix(of_epoch ^ game).wrapping_add(ply.into())), parent)));
    }
    lots.par_sort_unstable();
    Ok(lots.into_iter().map(|(_, parent)| parent).collect())
}

/// The seed of the siblings that count in the steps of an epoch ([`Loss::seed`](crate::shogi::Loss::seed)), so that each epoch draws different ones: the finaliser of
/// SplitMix64 over seed and epoch.
pub fn siblings_seed(seed: u64, epoch: u64) -> u64 {
    mix(seed.wrapping_add(epoch.wrapping_mul(GAMMA)))
}

/// One rank's view of the batches of a course.
pub(super) struct Batches<'a> {
    /// All positions of all ranks.
    all: Vec<&'a Shard>,
    seed: u64,
    /// Positions of a batch.
    size: usize,
    /// Total number of positions.
    n: usize,
    /// The first position of this rank.
    first: usize,
    /// The epoch whose order was drawn last, and that order.
    drawn: Option<(u64, Vec<u32>)>,
}

impl<'a> Batches<'a> {
    /// Makes batches of `size` positions, at least 1; this rank has the positions from `first` on.
    pub fn new(all: Vec<&'a Shard>, seed: u64, size: u32, first: usize) -> Self {
        let n = all.iter().map(|shard| shard.n_parents()).sum();
        Self { all, seed, size: size.max(1) as usize, n, first, drawn: None }
    }

    /// Steps of an epoch.
    pub fn per_epoch(&self) -> u64 {
        (self.n.div_ceil(self.size) as u64).max(1)
    }

    /// The seed of the siblings that count in the step after `iteration` steps.
    pub fn siblings_seed(&self, iteration: u32) -> u64 {
        siblings_seed(self.seed, u64::from(iteration) / self.per_epoch())
    }

    /// Whether the step after `iteration` steps begins an epoch.
    pub fn begins_epoch(&self, iteration: u32) -> bool {
        u64::from(iteration).is_multiple_of(self.per_epoch())
    }

    /// The parents of the step after `iteration` steps: for each of this rank's shards, which have `lengths` parents, the numbers of its parents, ascending.
    pub fn of(&mut self, iteration: u32, lengths: impl Iterator<Item = usize>) -> Result<Vec<Vec<u32>>> {
        let epoch = u64::from(iteration) / self.per_epoch();
        let step = (u64::from(iteration) % self.per_epoch()) as usize;
        if self.drawn.as_ref().is_none_or(|(drawn, _)| *drawn != epoch) {
            self.drawn = None;
            self.drawn = Some((epoch, epoch_order(&self.all, self.seed, epoch)?));
        }
        let order = self.drawn.as_ref().map_or(&[][..], |(_, order)| order);
        let batch = order.chunks(self.size).nth(step).unwrap_or_default();
        // This rank's shards are one after the other among all parents.
        let mut parents: Vec<usize> = batch.iter().map(|&parent| parent as usize).collect();
        parents.sort_unstable();
        let mut begin = self.first;
        let mut of_shards = Vec::new();
        for length in lengths {
            let from = parents.partition_point(|&parent| parent < begin);
            let to = parents.partition_point(|&parent| parent < begin + length);
            let of_shard = parents.get(from..to).unwrap_or_default();
            of_shards.push(of_shard.iter().map(|&parent| (parent - begin) as u32).collect());
            begin += length;
        }
        Ok(of_shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shard with these games, two half-moves each.
    fn shard(games: std::ops::Range<u64>) -> Shard {
        let parents = games.flat_map(|game| [(game, 40u16), (game, 41)]);
        let (games, plies): (Vec<u64>, Vec<u16>) = parents.unzip();
        Shard {
            pieces: vec![[0; 40]; games.len()].into(),
            games: games.into(),
            plies: plies.into(),
            ..Shard::default()
        }
    }

    #[test]
    fn orders_have_every_parent_once_and_differ() {
        let shards = [shard(0..30), shard(0..0), shard(30..77)];
        let lent: Vec<&Shard> = shards.iter().collect();
        let orders = [(1, 0), (1, 1), (2, 0)].map(|(seed, epoch)| epoch_order(&lent, seed, epoch).unwrap());
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..154));
        }
        assert!(orders[0] != orders[1] && orders[0] != orders[2] && orders[1] != orders[2]);
        let torn = Shard { plies: vec![40; 3].into(), ..shard(0..2) };
        let error = epoch_order(&[&torn], 1, 1).unwrap_err().to_string();
        assert_eq!(error, "games and half-moves of a shard: expected 4 of both, got 4 and 3");
        // Shards do not matter: the same games in one.
        assert_eq!(epoch_order(&[&shard(0..77)], 1, 1).unwrap(), orders[1]);
        // As the definition says, of the first two.
        let lot = |game: u64, ply: u64| {
            let of_epoch = mix(mix(1).wrapping_add(GAMMA));
            mix(mix(of_epoch ^ game).wrapping_add(ply))
        };
        let (first, second) = (orders[1][0] as u64, orders[1][1] as u64);
        assert!(lot(first / 2, 40 + first % 2) < lot(second / 2, 40 + second % 2));
    }

    #[test]
    fn batches_of_ranks_are_parts_of_the_whole() {
        let shards = [shard(0..7), shard(7..12), shard(12..20)];
        let lent: Vec<&Shard> = shards.iter().collect();
        let mut whole = Batches::new(lent.clone(), 5, 9, 0);
        assert_eq!(whole.per_epoch(), 5);
        assert!([0, 5, 10].iter().all(|&step| whole.begins_epoch(step)) && !whole.begins_epoch(4));
        // A rank has all parents from the fourth of shard 0 to the third of shard 1.
        let mut part = Batches::new(lent, 5, 9, 3);
        for iteration in [0, 1, 4, 5, 9, 2] {
            let all = whole.of(iteration, [14, 10, 16].into_iter()).unwrap();
            assert_eq!(all.iter().map(Vec::len).sum::<usize>(), if iteration % 5 == 4 { 4 } else { 9 });
            let mine = part.of(iteration, [11, 3].into_iter()).unwrap();
            let expected: Vec<u32> = all[0].iter().filter(|&&parent| parent >= 3).map(|parent| parent - 3).collect();
            assert_eq!(mine[0], expected);
            assert_eq!(mine[1], all[1].iter().copied().filter(|&parent| parent < 3).collect::<Vec<_>>());
        }
    }
}
