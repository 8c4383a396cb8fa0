//! A rank's part of the data.

use std::borrow::Cow;

use crate::Result;
use crate::shogi::shard::Shard;

/// The part of `rank` among `size` ranks, divided so that all ranks have about the same number of children. Shards within the part are borrowed; of shards at its ends, the
/// rank's parents are copied. Every parent is in exactly one part.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a shard with inconsistent columns.
pub fn share<'a>(shards: &[&'a Shard], rank: usize, size: usize) -> Result<Vec<Cow<'a, Shard>>> {
    shards.iter().try_for_each(|shard| shard.expect_columns())?;
    let total: u64 = shards.iter().map(|shard| shard.n_children() as u64).sum();
    let bound = |rank: usize| (u128::from(total) * rank as u128 / size.max(1) as u128) as u64;
    let (from, to) = (bound(rank), if rank + 1 >= size { u64::MAX } else { bound(rank + 1) });
    let mut before = 0;
    let mut part = Vec::new();
    for &shard in shards {
        // A parent belongs to the rank in whose range its first child lies.
        let starts = &shard.first_child[..shard.n_parents()];
        let first_from = |bound: u64| starts.partition_point(|&start| before + u64::from(start) < bound);
        let parents = first_from(from)..first_from(to);
        before += shard.n_children() as u64;
        if parents == (0..shard.n_parents()) {
            part.push(Cow::Borrowed(shard));
        } else if !parents.is_empty() {
            part.push(Cow::Owned(shard.select(parents)?));
        }
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shard whose parents have these numbers of children; a child has as many changes as its number is odd.
    fn shard(children: &[u32], game: u64) -> Shard {
        let mut shard = Shard { first_child: vec![0].into(), first_change: vec![0].into(), ..Shard::default() };
        for (parent, &n) in children.iter().enumerate() {
            shard.pieces.push([parent as u16; 40]);
            shard.sides.push((parent % 2) as u8);
            shard.plies.push(parent as u16);
            shard.games.push(game);
            shard.played.push(1);
            for child in 0..n {
                shard.differences.push(game << 8 | u64::from(child));
                shard.changes.extend((0..child % 2).map(|slot| slot << 16 | child));
                shard.first_change.push(shard.changes.len() as u32);
            }
            shard.first_child.push(shard.differences.len() as u32);
        }
        shard
    }

    #[test]
    fn parts_are_even_and_hold_every_parent_once() {
        let shards = [shard(&[3, 8, 2, 5], 1), shard(&[], 2), shard(&[9], 3), shard(&[4, 4, 4, 30, 2], 4)];
        let lent: Vec<&Shard> = shards.iter().collect();
        let all: Vec<_> = lent.iter().flat_map(|shard| parents(shard)).collect();
        for size in [1, 2, 3, 4, 5, 7, 40] {
            let parts: Vec<_> = (0..size).map(|rank| share(&lent, rank, size).unwrap()).collect();
            let found: Vec<_> = parts.iter().flatten().flat_map(|shard| parents(shard)).collect();
            assert_eq!(found, all, "{size} ranks");
            let n = |part: &Vec<Cow<'_, Shard>>| part.iter().map(|shard| shard.n_children()).sum::<usize>();
            assert!(parts.iter().all(|part| n(part) <= 71 / size + 31), "{size} ranks");
        }
        let torn = Shard { pieces: vec![[0; 40]].into(), ..Shard::default() };
        assert!(share(&[&torn], 0, 2).unwrap_err().to_string().starts_with("column sides of a shard"));
        assert!(share(&lent, 0, 1).unwrap().iter().all(|shard| matches!(shard, Cow::Borrowed(_))));
    }

    type Parent = ([u16; 40], u8, u16, u64, u16, Vec<(u64, Vec<u32>)>);

    fn parents(shard: &Shard) -> Vec<Parent> {
        let child = |child| (shard.differences[child], shard.changes_of(child).to_vec());
        let parent = |parent: usize| {
            let children = shard.children(parent).map(child).collect();
            let (pieces, side, ply) = (shard.pieces[parent], shard.sides[parent], shard.plies[parent]);
            (pieces, side, ply, shard.games[parent], shard.played[parent], children)
        };
        (0..shard.n_parents()).map(parent).collect()
    }
}
