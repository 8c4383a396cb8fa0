//! Positions and the moves there were, in columns: what every engine computes on.

use std::ops::Range;

use rayon::prelude::*;
use warpplay_gpu::split_mix::mix;

use super::column::Column;
use crate::Result;
use crate::runtime::fnv::Words;

/// A piece of a data set: positions of games (*parents*) with all their legal moves (*children*), in columns.
///
/// For each parent, child 0 is the position after the move that was played; the following children are those of all legal moves, including the played one again. A child is
/// stored as its changes to the parent's list of pieces ([`warpplay_gpu::shogi::piece`]). After a quiescence search, a child is the last position of its quiet line instead.
///
/// ```text
/// parent p     pieces[p], sides[p], plies[p], games[p], played[p]        its children are first_child[p] .. first_child[p + 1]
///   child 0    after the move that was played
///   child k    after the k-th legal move, k from 1; child played[p] is the played one again
/// child c      differences[c]                                            its changes are first_change[c] .. first_change[c + 1]
///   change     slot << 16 | new number, of the parent's list of 40 numbers
/// ```
///
/// Columns are public so that engines and tests can read them; shards are made by the data set's builder, in memory or on disk, and checked when they are read from files
/// ([`Column`] represents both).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shard {
    /// The lists of pieces, one per parent.
    pub pieces: Column<[u16; 40]>,
    /// The side to move in the parent: 0 Black, 1 White.
    pub sides: Column<u8>,
    /// Half-moves made before the parent.
    pub plies: Column<u16>,
    /// Hash of the parent's game: equal for the same start and moves, regardless of the file.
    pub games: Column<u64>,
    /// First child of each parent, and after the last parent the number of children: `[n_parents + 1]`.
    pub first_child: Column<u32>,
    /// Index of the played move's child among those of the legal moves, from 1.
    pub played: Column<u16>,
    /// Difference of material of each child to child 0 of its parent, from the view of the side that moved ([`warpplay_gpu::shogi::difference`]).
    pub differences: Column<u64>,
    /// First change of each child, and after the last child the number of changes: `[n_children + 1]`.
    pub first_change: Column<u32>,
    /// Changes to the parent's list: `slot << 16 | new number`, slots ascending within a child, each at most once.
    pub changes: Column<u32>,
}

impl Shard {
    /// Number of parents.
    pub fn n_parents(&self) -> usize {
        self.pieces.len()
    }

    /// Number of children, counting those of played moves twice.
    pub fn n_children(&self) -> usize {
        self.differences.len()
    }

    /// Children of one parent, as a range of the columns of children; empty if there is no such parent.
    pub fn children(&self, parent: usize) -> Range<usize> {
        between(&self.first_child, parent)
    }

    /// Changes of one child; empty if there is no such child.
    pub fn changes_of(&self, child: usize) -> &[u32] {
        self.changes.get(between(&self.first_change, child)).unwrap_or(&[])
    }

    /// Bytes of the columns.
    pub fn n_bytes(&self) -> u64 {
        let bytes = self.pieces.as_bytes().len()
            + self.sides.len()
            + self.plies.as_bytes().len()
            + self.games.as_bytes().len()
            + self.first_child.as_bytes().len()
            + self.played.as_bytes().len()
            + self.differences.as_bytes().len()
            + self.first_change.as_bytes().len()
            + self.changes.as_bytes().len();
        bytes as u64
    }

    /// Checks that the files of mapped columns are still complete; called before each pass over them.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) for a file that was truncated since it was opened.
    pub(in crate::shogi) fn expect_whole(&self) -> Result<()> {
        self.pieces.expect_whole()?;
        self.sides.expect_whole()?;
        self.plies.expect_whole()?;
        self.games.expect_whole()?;
        self.first_child.expect_whole()?;
        self.played.expect_whole()?;
        self.differences.expect_whole()?;
        self.first_change.expect_whole()?;
        self.changes.expect_whole()
    }

    /// A checksum over the parents with their children, independent of their order.
    pub fn fingerprint(&self) -> u64 {
        let parents = (0..self.n_parents()).into_par_iter().with_min_len(256);
        parents.map(|parent| self.fingerprint_of(parent)).reduce(|| 0, u64::wrapping_add)
    }

    fn fingerprint_of(&self, parent: usize) -> u64 {
        // Mixed at the end: sums of plain products would let differences of two parents cancel.
        let mut sum = Words::<29>::lane(0);
        for number in &self.pieces[parent] {
            sum.add(u64::from(*number));
        }
        // Columns that are too short, which only a caller can make, have zeros there.
        fn cell<T: Copy + Default + Into<u64>>(column: &[T], at: usize) -> u64 {
            column.get(at).copied().unwrap_or_default().into()
        }
        let (side, ply, played) = (cell(&self.sides, parent), cell(&self.plies, parent), cell(&self.played, parent));
        sum.add(side << 32 | ply << 16 | played);
        sum.add(cell(&self.games, parent));
        let children = self.children(parent);
        for &difference in self.differences.get(children.clone()).unwrap_or(&[]) {
            sum.add(difference);
        }
        for child in children {
            let changes = self.changes_of(child);
            sum.add(changes.len() as u64);
            for &change in changes {
                sum.add(u64::from(change));
            }
        }
        mix(sum.value())
    }
}

/// Borrowed shards to learn from: a slice or a vector of references, one shard, or a [`Dataset`](super::dataset::Dataset).
#[derive(Clone, Debug, Default)]
pub struct Shards<'a>(pub(in crate::shogi) Vec<&'a Shard>);

impl<'a> From<&'a Shard> for Shards<'a> {
    fn from(shard: &'a Shard) -> Self {
        Self(vec![shard])
    }
}

impl<'a> From<&'a [Shard]> for Shards<'a> {
    fn from(shards: &'a [Shard]) -> Self {
        Self(shards.iter().collect())
    }
}

impl<'a> From<&[&'a Shard]> for Shards<'a> {
    fn from(shards: &[&'a Shard]) -> Self {
        Self(shards.to_vec())
    }
}

impl<'a, const N: usize> From<&[&'a Shard; N]> for Shards<'a> {
    fn from(shards: &[&'a Shard; N]) -> Self {
        Self(shards.to_vec())
    }
}

impl<'a> From<&Vec<&'a Shard>> for Shards<'a> {
    fn from(shards: &Vec<&'a Shard>) -> Self {
        Self(shards.clone())
    }
}

impl<'a> From<Vec<&'a Shard>> for Shards<'a> {
    fn from(shards: Vec<&'a Shard>) -> Self {
        Self(shards)
    }
}

/// The range of elements of a row, by a column of first indices.
fn between(firsts: &[u32], row: usize) -> Range<usize> {
    match firsts.get(row..).unwrap_or(&[]) {
        [first, end, ..] => *first as usize..*end as usize,
        _ => 0..0,
    }
}
