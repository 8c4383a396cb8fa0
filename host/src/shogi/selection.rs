//! Some parents of a shard.

use std::borrow::Cow;

use super::shard::Shard;
use crate::{Error, Result};

/// The parents of a shard that a pass includes, each with all of its children.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The shard.
    pub shard: &'a Shard,
    /// Numbers of its parents, ascending; `None` for all.
    pub parents: Option<&'a [u32]>,
}

/// Whether a shard's columns must be checked ([`Shard::expect_columns`]) before their indices are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shogi) enum ColumnCheck {
    /// Already checked and not changed since, as for shards that a learner has borrowed.
    Done,
    /// Must be checked.
    Needed,
}

impl<'a> From<&'a Shard> for Selection<'a> {
    fn from(shard: &'a Shard) -> Self {
        Self { shard, parents: None }
    }
}

impl<'a> Selection<'a> {
    /// Checks that every parent exists and is named once, and that the shard's file has not been truncated.
    ///
    /// # Errors
    /// [`Error::Shape`] with its number; [`Error::File`].
    pub fn check(&self) -> Result<()> {
        self.shard.expect_whole()?;
        let parents = self.parents.unwrap_or_default();
        let n = self.shard.n_parents();
        if let Some(pair) = parents.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::shape("parents of a selection", format!("one above {}", pair[0]), pair[1]));
        }
        match parents.last().filter(|&&last| last as usize >= n) {
            Some(last) => Err(Error::shape("parents of a selection", format!("below {n}"), last)),
            None => Ok(()),
        }
    }

    /// The parents as a shard with consistent columns; a copy unless all parents are selected.
    ///
    /// # Errors
    /// [`Error::Shape`] as [`check`](Self::check), or for inconsistent columns.
    pub fn to_shard(&self) -> Result<Cow<'a, Shard>> {
        self.shard_of(ColumnCheck::Needed)
    }

    /// As [`to_shard`](Self::to_shard); for a shard that was checked before, only a copy is checked.
    ///
    /// # Errors
    /// As [`to_shard`](Self::to_shard).
    pub(in crate::shogi) fn shard_of(&self, check: ColumnCheck) -> Result<Cow<'a, Shard>> {
        self.check()?;
        let shard = match self.parents {
            Some(parents) => Cow::Owned(self.shard.select(parents.iter().map(|&parent| parent as usize))?),
            None if check == ColumnCheck::Done => return Ok(Cow::Borrowed(self.shard)),
            None => Cow::Borrowed(self.shard),
        };
        shard.expect_columns()?;
        Ok(shard)
    }
}

impl Shard {
    /// Copies some parents to a new shard. Only the copied cells are examined, so the consistency of columns must be checked on the new shard.
    ///
    /// # Errors
    /// [`Error::Shape`] for a parent that a column lacks.
    pub(in crate::shogi) fn select(&self, parents: impl IntoIterator<Item = usize>) -> Result<Self> {
        let mut made = Self { first_child: vec![0].into(), first_change: vec![0].into(), ..Self::default() };
        // A reference to a column costs more than one to a slice.
        let (lists, sides, plies, games) = (&*self.pieces, &*self.sides, &*self.plies, &*self.games);
        let (first_child, played, differences) = (&*self.first_child, &*self.played, &*self.differences);
        let (first_change, changes) = (&*self.first_change, &*self.changes);
        let mut copy = |parent: usize| {
            let children = *first_child.get(parent)? as usize..*first_child.get(parent + 1)? as usize;
            let ends = first_change.get(children.start..=children.end)?;
            let (first, end) = (*ends.first()?, *ends.last()?);
            let (of_children, of_changes) = (differences.get(children)?, changes.get(first as usize..end as usize)?);
            made.pieces.push(*lists.get(parent)?);
            made.sides.push(*sides.get(parent)?);
            made.plies.push(*plies.get(parent)?);
            made.games.push(*games.get(parent)?);
            made.played.push(*played.get(parent)?);
            let before = made.changes.len() as u32;
            made.first_change.extend(ends.iter().skip(1).map(|at| at.wrapping_sub(first).wrapping_add(before)));
            made.changes.extend(of_changes.iter().copied());
            made.differences.extend(of_children.iter().copied());
            made.first_child.push(made.differences.len() as u32);
            Some(())
        };
        for parent in parents {
            copy(parent)
                .ok_or_else(|| Error::shape("columns of a shard", "whole ones", format!("none of parent {parent}")))?;
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_selections_are_named() {
        let shard = Shard { pieces: vec![[0; 40]; 3].into(), ..Shard::default() };
        let check = |parents: &[u32]| {
            let end = Selection { shard: &shard, parents: Some(parents) }.check();
            end.map_err(|error| error.to_string())
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[0, 2]), Ok(()));
        assert_eq!(check(&[1, 1]), Err("parents of a selection: expected one above 1, got 1".into()));
        assert_eq!(check(&[0, 3]), Err("parents of a selection: expected below 3, got 3".into()));
        assert!(Selection::from(&shard).check().is_ok());
        let error = shard.select([1]).unwrap_err().to_string();
        assert_eq!(error, "columns of a shard: expected whole ones, got none of parent 1");
    }

    #[test]
    fn columns_that_were_checked_are_not_checked_again() {
        let torn = Shard { pieces: vec![[0; 40]; 3].into(), ..Shard::default() };
        let whole = Selection::from(&torn);
        assert!(matches!(whole.shard_of(ColumnCheck::Done), Ok(Cow::Borrowed(_))));
        assert!(whole.shard_of(ColumnCheck::Needed).is_err() && whole.to_shard().is_err());
        // A copy is new.
        assert!(Selection { parents: Some(&[1]), ..whole }.shard_of(ColumnCheck::Done).is_err());
    }
}
