//! Pieces of shards, packed as the kernels read them: all columns in one array of words, so that one copy brings a piece to the device.

use std::ops::Range;

use warpplay_gpu::shogi::piece::{BLACK_KING, SLOTS, WHITE_KING};
use warpplay_gpu::shogi::sparse::index::{KINGS, is_mirrored, view_square};

use crate::shogi::shard::Shard;
use crate::{Error, Result};

/// Some parents of a shard, one after the other, with their children and changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub parents: Range<usize>,
    pub children: Range<usize>,
    pub changes: Range<usize>,
}

/// Offsets of a part's columns in its words, in bytes; each is a multiple of 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub games: usize,
    pub first_child: usize,
    pub order: usize,
    pub first_change: usize,
    pub changes: usize,
    pub pieces: usize,
    pub plies: usize,
    pub played: usize,
    pub sides: usize,
    /// Total number of bytes.
    pub bytes: usize,
}

impl Layout {
    /// The layout for these numbers of parents, children and changes.
    pub const fn new(n_parents: usize, n_children: usize, n_changes: usize) -> Self {
        const fn after(at: usize, bytes: usize) -> usize {
            (at + bytes).next_multiple_of(8)
        }
        let games = 0;
        let first_child = after(games, 8 * n_parents);
        let order = after(first_child, 4 * (n_parents + 1));
        let first_change = after(order, 4 * n_parents);
        let changes = after(first_change, 4 * (n_children + 1));
        let pieces = after(changes, 4 * n_changes);
        let plies = after(pieces, 2 * SLOTS as usize * n_parents);
        let played = after(plies, 2 * n_parents);
        let sides = after(played, 2 * n_parents);
        let bytes = after(sides, n_parents);
        Self { games, first_child, order, first_change, changes, pieces, plies, played, sides, bytes }
    }
}

impl Part {
    /// Parents `parents` of a shard that has been checked.
    fn of(shard: &Shard, parents: Range<usize>) -> Self {
        let child = |parent: usize| shard.first_child.get(parent).map_or(0, |&child| child as usize);
        let change = |child: usize| shard.first_change.get(child).map_or(0, |&change| change as usize);
        let children = child(parents.start)..child(parents.end);
        let changes = change(children.start)..change(children.end);
        Self { parents, children, changes }
    }

    /// All of a shard that has been checked.
    pub fn whole(shard: &Shard) -> Self {
        Self::of(shard, 0..shard.n_parents())
    }

    /// The layout of its words.
    pub fn layout(&self) -> Layout {
        Layout::new(self.parents.len(), self.children.len(), self.changes.len())
    }

    /// A checked shard in parts of at most `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Option`] if a parent alone is larger.
    pub fn split(shard: &Shard, bytes: usize) -> Result<Vec<Self>> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < shard.n_parents() {
            // The largest end that fits, by halving: sizes grow with it.
            let (mut fits, mut beyond) = (start, shard.n_parents() + 1);
            while beyond - fits > 1 {
                let middle = fits + (beyond - fits) / 2;
                if Self::of(shard, start..middle).layout().bytes <= bytes { fits = middle } else { beyond = middle }
            }
            if fits == start {
                let needed = 2 * Self::of(shard, start..start + 1).layout().bytes;
                return Err(Error::option(
                    "device_bytes",
                    2 * bytes,
                    format!("at least {needed}, room for two parents"),
                ));
            }
            parts.push(Self::of(shard, start..fits));
            start = fits;
        }
        Ok(parts)
    }

    /// Position of each parent in the processing order.
    pub fn ranks(&self, shard: &Shard) -> Vec<u32> {
        let order = order(&shard.pieces[self.parents.clone()]);
        let mut ranks = vec![0; order.len()];
        for (rank, parent) in (0..).zip(order) {
            ranks[parent as usize] = rank;
        }
        ranks
    }

    /// Packs the columns into `words`, whose number is that of the layout.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are fewer.
    pub fn pack(&self, shard: &Shard, words: &mut [u64]) -> Result<()> {
        let layout = self.layout();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        let n_bytes = bytes.len();
        let too_few = || Error::shape("words of a part", layout.bytes, n_bytes);
        let mut rest = bytes.get_mut(..layout.bytes).ok_or_else(too_few)?;
        let mut put = |column: &[u8]| {
            // Columns in the order of the layout, each filled up to a multiple of 8.
            let (slot, after) = std::mem::take(&mut rest).split_at_mut(column.len().next_multiple_of(8));
            let (slot, fill) = slot.split_at_mut(column.len());
            slot.copy_from_slice(column);
            fill.fill(0);
            rest = after;
        };
        let (lists, from_child, from_change) =
            (&shard.pieces[self.parents.clone()], self.children.start as u32, self.changes.start as u32);
        let first_child: Vec<u32> =
            shard.first_child[self.parents.start..=self.parents.end].iter().map(|&child| child - from_child).collect();
        let first_change: Vec<u32> = shard.first_change[self.children.start..=self.children.end]
            .iter()
            .map(|&change| change - from_change)
            .collect();
        put(bytemuck::cast_slice(&shard.games[self.parents.clone()]));
        put(bytemuck::cast_slice(&first_child));
        put(bytemuck::cast_slice(&order(lists)));
        put(bytemuck::cast_slice(&first_change));
        put(bytemuck::cast_slice(&shard.changes[self.changes.clone()]));
        put(bytemuck::cast_slice(lists.as_flattened()));
        put(bytemuck::cast_slice(&shard.plies[self.parents.clone()]));
        put(bytemuck::cast_slice(&shard.played[self.parents.clone()]));
        put(&shard.sides[self.parents.clone()]);
        Ok(())
    }
}

/// Parents sorted by their kings in both perspectives, so that neighbouring parents use the same parts of the tables; the sort is stable.
fn order(lists: &[[u16; 40]]) -> Vec<u32> {
    let seen = |list: &[u16; 40], perspective: u32| {
        let king = u32::from(list[if perspective == 0 { BLACK_KING } else { WHITE_KING } as usize]);
        view_square(king, perspective, is_mirrored(king, perspective))
    };
    let key = |list: &[u16; 40]| (seen(list, 0) * KINGS + seen(list, 1)) as usize;
    let mut starts = vec![0u32; (KINGS * KINGS) as usize + 1];
    for list in lists {
        starts[key(list) + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut order = vec![0; lists.len()];
    for (parent, list) in (0..).zip(lists) {
        let slot = &mut starts[key(list)];
        order[*slot as usize] = parent;
        *slot += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_names_every_parent_once_by_kings() {
        let list = |black: u16, white: u16| {
            let mut list = [0; 40];
            (list[38], list[39]) = (black, white);
            list
        };
        // The third is the first mirrored, for both sides.
        let lists = [list(17, 63), list(44, 36), list(71, 9), list(17, 64), list(44, 36)];
        let order = order(&lists);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4]);
        let at = |parent: u32| order.iter().position(|&p| p == parent).unwrap();
        assert_eq!((at(2), at(4)), (at(0) + 1, at(1) + 1));
    }

    #[test]
    fn columns_do_not_overlap() {
        let layout = Layout::new(3, 7, 11);
        let starts = [
            (layout.games, 24),
            (layout.first_child, 16),
            (layout.order, 12),
            (layout.first_change, 32),
            (layout.changes, 44),
            (layout.pieces, 240),
            (layout.plies, 6),
            (layout.played, 6),
            (layout.sides, 3),
            (layout.bytes, 0),
        ];
        for pair in starts.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0 && pair[1].0 % 8 == 0);
        }
    }
}
