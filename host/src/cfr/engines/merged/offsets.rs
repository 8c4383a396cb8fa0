//! Offsets of a tree's sets in the tables by betting node and bucket.

use std::ops::Range;

use super::game::node_and_bucket;
use crate::cfr::game::extensive::{InformationSet, Tree};
use crate::cfr::layout::{Buckets, Number, Values};
use crate::{Error, Result};

/// For each set of a seat, its range in the seat's table of the tree, and its offset in the layout's.
pub(super) struct Offsets {
    sets: Vec<(Range<usize>, usize)>,
    tree_len: usize,
    layout_len: usize,
}

impl Offsets {
    /// * `tree`: one of [`Trees`](super::Trees).
    ///
    /// # Errors
    /// [`Error::Shape`] for a tree of another kind.
    pub fn new(tree: &Tree, seat: usize, layout: &Buckets) -> Result<Self> {
        let (tree_len, layout_len) = (tree.table_len(seat), layout.table_len(seat));
        let of_set = |set: &InformationSet| {
            let row = node_and_bucket(&set.key).map(|(node, bucket)| layout.row(node, bucket));
            match row.filter(|row| row.n_actions == set.actions.len() && row.start + row.n_actions <= layout_len) {
                Some(row) => Ok((set.offset..set.offset + set.actions.len(), row.start)),
                None => Err(Error::shape("information set", "a betting node and a bucket of the layout", &set.key)),
            }
        };
        let sets = tree.sets_of(seat).iter().map(of_set).collect::<Result<_>>()?;
        Ok(Self { sets, tree_len, layout_len })
    }

    /// A table of the layout from one of the tree.
    pub fn layout_from_tree(&self, table: &Values) -> Values {
        copied(table, self.layout_len, self.sets.iter().map(|(tree, layout)| (tree.clone(), *layout)))
    }

    /// A table of the tree from one of the layout; sets that share a bucket get the same values.
    pub fn tree_from_layout(&self, table: &Values) -> Values {
        let ranges = self.sets.iter().map(|(tree, layout)| (*layout..layout + tree.len(), tree.start));
        copied(table, self.tree_len, ranges)
    }
}

/// A table of `len` zeros into which ranges of another are copied, each to its new start.
fn copied(table: &Values, len: usize, ranges: impl Iterator<Item = (Range<usize>, usize)>) -> Values {
    fn of<T: Number>(table: &[T], len: usize, ranges: impl Iterator<Item = (Range<usize>, usize)>) -> Values {
        let mut values = vec![T::default(); len];
        for (from, to) in ranges {
            let n = from.len();
            values[to..to + n].copy_from_slice(&table[from]);
        }
        T::wrap(values)
    }
    match table {
        Values::F32(table) => of(table, len, ranges),
        Values::F64(table) => of(table, len, ranges),
    }
}
