//! Where the values of a tree's sets stand in the tables by betting node and bucket.

use std::ops::Range;

use super::game::place;
use crate::cfr::game::extensive::{InformationSet, Tree};
use crate::cfr::layout::{Buckets, Number, Values};

/// For each set of a seat, its values in the seat's table of the tree, and where they begin in the layout's.
pub(super) struct Places {
    sets: Vec<(Range<usize>, usize)>,
    /// Lengths of the tree's table and of the layout's.
    lens: [usize; 2],
}

impl Places {
    pub fn new(tree: &Tree, seat: usize, layout: &Buckets) -> Self {
        let of_set = |set: &InformationSet| {
            let (node, bucket) = place(&set.key)?;
            Some((set.offset..set.offset + set.actions.len(), layout.row(node, bucket).start))
        };
        let sets = tree.sets_of(seat).iter().filter_map(of_set).collect();
        Self { sets, lens: [tree.table_len(seat), layout.table_len(seat)] }
    }

    /// A table of the layout from one of the tree.
    pub fn out_of_tree(&self, table: &Values) -> Values {
        let to = |(from, to): &(Range<usize>, usize)| (from.clone(), *to);
        moved(table, self.lens[1], self.sets.iter().map(to))
    }

    /// A table of the tree from one of the layout; sets that share a bucket get the same values.
    pub fn to_tree(&self, table: &Values) -> Values {
        let to = |(to, from): &(Range<usize>, usize)| (*from..from + to.len(), to.start);
        moved(table, self.lens[0], self.sets.iter().map(to))
    }
}

/// A table of `len` values, 0 but for the given ranges, which go where they are told.
fn moved(table: &Values, len: usize, pairs: impl Iterator<Item = (Range<usize>, usize)>) -> Values {
    fn copied<T: Number>(table: &[T], len: usize, pairs: impl Iterator<Item = (Range<usize>, usize)>) -> Values {
        let mut values = vec![T::default(); len];
        for (from, to) in pairs {
            let n = from.len();
            values[to..to + n].copy_from_slice(&table[from]);
        }
        T::wrap(values)
    }
    match table {
        Values::F32(table) => copied(table, len, pairs),
        Values::F64(table) => copied(table, len, pairs),
    }
}
